"""What a composed law says: δ at an ε, and ε at a δ, from above and from below.

δ(ε) = Σ_{x>ε} P[X = x](1 − e^{ε−x}) + P[X = ∞] is linear in e^ε between lattice points, and its errors are convex
in e^ε. So the chord between two lattice points is exact for the sum and safe for the errors, both ways.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dither.accounting.tilted import UNIT, ComposedLaw
from dither.pairs.pair import FloatArray

__all__ = ["DeltaCurve", "nothing", "read_above", "read_below"]

_FARTHEST = 300.0
_POSITION = 2.0**-49
_LARGEST_LOG = 700.0  # of a scale that floats hold with all their digits
_UNDERFLOW = 64 * 5e-324  # what a few roundings of numbers without all their digits may hide


@dataclass(frozen=True, slots=True, eq=False)
class DeltaCurve:
    """A bound on δ at lattice points: values[n] at first + n·step, decreasing; `above` says which way it errs.

    From below, δ is at least `infinity` everywhere.
    """

    first: float
    step: float
    values: FloatArray
    infinity: float
    above: bool

    def delta(self, epsilon: float) -> float:
        """The bound at any ε; outside the points that were computed, the nearest that still holds."""
        return float(self.deltas(np.array([epsilon]))[0])

    def deltas(self, epsilons: FloatArray) -> FloatArray:
        """The bound at each of many ε."""
        nudge = _POSITION * (abs(self.first) + self.step * len(self.values))  # at least 16u·|ε|, inside
        places = (epsilons + (-nudge if self.above else nudge) - self.first) / self.step
        last = len(self.values) - 1
        index = np.clip(np.floor(places), 0, max(last - 1, 0)).astype(np.int64)
        shares = np.expm1(np.clip(places - index, 0.0, 1.0) * self.step) / math.expm1(self.step)
        low, high = self.values[index], self.values[np.minimum(index + 1, last)]
        inside = (low + shares * (high - low)) * (1 + (8 if self.above else -8) * UNIT)
        before = 1.0 if self.above else self.values[0]
        beyond = self.values[last] if self.above else self.infinity
        found: FloatArray = np.where(places < 0, before, np.where(places >= last, beyond, inside))
        return found

    def epsilon(self, delta: float) -> float:
        """The ε at which the bound falls to `delta`: inf or −inf if that lies outside the points computed."""
        enough = self.values <= delta
        index = int(np.argmax(enough)) if enough.any() else len(self.values)
        if index == len(self.values):
            return math.inf if self.above or self.infinity > delta else self._at(len(self.values) - 1)
        if index == 0:
            return self._at(0) if self.above else -math.inf
        before, after = float(self.values[index - 1]), float(self.values[index])
        share = (before - delta) / (before - after)
        inside = math.log1p(share * math.expm1(self.step))
        nudge = _POSITION * (abs(self.first) + self.step * len(self.values))
        return self._at(index - 1) + inside + (nudge if self.above else -nudge)

    def _at(self, index: int) -> float:
        return self.first + index * self.step


def nothing(*, above: bool) -> DeltaCurve:
    """What is certain without any computation."""
    return DeltaCurve(0.0, 1.0, np.full(1, 1.0 if above else 0.0), 1.0 if above else 0.0, above)


def read_above(composed: ComposedLaw, centre: float) -> DeltaCurve:
    """Upper bounds on δ around `centre`."""
    first, sums, rounding, scale = _sums(composed, centre, above=True)
    with np.errstate(invalid="ignore", over="ignore"):
        noise = composed.spread * _length(composed) * scale
    missing = composed.right * _beyond(composed)
    with np.errstate(invalid="ignore", over="ignore"):
        values = (sums + rounding) * (1 + composed.relative) + noise + missing
    return DeltaCurve(first, composed.step, _capped(values, composed.infinity), 1.0, above=True)


def read_below(composed: ComposedLaw, centre: float) -> DeltaCurve:
    """Lower bounds on δ around `centre`."""
    first, sums, rounding, scale = _sums(composed, centre, above=False)
    noise = composed.spread * _length(composed) * scale
    tilt = composed.tilt
    # max over t ≥ 0 of e^{−λt}(1 − e^{−t}) = λ^λ/(1+λ)^{1+λ}
    peak = math.exp(tilt * math.log(tilt / (1 + tilt))) / (1 + tilt) if tilt > 0 else 1.0
    values = (sums - rounding) * (1 - min(composed.relative, 1.0)) - noise - composed.outside * peak * scale
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    values = np.maximum(np.maximum.accumulate(values[::-1])[::-1], 0.0) * (1 - 8 * UNIT)
    infinity = composed.infinity * (1 - 2.0**-40)
    return DeltaCurve(first, composed.step, values + infinity, infinity, above=False)


def _sums(composed: ComposedLaw, centre: float, *, above: bool) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Σ_{x>ε} P[X = x](1 − e^{ε−x}) at lattice points ε, a bound on its rounding, and e^{log_scale − λε}."""
    step, tilt, size = composed.step, composed.tilt, len(composed.masses)
    reach = _FARTHEST / (1 + tilt)
    begin = min(max(math.floor((centre - reach - composed.first) / step), 0), size - 1)
    end = max(min(math.ceil((centre + _FARTHEST - composed.first) / step), size), begin + 1)
    first = composed.first + begin * step
    falling = _geometric(tilt * (centre - first), -tilt * step, size - begin)
    weighted = composed.masses[begin:] * falling
    twice = weighted * _geometric(centre - first, -step, size - begin)
    tail, scaled = (np.cumsum(values[::-1])[::-1][: end - begin] for values in (weighted, twice))
    scaled = scaled * _geometric(first - centre, step, end - begin)
    scale = _scale(composed.log_scale - tilt * centre, above=above)
    rounding = UNIT * (size + 64 + 8 * (1 + tilt) * (abs(centre) + abs(first) + step * size)) * scale
    with np.errstate(invalid="ignore", over="ignore"):
        sums = scale * np.maximum(tail - scaled, 0.0)
        return first, sums, rounding * (tail + scaled), scale * falling[: end - begin]


def _scale(log: float, *, above: bool) -> float:
    """e^log; where floats lose its digits, the nearest scale on the safe side."""
    if above:
        return math.exp(max(log, -_LARGEST_LOG)) if log <= _LARGEST_LOG else math.inf
    return math.exp(min(log, _LARGEST_LOG)) if log >= -_LARGEST_LOG else 0.0


def _geometric(start: float, ratio: float, count: int) -> FloatArray:
    """e^{start + ratio·n} for n < count, each as the product of two exponentials, the second at most e^{±200}."""
    block = int(max(min(512.0, 200 / abs(ratio)), 1.0)) if ratio else 512
    coarse = np.exp(np.clip(start + ratio * block * np.arange(-(-count // block)), -745.0, 700.0))
    product: FloatArray = coarse[:, None] * np.exp(ratio * np.arange(block))
    flat: FloatArray = product.ravel()
    return flat[:count]


def _length(composed: ComposedLaw) -> float:
    """‖c‖₂ of c(x) = e^{−λ(x−ε)}(1 − e^{ε−x}) over x > ε."""
    most = float(len(composed.masses))
    if composed.tilt > 0:
        most = min(most, 1 / (2 * composed.tilt * composed.step))
    return math.sqrt(most)


def _beyond(composed: ComposedLaw) -> float:
    """e^{log_scale − λR} at the right end R of the window, rounded up as far as its exponent may be off."""
    end = composed.first + (len(composed.masses) - 0.5) * composed.step
    slack = _POSITION * (1 + abs(composed.log_scale) + composed.tilt * abs(end))
    return math.exp(min(composed.log_scale - composed.tilt * end + slack, 709.0))


def _capped(values: FloatArray, infinity: float) -> FloatArray:
    """At most 1, and never 0: an underflow is not privacy. Where no loss reaches, nothing is read from here."""
    lowest = np.minimum.accumulate(np.nan_to_num(values, nan=1.0, posinf=1.0)) * (1 + 8 * UNIT) + _UNDERFLOW
    return np.minimum(lowest + infinity * (1 + 8 * UNIT), 1.0)
