"""Sum, mean, variance, standard deviation and covariance of arrays, ε-DP.

All of them clamp the data to a range, add exact integers (`sums`), and add Laplace noise. The range is found inside the
bounds (`clipping`) if there are enough records for that: their number times ε must reach 500, and 1000 for the two
ranges of a covariance. Otherwise, or with `clip=False`, it is the bounds. Without bounds it is always found, inside a
range found first (`scale`): no δ is needed. `Estimate.found["clip"]` says which range it was, and `Estimate.split`
where the budget went.

**What the interval contains** is the statistic of the clamped data: of the data themselves if nothing lies outside the
range. How much was cut off is data, and stays hidden. With `population=True` it is for the statistic of the clamped
population from which the records were drawn independently. The range was chosen on the same records, so what sampling
adds must be bounded for all ranges at once: by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart (1990),
sup|Fₙ − F| ≤ h except with probability 2e^{−2nh²}, and then a mean of g moves by h times the variation of g over the
range at most.

Missing entries: see `records`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import ParameterError
from dither.estimators.answer import Estimate
from dither.estimators.clipping import Clip
from dither.estimators.moment_bars import CovarianceBars, MeanBars, SidesBars, SumBars, VarianceBars
from dither.estimators.moment_steps import Steps
from dither.estimators.records import Bounds, is_replace
from dither.estimators.sums import NoisySides, NoisySum
from dither.exact import Number, check, rational

__all__ = ["covariance", "mean", "std", "sum", "variance"]

_SUM_OF_REST, _SUM_FROM_THE_MIDDLE = Fraction(1, 5), Fraction(1, 3)
"""Of what is left, the part for the mean in a variance, and for both means in a covariance; the rest is for squares.

It is more under add/remove for records that are measured from the middle of their bounds: their mean may be far away.
"""


def sum(
    data: Any,
    *,
    epsilon: Number,
    bounds: tuple[Number, Number] | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    clip: bool = True,
) -> Estimate:
    """Estimate the sum of numbers, clamped to a range, with ε-DP.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person. None, NaN and infinities are missing: left out under add/remove, the middle
        of the bounds (or 0) under replace-one.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) to which the data are clamped; they may be far too wide at little cost. Without them a range
        is found privately.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget finds a narrower range inside the bounds, where there are records enough (their
        number times ε must reach about 500). False clamps to the bounds.

    Returns
    -------
    Estimate
        `.value` is a float. `.found["clip"]` is the range to which the data were clamped, `.split` the part of ε of
        each step, and `.interval(0.95)` contains the sum of the clamped data.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.stats.sum([1.5] * 1000, epsilon=1, bounds=(0, 10))
    >>> release.found["clip"][1] <= 10, sorted(release.split)
    (True, ['centre', 'count', 'distance', 'sum'])
    """
    steps = Steps.started(epsilon, adjacency)
    (values,), (limits,) = steps.columns([data], [bounds])
    size = steps.size(len(values))
    clipped = steps.clip(values, limits, size, clip, is_needed=bounds is None)
    if is_replace(adjacency):
        noisy = steps.sum(clipped.centred(values), clipped.limits)
        offset = len(values) * Fraction(clipped.centre)
    else:
        low, high = clipped.range
        noisy = steps.sum(np.clip(values, low, high), (min(low, 0.0), max(high, 0.0)))
        offset = Fraction(0)
    return steps.estimate(
        "sum", float(noisy.value + offset), noisy, bars=SumBars(noisy, size, offset), found={"clip": clipped.range},
        covers="the sum of the data, clamped to the range found['clip']",
    )  # fmt: skip


def mean(
    data: Any,
    *,
    epsilon: Number,
    delta: Number | None = None,
    bounds: tuple[Number, Number] | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    clip: bool = True,
    population: bool = False,
) -> Estimate:
    """Estimate the mean of numbers, clamped to a range, with ε-DP.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person. None, NaN and infinities are missing: left out under add/remove, the middle
        of the bounds (or 0) under replace-one.
    epsilon : Number
        The privacy budget ε > 0.
    delta : Number, optional
        Accepted where a budget has one; it is not spent.
    bounds : tuple of (Number, Number), optional
        Public (low, high) to which the data are clamped; they may be far too wide at little cost. Without them a range
        is found privately.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget finds a narrower range inside the bounds, where there are records enough (their
        number times ε must reach about 500). False clamps to the bounds.
    population : bool, default False
        Whether the interval is for the mean of the population from which the records were drawn independently, instead
        of the mean of the records.

    Returns
    -------
    Estimate
        `.value` is a float. `.found["clip"]` is the range to which the data were clamped, `.split` the part of ε of
        each step, and `.interval(0.95)` contains the mean of the clamped data (or population).

    Notes
    -----
    Under add/remove the number of records is counted with a twentieth of the budget. It matters little where a range is
    found: the sum is then that of distances from a centre close to the mean. Where none is found, the distances from
    both ends of the bounds are added, each sum with the noise of one (`estimators.sums`); with `clip=False` that is
    all.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.stats.mean([20, 30, 40] * 500, epsilon=1, bounds=(0, 10**6))
    >>> low, high = release.interval(0.95)
    >>> low <= release.value <= high
    True
    """
    if delta is not None:
        check.probability(delta=rational(delta, "delta"))
    steps = Steps.started(epsilon, adjacency)
    (values,), (limits,) = steps.columns([data], [bounds])
    clipped, size = Clip.to_bounds(limits), None
    if clip or bounds is None or is_replace(adjacency):
        size = steps.size(len(values))
        clipped = steps.clip(values, limits, size, clip, is_needed=bounds is None)
    noisy: NoisySum | NoisySides
    bars: MeanBars | SidesBars
    if size is not None and (clipped.is_found or is_replace(adjacency)):
        noisy = steps.sum(clipped.centred(values), clipped.limits)
        value, bars = noisy.value / max(size.value, 1), MeanBars(noisy, size, clipped, population)
    else:
        noisy = steps.sides(clipped.centred(values), clipped.limits)
        value, bars = noisy.mean, SidesBars(noisy, clipped, population)
    return steps.estimate(
        "mean", _inside(Fraction(clipped.centre) + value, clipped.range), noisy, bars=bars,
        found={"clip": clipped.range},
        covers=f"the mean of the {_of(population)}, clamped to the range found['clip']",
    )  # fmt: skip


def variance(
    data: Any,
    *,
    epsilon: Number,
    bounds: tuple[Number, Number] | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    clip: bool = True,
    population: bool = False,
) -> Estimate:
    """Estimate the variance Σ(x − x̄)²/n of numbers, clamped to a range, with ε-DP.

    With c the centre of the range, it is the mean of (x − c)² less the square of the mean of x − c.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person. None, NaN and infinities are missing: left out under add/remove, the middle
        of the bounds (or 0) under replace-one.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) to which the data are clamped; they may be far too wide at little cost. Without them a range
        is found privately.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget finds a narrower range inside the bounds, where there are records enough (their
        number times ε must reach about 500). False clamps to the bounds.
    population : bool, default False
        Whether the interval is for the variance of the population from which the records were drawn independently.

    Returns
    -------
    Estimate
        `.value` is a float, in the square of the unit of the data. `.interval(0.95)` contains the variance of the
        clamped data (or population).

    Examples
    --------
    >>> import dither as dp
    >>> dp.stats.variance([20, 30, 40] * 500, epsilon=1, bounds=(0, 1000)).value >= 0
    True
    """
    return _variance("variance", data, epsilon, bounds, adjacency, clip, population)


def std(
    data: Any,
    *,
    epsilon: Number,
    bounds: tuple[Number, Number] | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    clip: bool = True,
    population: bool = False,
) -> Estimate:
    """Estimate the standard deviation of numbers, clamped to a range, with ε-DP: the root of `variance`.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person. None, NaN and infinities are missing: left out under add/remove, the middle
        of the bounds (or 0) under replace-one.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) to which the data are clamped; they may be far too wide at little cost. Without them a range
        is found privately.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget finds a narrower range inside the bounds, where there are records enough (their
        number times ε must reach about 500). False clamps to the bounds.
    population : bool, default False
        Whether the interval is for the standard deviation of the population from which the records were drawn
        independently.

    Returns
    -------
    Estimate
        `.value` is a float, in the unit of the data. `.interval(0.95)` has the roots of the ends of the variance's.

    Examples
    --------
    >>> import dither as dp
    >>> dp.stats.std([20, 30, 40] * 500, epsilon=1, bounds=(0, 1000)).value >= 0
    True
    """
    return _variance("std", data, epsilon, bounds, adjacency, clip, population)


def _variance(
    name: str,
    data: Any,
    epsilon: Number,
    bounds: tuple[Number, Number] | None,
    adjacency: Adjacency,
    clip: bool,
    population: bool,
) -> Estimate:
    steps = Steps.started(epsilon, adjacency)
    (values,), (limits,) = steps.columns([data], [bounds])
    size = steps.size(len(values))
    clipped = steps.clip(values, limits, size, clip, is_needed=bounds is None)
    size = steps.recount(len(values), size, [clipped])
    centred, (low, high) = clipped.centred(values), clipped.limits
    first = steps.sum(centred, clipped.limits, _for_sums([clipped], adjacency))
    squares = steps.sum(centred**2, (0.0, max(low**2, high**2)), step="squares")
    count = max(size.value, 1)
    value = _inside(squares.value / count - (first.value / count) ** 2, (0.0, (high - low) ** 2 / 4))
    bars = VarianceBars(first, squares, size, clipped, population, is_root=name == "std")
    return steps.estimate(
        name, math.sqrt(value) if name == "std" else value, squares, bars=bars, found={"clip": clipped.range},
        covers=f"the {name} of the {_of(population)}, clamped to the range found['clip']",
    )  # fmt: skip


def covariance(
    x: Any,
    y: Any,
    *,
    epsilon: Number,
    bounds: tuple[tuple[Number, Number] | None, tuple[Number, Number] | None] = (None, None),
    adjacency: Adjacency = ADD_REMOVE,
    clip: bool = True,
) -> Estimate:
    """Estimate the covariance Σ(x − x̄)(y − ȳ)/n of two columns of the same records, with ε-DP.

    Each column is clamped to a range of its own. A record with either entry missing is missing.

    Parameters
    ----------
    x : array or sequence
        The first number of each record.
    y : array or sequence
        The second number of each record, in the same order.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of two tuples, default (None, None)
        Public ((low, high), (low, high)) for x and y; None finds a range privately.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget finds narrower ranges inside the bounds, where there are records enough (their
        number times ε must reach about 1000). False clamps to the bounds.

    Returns
    -------
    Estimate
        `.value` is a float; `.found["clip"]` has both ranges; `.interval(0.95)` contains the covariance of the clamped
        data.

    Examples
    --------
    >>> import dither as dp
    >>> hours = list(range(8)) * 200
    >>> release = dp.stats.covariance(hours, [2 * hour for hour in hours], epsilon=1, bounds=((0, 24), (0, 48)))
    >>> release.guarantee
    PureDP(epsilon=1, adjacency='add or remove one record')
    """
    if len(bounds) != 2:
        raise ParameterError("bounds must be two: ((low, high), (low, high)), each of which may be None.")
    steps = Steps.started(epsilon, adjacency)
    columns, limits = steps.columns([x, y], list(bounds))
    size = steps.size(len(columns[0]))
    clips = [
        steps.clip(values, limit, size, clip, is_needed=bound is None, parts=2)
        for values, limit, bound in zip(columns, limits, bounds, strict=True)
    ]
    size, part = steps.recount(len(columns[0]), size, clips), _for_sums(clips, adjacency)
    centred = [clipped.centred(values) for clipped, values in zip(clips, columns, strict=True)]
    sums = [
        steps.sum(centred[0], clips[0].limits, part / 2, "sum of x"),
        steps.sum(centred[1], clips[1].limits, part / (2 - part), "sum of y"),
    ]
    corners = [a * b for a in clips[0].limits for b in clips[1].limits]
    products = steps.sum(centred[0] * centred[1], (min(corners), max(corners)), step="products")
    count = max(size.value, 1)
    largest = (clips[0].high - clips[0].low) * (clips[1].high - clips[1].low) / 4
    value = _inside(products.value / count - sums[0].value * sums[1].value / count**2, (-largest, largest))
    bars = CovarianceBars((sums[0], sums[1]), products, size, (clips[0], clips[1]))
    return steps.estimate(
        "covariance", value, products, bars=bars, found={"clip": tuple(clipped.range for clipped in clips)},
        covers="the covariance of the data, clamped to the ranges found['clip']",
    )  # fmt: skip


def _for_sums(clips: list[Clip], adjacency: Adjacency) -> Fraction:
    is_centred = is_replace(adjacency) or all(clipped.is_found for clipped in clips)
    return _SUM_OF_REST if is_centred else _SUM_FROM_THE_MIDDLE


def _inside(value: Fraction, limits: Bounds) -> float:
    """What the clamped data cannot have is moved to what they can."""
    return min(max(float(value), limits[0]), limits[1])


def _of(population: bool) -> str:
    return "population" if population else "data"
