"""One pair as a law of losses on a lattice, from above and from below.

Write u = e^ε. The profile δ(u) = E_P[(1 − u·e^{−L})₊] is convex and decreasing in u, and a law with a larger
profile costs more in every composition: for fixed other losses the composed δ is a mixture of such functions
of L. A law with losses ε_i = offset + i·step and survival S_i = P[L ≥ ε_i] has a profile that is linear in u
between lattice points, and S_i = (δ_{i−1} − e^{−h} δ_i)/(1 − e^{−h}) gives one from the other.

* From above (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "connect the dots"): take numbers
  D_i ≥ δ(u_i). The chords between them lie above a convex δ.
* From below: at the middle of each cell the line of the test {L > ℓ} lies below δ everywhere. Take d_i as the
  smaller of the two neighbouring lines at u_i; then the chord of each cell lies below the line of its midpoint, hence
  below δ. No smoothness is needed, and atoms that sit on the lattice are kept exactly.

Both err by a second-order amount: h²/12 and −h²/24 in the mean loss per release. Survival functions are made
monotone by a running maximum or minimum, which only moves them to the safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from dither.pairs.pair import POSITION_ERROR, FloatArray, Pair

__all__ = ["ALIGNMENT", "LossLaw", "convex_below", "convex_law", "dots_below", "from_above", "from_below", "span"]

ALIGNMENT = 2.0**-42
"""How far lattice points stay below atoms in a law from below, relative to 1 + |loss|: above all rounding."""

_SMALLEST = 1e-300  # what an underflow to 0 may hide
_SIZES = np.geomspace(1e-12, 1e9, 64)
_WIDEST = 1200.0  # losses whose exponentials floats hold, around their middle
_LARGEST_LOSS = 700.0  # whose exponential floats hold
_TOLERATED, _NEGLECTED = 2e-3, 2e-4  # of a step
_PLACES = 8
_UP = 1 + 2.0**-49
_DOWN = 1 - 2.0**-49


@dataclass(frozen=True, slots=True, eq=False)
class LossLaw:
    """A loss is offset + i·step with probability weights[i], and ∞ with probability `infinity`.

    Weights are floats taken at face value; they may add up to slightly more (from above) or less than 1.
    """

    offset: float
    step: float
    weights: FloatArray
    infinity: float

    @property
    def losses(self) -> FloatArray:
        """The lattice points, to within an ulp."""
        return _points(self.offset, self.step, len(self.weights))


def from_above(pair: Pair, step: float, low: float, high: float, *, at_zero: bool = False) -> LossLaw:
    """A law on a lattice of `step` that dominates `pair`: mass below `low` is raised, above `high` made infinite.

    The lattice meets the atoms of the pair, or, `at_zero`, has its points at whole steps.
    """
    offset, cells = _lattice(pair, step, low, high, above=True, at_zero=at_zero)
    points = _points(offset, step, cells + 1)
    dots = np.maximum.accumulate(pair.dots(points)[::-1])[::-1]
    if not pair.is_exact:
        dots = convex_below(dots, points, step)
    beyond = float(dots[-1]) + (0.0 if points[-1] >= pair.support[1] else _SMALLEST)
    survival = _survival(np.maximum(dots - beyond, 0.0), step) * _UP
    whole = min(float(1 - pair.infinity) * _UP, 1.0)
    survival[0] = whole
    survival = np.minimum(np.maximum.accumulate(survival[::-1])[::-1], whole)
    infinity = (beyond + float(pair.infinity)) * _UP
    return LossLaw(offset, step, _masses(survival), min(infinity, 1.0))


def convex_below(dots: FloatArray, losses: FloatArray, step: float | None = None) -> FloatArray:
    """The largest convex function of u = e^ℓ below the dots, rounded up: it is above every convex profile below them.

    The smaller of several bounds has bends, from which chords would carry on. The slopes of the largest convex function
    are the isotonic regression of those of the dots, weighted by lengths; added up from the right they are positive.
    With the `step` of a lattice its lengths are right to a few units in the last place of the exponents, and the sums
    too.
    """
    if not losses[-1] - losses[0] < _WIDEST:
        return dots
    u = np.exp(losses - (losses[0] + losses[-1]) / 2)
    lengths = u[1:] * -np.expm1(-np.diff(losses) if step is None else -step)
    if not lengths.min(initial=1.0) > 0:
        return dots
    slopes = scipy.optimize.isotonic_regression(-np.diff(dots) / lengths, weights=lengths, increasing=False).x
    hull = np.append(np.cumsum((np.maximum(slopes, 0.0) * lengths)[::-1])[::-1], 0.0) + dots[-1]
    # Found in floats: where it exceeds a dot, that dot counts; where it may be too low, it is raised.
    rounding = (8 * len(dots) + 64 + 8 * _WIDEST) * 2.0**-53
    raised: FloatArray = np.minimum(hull * (1 + rounding) + _SMALLEST, dots)
    return raised


def from_below(pair: Pair, step: float, low: float, high: float) -> LossLaw:
    """A law on a lattice of `step` that `pair` dominates: mass below `low` is dropped, above `high` lowered.

    Where most mass lies within a step, as on a sample, the lattice should have a point there. Of several places of the
    lattice, each of which has a law that holds, the one with the smallest E[e^{−L}] is taken: that is 1 for the pair
    itself, and grows as losses are lowered.
    """
    pair = pair.shrunk(step)
    best = _from_below(pair, step, low, high, 0.0)
    lost = _lost(best)
    if pair.atoms is None and lost > _TOLERATED * step and math.isfinite(low) and high - low < _WIDEST:
        for place in range(1, _PLACES):
            other = _from_below(pair, step, low, high, place / _PLACES * step)
            if _lost(other) < lost:
                best, lost = other, _lost(other)
            if lost <= _NEGLECTED * step:
                break
    return best


def _lost(law: LossLaw) -> float:
    """E[e^{−L}] − 1, and what is missing of the mass: roughly by how much the losses are lower than they should be."""
    return float(np.sum(law.weights * np.exp(np.minimum(-law.losses, _LARGEST_LOSS)))) - float(np.sum(law.weights))


def _from_below(pair: Pair, step: float, low: float, high: float, place: float) -> LossLaw:
    offset, cells = _lattice(pair, step, low, high, above=False)
    if place:
        offset, cells = offset + place - step, cells + 1
    before = np.full(cells + 1, step / 2)
    before[-1] = 0.0  # the last line must not fall below 0 before its cell ends: its test is {L > ε_N}
    points = _points(offset, step, cells + 1)
    tests = points - before
    tails = pair.tails(tests)
    error = tails.error + POSITION_ERROR * (1 + np.abs(tests))
    p, q = tails.p * (1 - error), tails.scaled_q * (1 + error)
    infinity = float(pair.infinity) * _DOWN
    dots = dots_below(p, q, before, step, points, infinity)
    survival = _survival(dots, step) * _DOWN
    survival[0] = p[0]
    falling = np.minimum.accumulate(survival)
    if pair.atoms is None or np.array_equal(falling, survival):
        return LossLaw(offset, step, _masses(falling), infinity)
    # Atoms between lattice points: a running minimum would carry what each of them loses to all points before.
    return convex_law(offset, step, dots, float(p[0]), infinity)


def dots_below(
    p: FloatArray, q: FloatArray, before: FloatArray, step: float, points: FloatArray, infinity: float
) -> FloatArray:
    """Numbers d_i with chords below the lines of tests, one `before` each of the lattice `points`.

    `p` is P of a test, and `q` is Q of it, scaled to the loss at which it is done. The test that holds always has the
    line 1 − u, less the `infinity` that is counted elsewhere. It is known to all digits, where p − q of nearly all mass
    is not: a law narrower than a step would lose the point at 0, and its mass go one step down.
    """
    # Line j belongs to the cell that ends at u_j. At u_j: the line of this cell and that of the next one.
    ends, starts = p - np.exp(before) * q, p - np.exp(before - step) * q
    whole, whole_before = _line_of_all(points, infinity), _line_of_all(points - step, infinity)
    is_all = whole + whole_before > ends + starts
    ends, starts = np.where(is_all, whole, ends), np.where(is_all, whole_before, starts)
    dots = np.minimum(ends[:-1], starts[1:])
    dots = np.append(dots, min(float(ends[-1]), 0.0))
    dots = np.minimum.accumulate(dots)
    # Where a chord would have to end below 0, it must end at 0 one point earlier.
    positive = int(np.searchsorted(-dots, 0.0))  # the first index with dots ≤ 0
    if positive < len(dots) and dots[positive] < 0:
        positive -= 1
    dots[max(positive, 0) :] = 0.0
    return dots


def _line_of_all(points: FloatArray, infinity: float) -> FloatArray:
    """1 − u − `infinity` at each of the `points`, rounded down; these are off by an ulp of the largest of them."""
    inside = np.minimum(points, _LARGEST_LOSS)
    rounding = 2.0**-50 * (1 + float(np.abs(points).max()))
    line: FloatArray = -np.expm1(inside) - infinity - rounding * (np.exp(inside) + infinity)
    return line


def convex_law(offset: float, step: float, dots: FloatArray, whole: float, infinity: float) -> LossLaw:
    """The largest law whose profile is at most `dots` at the lattice points, and `whole` at u = 0.

    A law has a convex profile, with slopes −T_i = −Q[L ≥ ε_i] in the cells, and S_i = δ_i + u_i·T_i. The largest convex
    function below some points has as slopes the isotonic regression of theirs, weighted by the lengths of the cells
    (Barlow, Bartholomew, Bremner and Brunk 1972). It is found in floats, so it is checked: by what it exceeds a dot, in
    relation to that dot and with the rounding of the sum, all of it is made smaller.
    """
    u = np.exp(step * (np.arange(len(dots)) - len(dots) / 2))
    lengths = u * -math.expm1(-step)
    lengths[0] = u[0]
    slopes = -np.diff(dots, prepend=whole) / lengths
    slopes = scipy.optimize.isotonic_regression(slopes, weights=lengths, increasing=False).x
    slopes = np.maximum(slopes, 0.0)
    after = np.append(np.cumsum((slopes * lengths)[::-1])[::-1], 0.0)
    limits = np.append(whole, dots)
    if not step * len(dots) < _WIDEST or (after[limits <= 0] > 0).any():
        return LossLaw(offset, step, np.zeros(len(dots)), infinity)
    excess = float(np.max(after[limits > 0] / limits[limits > 0], initial=1.0))
    survival = (after[1:] + u * slopes) / (excess * (1 + (2 * len(dots) + 64) * 2.0**-53))
    return LossLaw(offset, step, _masses(np.minimum.accumulate(survival)), infinity)


def _lattice(
    pair: Pair, step: float, low: float, high: float, *, above: bool, at_zero: bool = False
) -> tuple[float, int]:
    """Offset and number of cells of a lattice that covers [low, high] and keeps the right side of the atoms."""
    low, high = max(low, pair.support[0]), min(high, pair.support[1])
    slack = ALIGNMENT * (1 + max(abs(low), abs(high)))
    atoms = pair.atoms
    # A law narrower than a step has its atoms on one side of the point at 0 or on the other: E_P[e^{−L}] = 1.
    anchor = 0.0 if atoms is None or (atoms.spacing < step and not above) else atoms.anchor
    anchor += slack if above else -slack
    if at_zero:
        anchor = 0.0
    first = math.floor((low - anchor + 2 * slack) / step)
    last = math.ceil((high - anchor - 2 * slack) / step)
    return anchor + first * step, max(last - first, 1)


def _points(offset: float, step: float, count: int) -> FloatArray:
    points: FloatArray = offset + step * np.arange(count, dtype=np.float64)
    return points


def _survival(dots: FloatArray, step: float) -> FloatArray:
    """S_i = δ_i + (δ_{i−1} − δ_i)/(1 − e^{−h}) from δ_i ≥ δ_{i+1} ≥ 0, to a few ulp; S_0 is for the caller."""
    survival = dots.copy()
    survival[1:] += (dots[:-1] - dots[1:]) / -math.expm1(-step)
    return survival


def _masses(survival: FloatArray) -> FloatArray:
    masses = survival.copy()
    masses[:-1] -= survival[1:]
    return masses


def span(pair: Pair, left: float, right: float) -> tuple[float, float]:
    """Losses low < high with P[L < low] ≤ about `left` and P[high < L < ∞] ≤ about `right`.

    Found by bisection on floats: a poor answer costs width, never validity.
    """
    least, largest = pair.support
    low, high = least, largest
    finite = float(1 - pair.infinity)
    is_low, is_high = _ends_in_atoms(pair, finite - left, right)
    if not is_low:
        low = max(_crossing(pair, finite - left)[0], least)
        if not pair.is_exact:  # there δ(ℓ) stands for P[L > ℓ], and is near 1 far below only: what lies there tells δ
            low = max(low, -_crossing(pair.swapped(), left)[1])  # of the other direction
    if not is_high:
        high = min(_crossing(pair, right)[1], largest)
    return low, max(high, math.nextafter(low, math.inf))


def _ends_in_atoms(pair: Pair, upper: float, lower: float) -> tuple[bool, bool]:
    """Whether P[L > ℓ] falls below `upper` at the very smallest loss already, and below `lower` only at the largest."""
    least, largest = pair.support
    if not (math.isfinite(least) and math.isfinite(largest)):
        return False, False
    inside = 1e-9 * (largest - least)
    p = pair.tails(np.array([least + inside, largest - inside])).p
    return bool(p[0] < upper), bool(p[1] > lower)


def _crossing(pair: Pair, level: float) -> tuple[float, float]:
    """Two losses close together, between which P[L > ℓ] falls below `level`."""
    edges = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])
    for _ in range(4):
        # Where only bounds are known, those from above say how far the losses may reach.
        beyond = pair.tails(edges).p if pair.is_exact else pair.dots(edges)
        index = int(np.searchsorted(-beyond, -level, side="right"))
        index = min(max(index, 1), len(edges) - 1)
        edges = np.linspace(edges[index - 1], edges[index], 33)
    return float(edges[0]), float(edges[-1])
