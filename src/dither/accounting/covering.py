"""Does an event certainly keep what is stated of it? Answered with bounded work: events may come from anyone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeVar

from dither.accounting.composition import Composition, WideBracket, compose
from dither.accounting.filters import pure_cost, zcdp_cost
from dither.errors import OverBudget, ParameterError
from dither.events import Event
from dither.exact.certified import read_above
from dither.pairs.choice import ChoicePair

__all__ = ["MOST_DIFFERENT", "MOST_SEARCHED", "is_in_reach", "keeps_pair", "keeps_rho", "summed"]

MOST_DIFFERENT: Final = 256
"""How many different releases are composed here; equal ones, and all Gaussian ones on the line, count as one."""
MOST_SEARCHED: Final = 4
"""How many of them may be known by bounds only, or be one of two things: these take a search each."""
_REFINED: Final = 32
_NEARLY: Final = Fraction(101, 100)
_NEARLY_SEARCHED: Final = Fraction(2)

_Figures = TypeVar("_Figures")


def keeps_rho(event: Event, rho: Fraction) -> bool:
    """Whether the sum of ρ is at most this: exact or rounded up, so True is proved."""
    cost = summed(zcdp_cost, event)
    return cost is not None and cost <= rho


def keeps_pair(event: Event, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the event certainly is (ε, δ)-DP; False may be a proof that is missing.

    Sums of largest losses and of infinite masses hold (claim C3). So does δ(ε) of the composition, which is rounded up:
    in one pass of bounded work, and, where that comes close to δ for few releases, refined. So does ε(δ) of it, which
    is rounded up as well: δ(·) falls, so that ε(δ) ≤ ε says δ(ε) ≤ δ(ε(δ)) ≤ δ. The two are found in different ways:
    for releases that are known by bounds only, ε(δ) may hold where δ(ε) is a few hundredths too large.
    """
    sums = summed(pure_cost, event)
    if sums is not None and sums[0] <= epsilon and sums[1] <= delta:
        return True
    whole = compose([event])
    if not is_in_reach(whole):
        raise ParameterError(_out_of_reach(whole))
    found = read_above(whole.upper_delta(epsilon))
    nearly = _NEARLY_SEARCHED if _searched(whole) else _NEARLY
    if found <= delta or found > delta * nearly or len(whole.groups) > _REFINED:
        return found <= delta
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)  # however wide, the upper end holds
        return read_above(whole.delta(epsilon)) <= delta or whole.epsilon(delta) <= epsilon


def _out_of_reach(whole: Composition) -> str:
    most, counted, of = MOST_DIFFERENT, len(whole.groups), ""
    if counted <= most:
        of = " that are known by bounds only (smooth noise, tested releases, one of two)"
        most, counted = MOST_SEARCHED, _searched(whole)
    return (
        f"to check a cost, {most} different releases{of} are composed at most, and this event has {counted}; equal "
        "ones count once. Charge it in parts, or state what the costs of the single releases add up to."
    )


def is_in_reach(whole: Composition) -> bool:
    """Whether there are few enough different releases to compose them, whoever wrote the event."""
    return len(whole.groups) <= MOST_DIFFERENT and _searched(whole) <= MOST_SEARCHED


def _searched(whole: Composition) -> int:
    """How many different releases are known by bounds only, or are one of two things."""
    return sum(isinstance(group.pair, ChoicePair) or not group.pair.is_exact for group in whole.groups)


def summed(cost: Callable[[Event], _Figures], event: Event) -> _Figures | None:
    """What the rule for sums says, or None where it says nothing."""
    try:
        return cost(event)
    except OverBudget:
        return None
