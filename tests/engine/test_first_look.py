"""A first look: within its price, right where there is hardly any noise, and silent where there are few rows.

With ε = 1000 each part has ε above 20 of its own, so that a whole number is off with a probability below 1e-8.
"""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dp
from dither.engine.private_kinds import _surely_most
from dither.errors import OverBudget, ParameterError
from dither.tables.database_engines import Engine
from tests.engine.conftest import Open

PEOPLE, EACH = 3000, 5
ROWS = PEOPLE * EACH
TRIPS = pa.table(
    {
        "driver": np.repeat(np.arange(PEOPLE), EACH),
        "zone": np.array(["north", "south", "east"])[np.repeat(np.arange(PEOPLE), EACH) % 3],
        "fare": pa.array([None if row % 4 == 0 else 10.0 + row % 7 for row in range(ROWS)]),
        "shared": [row % 2 == 0 for row in range(ROWS)],
        "day": [datetime.datetime(2026, 1 + row % 12, 3, 8, 30) for row in range(ROWS)],
    }
)
PERSON = dp.Person("driver")


def test_everything_is_seen_with_hardly_any_noise(opened: Open) -> None:
    data = opened(TRIPS, PERSON, dp.ApproxDP(1000, "1e-6"))
    look = data.suggest(epsilon=1000, delta="1e-6")
    assert data.spent == {"epsilon": Fraction(1000), "delta": Fraction(1, 10**6)}, "all of it, and no more"
    assert look.sizes["people"][0] == PEOPLE
    assert isinstance(look.unit, dp.Person)
    limit = look.unit.stated("max_rows_per_group")
    assert limit >= EACH
    assert abs(look.sizes["rows"][0] - ROWS) <= limit, "200 scales of the noise; one limit in 8,000 is large"
    zone, fare, shared, day = look.to_arrow().to_pylist()
    assert (zone["holds"], zone["different"], sorted(zone["common"])) == ("text", 3, ["east", "north", "south"])
    assert 10 <= fare["tenth"] <= fare["median"] <= fare["nine_tenths"] < 17
    assert fare["missing"] == pytest.approx(0.25, abs=0.01)
    assert shared["true"] == pytest.approx(0.5, abs=0.01)
    assert (day["holds"], day["median"]) == ("day", 2026)
    said = str(look)
    assert f"people  {PEOPLE:,}, 95 % interval" in said
    assert "driver" not in look.kinds, "who it is about is no column to look at"
    for release in look.releases:
        assert dp.check_certificate(release.certificate(), data.origin.release_path.ledger).answer_recorded


def test_rows_of_their_own_are_counted_once(opened: Open, tmp_path: Path) -> None:
    data = opened(TRIPS.drop_columns(["driver"]), dp.Rows(), dp.PureDP(1000))
    look = data.suggest(epsilon=1000)
    assert (look.suggestion, look.rows, look.sizes) == (None, None, {"rows": look.sizes["rows"]})
    assert look.sizes["rows"][0] == ROWS
    assert look.to_arrow()["common"].null_count == 4, "without a delta no text is found"
    assert look.report(tmp_path / "look.html").read_text(encoding="utf-8").count("<section") >= 1


def test_values_are_shown_where_enough_rows_are_on_both_sides(opened: Open) -> None:
    """Ten people with ε = 1: noise of e^-30 would be needed to seem to be enough."""
    few = opened(TRIPS.slice(0, 10 * EACH), PERSON, dp.PureDP(1), "few").suggest(epsilon=1)
    assert few.to_arrow()["median"].null_count == 4
    assert "too few" in str(few)
    constant = pa.table({"who": range(5000), "x": [7.0] * 5000})
    same = opened(constant, dp.Person("who"), dp.PureDP(10), "same").suggest(epsilon=10).to_arrow().to_pylist()[0]
    assert all(same[part] == pytest.approx(7, rel=1e-3) for part in ("tenth", "median", "nine_tenths"))


_TRUTHS, _CITIES = ("true", " False", "TRUE"), ("7", *["Paris"] * 7)
LINES = "self,age,day,ok,city\n" + "".join(
    f"{row // 2},{20 + row % 50},2024-0{1 + row % 9}-11,{_TRUTHS[row % 3]},{_CITIES[row % 8]}\n" for row in range(4000)
)


def test_no_row_of_a_file_without_types_is_looked_at_before_a_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a column holds was the majority of its first lines: free of charge, exact, and decided by one row."""
    (tmp_path / "visits.csv").write_text(LINES)
    unit, budget = dp.Person("self"), dp.PureDP(1000)
    with dp.Dataset(tmp_path / "visits.csv", unit=unit, budget=budget, ledger=":memory:") as data:
        read = Engine.rows

        def rows(engine: Engine, expression: Any) -> Any:
            assert data.spent["epsilon"] > 0
            return read(engine, expression)

        monkeypatch.setattr(Engine, "rows", rows)
        look = data.suggest(epsilon=1000)
        assert data.spent["epsilon"] == 1000
    assert look.seen_kinds in look.releases
    assert look.kinds == {"age": "number", "day": "day", "ok": "truth", "city": "text"}
    by_name = {row["column"]: row for row in look.to_arrow().to_pylist()}
    assert by_name["ok"]["true"] == pytest.approx(2 / 3, abs=0.05)
    assert by_name["day"]["median"] == 2024
    assert by_name["city"]["different"] == 2


def test_what_the_noise_hides_is_not_told_but_read_as_text(tmp_path: Path) -> None:
    """Of a column without values all counts are 0: which is the largest is for the noise to say, and means nothing."""
    (tmp_path / "visits.csv").write_text("self,age,note\n" + "".join(f"{row},{20 + row % 50},\n" for row in range(900)))
    unit, budget = dp.Person("self"), dp.PureDP(1000)
    with dp.Dataset(tmp_path / "visits.csv", unit=unit, budget=budget, ledger=":memory:") as data:
        look = data.suggest(epsilon=1000)
    assert look.kinds == {"age": "number", "note": "text"}
    assert look.untold == ("note",)
    assert "to tell the kind of note: read as text" in str(look)


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        ([905, -90, -90, -90], [1085, 90, 90, 904], "number"),
        ([905, -90, -90, -90], [1085, 90, 90, 905], None),
        ([-90, -90, 10, -90], [90, 90, 190, 9], None),
        ([-90, -90, -90, 91], [90, 90, 90, 300], "text"),
        ([0, 0, 0, 0], [0, 0, 0, 0], None),
    ],
)
def test_a_kind_is_told_if_its_interval_is_above_all_others(low: list[int], high: list[int], kind: str | None) -> None:
    assert _surely_most(low, high) == kind


def test_what_cannot_be_paid_is_not_begun(opened: Open) -> None:
    data = opened(TRIPS, PERSON, dp.PureDP(1))
    with pytest.raises(OverBudget, match="was not begun, and nothing was charged"):
        data.suggest(epsilon=2)
    with pytest.raises(OverBudget, match="needs a delta"):
        data.suggest(epsilon=1, delta="1e-6")
    assert data.spent["epsilon"] == 0
    with pytest.raises(ParameterError, match="share is about a question"):
        data.suggest(epsilon=1, share="0.1")  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="delta is for a first look"):
        data.suggest(data.agg(n=dp.count()), epsilon=1, delta="1e-6")  # type: ignore[call-overload]
