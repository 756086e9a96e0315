"""What a composed law says: δ at an ε, and ε at a δ, from above and from below.

δ(ε) = Σ_{x>ε} P[X = x](1 − e^{ε−x}) + P[X = ∞] is linear in e^ε between lattice points, and its errors are convex
in e^ε. So the chord between two lattice points is exact for the sum and safe for the errors, both ways.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dither.accounting.tilted import UNIT, Composed
from dither.measures.pairs import FloatArray

__all__ = ["Reading", "read_above", "read_below"]

_FARTHEST = 300.0
_POSITION = 2.0**-49


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A bound on δ at lattice points: values[n] at first + n·step, decreasing; `above` says which way it errs."""

    first: float
    step: float
    values: FloatArray
    above: bool

    def delta(self, epsilon: float) -> float:
        """The bound at any ε; outside the points that were computed, the nearest that still holds."""
        nudge = _POSITION * (abs(self.first) + self.step * len(self.values) + abs(epsilon))
        place = (epsilon + (-nudge if self.above else nudge) - self.first) / self.step
        last = len(self.values) - 1
        if place < 0:
            return 1.0 if self.above else float(self.values[0])
        if place >= last:
            return float(self.values[last]) if self.above else 0.0
        index = math.floor(place)
        share = math.expm1((place - index) * self.step) / math.expm1(self.step)
        low, high = float(self.values[index]), float(self.values[index + 1])
        value = low + share * (high - low)
        return value * (1 + 8 * UNIT) if self.above else value * (1 - 8 * UNIT)

    def epsilon(self, delta: float) -> float:
        """The ε at which the bound falls to `delta`: inf or −inf if that lies outside the points computed."""
        enough = self.values <= delta
        index = int(np.argmax(enough)) if enough.any() else len(self.values)
        if index == len(self.values):
            return math.inf if self.above else self._at(len(self.values) - 1)
        if index == 0:
            return self._at(0) if self.above else -math.inf
        before, after = float(self.values[index - 1]), float(self.values[index])
        share = (before - delta) / (before - after)
        inside = math.log1p(share * math.expm1(self.step))
        nudge = _POSITION * (abs(self.first) + self.step * len(self.values))
        return self._at(index - 1) + inside + (nudge if self.above else -nudge)

    def _at(self, index: int) -> float:
        return self.first + index * self.step


def read_above(composed: Composed, centre: float) -> Reading:
    """Upper bounds on δ around `centre`."""
    first, sums, rounding, scale = _sums(composed, centre)
    noise = composed.spread * _length(composed) * scale
    missing = composed.right * scale[-1]
    values = (sums + rounding) * (1 + composed.relative) + noise + missing
    return Reading(first, composed.step, _capped(values, composed.infinity), above=True)


def read_below(composed: Composed, centre: float) -> Reading:
    """Lower bounds on δ around `centre`."""
    first, sums, rounding, scale = _sums(composed, centre)
    noise = composed.spread * _length(composed) * scale
    tilt = composed.tilt
    # max over t ≥ 0 of e^{−λt}(1 − e^{−t}) = λ^λ/(1+λ)^{1+λ}
    peak = math.exp(tilt * math.log(tilt / (1 + tilt))) / (1 + tilt) if tilt > 0 else 1.0
    values = (sums - rounding) * (1 - min(composed.relative, 1.0)) - noise - composed.outside * peak * scale
    values = np.maximum(np.maximum.accumulate(values[::-1])[::-1], 0.0) * (1 - 8 * UNIT)
    kept = max(1 - composed.infinity, 0.0)
    return Reading(first, composed.step, (1 - kept) + values if composed.infinity else values, above=False)


def _sums(composed: Composed, centre: float) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Σ_{x>ε} P[X = x](1 − e^{ε−x}) at lattice points ε, a bound on its rounding, and e^{log_scale − λε}."""
    step, tilt = composed.step, composed.tilt
    reach = _FARTHEST / (1 + tilt)
    begin = min(max(math.floor((centre - reach - composed.first) / step), 0), len(composed.masses) - 1)
    masses = composed.masses[begin:]
    first = composed.first + begin * step
    steps = step * np.arange(len(masses))
    reference = centre - first
    weighted = masses * np.exp(np.clip(-tilt * (steps - reference), -700, 700))
    twice = weighted * np.exp(np.clip(-(steps - reference), -700, 700))
    tail, scaled = (np.cumsum(values[::-1])[::-1] for values in (weighted, twice))
    growth = np.exp(np.clip(steps - reference, -700, 700))
    sums = np.maximum(tail - growth * scaled, 0.0)
    scale = math.exp(min(max(composed.log_scale - tilt * centre, -745.0), 709.0))
    rounding = UNIT * (len(masses) + 32 + 8 * tilt * (abs(centre) + step * len(masses))) * (tail + growth * scaled)
    there = scale * np.exp(np.clip(-tilt * (steps - reference), -700, 700))
    return first, scale * sums, scale * rounding, there


def _length(composed: Composed) -> float:
    """‖c‖₂ of c(x) = e^{−λ(x−ε)}(1 − e^{ε−x}) over x > ε."""
    most = float(len(composed.masses))
    if composed.tilt > 0:
        most = min(most, 1 / (2 * composed.tilt * composed.step))
    return math.sqrt(most)


def _capped(values: FloatArray, infinity: float) -> FloatArray:
    lowest = np.minimum.accumulate(values) * (1 + 8 * UNIT)
    return np.minimum(lowest + infinity * (1 + 8 * UNIT), 1.0)
