"""Many copies of one law with atoms, composed on a lattice of its own and then carried over to the common one.

Noise on a lattice, on a sample, has atoms that lie on no lattice. They are few, so a lattice of their own may be as
fine as it takes: tests between them give a law that the pair dominates, its atoms are lowered to the lattice, and the
two heaviest of them lie on it. Atoms in one cell are merged before, as post-processing may.

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
from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair
from dither.pairs.subsampled import PoissonAddPair, PoissonRemovePair

__all__ = ["convolved_below", "sampled_atoms", "sampled_below"]

_POSITION = 2.0**-49
_LARGEST_LOG = 700.0
_FEWEST_CELLS = 8
_MOST_ATOMS = 4096
_MOST_POINTS = 1 << 17
_COARSEST, _FINER = 2, 4.0
_UP = 1 + 2.0**-50
_STEPS = 32
_BELOW = 1e-6  # of a step
_MORE = 8
_SMALLEST_TILT = 0.1  # at which a mean is told by a generating function


def convolved_below(one: Sketch, step: float, tilt: float) -> LossLaw | None:
    """A law on a lattice of `step` that all copies of `one` together dominate; None if floats cannot hold it."""
    atoms = one.pair.atoms
    assert atoms is not None, "only laws with atoms need a lattice of their own"
    own = atoms.spacing / max(math.ceil(atoms.spacing / step), _FEWEST_CELLS)
    law = from_below(one.pair, own, one.low, one.high)
    return _recut(compose_laws([(law, one.count)], saddle_at([one], tilt)), step)


def sampled_atoms(pair: Pair, low: float, high: float) -> FloatArray | None:
    """Losses between the atoms of noise on a lattice, on a Poisson sample, about inside [low, high]; else None."""
    if not isinstance(pair, (PoissonAddPair, PoissonRemovePair)) or pair.base.atoms is None or pair.atoms is not None:
        return None
    anchor, spacing = pair.base.atoms
    least, most = (float(end) for end in pair.inner(np.array([low, high])))
    # Where a loss on a sample has no end in the base, as many atoms are enough as there are on the other side.
    least, most = max(least, -abs(most) - _MORE * spacing), min(most, abs(least) + _MORE * spacing)
    if not most - least <= _MOST_ATOMS * spacing:
        return None
    first, last = math.floor((least - anchor) / spacing), math.ceil((most - anchor) / spacing)
    between: FloatArray = anchor + spacing * (np.arange(first - 1, last + 1, dtype=np.float64) + 0.5)
    return np.unique(pair.outer(between))


def sampled_below(one: Sketch, step: float, tilt: float, error: float) -> LossLaw | None:
    """A law on a lattice of `step` that all copies of `one` together dominate, lowered by about `error` in all."""
    tests = sampled_atoms(one.pair, one.low, one.high)
    if tests is None:
        return None
    p, q = _atoms_below(one.pair, tests)
    inside = (p > 0) & (np.log(p / q) <= one.high)
    p, q = p[inside], q[inside]
    if not len(p):
        return None
    saddle = saddle_at([one], tilt)
    reach = saddle.right - saddle.left
    own = max(step / _COARSEST, reach / _MOST_POINTS)
    while True:
        law, lost = _lowered(p, q, own, tilt, float(one.pair.infinity))
        if one.count * lost <= error or reach / own > _MOST_POINTS / _FINER:
            break
        own /= _FINER
    return _recut(compose_laws([(law, one.count)], saddle), step)


def _recut(composed: ComposedLaw, step: float) -> LossLaw | None:
    """What was composed, from below, on a lattice of `step`; None if nothing is left of it."""
    masses = _masses_below(composed)
    kept = np.flatnonzero(masses > 0)
    if not len(kept):
        return None
    first, last = int(kept[0]), int(kept[-1])
    return _carried_over(
        composed.first + first * composed.step, composed.step, masses[first : last + 1], step, composed.infinity
    )


def _atoms_below(pair: Pair, tests: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Masses p and q of a law that `pair` dominates, from the smallest loss p/q on.

    P of each test is rounded down and Q up; the concave hull of these points and of (0, 0) and (1, P[L < ∞]) is a
    trade-off curve below that of the pair, and its edges are the atoms.
    """
    tails = pair.tails(tests)
    error = tails.error + POSITION_ERROR * (1 + np.abs(tests))
    p = np.append(tails.p * (1 - error), 0.0)
    q = np.append(tails.scaled_q * np.exp(np.clip(-tests, -_LARGEST_LOG, _LARGEST_LOG)) * (1 + error) * _UP, 0.0)
    hull = [(1.0, float(1 - pair.infinity) / _UP)]
    for point in zip(q.tolist(), p.tolist(), strict=True):
        if point[0] >= hull[-1][0] or point[1] >= hull[-1][1]:
            continue
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    edges = -np.diff(np.array(hull), axis=0)
    return edges[:, 1] / _UP, edges[:, 0] * _UP


def _is_below(before: tuple[float, float], point: tuple[float, float], after: tuple[float, float]) -> bool:
    """Whether the point lies below the chord of its neighbours; any subset of points gives a curve that holds."""
    return (before[1] - point[1]) * (point[0] - after[0]) >= (point[1] - after[1]) * (before[0] - point[0])


def _lowered(p: FloatArray, q: FloatArray, step: float, tilt: float, infinity: float) -> tuple[LossLaw, float]:
    """The atoms lowered to a lattice, merged where they share a cell, and how much that takes from the ε of each.

    The heaviest atom lies on the lattice, and so does the next one; of several steps for which that is so, a little
    smaller than the one that is given, the best is taken.
    """
    before = _log_mgf(p, q, tilt)
    cells = np.round(np.log(p / q) / step)
    starts = np.flatnonzero(np.diff(cells, prepend=math.nan) != 0)
    p, q = np.add.reduceat(p, starts), np.add.reduceat(q, starts)
    losses = np.log(p / q)
    losses -= _POSITION * (1 + np.abs(losses))
    order = np.argsort(tilt * losses + np.log(p))[::-1]
    anchor = float(losses[order[0]])
    apart = abs(float(losses[order[1]]) - anchor) if len(order) > 1 else step
    fewest = max(math.ceil(apart / step), 1)
    steps = [apart / (fewest + more) for more in range(_STEPS) if apart / (fewest + more) > step / 2]
    found = []
    for own in steps or [step]:
        # A little below the heaviest atom, so that no rounding takes a step from an atom that lies on the lattice.
        start = anchor - _BELOW * own
        places = np.floor((losses - start) / own)
        lowered = np.minimum(start + places * own, losses)
        found.append(
            ((before - _log_mgf(p, p * np.exp(-lowered), tilt)) / max(tilt, _SMALLEST_TILT), own, start, places)
        )
    lost, own, start, places = min(found, key=lambda each: each[0])
    indices = (places - places[0]).astype(np.int64)
    masses = np.zeros(int(indices[-1]) + 1)
    np.add.at(masses, indices, p * (1 - 2.0**-48))
    offset = start + float(places[0]) * own
    offset -= _POSITION * (1 + abs(offset) + own * len(masses))
    return LossLaw(offset, own, masses, infinity * (1 - 2.0**-48)), lost


def _log_mgf(p: FloatArray, q: FloatArray, tilt: float) -> float:
    """ln E[e^{λL}]; near λ = 0 at a small λ instead."""
    exponents = np.log(p) + max(tilt, _SMALLEST_TILT) * np.log(p / q)
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).sum()))


def _masses_below(composed: ComposedLaw) -> FloatArray:
    """P[X = x] at each point, rounded down by every error that it may have."""
    certain = np.maximum(composed.masses - composed.spread - composed.outside, 0.0) * (1 - min(composed.relative, 1.0))
    found: FloatArray = np.zeros(len(certain))
    positive = np.flatnonzero(certain)
    points = composed.first + composed.step * positive
    exponents = composed.log_scale - composed.tilt * points
    slack = _POSITION * (1 + abs(composed.log_scale) + np.abs(composed.tilt * points))
    found[positive] = np.minimum(np.exp(np.minimum(exponents - slack, _LARGEST_LOG)) * certain[positive], 1.0)
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
