"""Limits and bounds from private histograms: near the best ones, paid for once, and of one row for each person."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dp
from dither.engine.limit_choice import looked_at, with_tail
from dither.engine.moment_aggregates import count_people
from dither.engine.question import Question
from dither.errors import OverBudget, ParameterError
from tests.engine.conftest import Open

PERSON = dp.Person("driver")


def _trips(people: int, zones: int, fares: Any) -> pa.Table:
    """Each driver with 20 trips: two in each of ten zones."""
    driver = np.repeat(np.arange(people), 20)
    zone = (driver + np.tile(np.arange(20) // 2, people)) % zones
    return pa.table({"driver": driver, "zone": zone, "fare": fares(len(driver))})


TRIPS = _trips(2000, 25, lambda rows: 10 + np.arange(rows) % 7)


def test_limits_and_bounds_are_near_those_of_the_data(opened: Open) -> None:
    """2,000 people at ε = 0.1 for each look: noise of scale 10 to 40 beside thousands cannot hide where they are.

    A false alarm needs noise of 50 scales in one of some 300 counts: below 1e-18.
    """
    data = opened(TRIPS, PERSON, dp.PureDP(100))
    one = data.suggest(data.agg(n=dp.count()), epsilon=1)
    assert 20 <= one.unit.stated("max_rows_per_group") <= 26
    zones = data.group_by("zone", keys=list(range(25)))
    many = data.suggest(zones.agg(n=dp.count(), fare=dp.mean("fare", bounds=(0, 10**6))), epsilon=4)
    assert 8 <= many.unit.stated("max_groups") <= 16
    assert 2 <= many.unit.stated("max_rows_per_group") <= 3
    low, high = many.bounds["fare"]
    assert 0 <= low <= 10 <= 16 <= high <= 40
    answer = many.question.release(epsilon=many.epsilon)
    assert answer.plan.left_out is not None
    assert answer.plan.left_out.startswith(f"At most {many.unit.max_rows_per_group} rows of each driver")


def test_a_suggestion_is_charged_and_certified(opened: Open) -> None:
    data = opened(TRIPS, PERSON, dp.PureDP(1))
    made = data.suggest(data.agg(n=dp.count(), fare=dp.sum("fare", bounds=(0, 1000))), epsilon=1, share="0.2")
    assert data.spent["epsilon"] == Fraction(1, 5)
    assert made.epsilon == Fraction(4, 5)
    assert len({entry.number for entry in made.entries}) == 2
    for look in made.looks:
        checked = dp.check_certificate(look.certificate()).guarantee
        assert checked == dp.PureDP("0.1", adjacency=PERSON.adjacency)
    assert f"entry {made.entries[0].number}, {made.entries[1].number} of the ledger" in str(made)
    made.question.release(epsilon=made.epsilon)
    assert data.remaining["epsilon"] == 0
    with pytest.raises(OverBudget):
        data.suggest(data.agg(n=dp.count()), epsilon=1)


def test_each_person_is_one_row_of_what_is_looked_at(opened: Open) -> None:
    """Removing a person removes their row and leaves the others as they were."""
    rows = [{"driver": who, "zone": zone} for who in range(6) for zone in range(who + 1) for _ in range(zone + 1)]

    def looked(without: int) -> list[tuple[Any, ...]]:
        table = pa.Table.from_pylist([row for row in rows if row["driver"] != without])
        query = opened(table, PERSON, name=f"without {without}").group_by("zone", keys=list(range(5)))
        found = Question(query, {"people": count_people()})._of_any_limits.one_group_each("groups", "rows")
        return sorted(tuple(row.values()) for row in found.to_pyarrow().to_pylist())

    everybody = looked(-1)
    assert [(who, groups) for who, groups, _ in everybody] == [(who, min(who + 1, 5)) for who in range(6)]
    assert all(1 <= count <= groups for _, groups, count in everybody)
    for gone in range(6):
        assert looked(gone) == [row for row in everybody if row[0] != gone]


def test_nothing_is_chosen_from_noise() -> None:
    """Of 1,000 looks at 100 empty bins, one in a hundred may show a count; 30 would be wrong at 1e-7."""
    rng = np.random.default_rng(20261118)

    def shown(scale: float) -> int:
        return sum(bool(looked_at(rng.laplace(0, scale, 100).tolist(), 10).any()) for _ in range(1000))

    assert shown(10) <= 30
    assert shown(15) > 30, "half more noise is noticed"


def test_a_tail_goes_on_as_it_began_and_not_where_nobody_is() -> None:
    edges = [*(1 << power for power in range(17)), 1 << 62]
    falling = np.array([1000.0 * 4.0**-step for step in range(17)])
    seen = with_tail(falling, edges, 1.0, 17)
    assert seen[:4] == pytest.approx(falling[:4])
    assert seen[4:6] == pytest.approx(falling[4:6], rel=0.1)
    assert not seen[6:].any()
    alone = np.array([0.0, 0.0, 500.0, *[0.0] * 14])
    assert with_tail(alone, edges, 1.0, 17).tolist() == alone.tolist()


def test_what_cannot_be_suggested_is_refused_before_the_charge(opened: Open) -> None:
    data = opened(TRIPS, PERSON, dp.ApproxDP(1, "1e-6"))
    with pytest.raises(ParameterError, match="Make them public"):
        data.suggest(data.group_by("zone").agg(n=dp.count()), epsilon=1)
    for wrong in (0, -1, float("nan")):
        with pytest.raises(ParameterError):
            data.suggest(data.agg(n=dp.count()), epsilon=wrong)
        with pytest.raises(ParameterError):
            data.suggest(data.agg(n=dp.count()), epsilon=1, share=wrong)
    assert not data.spent["epsilon"]
    rows = opened(TRIPS, dp.Rows(), name="rows")
    with pytest.raises(ParameterError, match="limits of persons"):
        rows.suggest(rows.agg(n=dp.count()), epsilon=1)
