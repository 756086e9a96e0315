"""Histograms and several quantiles as rows, in frames, files and on the screen."""

import csv
import io
import json
import shlex
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from tests.cli import world

_CITIES = ["Paris", "Lyon"]


@pytest.fixture
def data() -> Iterator[dp.Dataset]:
    days = [date(2024, 1, 1), date(2024, 2, 1)] * 500
    rows = pa.table({"city": _CITIES * 500, "x": [1.0, 5.0] * 500, "day": days})
    with dp.Dataset(rows, unit=dp.Rows(), budget=dp.ApproxDP(900, 1e-3), ledger=":memory:", identity="t") as opened:
        yield opened


def test_a_histogram_has_a_row_for_each_bin(data: dp.Dataset) -> None:
    question = data.group_by("city", keys=_CITIES).agg(n=dp.count(), h=dp.histogram("x", [0, 2, 6]))
    release = question.release(epsilon=1)
    frame = release.to_pandas()
    assert list(frame.columns) == [
        "city", "n", "n_low", "n_high", "h_from", "h_to", "h", "h_low", "h_high",
    ]  # fmt: skip
    assert frame["city"].tolist() == ["Paris", "Paris", "Lyon", "Lyon"], "in the order asked"
    assert frame[["h_from", "h_to"]].values.tolist() == [[0, 2], [2, 6]] * 2
    lists = release.to_arrow()
    assert frame["h"].tolist() == [count for row in lists["h"].to_pylist() for count in row]
    assert frame["h_low"].tolist() == [count for row in lists["h_low"].to_pylist() for count in row]
    assert frame["n"].tolist() == [each for each in lists["n"].to_pylist() for _ in range(2)]
    assert release.to_polars().to_dicts() == release.tidy().to_pylist()
    assert str(release).splitlines()[0].split()[:3] == ["city", "h_from", "h_to"]
    assert len(str(release).splitlines()) == 7, "a head, four rows, what was left out, and the cost"


def test_quantiles_and_days(data: dp.Dataset) -> None:
    asked = data.agg(q=dp.quantile("x", [0.25, 0.75], bounds=(0, 10), interval_level=0.9))
    tidy = asked.release(epsilon=1).tidy()
    assert tidy.column_names == ["q_probability", "q", "q_low", "q_high"]
    assert tidy["q_probability"].to_pylist() == [0.25, 0.75]
    edges = [date(2024, 1, 1), date(2024, 1, 15), date(2024, 3, 1)]
    days = data.agg(d=dp.histogram("day", edges)).release(epsilon=1).tidy()
    assert days["d_from"].to_pylist() == edges[:-1]
    assert days["d_to"].to_pylist() == edges[1:]


def test_several_lists_stand_below_each_other(data: dp.Dataset) -> None:
    asked = data.agg(a=dp.histogram("x", [0, 2, 6]), b=dp.quantile("x", [0.1, 0.5, 0.9], bounds=(0, 9)), n=dp.count())
    tidy = asked.release(epsilon=10).tidy()  # at 1, a quantile is refused in one of 30,000 releases
    assert tidy.num_rows == 5
    assert tidy["a"].null_count == 3
    assert tidy["b"].null_count == 2
    assert tidy["n"].null_count == 0


def test_found_values_and_no_groups(data: dp.Dataset) -> None:
    top = (
        data.group_by("city", keys=_CITIES)
        .agg(t=dp.top("day", 1, [date(2024, 1, 1), date(2024, 2, 1)]))
        .release(epsilon=1)
        .tidy()
    )
    assert top.column_names == ["city", "t_place", "t"]
    empty = data.group_by("city").agg(h=dp.histogram("x", [0, 2, 6])).release(epsilon="0.001", delta=1e-12).tidy()
    assert (empty.num_rows, empty.column_names[:3]) == (0, ["city", "h_from", "h_to"])


def test_a_key_may_be_called_as_a_part_would_be(data: dp.Dataset) -> None:
    named = data.with_columns(h_from=dp.col("city")).group_by("h_from", keys=_CITIES)
    tidy = named.agg(h=dp.histogram("x", [0, 2, 6])).release(epsilon=1).tidy()
    assert tidy.column_names == ["h_from", "h_from_", "h_to", "h", "h_low", "h_high"]


def test_an_estimate_is_printed_in_two_lines() -> None:
    mean, cost = str(dp.stats.mean([20, 30, 40] * 500, epsilon=1, bounds=(0, 100))).splitlines()
    assert mean.startswith("mean: ")
    assert mean.endswith("), 95 % interval")
    assert cost.startswith("costs PureDP(epsilon=1")
    many = str(dp.stats.quantile(range(1000), [at / 10 for at in range(1, 10)], epsilon=1, bounds=(0, 1000)))
    assert "(9 values)" in many
    assert len(many.splitlines()) == 2


def test_a_picture_pages_through_its_rows(data: dp.Dataset) -> None:
    keys = [f"place {at}" for at in range(100)]
    release = data.group_by("city", keys=keys).agg(n=dp.count()).release(epsilon=1)
    for page, rows in ((1, "rows 1 to 40"), (3, "rows 81 to 100")):
        figure = release.plot(page=page)
        assert f"page {page} of 3: {rows} of 100" in figure.get_supxlabel()
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert labels == keys[(page - 1) * 40 : page * 40]
    wrong: tuple[Any, ...] = (0, 4, True, 1.5)
    for each in wrong:
        with pytest.raises(ParameterError, match="page must be a whole number from 1 to 3"):
            release.plot(page=each)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    world.write_visits(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


_LINE = (
    "release visits.csv --person user_id --max-groups 2 --max-rows-per-group 1 --group-by city --keys Rome,Lyon "
    "--agg 'h=histogram(age, [0, 40, 90])' --epsilon 0.1 --budget-epsilon 1 --ledger v.ledger --format"
)


def test_a_release_is_printed_as_asked(folder: Path) -> None:
    printed = {form: world.run(*shlex.split(f"{_LINE} {form}")).out for form in ("csv", "markdown", "json", "table")}
    rows = list(csv.DictReader(io.StringIO(printed["csv"])))
    assert [(row["city"], row["h_from"]) for row in rows] == [
        ("Rome", "0"),
        ("Rome", "40"),
        ("Lyon", "0"),
        ("Lyon", "40"),
    ]
    head, line, first = printed["markdown"].splitlines()[:3]
    assert head == "| city | h_from | h_to | h | 95 % interval |"
    assert line == "| --- | ---: | ---: | ---: | --- |"
    assert first.startswith("| Rome | 0 | 40 | ")
    assert json.loads(printed["json"])["rows"][0]["city"] == "Rome"
    assert printed["table"].splitlines()[0].split()[:4] == ["city", "h_from", "h_to", "h"]
    wrong = world.run(*shlex.split(f"{_LINE} xml"))
    assert (wrong.code, "table, csv, json, markdown" in wrong.err) == (2, True)


def test_further_pages_of_a_picture_stand_beside_the_first(folder: Path) -> None:
    keys = ",".join(f"k{at}" for at in range(50))
    line = f"release visits.csv {world.ONE_ROW} --group-by city --keys {keys} --agg n=count --epsilon 0.1"
    assert world.run(*line.split(), "--budget-epsilon", "1", "--ledger", "v.ledger", "--plot", "p.svg").code == 0
    assert {path.name for path in folder.glob("*.svg")} == {"p.svg", "p_2.svg"}


def test_an_answer_about_all_rows_is_tidy_and_has_a_certificate(data: dp.Dataset) -> None:
    """The value of such a release is the number itself, and no table."""
    count = data.count(epsilon=1)
    assert count.tidy().column("value").to_pylist() == [count.value]
    quantiles = data.quantile("x", [0.25, 0.75], bounds=(0, 10), epsilon=1)
    assert quantiles.tidy().column("value").to_pylist() == quantiles.value
    for release in (count, quantiles, data.histogram("x", [0, 2, 6], epsilon=1)):
        assert len(release.to_pandas()) == release.tidy().num_rows
        assert release.certificate()["answer"] == release.answer_digest
