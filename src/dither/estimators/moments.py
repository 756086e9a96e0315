"""Sum, mean, variance, standard deviation and covariance of arrays, ε-DP.

The records are added up by public cells (`binned`), the range to which they are clamped is chosen from noisy counts of
these (`range_search`), and Laplace noise is added to exact sums (`sums`). With `clip=False` the range is the bounds,
and all of the budget goes to the sums. Without bounds there is no answer if too few records are seen: no δ is needed.
`Estimate.found["clip"]` says which range it was, `found["outside"]` how many records seem to lie outside it, and
`Estimate.split` where the budget went.

**What the interval contains** is the statistic of the clamped data: of the data themselves if nothing lies outside the
range, as with `clip=False`. With `population=True` it is for the statistic of the clamped population from which the
records were drawn independently, by a normal law for what sampling adds (`moment_bars`).

Missing entries: see `records`. Each record counts with 32 binary digits: intervals of means and variances have room for
that, and those of sums where the number of records is public. Else the interval is that of the sum of rounded records,
which is beyond the noise of the sum only where records times ε are some 10⁹ or more.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import ParameterError
from dither.estimators.answer import Estimate
from dither.estimators.moment_bars import (
    Clip,
    CovarianceBars,
    MeanBars,
    ReplacedVarianceBars,
    SumBars,
    VarianceBars,
)
from dither.estimators.moment_steps import Steps
from dither.estimators.records import is_replace
from dither.estimators.sums import (
    NoisyPlaces,
    NoisySquares,
    NoisyVariance,
    released_places,
    released_squares,
    released_total,
    released_variance,
)
from dither.exact import Number, check, rational

__all__ = ["covariance", "mean", "std", "sum", "variance"]

_SPREAD_OF_REST = Fraction(1, 5)
"""For the variance that the interval of a population's mean needs where n is public."""

_SUM_OF_REST = Fraction(1, 3)
"""Of what is left for a covariance, the part for both means; the rest is for products."""


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
        is found privately, and there is no answer if the data are too few for that: about 500/ε records do
        (twice as many under replace-one).
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget chooses a narrower range inside the bounds, where noisy counts show that it pays.
        False clamps to the bounds and spends all on the answer: right for tight bounds, and where a few records far
        from the others matter.

    Returns
    -------
    Estimate
        `.value` is a float, or a `dp.NoAnswer`. `.found["clip"]` is the range to which the data were clamped,
        `.found["outside"]` how many records seem to lie outside it if one was chosen, `.split` the part of ε of each
        step, and `.interval(0.95)` contains the sum of the clamped data, under add/remove with 32 binary digits each.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.stats.sum([1.5] * 1000, epsilon=1, bounds=(0, 10))
    >>> release.found["clip"][1] <= 10, sorted(release.split)
    (True, ['look', 'sum'])
    """
    steps = Steps.started(epsilon, adjacency)
    values, limits = steps.column(data, bounds)
    found = steps.found(values, limits, "sum", clip)
    if found is None:
        return steps.refused("sum")
    bins, totals = found.binned.bins, found.binned.totals(found.reach)
    ends, anchor = bins.ends(found.reach), Fraction(bins.anchor)
    rounded, said = 0, ", and each rounded to 32 binary digits"
    if is_replace(adjacency):
        # From the lower end: so far one record can be moved.
        total, largest, offset = totals.first, ends[1] - ends[0], anchor * totals.count
        rounded, said = totals.count, ""
    else:
        total, offset = totals.first + anchor * totals.count, Fraction(0)
        largest = max(abs(anchor + end) for end in ends)
    noisy = released_total(total, largest, adjacency, steps.rest, steps.spent)
    return steps.estimate(
        "sum", float(noisy.value + offset), noisy.released.mechanism, found, Clip(bins, found.reach),
        bars=SumBars(noisy, offset, rounded), covers=f"the sum of the data, clamped to the range found['clip']{said}",
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
        is found privately, and there is no answer if the data are too few for that: about 500/ε records do
        (twice as many under replace-one).
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget chooses a narrower range inside the bounds, where noisy counts show that it pays.
        False clamps to the bounds and spends all on the answer: right for tight bounds, and where a few records far
        from the others matter.
    population : bool, default False
        Whether the interval is for the mean of the population from which the records were drawn independently, instead
        of the mean of the records.

    Returns
    -------
    Estimate
        `.value` is a float, or a `dp.NoAnswer`. `.found["clip"]` is the range to which the data were clamped,
        `.found["outside"]` how many records seem to lie outside it if one was chosen, `.split` the part of ε of each
        step, and `.interval(0.95)` contains the mean of the clamped data (or population).

    Notes
    -----
    The sums of the distances from both ends of the range are released, each with the noise of one; together they tell
    how many records there are (`estimators.sums`). The interval inverts the exact law of their noise.

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
    values, limits = steps.column(data, bounds)
    found = steps.found(values, limits, "mean", clip)
    if found is None:
        return steps.refused("mean")
    placed, clipped = steps.placed(found)
    noisy: NoisyPlaces | NoisySquares
    spread = None
    if population and is_replace(adjacency):
        spread = released_variance(placed, adjacency, steps.rest * _SPREAD_OF_REST, steps.spent)
    if population and not is_replace(adjacency):
        noisy = released_squares(placed, adjacency, steps.rest, steps.spent)
    else:
        noisy = released_places(placed, adjacency, steps.rest, steps.spent)
    return steps.estimate(
        "mean", clipped.at(noisy.mean), noisy.released.mechanism, found, clipped,
        bars=MeanBars(noisy, clipped, population, spread),
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

    With w the place of a record in the range, 0 to 1, it follows from Σw², Σ2w(1 − w) and Σ(1 − w)², each with the
    noise of one sum. Under replace-one the variance itself gets noise.

    Parameters
    ----------
    data : array or sequence
        The records, one number per person. None, NaN and infinities are missing: left out under add/remove, the middle
        of the bounds (or 0) under replace-one.
    epsilon : Number
        The privacy budget ε > 0.
    bounds : tuple of (Number, Number), optional
        Public (low, high) to which the data are clamped; they may be far too wide at little cost. Without them a range
        is found privately, and there is no answer if the data are too few for that: about 500/ε records do
        (twice as many under replace-one).
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget chooses a narrower range inside the bounds, where noisy counts show that it pays.
        False clamps to the bounds and spends all on the answer: right for tight bounds, and where a few records far
        from the others matter.
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
        is found privately, and there is no answer if the data are too few for that: about 500/ε records do
        (twice as many under replace-one).
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.
    clip : bool, default True
        Whether a part of the budget chooses a narrower range inside the bounds, where noisy counts show that it pays.
        False clamps to the bounds and spends all on the answer: right for tight bounds, and where a few records far
        from the others matter.
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
    values, limits = steps.column(data, bounds)
    found = steps.found(values, limits, "variance", clip)
    if found is None:
        return steps.refused(name)
    placed, clipped = steps.placed(found)
    noisy: NoisySquares | NoisyVariance
    bars: VarianceBars | ReplacedVarianceBars
    if is_replace(adjacency):
        noisy = released_variance(placed, adjacency, steps.rest, steps.spent)
        place, bars = noisy.value, ReplacedVarianceBars(noisy, clipped, population, name == "std")
    else:
        noisy = released_squares(placed, adjacency, steps.rest, steps.spent)
        place, bars = noisy.variance, VarianceBars(noisy, clipped, population, name == "std")
    value = float(place * clipped.width**2)
    return steps.estimate(
        name, math.sqrt(value) if name == "std" else value, noisy.released.mechanism, found, clipped, bars=bars,
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
        Whether a part of the budget chooses narrower ranges inside the bounds, where noisy counts show that it pays.
        False clamps to the bounds.

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
    columns, limits = steps.pair(x, y, bounds)
    ranges = []
    for values, limit in zip(columns, limits, strict=True):
        found = steps.found(values, limit, "mean", clip, Fraction(1, 2))
        if found is None:
            return steps.refused("covariance")
        ranges.append(found.binned.bins.shown(found.reach))
    size = steps.size(len(columns[0]))
    middles = [low / 2 + high / 2 for low, high in ranges]
    widths = [(low - middle, high - middle) for (low, high), middle in zip(ranges, middles, strict=True)]
    centred = [
        np.clip(values, low, high) - middle
        for values, (low, high), middle in zip(columns, ranges, middles, strict=True)
    ]
    sums = (
        steps.sum(centred[0], widths[0], _SUM_OF_REST / 2, "sum of x"),
        steps.sum(centred[1], widths[1], _SUM_OF_REST / (2 - _SUM_OF_REST), "sum of y"),
    )
    corners = [a * b for a in widths[0] for b in widths[1]]
    products = steps.sum(centred[0] * centred[1], (min(corners), max(corners)), step="products")
    count = max(size.value, 1)
    largest = (widths[0][1] - widths[0][0]) * (widths[1][1] - widths[1][0]) / 4
    value = products.value / count - sums[0].value * sums[1].value / count**2
    return steps.spent.estimate(
        "covariance", min(max(float(value), -largest), largest), products.released.mechanism,
        bars=CovarianceBars(sums, products, size, (widths[0], widths[1])), found={"clip": tuple(ranges)},
        covers="the covariance of the data, clamped to the ranges found['clip']",
    )  # fmt: skip


def _of(population: bool) -> str:
    return "population" if population else "data"
