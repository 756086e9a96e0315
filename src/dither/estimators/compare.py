"""The competing medians of claim C17, side by side."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import REPLACE_ONE
from dither.estimators.quantiles import median
from dither.estimators.records import checked_bounds, present
from dither.estimators.unbounded import unbounded_median
from dither.exact import Number
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.released import Release
from dither.mechanisms.smooth_sensitivity import SmoothSensitivity
from dither.sensitivity import Median

__all__ = ["compare"]


def compare(data: Any, *, epsilon: Number, delta: Number, bounds: tuple[Number, Number]) -> dict[str, Release]:
    """Estimate the median by each of four mechanisms, to compare them (claim C17); each spends ε.

    It is meant for data that may be seen, such as simulated ones: together the four cost four times ε. Neighbours
    replace one record.

    Parameters
    ----------
    data : array or sequence
        The records, one number each.
    epsilon : Number
        The privacy budget ε > 0 of each mechanism.
    delta : Number
        The budget δ of "tested".
    bounds : tuple of (Number, Number)
        Public (low, high) to which the data are clamped.

    Returns
    -------
    dict of str to Release
        A release for each of:

        * "global": Laplace noise for the global sensitivity, the width of the bounds (claims C2 and C17);
        * "smooth": noise for the smooth sensitivity (claim C19);
        * "tested": propose-test-release at a scale that is found privately, with δ and without the bounds (claim C21);
          it may have no answer;
        * "exponential": the exponential mechanism on the interval (claim C12), which is `median`.

    Examples
    --------
    >>> import dither as dp
    >>> four = dp.stats.compare(range(1001), epsilon=1, delta=1e-6, bounds=(0, 10**6))
    >>> sorted(four), abs(four["exponential"].value - 500) < 200
    (['exponential', 'global', 'smooth', 'tested'], True)
    """
    limits = checked_bounds(bounds)
    values = present(data, REPLACE_ONE, limits)
    width = Laplace(sensitivity=Fraction(limits[1]) - Fraction(limits[0]), epsilon=epsilon, adjacency=REPLACE_ONE)
    smooth = SmoothSensitivity(Median(bounds=limits, adjacency=REPLACE_ONE), epsilon=epsilon)
    return {
        "global": width.release(float(np.median(values))),
        "smooth": smooth.release(values),
        "tested": unbounded_median(values, epsilon=epsilon, delta=delta, adjacency=REPLACE_ONE),
        "exponential": median(values, epsilon=epsilon, bounds=limits, adjacency=REPLACE_ONE),
    }
