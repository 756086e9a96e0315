"""What the recorded calls cost on a pair of neighbours, against what was charged."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from dither.accounting import Composition, WideBracket, compose
from dither.events import (
    Composed,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Repeated,
    Selection,
    SparseVectorRun,
    StaircaseNoise,
    Stated,
)
from dither.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from dither.mechanisms.gaussian_calibration import rounded_up
from dither.mechanisms.lattice_gaussian import dominating_mu_squared, smallest_variance

__all__ = ["exceeds"]

_RELATIVE = 1 + 1e-9
_LEAST = 1e-15
_HALVINGS = 12
_EPSILONS = (0, Fraction(1, 10), Fraction(1, 2), 1, 2)


def exceeds(events: Sequence[Event], charged: Guarantee) -> bool:
    """Whether what happened costs more than was charged.

    ε, δ and ρ are added up exactly where every event has one; otherwise accounting composes the events. It brackets
    what they cost, and the lower end must not exceed the charge: an alarm is certain.
    """
    if not events:
        return False
    if isinstance(charged, PureDP | ApproxDP):
        pure = [_pure(event) for event in events]
        if None not in pure:
            epsilon, delta = _summed(pure)
            if epsilon <= charged.stated_epsilon and delta <= _delta(charged):
                return False
            if isinstance(charged, PureDP):
                return True
        elif _leaves_enough(events, charged):
            return False
    if isinstance(charged, ZCDP):
        concentrated = [_concentrated(event) for event in events]
        if None not in concentrated:
            return sum((each for each in concentrated if each), Fraction(0)) > charged.rho
    if isinstance(charged, GaussianDP) and len(events) == 1 and _is_hidden(events[0], charged):
        return False
    return _composed_exceeds(tuple(events), charged)


@lru_cache(maxsize=4096)
def _is_hidden(event: Event, charged: GaussianDP) -> bool:
    """Whether continuous noise of the μ that was charged dominates this noise on a lattice."""
    if not isinstance(event, GaussianNoise) or event.step is None:
        return False
    unit, square = event.step**2, charged.mu_squared
    return smallest_variance(square, event.sensitivity_squared / unit, event.dimension) <= event.variance / unit


def _leaves_enough(events: Sequence[Event], charged: PureDP | ApproxDP) -> bool:
    """Whether events of no known (ε, δ) keep the charge with the ε that all others leave (basic composition).

    One of them is what it is; several are as concentrated as all of them together.
    """
    others = [event for event in events if _pure(event) is None]
    known = _summed(map(_pure, events))
    epsilon, delta = charged.stated_epsilon - known[0], _delta(charged) - known[1]
    if len(others) > 1:
        concentrated = [each for each in map(_concentrated, others) if each is not None]
        if len(concentrated) < len(others):
            return False
        others = [Stated("ZCDP", (rounded_up(sum(concentrated, Fraction(0))),))]
    return epsilon >= 0 and delta >= 0 and _alone(others[0], epsilon) <= delta * _RELATIVE


@lru_cache(maxsize=4096)
def _alone(event: Event, epsilon: Fraction) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)  # this is the upper end, which holds as well
        return compose([event]).delta(epsilon)


def _summed(costs: Iterable[tuple[Fraction, Fraction] | None]) -> tuple[Fraction, Fraction]:
    known = [each for each in costs if each is not None]
    return sum((each[0] for each in known), Fraction(0)), sum((each[1] for each in known), Fraction(0))


def _delta(charged: PureDP | ApproxDP) -> Fraction:
    return charged.stated_delta if isinstance(charged, ApproxDP) else Fraction(0)


def _pure(event: Event) -> tuple[Fraction, Fraction] | None:
    """(ε, δ) of an event for which they are known exactly."""
    if isinstance(event, Repeated):
        one = _pure(event.event)
        return None if one is None else (event.times * one[0], event.times * one[1])
    if isinstance(event, Composed):
        parts = [_pure(part) for part in event.parts]
        return None if None in parts else _summed(parts)
    if isinstance(event, LaplaceNoise):
        return event.sensitivity / event.scale, Fraction(0)
    if isinstance(event, Selection):
        return (1 if event.monotone else 2) * event.sensitivity / event.scale, Fraction(0)
    if isinstance(event, SparseVectorRun):
        answers = (1 if event.monotone else 2) * event.max_above * event.sensitivity / event.query_scale
        return event.sensitivity / event.threshold_scale + answers, Fraction(0)
    if isinstance(event, StaircaseNoise):
        return event.epsilon, Fraction(0)
    if isinstance(event, Stated) and event.measure == "PureDP":
        return event.values[0], Fraction(0)
    if isinstance(event, Stated) and event.measure == "ApproxDP":
        return event.values[0], event.values[1]
    return None


def _concentrated(event: Event) -> Fraction | None:
    """ρ of an event for which it is known exactly."""
    if isinstance(event, GaussianNoise):
        return event.sensitivity_squared / (2 * event.variance)
    pure = _pure(event)
    if pure is None or pure[1]:
        return None
    is_bounded_range = isinstance(event, Selection) and event.noise == "gumbel"
    return pure[0] ** 2 / (8 if is_bounded_range else 2)


def _on_the_line(event: Event) -> Event:
    """Noise on several coordinates of a lattice as the continuous noise that dominates it, where there is one."""
    if isinstance(event, GaussianNoise) and event.step is not None and event.dimension > 1:
        unit = event.step**2
        square = _mu_squared(event.variance / unit, event.sensitivity_squared / unit, event.dimension)
        if square is not None:
            return Stated("GaussianDP", (rounded_up(square),), event.adjacency)
    return event


@lru_cache(maxsize=4096)
def _mu_squared(variance: Fraction, square: Fraction, dimension: int) -> Fraction | None:
    """The smallest μ² for which so much noise is enough: `dominating_mu_squared` errs upwards by parts in 10^4."""
    enough, too_little = dominating_mu_squared(variance, square, dimension), square / variance
    if enough is None:
        return None
    for _ in range(_HALVINGS):
        middle = (enough + too_little) / 2
        holds = smallest_variance(middle, square, dimension) <= variance
        enough, too_little = (middle, too_little) if holds else (enough, middle)
    return enough


@lru_cache(maxsize=4096)
def _composed_exceeds(events: tuple[Event, ...], charged: Guarantee) -> bool:
    whole = compose([_on_the_line(event) for event in events])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)  # the lower end holds, however wide the bracket is
        return _certainly_more(whole, charged)


def _certainly_more(whole: Composition, charged: Guarantee) -> bool:
    if isinstance(charged, PureDP | ApproxDP):
        delta = _delta(charged)
        if not delta:
            return whole.bracket(0).lower > float(charged.stated_epsilon) * _RELATIVE
        return whole.delta_bracket(charged.stated_epsilon).lower > float(delta) * _RELATIVE
    return any(whole.delta_bracket(at).lower > charged.delta(at) * _RELATIVE + _LEAST for at in _EPSILONS)
