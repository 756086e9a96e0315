"""Private quantiles follow their law, and intervals hold what they say as often as they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.estimators.base_measure import bounded
from dither.estimators.order_statistic import RankedRows
from dither.estimators.quantile_search import QuantileSearch
from tests.noise.fit import ALARM, p_value_of_counts

pytestmark = pytest.mark.statistical

DATA = [1.0, 2.0, 2.0, 3.0, 5.0, 6.0, 6.5, 7.0, 9.0, 14.0]
BOUNDS = (0.0, 16.0)
ROOM = 2**26  # places: 2^-26 of the size of a number
EDGES = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 5.5, 6.0, 6.5, 7.0, 8.0, 9.0, 11.0, 14.0, 15.0, 16.0]


def chances(scale_in_ranks: float) -> list[float]:
    """P of each interval for the median of DATA, by the definition: the mass of each piece times e^{−loss/b}.

    Between the edges the loss changes only where a record begins or ends: it lies within so many places of its own.
    """
    base = bounded(BOUNDS)
    records = base.axis.places(np.array(DATA))
    places = sorted(
        {*base.axis.places(np.array(EDGES)).tolist(), *(records - ROOM).tolist(), *(records + ROOM + 1).tolist()}
    )
    weights = dict.fromkeys(range(len(EDGES) - 1), 0.0)
    for first, end in pairwise([*places[:-1], base.end]):
        below, above = sum(records + ROOM + 1 <= first), sum(records - ROOM > first)
        loss = max(0, above - 5, below - 5)
        cell = min(int(np.searchsorted(EDGES, base.axis.value(first), side="right")) - 1, len(EDGES) - 2)
        weights[cell] += float(base.measure.weight(first, end)) * np.exp(-loss / scale_in_ranks)
    total = sum(weights.values())
    return [w / total for w in weights.values()]


@pytest.mark.parametrize(
    ("draws", "wrong"), [(1_000, 0.5), pytest.param(20_000, 0.1, marks=pytest.mark.nightly)], ids=["few", "many"]
)
@pytest.mark.parametrize(("adjacency", "epsilon"), [(ADD_REMOVE, 1), (REPLACE_ONE, 2)], ids=["add", "replace"])
def test_the_median_follows_its_law(adjacency: Adjacency, epsilon: int, draws: int, wrong: float) -> None:
    """b = 1/ε ranks under add/remove, 2/ε under replace-one; 50 % more or less noise is noticed, 10 % at night.

    One rank in all cases: with 50 % (10 %) more noise −log₁₀ of the p-value is 78 ± 7 (93 ± 7), far above 11.
    """
    base, half = replace(bounded(BOUNDS), refuses=False), Fraction(1, 2)  # of ten records a median is refused
    search, rows = QuantileSearch(base, adjacency), RankedRows.of_values(np.array(DATA), base)
    places = [search.run(rows, [half], Fraction(epsilon))[half] for _ in range(draws)]
    answers = base.axis.values(np.array(places))
    counts = np.histogram(answers, bins=EDGES)[0].tolist()
    assert p_value_of_counts(counts, chances(1)) > ALARM
    assert p_value_of_counts(counts, chances(1 - wrong)) < ALARM
    assert p_value_of_counts(counts, chances(1 + wrong)) < ALARM


RECORDS = np.concatenate([np.arange(1.0, 400.0) ** 1.5, np.full(100, 500.0), np.zeros(60)])
LEVEL = 0.9
TRIES = 400
MOST_MISSES = 85


HELD: dict[str, tuple[Callable[..., Any], Callable[[Any], float]]] = {
    "count": (lambda **o: dp.stats.count(RECORDS, **o), lambda r: len(RECORDS)),
    "sum": (
        lambda **o: dp.stats.sum(RECORDS, bounds=(0, 10**5), **o),
        lambda r: float(np.clip(RECORDS, *r.found["clip"]).sum()),
    ),
    "mean": (
        lambda **o: dp.stats.mean(RECORDS, bounds=(0, 10**5), **o),
        lambda r: float(np.clip(RECORDS, *r.found["clip"]).mean()),
    ),
    "mean of the bounds": (
        lambda **o: dp.stats.mean(RECORDS, bounds=(0, 10**5), clip=False, **o),
        lambda r: float(RECORDS.mean()),
    ),
    "variance": (
        lambda **o: dp.stats.variance(RECORDS, bounds=(0, 10**5), **o),
        lambda r: float(np.clip(RECORDS, *r.found["clip"]).var()),
    ),
    "std": (
        lambda **o: dp.stats.std(RECORDS, bounds=(0, 10**5), **o),
        lambda r: float(np.clip(RECORDS, *r.found["clip"]).std()),
    ),
    "covariance": (
        lambda **o: dp.stats.covariance(RECORDS, RECORDS[::-1], bounds=((0, 10**4), (0, 10**4)), **o),
        lambda r: float(
            np.cov(np.clip(RECORDS, *r.found["clip"][0]), np.clip(RECORDS[::-1], *r.found["clip"][1]), ddof=0)[0, 1]
        ),
    ),
    "median": (
        lambda **o: dp.stats.median(RECORDS, bounds=(0, 10**5), interval_level=LEVEL, **o),
        lambda r: float(np.sort(RECORDS)[len(RECORDS) // 2]),
    ),
    "far quantile": (
        lambda **o: dp.stats.quantile(RECORDS, 0.98, bounds=(0, 10**5), interval_level=LEVEL, **o),
        lambda r: float(np.sort(RECORDS)[int(0.98 * len(RECORDS))]),
    ),
}


EVERY_COMMIT = {
    ("count", ADD_REMOVE),
    ("count", REPLACE_ONE),
    ("median", REPLACE_ONE),
    ("mean of the bounds", ADD_REMOVE),
}


@pytest.mark.parametrize(
    ("name", "adjacency"),
    [
        pytest.param(*each, id=f"{each[0]}-{each[1]}", marks=() if each in EVERY_COMMIT else pytest.mark.nightly)
        for each in product(HELD, (ADD_REMOVE, REPLACE_ONE))
    ],
)
def test_an_interval_holds_as_often_as_it_says(name: str, adjacency: Adjacency) -> None:
    """At most 10 % may miss; of 400, more than 85 do with probability below 1e-11 (binomial, 1e-11.6)."""
    ask, truth = HELD[name]
    missed = 0
    for _ in range(TRIES):
        release = ask(epsilon=2, adjacency=adjacency)
        low, high = release.interval(LEVEL)
        missed += not low <= truth(release) <= high
    assert missed <= MOST_MISSES
    if name == "count":
        assert missed > 0  # an interval that always holds would be too wide: 0.9^400 = 1e-18


def test_the_limit_of_misses_has_its_false_alarm_rate() -> None:
    assert bdtrc(MOST_MISSES, TRIES, 1 - LEVEL) < ALARM < bdtrc(MOST_MISSES - 4, TRIES, 1 - LEVEL)


@pytest.mark.nightly
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_an_interval_of_the_population_holds_as_often_as_it_says(adjacency: Adjacency) -> None:
    """Uniform records: mean ½, median ½. The data of a test may come from NumPy."""
    drawn = np.random.default_rng(7)
    missed = np.zeros(2, dtype=int)
    for _ in range(TRIES // 2):
        records = drawn.random(200)
        options: dict[str, Any] = {"epsilon": 2, "bounds": (0, 1), "adjacency": adjacency, "population": True}
        mean = dp.stats.mean(records, clip=False, **options).interval(LEVEL)
        median = dp.stats.median(records, interval_level=LEVEL, **options).interval(LEVEL)
        missed += [not mean[0] <= 0.5 <= mean[1], not median[0] <= 0.5 <= median[1]]
    assert (missed <= MOST_MISSES // 2 + 12).all()


RUNS, MOST_LOST = 40, 15
EVEN: dict[str, tuple[Callable[..., Any], Callable[[Any], float]]] = {
    "sum": (dp.stats.sum, np.sum),
    "mean": (dp.stats.mean, np.mean),
    "variance": (dp.stats.variance, np.var),
    "std": (dp.stats.std, np.std),
    "covariance": (
        lambda x, bounds, **o: dp.stats.covariance(x, x, bounds=(bounds, bounds), **o),
        lambda x: float(np.var(x)),
    ),
}


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize(("count", "epsilon"), [(500, 1), (600, 1), (6000, 0.1), (60, 10), (1200, 1)])
@pytest.mark.parametrize("name", EVEN)
def test_a_range_that_is_found_does_not_cut_off_the_data(
    name: str, count: int, epsilon: float, adjacency: Adjacency
) -> None:
    """Records spread evenly over their bounds: no range that is any good cuts much off, so intervals hold the truth.

    At most 5 % miss; of 40, more than 15 do with probability below 1e-10 (binomial).
    """
    ask, truth = EVEN[name]
    data = np.arange(float(count))
    lost = 0
    for _ in range(RUNS):
        low, high = ask(data, epsilon=epsilon, bounds=(0, count), adjacency=adjacency).interval(0.95)
        lost += not low <= truth(data) <= high
    assert lost <= MOST_LOST
    assert bdtrc(MOST_LOST, RUNS, 0.05) < 1e-10


@pytest.mark.parametrize("end", [0.0, 1.0])
@pytest.mark.parametrize("options", [{"clip": False}, {}], ids=["the bounds", "too few to search"])
def test_a_mean_at_one_end_of_the_bounds_has_the_noise_of_one_sum(end: float, options: dict[str, Any]) -> None:
    """Off by more than 9 widths in all with probability e^{−9·0.95}/2 = 1e-4: more than 3 of 100 times, below 5e-10.

    A sum from the middle and a count with a twentieth of ε would be off by so much a dozen times.
    """
    records, runs = np.full(300, end), 100
    errors = [abs(dp.stats.mean(records, epsilon=1, bounds=(0, 1), **options).value - end) for _ in range(runs)]
    assert sum(error > 9 / (300 - 25) for error in errors) <= 3  # the number of records is 25 off with 1e-10


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("high", [30, 10**5])
@pytest.mark.parametrize("name", ["max", "min"])
def test_the_largest_of_many_equal_records_is_found(name: str, high: int, adjacency: Adjacency) -> None:
    """Of 40, more than 20 answers beyond the last of 200 equal records, each with at most 10 %: below 1e-10."""
    ages = np.repeat(np.arange(20.0), 200)
    sign = 1 if name == "max" else -1
    bounds = (0, high) if name == "max" else (-high, 0)
    ask = getattr(dp.stats, name)
    found = [sign * ask(sign * ages, epsilon=1, bounds=bounds, adjacency=adjacency).value for _ in range(40)]
    assert sum(abs(place - 19) > 0.1 for place in found) <= 20


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_the_largest_of_few_records_is_not_their_median(adjacency: Adjacency) -> None:
    """At rank 18/ε or 27/ε of 150 it is at 0.8 or more; of 60, more than 30 below 0.6 with 15 % each: below 1e-10."""
    records = (np.arange(150) + 0.5) / 150
    found = [dp.stats.max(records, epsilon=1, bounds=(0, 1), adjacency=adjacency).value for _ in range(60)]
    assert sum(place < 0.6 for place in found) <= 30


@pytest.mark.parametrize("probability", [0.97, 0.03])
def test_a_far_quantile_of_few_records_is_not_their_median(probability: float) -> None:
    """Of 60, more than 26 in the middle half of 1000 records with at most 12 % each (measured: none): below 1e-9."""
    records = (np.arange(1000) + 0.5) / 1000
    found = [dp.stats.quantile(records, probability, epsilon=1, bounds=(0, 1)).value for _ in range(60)]
    assert sum(0.25 < place < 0.75 for place in found) <= 26
    assert bdtrc(26, 60, 0.12) < 1e-9


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_no_answer_follows_its_law(adjacency: Adjacency) -> None:
    """2^13 times all mass at the loss of n/2 ranks. A quarter of that mass, or four times as much, is noticed."""
    records = 4 + np.arange(60.0) / 8
    epsilon = Fraction(1, 2) if adjacency == ADD_REMOVE else Fraction(1)  # b is two ranks
    base = bounded(BOUNDS)
    places = base.axis.places(records)
    edges = sorted({base.first, base.end, *(places - ROOM).tolist(), *(places + ROOM + 1).tolist()})
    answered = sum(
        float(base.measure.weight(first, end))
        * np.exp(-max(0, sum(places - ROOM > first) - 30, sum(places + ROOM + 1 <= first) - 30) / 2)
        for first, end in pairwise(edges)
    )
    refused = float(base.measure.weight(base.end, base.end + 1)) * np.exp(-30 / 2)
    found = [
        isinstance(dp.stats.median(records, epsilon=epsilon, bounds=BOUNDS, adjacency=adjacency).value, dp.NoAnswer)
        for _ in range(1000)
    ]
    for factor, is_right in ((1, True), (0.25, False), (4, False)):
        chance = factor * refused / (factor * refused + answered)
        one_sided = min(bdtr(sum(found), len(found), chance), bdtrc(sum(found) - 1, len(found), chance))
        assert (one_sided > ALARM) == is_right


@pytest.mark.parametrize("probability", [0.9, 0.99])
def test_a_quantile_in_the_tail_does_not_go_astray_in_wide_bounds(probability: float) -> None:
    """1000 records, ε = 0.2, bounds ×1000: a fifth of the answers were beyond ten times all records.

    None of 100 are; with one in 2000, which is more than what is said, four would come once in 10⁶ runs.
    """
    records = np.random.default_rng(8).lognormal(5, 1, 1000)
    wide = (0, 1000 * records.max())
    found = [dp.stats.quantile(records, probability, epsilon=0.2, bounds=wide).value for _ in range(100)]
    answers = [value for value in found if not isinstance(value, dp.NoAnswer)]
    assert len(answers) > 50
    assert sum(value > 10 * records.max() for value in answers) < 4
