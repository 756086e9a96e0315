"""Where data without bounds lie: the octave of their magnitude, by selection among all octaves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dither.adjacency import Adjacency
from dither.estimators.answer import Spent
from dither.estimators.ranks import quantile_sensitivity, quantile_target
from dither.estimators.records import Bounds, Floats
from dither.mechanisms import Exponential

__all__ = ["found_bounds"]

_OCTAVES = np.arange(-370, 370)
_RANK = Fraction(3, 4)
_ROOM = 10


def found_bounds(values: Floats, adjacency: Adjacency, epsilon: Fraction, spent: Spent) -> Bounds:
    """±2^{k+10}, where 2^k is about the third quartile of |x|: bounds that were found with `epsilon`, and no δ.

    The exponential mechanism among all octaves k by the score of `ranks`, in which a record of octave k counts neither
    as above nor as below 2^k. There are 740 octaves, so that it costs ln 740 = 6.6 scales of rank to know nothing.
    """
    exponents = np.where(values == 0, _OCTAVES[0], np.frexp(values)[1])
    octave = np.sort(np.clip(exponents, _OCTAVES[0], _OCTAVES[-1]))
    target = quantile_target(_RANK, len(values))
    above = target.units * (len(values) - np.searchsorted(octave, _OCTAVES, side="right")) - target.above
    below = target.units * np.searchsorted(octave, _OCTAVES, side="left") - target.below
    mechanism = Exponential(
        sensitivity=quantile_sensitivity(_RANK, adjacency), epsilon=epsilon, candidates=len(_OCTAVES),
        adjacency=adjacency,
    )  # fmt: skip
    chosen = mechanism.release(-np.maximum(np.maximum(above, below), 0))
    spent.record("range", epsilon, chosen.event)
    high = float(np.ldexp(1.0, int(_OCTAVES[chosen.value]) + _ROOM))
    return -high, high
