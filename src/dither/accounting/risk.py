"""Noise calibrated to what an attacker can do, in place of (ε, δ).

Every risk here is a condition on one point of the privacy profile δ(ε) of everything together, with P and Q the outputs
with and without the person:

* **advantage** η: TPR − FPR of the best membership test is δ(0), so δ(0) ≤ η;
* **guess** g at prior p ≤ ½: the best attacker is right with probability (1 − p) + p·δ(ln((1 − p)/p)) (attacker.py);
* **tpr** t at **fpr** α: TPR ≤ δ(ε) + e^ε·α and TPR ≤ 1 − e^{−ε}(1 − δ(ε) − α) for every ε ≥ 0, with equality for the
  best ε of the two (Dong, Roth and Su 2022, Proposition 2.5). So some ε has δ(ε) ≤ t − e^ε·α or
  δ(ε) ≤ 1 − α − e^ε(1 − t);
* **posterior** q from prior p: the loss stays below T = ln(q/(1 − q)) − ln(p/(1 − p)) but for outputs of probability c
  (`chance`), if δ(T + ln(1 − f)) ≤ f·c for some f between 0 and 1 (attacker.py); ε(0) ≤ T if c = 0;
* **reconstruction** r from baseline κ: who would guess the record, or be near enough, with probability κ without the
  output does so with probability at most TPR at FPR κ with it (Hayes, Mahloujifar and Balle 2023).

Which ε decides is found on a rough curve. The noise is then calibrated at that ε: whichever it is, the risk is kept,
and near the best one it makes no difference in first order.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.accounting.bracket_search import Bracket
from dither.accounting.composed_brackets import composed_delta, composed_epsilon, lower_deltas
from dither.accounting.composition import Composition, compose
from dither.accounting.dominate import HasEvent, Spending
from dither.accounting.scale_search import Budget, ProfilePoint, scale_for
from dither.errors import ParameterError
from dither.events import (
    Composite,
    Event,
    GaussianNoise,
    LaplaceNoise,
    MatrixNoise,
    MixtureOfGaussians,
    Selection,
    SmoothNoise,
    SparseVectorRun,
    TestAndRelease,
    TreeNoise,
)
from dither.exact import Ball, Number, ball, check, once, rational
from dither.exact.certified import above, below, exactly_above

__all__ = ["Calibrated", "calibrate"]

_ROUGH = 3e-3
_FINE = 1e-4
_POINTS = 400
_OF_DELTA = 5.0  # how much wider a bracket on δ may be
_LARGEST_EPSILON = 60.0
_TINY = Fraction(1, 10**300)
_PARTS = np.concatenate([np.geomspace(1e-4, 0.5, 60), 1 - np.geomspace(0.49, 1e-4, 60)])


@dataclass(frozen=True)
class Calibrated:
    """Noise that keeps a risk; `dp.calibrate` returns it.

    Parameters
    ----------
    scale : float
        What the noise of the event was multiplied by, or what the function was called with.
    event : object
        What is done at that scale.
    risk : Bracket
        (lower, upper): the risk at that scale lies between them, and `upper` is at most what was asked.
    guarantee : Composition
        The guarantee of everything together at that scale.
    """

    scale: float
    event: Any = field(repr=False)
    risk: Bracket
    guarantee: Composition


def calibrate(
    thing: Event | HasEvent | Callable[[Fraction], Spending],
    *,
    advantage: Number | None = None,
    tpr: Number | None = None,
    fpr: Number | None = None,
    posterior: Number | None = None,
    guess: Number | None = None,
    prior: Number | None = None,
    chance: Number = 0,
    reconstruction: Number | None = None,
    baseline: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Calibrated:
    """Find the smallest noise with which an attacker's success stays below a limit; never too small.

    Give one risk: `advantage`; `tpr` and `fpr`; `posterior` and `prior`; `guess` and `prior`; `reconstruction` and
    `baseline`; or a budget, `epsilon` and `delta`.

    Parameters
    ----------
    thing : Event, mechanism or callable
        What is done: the noise of all its parts is multiplied by one factor. Or a function of a scale (a Fraction) that
        returns what is done at that scale; the cost must fall as it grows.
    advantage : Number, optional
        The largest TPR − FPR of any membership inference attack.
    tpr, fpr : Number, optional
        The largest true positive rate at a false positive rate.
    posterior : Number, optional
        How sure an attacker may become that a person is in the data, starting from `prior`.
    guess : Number, optional
        How often the best attacker may guess membership right, on average over the outputs, starting from `prior`.
    prior : Number, optional
        The probability with which the attacker believes it beforehand.
    chance : Number, default 0
        For `posterior`: the probability of outputs that are left aside. Gaussian noise needs it.
    reconstruction, baseline : Number, optional
        The largest probability of reconstructing a record, for who would succeed with probability `baseline` without
        the output.
    epsilon, delta : Number, optional
        The budget of everything together.

    Returns
    -------
    Calibrated
        `.scale`, `.event`, `.guarantee`, and `.risk` from both sides.

    Raises
    ------
    ParameterError
        If not exactly one risk is given, a number is out of range, or nothing in the event has a scale.
    Uncalibrated
        If no scale keeps the risk.

    Examples
    --------
    >>> import dither as dp
    >>> from dither.events import GaussianNoise, PoissonSampled, Repeated
    >>> training = Repeated(PoissonSampled(GaussianNoise.of(1), "0.01"), 1000)
    >>> found = dp.calibrate(training, advantage=0.1)
    >>> round(found.scale, 3), found.risk.upper <= 0.1
    (1.422, True)
    >>> round(dp.calibrate(training, tpr=0.05, fpr=0.01).scale, 3)
    0.778
    """
    asked = {
        "advantage": _given(_Advantage, advantage=advantage),
        "tpr": _given(_Rates, tpr=tpr, fpr=fpr),
        "posterior": _given(_Posterior, posterior=posterior, prior=None if posterior is None else prior, chance=chance),
        "guess": _given(_Guess, guess=guess, prior=None if guess is None else prior),
        "reconstruction": _given(_Rates, reconstruction=reconstruction, baseline=baseline),
        "epsilon": _given(_Cost, epsilon=epsilon, delta=delta),
    }
    known = [risk for risk in asked.values() if risk is not None]
    if len(known) != 1 or (prior is not None and posterior is None and guess is None):
        raise ParameterError(
            "give exactly one risk: advantage, tpr and fpr, posterior and prior, guess and prior, reconstruction and "
            "baseline, or epsilon and delta."
        )
    if posterior is None and rational(chance, "chance"):
        raise ParameterError("chance belongs to posterior, which is not given. Give both, or leave chance out.")
    at = _at(thing)
    scale = known[0].scale(lambda factor: [at(factor)])
    done = at(rational(scale))
    whole = compose([done], relative_width=_FINE)
    lower, upper = known[0].bracket(whole)
    return Calibrated(scale, done, Bracket(lower, min(upper, known[0].limit)), whole)  # the search is finer


def _at(thing: Any) -> Callable[[Fraction], Any]:
    """What is done at a scale."""
    event = thing if isinstance(thing, Event) else getattr(thing, "event", thing)
    if not isinstance(event, Event):
        if callable(thing):
            return thing  # type: ignore[no-any-return]
        raise ParameterError(
            f"thing must be an event, a mechanism or a function of a scale, got {type(thing).__name__}."
        )
    if _scaled(event, Fraction(2)) == event:
        raise ParameterError("nothing in this event has a noise scale. Give a function of a scale in its place.")
    return lambda factor: _scaled(event, factor)


def _scaled(event: Any, factor: Fraction) -> Any:
    """The same with `factor` times as much noise; what has no scale stays as it is."""
    if isinstance(event, SmoothNoise):
        # What a lattice adds is 2L/t with t the steps that the scale has at least: its step stays, so with less noise
        # that is more. With more noise it is no more than before.
        lattice = None if event.lattice_loss is None else event.lattice_loss / min(factor, Fraction(1))
        return replace(event, scale=event.scale * factor, lattice_loss=lattice)
    if isinstance(event, LaplaceNoise | Selection):
        return replace(event, scale=event.scale * factor)
    if isinstance(event, GaussianNoise | MixtureOfGaussians | MatrixNoise | TreeNoise):
        return replace(event, variance=event.variance * factor**2)
    if isinstance(event, SparseVectorRun):
        return replace(event, threshold_scale=event.threshold_scale * factor, query_scale=event.query_scale * factor)
    if isinstance(event, tuple):
        return tuple(_scaled(each, factor) for each in event)
    if isinstance(event, Composite) and not isinstance(event, TestAndRelease):
        made: Any = event
        return replace(made, **{each.name: _scaled(getattr(made, each.name), factor) for each in fields(made)})
    return event


# ------------------------------------------------------------------------------ the risks


class _Risk(ABC):
    """A limit on what an attacker can do."""

    def scale(self, events_at: Callable[[Fraction], Sequence[Spending]]) -> float:
        """The smallest scale: roughly, then at the point of the profile that decides there."""
        points = self.points()
        if len(points) == 1:
            return scale_for(points[0], events_at)
        near = scale_for(_Best(tuple(points)), events_at)
        epsilons = [point.epsilon for point in points]
        deltas = compose(events_at(rational(near)), relative_width=_ROUGH).deltas(epsilons)
        best = min(zip(deltas, points, strict=True), key=lambda one: one[0] / float(one[1].delta))[1]
        return scale_for(best, events_at, near)

    @property
    def limit(self) -> float:
        """What the risk may be: the first of its numbers."""
        return exactly_above(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    @abstractmethod
    def points(self) -> list[ProfilePoint]:
        """Points of the profile, of which one must be kept."""

    @abstractmethod
    def bracket(self, whole: Composition) -> Bracket:
        """The risk of a composition, from both sides."""


@dataclass(frozen=True)
class _Best:
    """One of several points is kept, on a rough lattice: where the search begins."""

    points: tuple[ProfilePoint, ...]

    def excess(self, things: Iterable[Spending], width: float) -> float:
        deltas = compose(things, relative_width=_ROUGH).deltas([point.epsilon for point in self.points])
        found = min(delta / float(point.delta) for delta, point in zip(deltas, self.points, strict=True))
        return math.log(found) if found > 0 else -math.inf

    def is_closed(self, whole: Composition) -> bool:
        return False

    def __str__(self) -> str:
        return "the risk"


@dataclass(frozen=True)
class _Cost(_Risk):
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        check.positive(epsilon=self.epsilon)
        check.probability(delta=self.delta)

    def scale(self, events_at: Callable[[Fraction], Sequence[Spending]]) -> float:
        return scale_for(Budget(self.epsilon, self.delta), events_at)

    def points(self) -> list[ProfilePoint]:
        return [ProfilePoint(self.epsilon, self.delta)]

    def bracket(self, whole: Composition) -> Bracket:
        return composed_epsilon(whole.groups, self.delta, whole.relative_width)


@dataclass(frozen=True)
class _Advantage(_Risk):
    advantage: Fraction

    def __post_init__(self) -> None:
        check.between(0, 1, advantage=self.advantage)

    def points(self) -> list[ProfilePoint]:
        return [ProfilePoint(Fraction(0), self.advantage)]

    def bracket(self, whole: Composition) -> Bracket:
        return _delta(whole, Fraction(0))


@dataclass(frozen=True)
class _Guess(_Risk):
    guess: Fraction
    prior: Fraction

    def __post_init__(self) -> None:
        check.between(0, 1, guess=self.guess, prior=self.prior)
        if not self.guess > 1 - self._rarer:
            raise ParameterError(
                f"guess must be above {float(1 - self._rarer)}, which needs no output at prior={float(self.prior)}."
            )

    @property
    def _rarer(self) -> Fraction:
        return min(self.prior, 1 - self.prior)

    @property
    def _epsilon(self) -> Fraction:
        """ln((1 − p)/p), rounded down: there the profile is not lower."""
        least = rational(below(lambda: ball((1 - self._rarer) / self._rarer).log()))
        return least if least > _TINY else Fraction(0)

    def points(self) -> list[ProfilePoint]:
        return [ProfilePoint(self._epsilon, (self.guess - 1 + self._rarer) / self._rarer)]

    def bracket(self, whole: Composition) -> Bracket:
        found, rarer = _delta(whole, self._epsilon), float(self._rarer)
        low = (1 - rarer + rarer * found.lower) * (1 - 2.0**-40)
        return Bracket(low, above(lambda: 1 - ball(self._rarer) + ball(self._rarer) * Ball(found.upper)))


@dataclass(frozen=True)
class _Rates(_Risk):
    tpr: Fraction
    fpr: Fraction

    def __post_init__(self) -> None:
        check.between(0, 1, tpr=self.tpr, fpr=self.fpr)
        if not self.tpr > self.fpr:
            raise ParameterError(
                f"the rate of success must be above {float(self.fpr)}, which needs no output; got {float(self.tpr)}."
            )

    @once
    def _points(self) -> list[ProfilePoint]:
        # Where one of the two limits on δ is positive: e^ε < t/α or e^ε < (1 − α)/(1 − t).
        most = math.log(max(self.tpr / self.fpr, (1 - self.fpr) / (1 - self.tpr)))
        millionths = np.unique(
            np.linspace(0, 1e6 * min(most, _LARGEST_EPSILON), _POINTS, endpoint=False).astype(np.int64)
        )
        limits = self._limits(np.exp(millionths / 1e6))
        return [
            ProfilePoint(Fraction(place, 10**6), Fraction(limit))
            for place, limit in zip(millionths.tolist(), limits.tolist(), strict=True)
            if limit > 0
        ]

    def points(self) -> list[ProfilePoint]:
        return self._points

    def _limits(self, odds: np.ndarray) -> np.ndarray:
        """What δ(ε) may be at e^ε = `odds`: in floats, less 1e-12 of all that is added, and these are off by 1e-13."""
        tpr, fpr, rest = float(self.tpr), float(self.fpr), (float(1 - self.tpr), float(1 - self.fpr))
        grown = tpr - odds * fpr - 1e-12 * (tpr + odds * fpr)
        flat = rest[1] - odds * rest[0] - 1e-12 * (rest[1] + odds * rest[0])
        limits: np.ndarray = np.maximum(grown, flat)
        return limits

    def bracket(self, whole: Composition) -> Bracket:
        near = self._decisive(whole)
        return Bracket(self._lower(whole, near), min(self._upper(whole, near), 1.0))

    def _decisive(self, whole: Composition) -> Fraction:
        """The ε of the smallest bound on the rate."""
        points = self.points()
        deltas = whole.deltas([point.epsilon for point in points])
        return min(zip(deltas, points, strict=True), key=lambda one: one[0] / float(one[1].delta))[1].epsilon

    def _upper(self, whole: Composition, near: Fraction) -> float:
        delta, grown, alpha = Ball(_delta(whole, near).upper), ball(near).exp(), ball(self.fpr)
        return min(above(lambda: delta + grown * alpha), above(lambda: 1 - (1 - delta - alpha) / grown))

    def _lower(self, whole: Composition, near: Fraction) -> float:
        """δ falls: between two neighbours it is at least that of the right one, and e^ε at least that of the left."""
        alpha, middle = float(self.fpr), float(near)
        around = [middle + np.linspace(-reach, reach, points) for reach, points in ((1, 101), (0.1, 201), (0.01, 201))]
        every = np.unique(np.concatenate([np.geomspace(1e-3, _LARGEST_EPSILON, 60), *around]))
        epsilons = every[every > 0]
        lows = [np.append(low, 0.0) for low in lower_deltas(whole.groups, epsilons, _FINE / 10)]
        left = np.exp(np.concatenate([[0.0], epsilons]))
        found = [
            min((low + alpha * left).min(), (1 - (1 - other - alpha) / left).min()) for low, other in (lows, lows[::-1])
        ]
        return max(float(max(found)) * (1 - 2.0**-40), 0.0)


@dataclass(frozen=True)
class _Posterior(_Risk):
    posterior: Fraction
    prior: Fraction
    chance: Fraction

    def __post_init__(self) -> None:
        check.between(0, 1, posterior=self.posterior, prior=self.prior)
        check.probability(chance=self.chance)
        if not self.posterior > self.prior:
            raise ParameterError(f"posterior must be above prior={float(self.prior)}, got {float(self.posterior)}.")

    @property
    def _largest(self) -> Fraction:
        """T, rounded down."""
        odds = self.posterior * (1 - self.prior) / ((1 - self.posterior) * self.prior)
        return rational(below(lambda: ball(odds).log()))

    def scale(self, events_at: Callable[[Fraction], Sequence[Spending]]) -> float:
        if not self.chance:
            return scale_for(Budget(self._largest, Fraction(0)), events_at)
        return super().scale(events_at)

    def points(self) -> list[ProfilePoint]:
        found = []
        for part in _PARTS.tolist():
            share = rational(f"{part:.6g}")
            loss = below(lambda share=share: ball(self._largest) + (1 - ball(share)).log())  # type: ignore[misc]
            if loss > 0:
                found.append(ProfilePoint(rational(loss), share * self.chance))
        return found

    def bracket(self, whole: Composition) -> Bracket:
        """From below: outputs with a loss above t have probability δ(t) at least."""
        least = composed_epsilon(whole.groups, self.chance, whole.relative_width).lower
        odds = ball((1 - self.prior) / self.prior)
        return Bracket(below(lambda: 1 / (1 + odds * (-Ball(least)).exp())), float(self.posterior))


def _delta(whole: Composition, epsilon: Fraction) -> Bracket:
    return composed_delta(whole.groups, epsilon, _OF_DELTA * whole.relative_width)


def _given(kind: Callable[..., _Risk], **numbers: Number | None) -> _Risk | None:
    """The risk, if all of its numbers are there; None if the first is not."""
    first, *rest = numbers.values()
    if first is None and all(value is None for value in rest[:1]):
        return None
    for other, value in numbers.items():
        if value is None:
            raise ParameterError(
                f"{other} is missing: {' and '.join(n for n in numbers if n != 'chance')} go together."
            )
    return kind(*(rational(value, other) for other, value in numbers.items() if value is not None))
