"""Median and mean of data without any bounds, by propose-test-release at a scale that is found privately (claim C21).

1. **Scale.** d(η), the distance from the data to a dataset whose local sensitivity exceeds η, moves by at most 1
   between neighbours, for every η, and never falls as η grows. Among 512 public scales η₁ < η₂ < …, two to an octave,
   noisy max selects one that is about the first to reach a public target distance τ, by the score

       −(τ − d(ηᵢ))₊ − (d(ηᵢ₋₁) − τ)₊,   the second term left out for i = 1.

   One of the two is 0, as d(ηᵢ₋₁) ≤ d(ηᵢ); so the score moves by at most 1 too. That is ε₀-DP, with no δ.
2. **Propose, test, release** with that η: (ε₁, δ)-DP (claim C20).
3. **Look closer.** The answer and its noise, both public, give a window that holds the median except with a small
   probability; the median of the data clamped to this window is drawn by the exponential mechanism: ε₂-DP (C12).

Each step may depend on the answers before it, so together they are (ε₀ + ε₁ + ε₂, δ)-DP (claim C3), and less if the
test ends it. The third step brings the error from ln(1/δ)/ε² records near the median to a few 1/ε of them.

The median is a statistic of the records; the mean is taken as the median of the means of random blocks, of which one
record moves one. Nothing is assumed about the data for privacy. Where no scale will do, the result is `NoAnswer`.

Missing entries: see `records`; data are clamped to ±2^380.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.adjacency import REPLACE_ONE, Adjacency
from dither.errors import ParameterError
from dither.estimators.answer import Estimate, budget
from dither.estimators.quantiles import BoughtBars, quantile
from dither.estimators.records import LARGEST, Floats, checked_adjacency, is_replace, present
from dither.events import Composed, Stated
from dither.exact import Number, check, rational
from dither.exact.search import first_integer
from dither.guarantees import ApproxDP
from dither.mechanisms.no_answer import NoAnswer
from dither.mechanisms.propose_test_release import ProposeTestRelease
from dither.mechanisms.released import Interval
from dither.mechanisms.selection import NoisyMax
from dither.noise import UniformBelow
from dither.noise.tape import answered
from dither.sensitivity import Median, Profile, Statistic

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "default_blocks", "unbounded_mean", "unbounded_median"]

SMALLEST_SCALE, LARGEST_SCALE = 2.0**-128, 1.5 * 2.0**127
"""The scales that are tried; where none of them fits, there is no answer."""

_SCALES = np.sort(np.concatenate([np.ldexp(mantissa, np.arange(-128, 128)) for mantissa in (1.0, 1.5)]))
_FOR_SCALE, _FOR_TEST = Fraction(1, 4), Fraction(9, 20)  # of ε; the closer look has what is left
_OUTSIDE = Fraction(1, 10**9)
"""How likely the median is outside of the window, at most: one three times as wide costs next to nothing."""
_MISS = Fraction(1, 20)
_MANY = 1 << 62
_MOST_BLOCKS = 10**6
_NEAR = 8  # scales whose distance is so close to the target that they compete with the best one


def unbounded_median(
    data: Any,
    *,
    epsilon: Number,
    delta: Number,
    adjacency: Adjacency = REPLACE_ONE,
    noise: str = "laplace",
    interval_level: Number | None = None,
    n: int | None = None,
) -> Estimate:
    """Estimate the median of numbers without any bounds, with (ε, δ)-DP; there may be no answer.

    Parameters
    ----------
    data : array or sequence
        The records, one finite number per person.
    epsilon : Number
        The privacy budget ε > 0.
    delta : Number
        The budget δ, such as 1e-6.
    adjacency : Adjacency, default REPLACE_ONE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    noise : {"laplace", "gaussian"}, default "laplace"
        The noise of the test and of its answer.
    interval_level : Number, optional
        The level of a short interval, such as 0.95, on which three fifths of the closer look are spent. Without it the
        interval is that of the tested answer, which is much wider than the error.
    n : int, optional
        The number of people, if it is public: then δ ≥ 1/n is refused (claim C26).

    Returns
    -------
    Estimate
        `.value` is a float, or a `dp.NoAnswer` if no scale will do. It needs some 500/ε records.

    Notes
    -----
    Propose-test-release at a scale that is found privately (claim C21), and a closer look around its answer. With m
    records per unit of length near the median, the noise is about 5/(m ε), however far away the other records are.

    Examples
    --------
    >>> import dither as dp
    >>> import numpy as np
    >>> heights = np.linspace(140.0, 210.0, 5001)
    >>> estimate = dp.stats.unbounded_median(heights, epsilon=1, delta=1e-6)
    >>> estimate.guarantee, estimate.split["scale"]
    (ApproxDP(epsilon=1, delta=1e-06, adjacency='replace one record'), Fraction(1, 4))
    >>> isinstance(estimate.value, float | NoAnswer)  # one estimate in a few thousand finds no scale that will do
    True
    """
    values = present(data, checked_adjacency(adjacency), None)
    size = len(values) if is_replace(adjacency) else None
    run = _Run("median", Median(None, adjacency), adjacency, budget(epsilon), delta, noise, interval_level, n)
    return run.released(values, size)


def unbounded_mean(
    data: Any,
    *,
    epsilon: Number,
    delta: Number,
    adjacency: Adjacency = REPLACE_ONE,
    blocks: int | None = None,
    noise: str = "laplace",
    interval_level: Number | None = None,
    n: int | None = None,
) -> Estimate:
    """Estimate the mean of numbers without any bounds, with (ε, δ)-DP; there may be no answer.

    It is the median of the means of random blocks.

    Parameters
    ----------
    data : array or sequence
        The records, one finite number per person.
    epsilon : Number
        The privacy budget ε > 0.
    delta : Number
        The budget δ, such as 1e-6.
    adjacency : Adjacency, default REPLACE_ONE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    blocks : int, optional
        The public number k of blocks, at least 3; by default `default_blocks` of `dither.estimators.unbounded`. More
        blocks mean less noise and a larger bias from skewness.
    noise : {"laplace", "gaussian"}, default "laplace"
        The noise of the test and of its answer.
    interval_level : Number, optional
        The level of a short interval, such as 0.95, on which three fifths of the closer look are spent. Without it the
        interval is that of the tested answer, which is much wider than the error.
    n : int, optional
        The number of people, if it is public: then δ ≥ 1/n is refused (claim C26).

    Returns
    -------
    Estimate
        `.value` is a float, or a `dp.NoAnswer` if no scale will do.

    Notes
    -----
    The median of k block means is within 2·s·√(k/n) of the mean, except with probability e^{−k/8}, for data of standard
    deviation s with any tails (claim C21); it differs from the mean by about a sixth of the skewness times s·k/n.

    Examples
    --------
    >>> import dither as dp
    >>> import numpy as np
    >>> estimate = dp.stats.unbounded_mean(np.linspace(140.0, 210.0, 50_001), epsilon=1, delta=1e-6)
    >>> estimate.guarantee
    ApproxDP(epsilon=1, delta=1e-06, adjacency='replace one record')
    """
    exact, values = budget(epsilon), present(data, checked_adjacency(adjacency), None)
    if blocks is None:
        blocks = default_blocks(exact, delta, noise, len(values) if is_replace(adjacency) else None)
    check.count(3, blocks=blocks)
    means = _block_means(values, int(blocks), adjacency)
    run = _Run("mean", _OfBlocks(adjacency), REPLACE_ONE, exact, delta, noise, interval_level, n)
    return run.released(means, len(means))


def default_blocks(epsilon: Number, delta: Number, noise: str = "laplace", size: int | None = None) -> int:
    """Five times the distance that is aimed at, or 2√n if that is more, and at most n/2, where n = `size` is public.

    With 2√n blocks the skewness of the data costs about a third of what sampling does.
    """
    least = 5 * _Steps.of(REPLACE_ONE, None, budget(epsilon), rational(delta, "delta"), noise, None).target
    if size is None and least > _MOST_BLOCKS:
        raise ParameterError(
            f"this epsilon asks for {least:,} blocks, and at most {_MOST_BLOCKS:,} are made unasked. "
            "Say how many: blocks=..., or take a larger epsilon."
        )
    return least if size is None else max(3, min(max(least, 2 * math.isqrt(size)), size // 2))


# ------------------------------------------------------------------- one release


@dataclass(frozen=True)
class _Steps:
    """The two steps of a release, before any data is seen."""

    select: NoisyMax
    target: int
    """The distance that the scale is to have."""

    @classmethod
    @lru_cache(maxsize=256)
    def of(
        cls, adjacency: Adjacency, size: int | None, epsilon: Fraction, delta: Fraction, noise: str, n: int | None
    ) -> _Steps:
        """The target is the distance at which the test passes with probability 95 %, and what selection may miss it by.

        The winner's score is at most 2 ln(8·20)/ε₀ below the best with probability 95 %, where 8 scales compete; a
        target of 2 ln(512·20)/ε₀ keeps the others away, whose distance is 0. Among `size` records no distance exceeds
        about size/2: the target stays at half of that, so that not all large scales are alike. Only the error depends
        on this.
        """
        first = _split(epsilon)["scale"]
        select = NoisyMax(sensitivity=1, epsilon=first, candidates=len(_SCALES), adjacency=adjacency)
        test = _tested(Median(None, adjacency), 1, _split(epsilon)["test"], delta, noise, n)
        lost = 2 / float(first) * math.log(_NEAR / _MISS)
        others = 2 / float(first) * math.log(len(_SCALES) / _MISS)
        target = math.ceil(max(test.needed_distance(_MISS) + lost, others))
        return cls(select, target if size is None else max(min(target, size // 4), 1))


def _tested(
    statistic: Statistic, limit: Number, epsilon: Fraction, delta: Number, noise: str, n: int | None
) -> ProposeTestRelease:
    return ProposeTestRelease(statistic, limit=limit, epsilon=epsilon, delta=delta, noise=noise, n=n)


@dataclass(frozen=True)
class _Run:
    """What one release does, without its data."""

    name: str
    statistic: Statistic
    move: Adjacency
    """What a neighbour does to the numbers whose median is taken: replaces a block mean, for one."""
    epsilon: Fraction
    delta: Number
    noise: str
    level: Number | None
    n: int | None

    def released(self, numbers: Floats, size: int | None) -> Estimate:
        """Select a scale, propose and test it, and look closer at the answer."""
        if self.delta is None:
            raise ParameterError(
                f"the {self.name} of data without bounds needs a delta above 0. Give delta, or bounds."
            )
        if self.n is not None:
            check.count(n=self.n)
        adjacency = self.statistic.adjacency
        steps = _Steps.of(adjacency, size, self.epsilon, rational(self.delta, "delta"), self.noise, self.n)
        level = None if self.level is None else _checked_level(self.level)
        distances = _distances(self.statistic.profile(numbers), 2 * steps.target)  # type: ignore[attr-defined]
        chosen = steps.select.release(_scores(distances, steps.target))
        limit, split = Fraction(_SCALES[chosen.value]), _split(self.epsilon)
        mechanism = _tested(self.statistic, limit, split["test"], self.delta, self.noise, self.n)
        tested = mechanism.release(numbers)
        value, bars = self._closer(numbers, mechanism, tested.value, split["answer"], level)
        looked = Stated("PureDP", (split["answer"],), adjacency)
        return Estimate(
            value,
            Composed((chosen.event, tested.event, looked)),
            ApproxDP(self.epsilon, mechanism.delta, adjacency=mechanism.adjacency),
            mechanism,
            self.name,
            split,
            found={"limit": float(limit), "tested": tested.value},
            covers=_COVERS[self.name],
            bars=bars,
        )

    def _closer(
        self, numbers: Floats, mechanism: ProposeTestRelease, tested: Any, epsilon: Fraction, level: Fraction | None
    ) -> tuple[Any, Callable[[Fraction], Interval]]:
        """The median in the window around a tested answer, with its interval; the answer itself if that is as narrow.

        The interval holds unless the window or the interval inside of it misses: both together with 1 − level.
        """
        outside = _OUTSIDE if level is None else min(_OUTSIDE, (1 - level) / 10)
        low, high = mechanism._interval(tested, 1 - outside)
        bars = partial(mechanism._interval, tested)
        if isinstance(tested, NoAnswer) or not _is_window(low, high):
            return tested, bars
        look = partial(quantile, numbers, Fraction(1, 2), epsilon=epsilon, bounds=(low, high), adjacency=self.move)
        if level is None:
            return look().value, bars
        inside = level + outside
        looked = look(interval_level=inside)
        return looked.value, BoughtBars(level, looked.interval(inside))


def _split(epsilon: Fraction) -> dict[str, Fraction]:
    first, second = epsilon * _FOR_SCALE, epsilon * _FOR_TEST
    return {"scale": first, "test": second, "answer": epsilon - first - second}


def _checked_level(level: Number) -> Fraction:
    exact = rational(level, "interval_level")
    check.between(0, 1, interval_level=exact)
    return exact


def _is_window(low: float, high: float) -> bool:
    """Whether these can be bounds: a scale near 2^-128 around a large number leaves no room between them."""
    return -LARGEST < low < high < LARGEST and high - low > 2 / LARGEST


_COVERS = {
    "median": "The interval holds the median of the data; it is infinite where there is no answer.",
    "mean": "The interval holds the median of the block means; it is infinite where there is no answer.",
}


def _scores(distances: NDArray[np.int64], target: int) -> NDArray[np.int64]:
    """0 for the first scale that reaches the target; less by 1 for each record too few, or too many before it."""
    before = np.concatenate([[0], distances[:-1]])
    scores: NDArray[np.int64] = -(np.maximum(target - distances, 0) + np.maximum(before - target, 0))
    return scores


def _distances(profile: Profile, most: int) -> NDArray[np.int64]:
    """d(η) for each scale, at most `most`. A minimum of d and a constant moves by at most 1 as well.

    d never falls in η, so each search starts where the last one ended.
    """
    within = cache(profile.within)
    nearest, farthest, d = within(0), within(most - 1), 0
    found = np.zeros(len(_SCALES), dtype=np.int64)
    for i, scale in enumerate(_SCALES.tolist()):
        if farthest <= scale:
            found[i:] = most
            break
        if nearest <= scale:
            d = _first_above(within, scale, d, most - 1)
        found[i] = d
    return found


def _first_above(within: Callable[[int], float], scale: float, low: int, high: int) -> int:
    """The smallest t in [low, high] with A^(t) > scale, given that it is so at `high`; most often it is `low`."""
    reach, step = low, 1
    while reach < high and within(reach) <= scale:
        low, reach, step = reach + 1, min(reach + step, high), 2 * step
    return first_integer(lambda t: within(t) > scale, low, reach)


# ----------------------------------------------------------------------- blocks


@dataclass(frozen=True)
class _OfBlocks:
    """The median of block means. A record that is replaced, added or removed replaces one of them."""

    adjacency: Adjacency

    @property
    def global_sensitivity(self) -> float:
        return math.inf

    def value(self, data: Any) -> float:
        return Median(None).value(data)

    def sensitivity_within(self, data: Any, distance: int) -> float:
        return self.profile(data).within(distance)

    def profile(self, data: Any) -> Profile:
        return Median(None).profile(data)


def _block_means(values: Floats, blocks: int, adjacency: Adjacency) -> Floats:
    """The mean of each block; an empty one is at one end of all numbers, below or above by its own number.

    So where most blocks are empty, few records more would take the median to an end, and there is no answer. What an
    empty block is does not depend on the data: a record still moves the mean of one block.

    Which block a record goes to does not depend on the data. Where records are replaced, their number is public, and
    blocks get equally many; otherwise each record chooses by itself, so that one more does not move the others. Sums
    are exact until they are rounded once: the order of the records, in which neighbours may differ, plays no part.
    """
    keys = UniformBelow(_MANY if is_replace(adjacency) else blocks)
    drawn = answered(lambda: keys.sample(len(values)), "keys", len(values))
    block = np.argsort(drawn) % blocks if is_replace(adjacency) else drawn.astype(np.int64)
    records, counts = values[np.argsort(block, kind="stable")].tolist(), np.bincount(block, minlength=blocks)
    means, used = np.where(np.arange(blocks) % 2, LARGEST, -LARGEST), np.flatnonzero(counts)
    ends = np.cumsum(counts[used]).tolist()
    means[used] = [math.fsum(records[start:end]) / (end - start) for start, end in pairwise([0, *ends])]
    return means
