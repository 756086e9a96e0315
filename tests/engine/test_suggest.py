"""Limits and bounds from private histograms: near the best ones, paid for once, and of one row for each person."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dp
from dither.engine.likely_shapes import likely_counts, likely_counts_of_values
from dither.engine.looks import _slopes
from dither.engine.moment_aggregates import count_people
from dither.engine.noisy_shapes import (
    Closer,
    Shapes,
    row_edges,
    shapes_of,
    spread_of,
    total_edges,
    totals_of,
    totals_seen,
    value_edges,
    values_seen,
)
from dither.engine.question import Question
from dither.engine.suggested_limits import Weighed, _Judge, weighed
from dither.engine.supposed import draws
from dither.engine.tails import with_tails
from dither.errors import OverBudget, ParameterError
from dither.noise import entropy
from dither.tables import Sum
from dither.testing.exact_answers import exact_answers
from dither.unit import Neighbour
from tests.engine.conftest import Open

PERSON = dp.Person("driver")


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open: one look in a thousand takes noise for people, so what one look leads to is asked without noise."""
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)


def _trips(people: int, zones: int, fares: Any) -> pa.Table:
    """Each driver with 20 trips: two in each of ten zones."""
    driver = np.repeat(np.arange(people), 20)
    zone = (driver + np.tile(np.arange(20) // 2, people)) % zones
    return pa.table({"driver": driver, "zone": zone, "fare": fares(len(driver))})


TRIPS = _trips(2000, 25, lambda rows: 10 + np.arange(rows) % 7)


@pytest.mark.usefixtures("door")
def test_limits_and_bounds_are_near_those_of_the_data() -> None:
    data = dp.Dataset(TRIPS, unit=PERSON, budget=dp.PureDP(100), ledger=":memory:", identity="trips")
    zones = data.group_by("zone", keys=list(range(25)))
    with exact_answers():
        one = data.suggest(data.agg(n=dp.count()), epsilon=1)
        many = data.suggest(zones.agg(n=dp.count(), fare=dp.mean("fare", bounds=(0, 10**6))), epsilon=4)
    assert 20 <= one.unit.stated("max_rows_per_group") <= 26
    assert 8 <= many.unit.stated("max_groups") <= 16
    assert 2 <= many.unit.stated("max_rows_per_group") <= 3
    low, high = many.bounds["fare"]
    assert 0 <= low <= 10 <= 16 <= high <= 40
    answer = many.question.release(epsilon=many.epsilon)
    assert answer.plan.left_out is not None
    assert answer.plan.left_out.startswith(f"At most {many.unit.max_rows_per_group} rows of each driver")


def test_limits_are_near_those_of_the_data_whatever_the_noise() -> None:
    """The same 2,000 people with 20 rows each, and 300 looks with noise of their own, here always the same.

    6 of 8,000 such looks took noise for people, and led to larger limits; with twice the noise that is said, most do.
    """
    edges, scale = row_edges(1), 10.0
    people = np.histogram(np.full(2000, 20), edges)[0]
    rng = np.random.default_rng(20261118)

    def far_off(times: float) -> int:
        looks = (shapes_of(people + rng.laplace(0, times * scale, len(people)), 1, scale) for _ in range(300))
        limits = [weighed({"n": dp.count()}, {}, look, PERSON, 1, Fraction(9, 10))[0] for look in looks]
        return sum(not 20 <= each.max_rows_per_group <= 26 for each in limits)

    assert far_off(1) <= 3
    assert far_off(2) > 3


@pytest.mark.parametrize("bounds", [(1000, 1001), (37, 37.01), (-1001, -1000)], ids=str)
def test_narrow_bounds_far_from_zero_are_looked_at(opened: Open, bounds: tuple[float, float]) -> None:
    data = opened(_trips(100, 1, lambda rows: np.full(rows, bounds[0])), PERSON, dp.PureDP(10))
    made = data.suggest(data.agg(fare=dp.mean("fare", bounds=bounds)), epsilon=1)
    low, high = made.bounds["fare"]
    assert bounds[0] <= low < high <= bounds[1]


@pytest.mark.parametrize("ask", [dp.sum, dp.mean], ids=["sum", "mean"])
@pytest.mark.parametrize("bounds", [("1e-250", "1e100"), ("-1e100", "1e-250"), (0, "1e91"), ("1e-61", 1)], ids=str)
def test_bounds_that_no_choice_could_use_are_refused_before_the_charge(opened: Open, ask: Any, bounds: Any) -> None:
    data = opened(TRIPS, PERSON, dp.PureDP(10))
    with pytest.raises(ParameterError, match="between 1e-60 and 1e90 in magnitude, and those of 'fare' are not"):
        data.suggest(data.agg(fare=ask("fare", bounds=bounds)), epsilon=1)
    assert data.spent["epsilon"] == 0


@pytest.mark.parametrize("ask", [dp.sum, dp.mean], ids=["sum", "mean"])
@pytest.mark.parametrize("bounds", [("1e-60", "1e90"), ("-1e90", "1e-60"), (0, "1e-60")], ids=str)
def test_bounds_of_any_other_size_are_looked_at(opened: Open, ask: Any, bounds: Any) -> None:
    data = opened(_trips(100, 1, np.ones), PERSON, dp.PureDP(10))
    made = data.suggest(data.agg(fare=ask("fare", bounds=bounds)), epsilon=1)
    assert made.question.release(epsilon=made.epsilon).value.num_rows == 1


def test_a_suggestion_is_charged_and_certified(opened: Open) -> None:
    data = opened(TRIPS, PERSON, dp.PureDP(1))
    made = data.suggest(data.agg(n=dp.count(), fare=dp.sum("fare", bounds=(0, 1000))), epsilon=1, share="0.2")
    each = [dp.check_certificate(look.certificate()).guarantee for look in made.looks]
    assert each[0] == dp.PureDP("0.08", adjacency=PERSON.adjacency)
    assert each[1] == dp.PureDP("0.105", adjacency=PERSON.adjacency)
    assert each[2:] in ([], [dp.PureDP("0.015", adjacency=PERSON.adjacency)]), "at the ends, if many are there"
    assert data.spent["epsilon"] == 1 - made.epsilon <= Fraction(1, 5)
    assert data.spent["epsilon"] == sum(of.stated_epsilon for of in each if isinstance(of, dp.PureDP))
    numbers = [entry.number for entry in made.entries]
    assert len(set(numbers)) == len(each)
    assert f"entry {', '.join(map(str, numbers))} of the ledger" in str(made)
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


@pytest.mark.usefixtures("door")
def test_sums_are_clipped_by_what_people_add_up_to() -> None:
    """20 trips of 10 to 16 make 253 to 267 a driver: all rows count, as one whose bounds are those of the sum."""
    data = dp.Dataset(TRIPS, unit=PERSON, budget=dp.PureDP(100), ledger=":memory:", identity="trips")
    with exact_answers():
        made = data.suggest(data.agg(total=dp.sum("fare", bounds=(0, 10**6))), epsilon=10)
    assert made.unit.stated("max_rows_per_group") == 1
    low, high = made.bounds["total"]
    assert low == 0
    assert 267 <= high <= 600
    answer = made.question.release(epsilon=made.epsilon)
    truth = sum(TRIPS["fare"].to_pylist())
    assert abs(answer.to_arrow()["total"][0].as_py() - truth) < 30 * high / 8, "30 scales of the noise: 1e-13"
    assert answer.plan.left_out is not None
    assert answer.plan.left_out.startswith(f"The sum of fare of each driver counts from 0 to {high:.15g};")


def test_sums_of_one_group_are_those_of_the_person_alone(opened: Open) -> None:
    """Also where values are missing, negative or outside of the bounds."""
    rows = pa.table({"driver": [1, 1, 1, 2, 2, 3, 4], "fare": [5.0, -7.0, 1e9, None, 2.0, None, -1e300]})
    data = opened(rows, PERSON, dp.PureDP(1))
    question = data.agg(total=dp.sum("fare", bounds=(-4, 100)))
    aggregate: Any = question.aggregates["total"]
    measure = Sum(aggregate.of, aggregate.lattice)
    found = Question(data, {"people": count_people()})._of_any_limits.one_group_each("groups", "rows", {"sum": measure})
    said = {row["driver"]: row["sum"] for row in found.to_pyarrow().to_pylist()}
    assert said == {"1": 101.0, "2": 2.0, "3": None, "4": -4.0} or said == {1: 101.0, 2: 2.0, 3: None, 4: -4.0}


def test_nothing_is_chosen_from_noise() -> None:
    """Of 1,000 looks at 145 empty bins one in a hundred may have a count; and then it mostly stands alone.

    20 would be wrong at 1e-8 even if all of those counted (binomial, 1 %: P[≥ 35] < 1e-8).
    """
    rng = np.random.default_rng(20261118)
    edges = value_edges(0, 10_000, 1000)

    def shown(scale: float) -> int:
        looks = (
            spread_of(values_seen(rng.laplace(0, scale, len(edges) - 1), edges, 10), (0, 10_000)) for _ in range(1000)
        )
        return sum(float(look.weights.sum(axis=1).mean()) > 1 for look in looks)

    assert shown(10) <= 35
    assert shown(20) > 35, "twice the noise is noticed"


def test_a_tail_goes_on_as_it_began_and_not_where_nobody_is() -> None:
    """A power law stays one, a bell curve ends, and one size alone has no tail."""
    ends = 2.0 ** np.arange(0, 17.25, 0.25)
    falling = np.diff(-1e5 * ends**-1.5)
    seen = with_tails(falling, ends, 5.0, 68, draws())
    last = int(np.flatnonzero(falling > 5 * np.log(50 * 68))[-1])
    assert seen[0, : last + 1] == pytest.approx(falling[: last + 1])
    beyond = slice(last + 1, last + 16)
    assert seen[:, beyond].sum(axis=1).mean() == pytest.approx(falling[beyond].sum(), rel=0.3)
    alone = np.zeros(68)
    alone[12] = 500.0
    assert with_tails(alone, ends, 1.0, 68, draws()).mean(axis=0) == pytest.approx(alone, abs=1)
    bell = 1e4 * np.exp(-(((ends[1:] + ends[:-1]) / 2 - 50) ** 2) / 200)
    assert with_tails(bell, ends, 5.0, 68, draws())[:, ends[1:] > 150].sum(axis=1).mean() < 5


def test_draws_differ_where_nothing_is_seen_and_agree_where_it_is() -> None:
    ends = 2.0 ** np.arange(0, 17.25, 0.25)
    falling = np.diff(-1e5 * ends**-1.5)
    noisy = falling + np.random.default_rng(3).laplace(0, 20, len(falling))
    seen = with_tails(noisy, ends, 20.0, 68, draws())
    assert (np.ptp(seen[:, :6], axis=0) == 0).all(), "these bins hold thousands"
    assert (np.ptp(seen[:, -40:], axis=0) > 0).any()


def test_the_least_regret_is_between_what_light_and_heavy_tails_ask_for() -> None:
    """Half of the draws have ten people with 1024 rows, and half have nobody beyond 11: no limit is right for both."""
    people = np.zeros((48, 2, 1))
    people[:, 0, 0], people[:24, 1, 0] = 1000, 10
    shapes = Shapes(people, np.array([11.0, 1024.0]), np.ones(1))
    ranked = weighed({"n": dp.count()}, {}, shapes, PERSON, 1, Fraction(1))
    by_limit = {each.max_rows_per_group: each for each in ranked}
    assert ranked[0].regret == min(each.regret for each in ranked)
    for limit in (11, 1024):
        light, heavy = (math.hypot(math.sqrt(2) * limit, cut) for cut in (0, 10 * (1024 - limit)))
        assert by_limit[limit].errors["n"] == pytest.approx((light + heavy) / 2, rel=0.01)
        regret = (light / (math.sqrt(2) * 11) + heavy / (math.sqrt(2) * 1024)) / 2
        assert by_limit[limit].regret == pytest.approx(regret, rel=0.05)
    least = min(ranked, key=lambda each: each.errors["n"]).max_rows_per_group
    assert ranked[0].max_rows_per_group < least, "the mean error alone does not see what the light half pays"


def test_few_people_are_looked_at_in_wide_bins() -> None:
    sides = [(0.0, 1e4), (-1e4, 1e4), (-5.0, 1e6), (-10.0, -1.0)]
    for low, high in sides:
        for seen in (10.0, 60.0, 150.0, 1e6):
            for edges in (value_edges(low, high, seen), total_edges(low, high, 1), total_edges(low, high, 10)):
                assert 3 <= len(edges) <= 151
                assert edges == sorted(set(edges))
    assert len(value_edges(0, 1e4, 10)) < len(value_edges(0, 1e4, 1e6)) / 4


def _of_lognormal(rng: np.random.Generator, people: int, scale: float, times: float = 1.0) -> tuple[Any, int]:
    """How few people with 8 rows in the middle, and an octave around it, are seen; and the best limit they have."""
    rows = np.maximum(np.round(2 ** rng.normal(3, 1, people)), 1)
    edges = row_edges(1)
    noisy = np.histogram(rows, edges)[0] + rng.laplace(0, times * scale, len(edges) - 1)
    return shapes_of(noisy, 1, scale), int(rows.sum())


def _rows_in_the_middle(shapes: Shapes) -> float:
    """Half of the draws have more rows."""
    return float(np.median(shapes.counted(math.inf) @ shapes.sizes))


def test_few_people_are_seen_together_where_none_stands_out() -> None:
    """600 people in 20 bins of which noise of scale 10 hides most: their number of rows is known to a half, mostly.

    Of these looks, here always the same, none is farther off; with four times the noise that is said 75 are.
    """
    rng = np.random.default_rng(20261119)

    def far_off(times: float) -> int:
        looks = [_of_lognormal(rng, 600, 10.0, times) for _ in range(100)]
        return sum(not 0.5 < _rows_in_the_middle(shapes) / rows < 2 for shapes, rows in looks)

    assert far_off(1) <= 10
    assert far_off(4) > 10


def test_noise_alone_is_nobody() -> None:
    """Its evidence exceeds 100 once in a hundred times at most (Markov); here the noise is always the same."""
    rng = np.random.default_rng(20261119)
    edges, values = row_edges(1), np.array(value_edges(0, 10_000, 1000))

    def seen(times: float) -> int:
        found = [likely_counts(rng.laplace(0, times, len(edges) - 1), [edges], 1.0, draws()) for _ in range(60)]
        found += [
            likely_counts_of_values(rng.laplace(0, times, len(values) - 1), values, 1.0, draws()) for _ in range(60)
        ]
        return sum(each is not None for each in found)

    assert seen(1) <= 5
    assert seen(3) > 5, "more noise than is said is noticed"


def test_who_sees_nobody_says_so(opened: Open) -> None:
    data = opened(_trips(3, 1, lambda rows: np.full(rows, 5.0)), PERSON, dp.PureDP(10))
    made = data.suggest(data.agg(n=dp.count()), epsilon=1)
    blind = str(replace(made, is_blind=True))
    assert blind.startswith("Nobody stands out from the noise of the look")
    assert "It would see about 250 people who are alike" in blind, "25 scales of noise of 1/0.1"
    assert str(replace(made, is_blind=False)).startswith("max_groups")


def test_people_of_whom_there_are_so_many_as_is_said_are_seen() -> None:
    """25 in scales of the noise, all alike: in 100 looks, here always the same, all but a few; a third are not."""
    rng, edges = np.random.default_rng(20261120), row_edges(1)

    def seen(people: int) -> int:
        alike = np.histogram(np.full(people, 20), edges)[0]
        return sum(shapes_of(alike + rng.laplace(0, 10, len(alike)), 1, 10.0).are_seen for _ in range(100))

    assert seen(250) >= 95
    assert seen(80) < 95


def test_people_who_are_known_have_their_values_somewhere() -> None:
    """210 people, whom the look at rows showed: without their number, their values are taken for nothing in some looks.

    So they are in some of these looks, here always the same, and never where their number is known. The largest value
    is then known to a factor of two and a half, mostly.
    """
    rng, edges = np.random.default_rng(20261120), value_edges(0, 10_000, 17)

    def looked(known: float | None) -> list[Any]:
        noisy = (
            np.histogram(np.clip(rng.lognormal(4.6, 0.4, 210), 0, 10_000), edges)[0]
            + rng.laplace(0, 12, len(edges) - 1)
            for _ in range(60)
        )
        return [spread_of(values_seen(each, edges, 12.0, known), (0, 10_000)) for each in noisy]

    assert sum(not look.weights.any() for look in looked(None)) > 5
    known = looked(210.0)
    assert all(look.weights.any() for look in known)
    largest = [float(look.values[look.weights.mean(axis=0) > 0.5].max()) for look in known]
    assert sum(120 <= each <= 750 for each in largest) >= 50


def test_a_closer_look_finds_the_largest_value_that_many_have() -> None:
    """A quarter of 4,000 people have 23, in a bin from 22.1 to 31.2 of which a part is 4 %."""
    values = np.repeat([2.0, 7.0, 13.0, 23.0], 1000)
    edges, rng = total_edges(0, 1000, 6), np.random.default_rng(20261120)

    def looked(times: float) -> list[float]:
        found = []
        for _ in range(50):
            counts = np.histogram(values, edges)[0]
            seen = totals_seen(counts + rng.laplace(0, 5, len(counts)), 1, edges, 5.0)
            parts = seen.ends_in_parts(1 / 40)
            assert parts is not None
            assert parts[0] == edges[0]
            assert parts[-1] == edges[-1]
            inner = np.histogram(values, parts)[0]
            closer = Closer(np.array(parts), inner + rng.laplace(0, times * 40, len(inner)), 40.0)
            shapes = totals_of(seen, 1, closer)
            found.append(float(shapes.sizes[shapes.people.mean(axis=(0, 2)) > 10].max()))
        return found

    assert sum(23 <= each <= 24 for each in looked(1)) >= 40
    assert sum(23 <= each <= 24 for each in looked(8)) < 40, "noise that is not said is noticed"


def test_bins_that_few_people_are_in_have_no_closer_look() -> None:
    edges = total_edges(0, 1000, 6)
    few = totals_seen(np.histogram(np.full(200, 23.0), edges)[0] * 1.0, 1, edges, 5.0)
    assert few.ends_in_parts(1 / 40) is None
    assert few.ends_in_parts(1 / 10) is not None


def test_one_noisy_bin_is_no_slope() -> None:
    """Noise of six scales in one of eight bins; and a slope of as much in all of them together."""
    people, at = np.array([4000.0, 3000, 2000, 1000, 500, 200, 100, 30]), np.arange(8.0)
    one = np.zeros(8)
    one[3] = 6.0
    assert _slopes(1000 * one, people, at, 1000.0, 100.0) is None
    slopes = _slopes(people * 2.0 * (at - 1), people, at, 1000.0, 100.0)
    assert slopes is not None
    assert float(np.median(slopes)) == pytest.approx(2.0, abs=1.0)


def test_noise_alone_leans_less_than_once_in_a_hundred_times() -> None:
    """Of 2,000 sums of nothing but noise, here always the same; with three times the noise many lean."""
    people, rng = np.array([4000.0, 3000, 2000, 1000, 500, 200, 100, 30]), np.random.default_rng(20261120)

    def leans(times: float) -> int:
        noisy = rng.laplace(0, times * 1000, (400, 8)) + rng.normal(0, times * 10 * np.sqrt(people), (400, 8))
        return sum(_slopes(each, people, np.arange(8.0), 1000.0, 100.0) is not None for each in noisy)

    assert leans(1) <= 4
    assert leans(3) > 4


def test_a_suggestion_says_first_that_much_is_left_out_and_which_column_wants_other_limits() -> None:
    """A count wants 64 rows of each, a mean 4; the mean was listened to."""
    considered = [
        Weighed(1, 4, {}, {"n": 30.0, "m": 1.0}, {"n": 3.0, "m": 1.0}, left_out=0.234),
        Weighed(1, 64, {}, {"n": 10.0, "m": 9.0}, {"n": 1.0, "m": 9.0}),
    ]
    data = dp.Dataset(TRIPS, unit=PERSON, budget=dp.PureDP(9), ledger=":memory:", identity="trips")
    made = data.suggest(data.agg(n=dp.count(), m=dp.mean("fare", bounds=(0, 100))), epsilon=1)
    first, *_, apart, _ = str(replace(made, considered=considered, is_blind=False)).splitlines()
    assert first == "More than 5% of all rows is expected to be left out: about 23%. No interval shows that."
    assert apart == (
        "n alone would be about 3.0 times as exact, with max_groups=1, max_rows_per_group=64. Ask for it by itself."
    )
    near = str(replace(made, considered=[replace(considered[0], left_out=0.01)], is_blind=False))
    assert near.startswith("max_groups")
    assert "alone" not in near


def test_what_limits_leave_out_is_estimated_from_the_look() -> None:
    people = np.full((48, 2, 1), 100.0)
    shapes = Shapes(people, np.array([4.0, 16.0]), np.ones(1))
    kept = {4: 8 / 20, 8: 12 / 20, 16: 1.0}
    for limit, part in kept.items():
        of = _Judge(shapes, Neighbour(1, limit, PERSON.adjacency), 1, Fraction(1))
        assert of.left_out == pytest.approx(1 - part)
        assert of.left_out_of_sums(shapes, (0.0, float(limit))) == pytest.approx(1 - part)


def _leaning(people: int, octave: float) -> pa.Table:
    """Drivers with 1 to 64 trips, whose fares are so much larger for those with twice as many."""
    rows = 2 ** (np.arange(people) % 7)
    driver = np.repeat(np.arange(people), rows)
    return pa.table({"driver": driver, "fare": 50.0 + octave * np.log2(rows[driver]) + driver % 5})


@pytest.mark.usefixtures("door")
def test_values_that_differ_by_the_number_of_rows_keep_more_rows() -> None:
    """A mean of a few rows of each would be too low: without noise, the look tells, and more rows count."""
    limits = []
    for octave in (0, 5):
        unit, budget = dp.Person("driver"), dp.PureDP(100)
        data = dp.Dataset(_leaning(3000, octave), unit=unit, budget=budget, ledger=":memory:", identity="trips")
        with exact_answers():
            made = data.suggest(data.agg(fare=dp.mean("fare", bounds=(0, 1000))), epsilon=2)
        assert len(made.looks) in (3, 4)
        limits.append(made.unit.stated("max_rows_per_group"))
    assert limits[0] <= 40 < 64 <= limits[1]


def test_a_look_that_could_change_nothing_is_not_paid_for(opened: Open) -> None:
    """Of one row each, no values lean: there are two looks or three, each charged by what was asked."""
    one = pa.table({"driver": range(5000), "fare": [12.5] * 5000})
    data = opened(one, PERSON, dp.PureDP(2))
    made = data.suggest(data.agg(fare=dp.mean("fare", bounds=(0, 1000))), epsilon=2)
    assert len(made.looks) in (2, 3, 4), "rows, values, these at their ends; noise alone would ask whether they lean"
    spent = [dp.check_certificate(look.certificate()).guarantee for look in made.looks]
    assert all(isinstance(each, dp.PureDP) for each in spent)
    assert data.spent["epsilon"] == sum(each.stated_epsilon for each in spent if isinstance(each, dp.PureDP))
    assert data.spent["epsilon"] == 2 - made.epsilon


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
