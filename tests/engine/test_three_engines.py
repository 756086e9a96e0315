"""The example that asks one question on three engines, on a real PostgreSQL server and a real Spark session."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dither as dp
from dither.errors import ParameterError

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "one_query_three_engines.py"


def example() -> Any:
    spec = importlib.util.spec_from_file_location("one_query_three_engines", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_the_example_says_the_same_on_three_engines(
    tmp_path: Path, postgres_url: str, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = example()
    path = tmp_path / "visits.parquet"
    pq.write_table(asked.visits(), path)
    with asked.postgres_table(postgres_url) as table:
        sources = {"Parquet": {"source": path}, "PostgreSQL": table, "Spark": asked.spark_view(spark)}
        asked.compare(sources, tmp_path)
    said = capsys.readouterr().out
    assert "Engines: 3. The exact numbers are the same: True." in said
    assert "The error bars are the same: True." in said


def everything(data: dp.Dataset) -> tuple[Any, ...]:
    """Every kind of aggregate, bins, a join and persons, at a price where noise is next to nothing."""
    joined = data.join(pa.table({"city": ["Paris", "Lyon"], "south": [False, True]}), on="city")
    table = (
        joined.group_by("south", dp.bins("spend", [0, 100, 300]), keys=[True, False])
        .agg(
            n=dp.count(), people=dp.count_people(), d=dp.count_distinct("city"), h=dp.histogram("spend", [0, 50, 300]),
            m=dp.median("spend", (0, 256)), t=dp.top("city", 1, candidates=["Paris", "Lyon"]),
        )
        .release(epsilon=10**6)
        .value
    )  # fmt: skip
    each = data.per_person(total=dp.sum("spend", (0, 300)), visits=dp.count())
    persons = each.group_by(dp.bins("total", [0, 400, 900])).agg(n=dp.count()).release(epsilon=10**5).value
    found = data.group_by("city").agg(n=dp.count(), t=dp.top("city", 2)).release(epsilon=10**5, delta="1e-6").value
    return table.drop_columns(["m"]), [round(x / 5) for x in table["m"].to_pylist()], persons, found


def without_bounds(data: dp.Dataset) -> dict[str, float]:
    """Sums in ranges that are found; which rows of a person are looked at is for the hash of each engine to say."""
    asked = {"m": dp.mean("spend"), "v": dp.variance("spend"), "s": dp.sum("spend", (-(10**6), 10**6), clip=True)}
    (row,) = data.agg(**asked).release(epsilon=10**5).value.select(list(asked)).to_pylist()
    return dict(row)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_every_aggregate_is_the_same_on_three_engines(tmp_path: Path, postgres_url: str, spark: Any) -> None:
    asked, answers = example(), []
    path = tmp_path / "visits.parquet"
    pq.write_table(asked.visits(), path)
    unit, budget = dp.Person("user_id", max_groups=6, max_rows_per_group=2), dp.ApproxDP(10**8, "1e-3")
    free = []
    with asked.postgres_table(postgres_url) as table:
        for at, where in enumerate([{"source": path}, table, asked.spark_view(spark)]):
            with dp.Dataset(**where, unit=unit, budget=budget, ledger=tmp_path / f"{at}.ledger") as data:
                answers.append(everything(data))
                free.append(without_bounds(data))
                assert data.columns["city"] == "text"
                for ask in (data.sum, data.mean):
                    with pytest.raises(ParameterError, match="column 'city' holds texts, and a number is needed"):
                        ask("city", (0, 1), epsilon=1)
                with pytest.raises(ParameterError, match="column 'city' holds texts"):
                    data.group_by("city", keys=[1, 2]).agg(n=dp.count())
    for answer in answers[1:]:
        assert [part == other for part, other in zip(answers[0], answer, strict=True)] == [True] * 4
    assert free[1:] == [pytest.approx(free[0], rel=0.02)] * 2
