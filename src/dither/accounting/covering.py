"""Does an event certainly keep what is stated of it? Answered with bounded work: events may come from strangers."""

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

_Figures = TypeVar("_Figures")


def keeps_rho(event: Event, rho: Fraction) -> bool:
    """Whether the sum of ρ is at most this: exact or rounded up, so True is proved."""
    cost = summed(zcdp_cost, event)
    return cost is not None and cost <= rho


def keeps_pair(event: Event, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the event certainly is (ε, δ)-DP; False may be a proof that is missing.

    Sums of largest losses and of infinite masses hold (claim C3). So does δ(ε) of the composition, which is rounded up:
    in one pass of bounded work, and, where that comes within a hundredth of δ for few releases, refined.
    """
    sums = summed(pure_cost, event)
    if sums is not None and sums[0] <= epsilon and sums[1] <= delta:
        return True
    whole = compose([event])
    if not is_in_reach(whole):
        raise ParameterError(
            f"{MOST_DIFFERENT} different releases are composed at most, {MOST_SEARCHED} of them known by bounds only "
            f"(smooth noise, tested releases, one of two), and this event has {len(whole.groups)}. "
            "State what their largest losses, or their rho, add up to."
        )
    found = read_above(whole.upper_delta(epsilon))
    if found <= delta or found > delta * _NEARLY or len(whole.groups) > _REFINED:
        return found <= delta
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)  # however wide, the upper end holds
        return read_above(whole.delta(epsilon)) <= delta


def is_in_reach(whole: Composition) -> bool:
    """Whether there are few enough different releases to compose them for a stranger."""
    searched = sum(isinstance(group.pair, ChoicePair) or not group.pair.is_exact for group in whole.groups)
    return len(whole.groups) <= MOST_DIFFERENT and searched <= MOST_SEARCHED


def summed(cost: Callable[[Event], _Figures], event: Event) -> _Figures | None:
    """What the rule for sums says, or None where it says nothing."""
    try:
        return cost(event)
    except OverBudget:
        return None
