"""The auditor's attack on every estimator of `dp.stats`: none is refuted, and what is charged too little is.

Contracts (`test_neighbours`, `test_rank_laws`) look at what each step is given; here only answers are seen.

Tables: what a project asks is attacked by tests/cli/test_audit_project.py, and ranges are found as for arrays; here are
the means of replaced rows.

False alarms. A right estimator is refuted with probability 1e-11 (`ALARM`), and there are fewer than fifty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.audit import attack
from dither.engine.group_sensitivity import Added, BothEnds
from dither.estimators.quantiles import BoughtBars
from dither.tables import Column, Lattice
from dither.unit import Neighbour
from tests.noise.fit import ALARM

stats = dp.stats

EPSILON = 4
BOUNDED: dict[str, Any] = {
    "sum": stats.sum,
    "sum without clipping": partial(stats.sum, clip=False),
    "mean": stats.mean,
    "mean without clipping": partial(stats.mean, clip=False),
    "mean of the population": partial(stats.mean, population=True),
    "variance": stats.variance,
    "std": partial(stats.std, clip=False),
    "covariance": lambda x, bounds, **known: stats.covariance(x, x, bounds=(bounds, bounds), clip=False, **known),
    "median": stats.median,
    "median with interval": partial(stats.median, interval_level=0.9),
    "tail": partial(stats.quantile, probability=0.97),
    "two quantiles": partial(stats.quantile, probability=[0.25, 0.9], interval_level=0.9),
    "min": stats.min,
    "max": stats.max,
}
UNBOUNDED: dict[str, Any] = {
    "count": stats.count,
    "histogram": partial(stats.histogram, edges=[0, 5, 10]),
    "histogram of names": partial(stats.histogram, categories=[1, 9, 10]),
    "mode": partial(stats.mode, categories=[1, 9, 10]),
    "top": lambda x, **known: stats.top([str(each) for each in x], 1, categories=["1.0", "9.0", "10.0"], **known),
    "top of two": lambda x, **known: stats.top(x, 2, categories=[1, 9, 10], **known),
    "mean without bounds": stats.mean,
    "median without bounds": stats.median,
}
REPLACED = [
    "count", "sum", "mean without clipping", "variance", "covariance", "median without bounds", "two quantiles", "max",
    "top of two",
]  # fmt: skip
CASES = [*((name, ADD_REMOVE) for name in [*BOUNDED, *UNBOUNDED]), *((name, REPLACE_ONE) for name in REPLACED)]


def shown(release: Any) -> Any:
    """An answer, with its interval if that was bought; no answer as numbers that none is."""
    if isinstance(release.value, dp.NoAnswer):
        return [-1e9, -1e9, -1e9]
    if isinstance(release.bars, BoughtBars):
        return [release.value, *release.interval(0.9)]
    return release.value


def asked(name: str, adjacency: Adjacency) -> Callable[[list[float]], Any]:
    known: dict[str, Any] = {"epsilon": EPSILON, "adjacency": adjacency}
    if name in BOUNDED:
        return lambda data: shown(BOUNDED[name](data, bounds=(0, 10), **known))
    return lambda data: shown(UNBOUNDED[name](data, **known))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("name", "adjacency"), CASES, ids=str)
def test_no_estimator_is_refuted(name: str, adjacency: Adjacency) -> None:
    data = [1.0, *[9.0] * (40 if "without bounds" in name else 2)]
    other = [*data[:-1], 10.0] if adjacency == REPLACE_ONE else [*data, 10.0]
    verdict = attack(asked(name, adjacency), (data, other), epsilon=EPSILON, samples=400, alpha=ALARM)
    assert not verdict.violated, verdict


DELTA = Fraction(1, 100)
WITH_DELTA: dict[str, Any] = {
    "histogram of found names": lambda x, **known: [stats.histogram(x, **known).value.get(at, -1) for at in (1, 9, 10)],
    "mode of found names": lambda x, **known: [stats.mode(x, **known).value or -1],
    "top of found names": lambda x, **known: str(stats.top(x, 2, **known).value),
    "median by test": lambda x, **known: shown(stats.unbounded_median(x, interval_level=0.9, **known)),
    "mean by test": lambda x, **known: shown(stats.unbounded_mean(x, blocks=5, **known)),
}


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "adjacency"), [(name, each) for name in WITH_DELTA for each in (ADD_REMOVE, REPLACE_ONE)], ids=str
)
def test_no_estimator_with_a_delta_is_refuted(name: str, adjacency: Adjacency) -> None:
    """One person alone has a name, and a scale fits all but one record."""
    data = [*[1.0] * 6, *[9.0] * 6]
    other = [*data[:-1], 10.0] if adjacency == REPLACE_ONE else [*data, 10.0]
    ask = partial(WITH_DELTA[name], epsilon=EPSILON, delta=DELTA, adjacency=adjacency)
    verdict = attack(ask, (data, other), epsilon=EPSILON, delta=DELTA, samples=400, alpha=ALARM)
    assert not verdict.violated, verdict


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["count", "sum without clipping", "histogram"])
def test_an_estimator_that_is_charged_a_sixteenth_is_refuted(name: str) -> None:
    """Half-way between both there is an event with P > 0.93 and Q < 0.07.

    In 500 runs a side it has more than 400 hits on the one and fewer than 90 on the other, but for 1e-9 each
    (binomial), and these prove ε > 3/4.
    """
    data = [10.0] * 3
    verdict = attack(asked(name, ADD_REMOVE), (data, [*data, 10.0]), epsilon="1/4", samples=1_000, alpha=ALARM)
    assert verdict.violated


class Means:
    """The sums of a mean of tables where a row is replaced in place, with their noise: of one value of 0 to `WIDTH`.

    The noise is made for `part` of what a row moves.
    """

    def __init__(self, part: int = 1) -> None:
        made = BothEnds(Column("x"), Lattice.within((0, 1), from_zero=False))
        width = made.lattice.width // part
        self.noise = replace(Added.laplace(2 * width, Fraction(1), REPLACE_ONE, 2), is_turned=True)
        if part == 1:
            assert self.noise == made.pure(Neighbour.of(dp.Rows("replace"), grouped=False), Fraction(1))
        self.width = made.lattice.width

    def many(self, ends: tuple[int, int], size: int) -> Any:
        """`ends` in widths: how far a value is from either, or (0, 0) where there is none."""
        exact = np.tile(np.array(ends) * self.width, (size, 1))
        return self.noise.draw(exact).flatten().to_numpy().reshape(-1, 2) / self.width


MOVED = [((1, 0), (0, 1)), ((1, 0), (0, 0)), ((0, 0), (0, 1))]


@pytest.mark.statistical
def test_means_of_replaced_rows_are_not_refuted_and_with_a_quarter_of_the_noise_they_are() -> None:
    assert not attack(Means(), MOVED, epsilon=1, samples=20_000, alpha=ALARM).violated
    assert attack(Means(part=4), MOVED, epsilon=1, samples=20_000, alpha=ALARM).violated  # ε is 4 there
