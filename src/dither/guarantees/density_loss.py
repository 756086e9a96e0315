"""The privacy loss of two densities, by quadrature with an error that is stated and checked.

An integral is taken by the rule of Gauss and Legendre with 15 points on each panel, and again on its halves; a panel
on which both differ is halved, and all differences that remain are added up as the error. Panels that were found for
the mass of both laws are those with which every later integral begins, so what one law hides in a narrow place is not
missed by the others. Where more than 1,024 panels differ at once, the density is rough by its own rounding, as one in
float32 is: they are not halved, and their differences count as error. Each δ(ε) is computed twice, as the integral of
(p − e^ε q)₊ and as P(E) − e^ε Q(E) of the bad set E, and what they differ by counts as error too. A density must
integrate to 1 within its error.

The bad set is looked for at all points of these panels and at the peaks and dips of the loss between them, and its
ends are found by halving. A part of it in which no point lies, and which makes no peak among its neighbours, is missed
by all answers, and no error is stated for that: its probability is then in neither δ(ε) nor Pr[L > ε].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import Number, check, once, rational
from dither.guarantees.loss import BadSet, Loss, LossTails, level_of

__all__ = ["Density", "DensityLoss", "MappedInterval"]

FloatArray: TypeAlias = NDArray[np.float64]
LogDensity: TypeAlias = Callable[[FloatArray], FloatArray]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(15)
_PANELS = 256
_NARROWEST = 2.0**-42  # of t: points stay apart from the ends, where a density may be infinite
_BISECTIONS = 50
_PANEL_ERROR = 1e-16
_ROUNDING = 1e-14
_MASS_ERROR = 1e-6
"""A density that integrates to less or more than 1 by this, and by more than the error of the integral, is refused."""
_STEEPEST = 60.0
_SAME_LOSS = 1e-12  # losses are differences of logarithms in floats, and not told apart below this
_GOLDEN = (math.sqrt(5) - 1) / 2
_NARROWINGS = 40
_FAR, _FARTHER = 500.0, 100.0  # ln of a density
_APPROACHES, _LATE = 50, 30
_FLAT = 1e-8
_DISTANCES = (2.0**-6, 2.0**-20, 2.0**-34)
_POLE, _STILL = 1e-5, 0.05
_MOST_PANELS = 1024
_LEVELS = [float(level) for level in range(-30, 31, 2)]
_STEPS = 28


@dataclass(frozen=True)
class MappedInterval:
    """An interval as the image of −1 < t < 1: y = centre + width·t/(1 − t²) on the line, with half-lines beside it."""

    low: float
    high: float
    centre: float = 0.0
    width: float = 1.0

    def place(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """y(t) and dy/dt."""
        if math.isfinite(self.low) and math.isfinite(self.high):
            half = (self.high - self.low) / 2
            return self.low + half * (1 + t), np.full_like(t, half)
        if math.isfinite(self.low):
            return self.low + self.width * (1 + t) / (1 - t), 2 * self.width / (1 - t) ** 2
        if math.isfinite(self.high):
            return self.high - self.width * (1 - t) / (1 + t), 2 * self.width / (1 + t) ** 2
        inner = (1 - t) * (1 + t)
        return self.centre + self.width * t / inner, self.width * (1 + t * t) / inner**2


class Integral(NamedTuple):
    """A value, how far it may be off, and the panels that it took."""

    value: float
    error: float
    edges: FloatArray


def integral(values: Callable[[FloatArray], FloatArray], lows: FloatArray, highs: FloatArray) -> Integral:
    """The integral over panels of t; values of all points of many panels are asked for at once."""
    value = error = 0.0
    found = [lows, highs]
    while len(lows):
        middles = (lows + highs) / 2
        whole = _panels(values, lows, highs)
        halves = _panels(values, lows, middles) + _panels(values, middles, highs)
        differences = np.abs(whole - halves)
        rough = differences > np.maximum(_PANEL_ERROR, 1e-15 * np.abs(halves))
        rough &= (highs - lows > _NARROWEST) & (rough.sum() <= _MOST_PANELS)
        value, error = value + float(halves[~rough].sum()), error + float(differences[~rough].sum())
        found.append(middles[rough])
        lows = np.concatenate([lows[rough], middles[rough]])
        highs = np.concatenate([middles[rough], highs[rough]])
    return Integral(value, error, np.unique(np.concatenate(found)))


def _panels(values: Callable[[FloatArray], FloatArray], lows: FloatArray, highs: FloatArray) -> FloatArray:
    points = _points_of(lows, highs)
    total: FloatArray = (highs - lows) / 2 * (values(points.ravel()).reshape(points.shape) @ _WEIGHTS)
    return total


def _points_of(lows: FloatArray, highs: FloatArray) -> FloatArray:
    """The points of the rule, a row for each panel."""
    points: FloatArray = lows[:, None] + (highs - lows)[:, None] / 2 * (1 + _NODES)
    return points


def _changes(holds: Callable[[FloatArray], NDArray[np.bool_]], points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where a condition changes between points in rising order: the last place at which it holds, by halving.

    Beside each stands the direction in which it goes on to hold: −1 or 1, or 0 if only at that place.
    """
    held = holds(points)
    at = np.flatnonzero(held[1:] != held[:-1])
    firsts = np.where(held[at], points[at], points[at + 1])
    inner, outer = firsts, np.where(held[at], points[at + 1], points[at])
    for _ in range(_BISECTIONS):
        middles = (inner + outer) / 2
        is_in = holds(middles)
        inner, outer = np.where(is_in, middles, inner), np.where(is_in, outer, middles)
    return inner, np.sign(firsts - inner)


@dataclass(frozen=True, eq=False)
class Density:
    """One law on an interval: ln of its density, and what it integrates to there."""

    log: LogDensity
    mass: Integral

    @classmethod
    def of(cls, name: str, log: LogDensity, line: MappedInterval, *, normalise: bool) -> Density:
        """The law with this density, whose mass is 1 or is made 1."""

        def values(t: FloatArray) -> FloatArray:
            y, speed = line.place(t)
            return np.exp(_checked(name, log(y))) * speed

        edges = np.linspace(-1, 1, _PANELS + 1)
        mass = integral(values, edges[:-1], edges[1:])
        far = abs(mass.value - 1)
        if normalise:
            if not (0 < mass.value < math.inf and mass.error < _MASS_ERROR * mass.value):
                raise ParameterError(f"{name} cannot be normalised: its integral is {mass.value:g} ± {mass.error:.1g}.")
            size = math.log(mass.value)
            relative = mass.error / mass.value
            return cls(lambda y: log(y) - size, Integral(1.0, relative, mass.edges))
        if not far <= max(_MASS_ERROR, min(mass.error, 1e-3)):
            raise ParameterError(
                f"{name} must integrate to 1, got {mass.value:.9g} ± {mass.error:.1g}. "
                "Give the interval on which it lives, interval=(low, high), or normalise=True."
            )
        return cls(log, Integral(mass.value, mass.error + far, mass.edges))


def _checked(name: str, logs: FloatArray) -> FloatArray:
    if np.isnan(logs).any() or bool((logs == math.inf).any()):
        raise ParameterError(f"{name} must be 0 or positive and finite everywhere on the interval.")
    return logs


@dataclass(frozen=True, eq=False)
class DensityLoss(Loss):
    """The privacy loss of two densities on one interval. Its answers state the error of the quadrature."""

    first: Density
    second: Density
    line: MappedInterval
    is_certified: bool = False

    @once
    def _edges(self) -> FloatArray:
        return np.union1d(self.first.mass.edges, self.second.mass.edges)

    @once
    def _points(self) -> FloatArray:
        """Where the loss is looked at for changes of sign: the points of both rules, and the peaks and dips between."""
        lows, highs = self._edges[:-1], self._edges[1:]
        middles = (lows + highs) / 2
        points = np.unique([_points_of(*ends) for ends in ((lows, highs), (lows, middles), (middles, highs))])
        y = self.line.place(points)[0]
        points = points[np.maximum(self.first.log(y), self.second.log(y)) > -math.inf]  # where a law allows them
        return np.unique(np.concatenate([points, self._turns(points, 1.0), self._turns(points, -1.0)]))

    def _turns(self, points: FloatArray, sign: float) -> FloatArray:
        """The places of the largest loss (the smallest, if `sign` is −1) near each point above its neighbours."""
        heights = np.clip(sign * self._loss_at(points), -1e300, 1e300)
        left, middle, right = heights[:-2], heights[1:-1], heights[2:]
        at = np.flatnonzero((middle >= left) & (middle >= right) & (middle > np.minimum(left, right) + _SAME_LOSS))
        lows, highs = points[at], points[at + 2]
        for _ in range(_NARROWINGS):  # golden section
            firsts, seconds = highs - _GOLDEN * (highs - lows), lows + _GOLDEN * (highs - lows)
            is_left = sign * self._loss_at(firsts) >= sign * self._loss_at(seconds)
            lows, highs = np.where(is_left, lows, firsts), np.where(is_left, seconds, highs)
        return (lows + highs) / 2

    @once
    def _point_losses(self) -> FloatArray:
        return self._loss_at(self._points)

    def _loss_at(self, t: FloatArray) -> FloatArray:
        return self._losses(self.line.place(t)[0])

    def _losses(self, y: FloatArray) -> FloatArray:
        p, q = self.first.log(y), self.second.log(y)
        with np.errstate(invalid="ignore"):
            found = p - q
        return np.where(np.isnan(found), 0.0, found)  # neither law allows y, so it does not matter

    def loss(self, outcome: Any) -> float:
        y = float(rational(outcome, "outcome"))
        if not self.line.low <= y <= self.line.high:
            raise ParameterError(f"outcome must lie in [{self.line.low}, {self.line.high}], got {y}.")
        p, q = (float(law.log(np.array([y]))[0]) for law in (self.first, self.second))
        if p == q == -math.inf:
            raise ParameterError(f"outcome must be one that a law allows, got {y}.")
        return p - q

    @property
    def law(self) -> LossTails:
        """The law of the loss, by its tails."""
        return LossTails(self)

    @once
    def largest(self) -> float:
        """What no loss exceeds, as far as is seen; ∞ if it still grows at a peak, where P ends or far out.

        It is looked for at the points of all panels, at the peaks between them, and ever nearer to where P ends. Far
        out is where the logarithm of its density is −500: from there to −600 a bounded loss is taken to move no more.
        """
        ends = self._near_ends()
        points = np.unique(np.concatenate([self._points, ends.ravel()]))
        far = [self._falls(points, depth) for depth in (_FAR, _FAR + _FARTHER)]
        points = np.concatenate([points, *far])
        logs, losses = self.first.log(self.line.place(points)[0]), self._loss_at(points)
        seen, inner = losses[logs > -_FAR - _FARTHER], losses[logs > -_FAR]
        if not len(inner):
            return math.inf
        top, still = float(seen.max()), float(inner.max())
        flat = _FLAT * (1 + abs(top))
        if not top < math.inf or top - still > flat or self._grows(ends, flat) or self._has_poles():
            return math.inf
        return max(0.0, top) * (1 + _SAME_LOSS) + _SAME_LOSS

    def _falls(self, points: FloatArray, depth: float) -> FloatArray:
        """Where the logarithm of P falls below −`depth`, on the higher side: two points may lie far apart there."""

        def is_high(t: FloatArray) -> NDArray[np.bool_]:
            return self.first.log(self.line.place(t)[0]) > -depth

        return _changes(is_high, points)[0]

    def _near_ends(self) -> FloatArray:
        """A row of points for each place at which P ends: 1/2, 1/4, ... and 2^-50 of t from it, on its side."""
        inner, signs = _changes(lambda t: self.first.log(self.line.place(t)[0]) > -math.inf, self._points)
        ends, signs = np.concatenate([[-1.0, 1.0], inner]), np.concatenate([[1.0, -1.0], signs])
        rows = ends[:, None] + signs[:, None] * 0.5 ** np.arange(1, _APPROACHES + 1)
        inside: FloatArray = np.clip(rows, -1 + 2.0**-_APPROACHES, 1 - 2.0**-_APPROACHES)
        return inside

    def _grows(self, ends: FloatArray, flat: float) -> bool:
        """Whether the loss grows towards an end that lies where P has a density that counts."""
        logs = self.first.log(self.line.place(ends.ravel())[0]).reshape(ends.shape)
        losses = self._loss_at(ends.ravel()).reshape(ends.shape)
        near = logs[:, _LATE:].min(axis=1) > -_FAR - _FARTHER
        return bool((losses[near, _LATE:].max(axis=1) - losses[near, _LATE] > flat).any())

    def _has_poles(self) -> bool:
        """Whether the loss grows without end towards a peak inside, as where Q is 0 at one point, or P infinite.

        It is looked at on the higher side of each peak, 2^-6, 2^-20 and 2^-34 of t from it. Where a bounded loss turns
        or has a corner it gains next to nothing in the second half of that way; towards a pole as much as in the
        first, or, where the rounding of a density cuts it off, a good part of that.
        """
        peaks = self._turns(self._points, 1.0)
        peaks = peaks[self.first.log(self.line.place(peaks)[0]) > -_FAR]
        places = peaks + np.array(_DISTANCES)[:, None, None] * np.array([-1.0, 1.0])[:, None]
        inside = np.clip(places, -1 + 2.0**-_APPROACHES, 1 - 2.0**-_APPROACHES)
        losses = self._loss_at(inside.ravel()).reshape(inside.shape).max(axis=1)
        far, middle, near = np.clip(losses, -1e300, 1e300)
        return bool((near - middle > np.maximum(_POLE, _STILL * (middle - far))).any())

    def _mass(self, law: Density, places: list[tuple[float, float]]) -> Integral:
        """The probability of intervals of t, in rising order and apart."""

        def values(t: FloatArray) -> FloatArray:
            y, speed = self.line.place(t)
            return np.exp(law.log(y)) * speed

        ends = np.array(places).ravel()
        cuts = np.union1d(self._edges, ends)
        inside = np.searchsorted(ends, (cuts[:-1] + cuts[1:]) / 2) % 2 == 1
        return integral(values, cuts[:-1][inside], cuts[1:][inside])

    def _bad_places(self, epsilon: float) -> list[tuple[float, float]]:
        """The intervals of t on which the loss exceeds ε; their ends are found by halving."""
        points = self._points
        over = self._point_losses > epsilon
        at = np.flatnonzero(over[1:] != over[:-1])
        lows, highs, rises = points[at], points[at + 1], over[at + 1]
        for _ in range(_BISECTIONS):
            middles = (lows + highs) / 2
            is_right = (self._loss_at(middles) > epsilon) == rises
            lows, highs = np.where(is_right, lows, middles), np.where(is_right, middles, highs)
        ends = [*([-1.0] if over[0] else []), *highs.tolist(), *([1.0] if over[-1] else [])]
        return list(zip(ends[::2], ends[1::2], strict=True))

    def _event(self, epsilon: float) -> tuple[list[tuple[float, float]], tuple[float, float], tuple[float, float]]:
        """The bad set, and its probability under both laws with the errors."""
        places = self._bad_places(epsilon)
        masses = [self._mass(law, places) for law in (self.first, self.second)]
        p, q = ((mass.value, mass.error + _ROUNDING) for mass in masses)
        return places, p, q

    def _hockey_stick(self, epsilon: float) -> tuple[float, float, float]:
        """δ(ε) for any real ε, how far it may be off, and by how much of that without what e^ε swells."""
        odds = math.exp(epsilon)

        def values(t: FloatArray) -> FloatArray:
            y, speed = self.line.place(t)
            p = self.first.log(y)
            with np.errstate(invalid="ignore"):
                kept = -np.expm1(np.minimum(epsilon - (p - self.second.log(y)), 0.0))
            return np.where(p == -math.inf, 0.0, np.exp(p) * kept) * speed

        found = integral(values, self._edges[:-1], self._edges[1:])
        _, (p, p_error), (q, q_error) = self._event(epsilon)
        apart = abs(found.value - (p - odds * q))
        own = found.error + _ROUNDING + self.first.mass.error
        swollen = odds * (_ROUNDING + self.second.mass.error) + max(0.0, apart - p_error - odds * q_error)
        return found.value, own + swollen, own

    def delta_bracket(self, epsilon: Number) -> tuple[float, float]:
        level = float(level_of(epsilon))
        if level > _STEEPEST:  # e^ε swells the error of Q until δ(ε) ≤ Pr[L > ε] says more
            return 0.0, self.tail(epsilon)
        value, error, own = self._hockey_stick(level)
        # Pr[L > ε] may replace what e^ε swells, but never undercuts the integral itself.
        return max(0.0, value - error), min(1.0, value + error, max(value + own, self.tail(epsilon)))

    def tail_beyond(self, level: Number) -> float:
        _, (p, error), _ = self._event(float(rational(level, "level")) - _SAME_LOSS)  # a loss that may be ε counts
        return min(1.0, p + error + self.first.mass.error)

    def bad_set(self, epsilon: Number) -> BadSet:
        level = float(level_of(epsilon))
        places, (p, _), (q, _) = self._event(level + _SAME_LOSS)  # a loss that may be ε does not count
        intervals = tuple((self._y(low), self._y(high)) for low, high in places)
        return BadSet(level, intervals, p, q, self.delta(epsilon))

    def _y(self, t: float) -> float:
        if abs(t) == 1:
            return self.line.low if t < 0 else self.line.high
        return float(self.line.place(np.array([t]))[0][0])

    def beta(self, alpha: Number) -> float:
        """β(α) = sup over u > 0 of 1 − uα − ∫(q − u p)₊; every u gives a lower bound."""
        level = rational(alpha, "alpha")
        check.probability(alpha=level)
        size = float(level)
        best = self._back._level_of_mass(size)  # the best test rejects with probability α where q > u p
        lines = [(best, *self._back._hockey_stick(best)[:2]), *self._back._sticks]
        return min(1.0, max(0.0, *(1 - math.exp(log_u) * size - value - error for log_u, value, error in lines)))

    @once
    def _back(self) -> DensityLoss:
        return self.swapped()

    @once
    def _sticks(self) -> list[tuple[float, float, float]]:
        """δ at a few levels: a bound where the best level lies so far out that errors swell."""
        return [(level, *self._hockey_stick(level)[:2]) for level in _LEVELS[15:24:2]]

    @once
    def _masses(self) -> list[float]:
        """Q[L > ℓ] at the levels ℓ of `_LEVELS`."""
        return [self._event(level)[2][0] for level in _LEVELS]

    def _level_of_mass(self, mass: float) -> float:
        """About the level ℓ with Q[L > ℓ] = mass, between −30 and 30; by halving."""
        over = [found > mass for found in self._masses]
        if over[-1] or not over[0]:
            return _LEVELS[-1 if over[-1] else 0]
        at = over.index(False)
        low, high = _LEVELS[at - 1], _LEVELS[at]
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._event(middle)[2][0] > mass else (low, middle)
        return (low + high) / 2

    def __str__(self) -> str:
        return f"the loss of two densities on ({self.line.low:g}, {self.line.high:g})"

    def swapped(self) -> Self:
        return type(self)(self.second, self.first, self.line)
