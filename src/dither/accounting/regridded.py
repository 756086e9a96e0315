"""Many copies of one law with atoms, composed on a lattice of its own and then carried over to the common one.

Two Laplace laws have their atoms at ±ε₀ and ±ε₁, and no lattice meets all four. A law from below whose atoms lie off
the lattice must shrink, by a share of first order in the step and once per copy. So the copies are composed first, on a
lattice that meets their atoms; the sum has so many small atoms that carrying it over costs an amount of second order,
once.

Everything here errs to the lower side. A law that lacks some mass has a smaller profile δ(ε) = Σ P[X = x](1 − e^{ε−x})₊
and so has every composition with it: from each mass all that the transform may be off by, and all that may have come
around the circle, is taken away. What is left is taken at face value.
"""

from __future__ import annotations

import math

import numpy as np

from dither.accounting.loss_law import ALIGNMENT, LossLaw, convex_law, dots_below, from_below
from dither.accounting.saddle import Sketch, saddle_at
from dither.accounting.tilted import UNIT, ComposedLaw, compose_laws
from dither.pairs.pair import FloatArray

__all__ = ["convolved_below"]

_POSITION = 2.0**-49
_LARGEST_LOG = 700.0
_FEWEST_CELLS = 8


def convolved_below(one: Sketch, step: float, tilt: float) -> LossLaw | None:
    """A law on a lattice of `step` that all copies of `one` together dominate; None if floats cannot hold it."""
    atoms = one.pair.atoms
    assert atoms is not None, "only laws with atoms need a lattice of their own"
    own = atoms.spacing / max(math.ceil(atoms.spacing / step), _FEWEST_CELLS)
    composed = compose_laws([(from_below(one.pair, own, one.low, one.high), one.count)], saddle_at([one], tilt))
    masses = _masses_below(composed)
    kept = np.flatnonzero(masses > 0)
    if not len(kept):
        return None
    first, last = int(kept[0]), int(kept[-1])
    return _carried_over(
        composed.first + first * composed.step, composed.step, masses[first : last + 1], step, composed.infinity
    )


def _masses_below(composed: ComposedLaw) -> FloatArray:
    """P[X = x] at each point, rounded down by every error that it may have."""
    points = composed.first + composed.step * np.arange(len(composed.masses))
    exponents = composed.log_scale - composed.tilt * points
    slack = _POSITION * (1 + abs(composed.log_scale) + np.abs(composed.tilt * points))
    certain = np.maximum(composed.masses - composed.spread - composed.outside, 0.0) * (1 - min(composed.relative, 1.0))
    found: FloatArray = np.minimum(np.exp(np.minimum(exponents - slack, _LARGEST_LOG)) * certain, 1.0)
    return found


def _carried_over(first: float, own: float, masses: FloatArray, step: float, infinity: float) -> LossLaw | None:
    """The law with `masses` at first, first + own, …, on a lattice of `step`: from the tests {X > ℓ} of `loss_law`.

    That lattice has a point just below 0: E_P[e^{−X}] = 1, so a law that is narrower than a step has all its mass near
    there.
    Positions are off by a few ulp of the largest loss, which moves e^{ℓ−x} by no more than that.
    """
    count = len(masses)
    last = first + own * (count - 1)
    lowest = math.floor(first / step)
    cells = max(math.ceil(last / step) - lowest, 1) + 1
    offset = lowest * step - ALIGNMENT * (1 + max(abs(first), abs(last)))
    before = np.full(cells + 1, step / 2)
    before[-1] = 0.0
    points: FloatArray = offset + step * np.arange(cells + 1, dtype=np.float64)
    tests = points - before
    places = np.clip(np.floor((tests - first) / own).astype(np.intp) + 1, 0, count)
    places[-1] = count  # nothing lies beyond the last loss
    distances = own * np.arange(count)
    beyond_p = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond_q = np.append(np.cumsum((masses * np.exp(distances[-1] - distances))[::-1])[::-1], 0.0)
        error = UNIT * (4 * count + 64) + 2.0**-48 * (abs(first) + abs(last) + 1)
        p = beyond_p[places] * (1 - error)
        q = np.exp(tests - last) * beyond_q[places] * (1 + error)
    if not (np.isfinite(q).all() and p[0] > 0):
        return None
    return convex_law(
        offset, step, dots_below(p, q, before, step, points, infinity), float(p[0]), infinity * (1 - 2.0**-40)
    )
