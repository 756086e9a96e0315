"""Two things that are far apart, or choices themselves: both ends hold, and an answer comes."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting.bracket_search import Group
from dither.accounting.composed_brackets import composed_delta, composed_epsilon, lower_deltas, merged
from dither.pairs.choice import ChoicePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.two_point import approximate, pure

D, W = Fraction(1, 1000), 1e-3


def test_the_lower_end_of_a_choice_within_a_choice_is_that_of_a_use() -> None:
    """What both are dominated by costs more than any use does."""
    inner = ChoicePair(GaussianPair(Fraction(1)), pure(Fraction(3, 2)))
    groups = (Group(ChoicePair(inner, LaplacePair(Fraction(1, 10))), 6),)
    uses = [
        composed_epsilon(tuple(merged(Counter({GaussianPair(Fraction(1)): j, pure(Fraction(3, 2)): 6 - j}))), D, W)
        for j in range(7)
    ]
    found = composed_epsilon(groups, D, W)
    assert found.lower <= max(each.upper for each in uses)
    assert found.upper >= max(each.lower for each in uses)


@pytest.mark.parametrize("swap", [False, True])
def test_two_things_that_no_window_holds_have_a_finite_bracket(swap: bool) -> None:
    """Neither memory nor time is lost, whichever is the first, and the bound of what both are dominated by is kept."""
    pairs = GaussianPair(Fraction(1)), pure(Fraction(1, 10**6))
    choice = ChoicePair(*(pairs[::-1] if swap else pairs))
    alone = composed_epsilon((Group(GaussianPair(Fraction(3)), 1),), D, W)
    found = composed_epsilon((Group(choice, 3),), D, W)
    assert alone.lower <= found.upper < 2 * alone.upper
    delta = composed_delta((Group(ChoicePair(pairs[0], pure(Fraction(3, 2))), 2),), Fraction(5, 2), W)
    assert 0.2630 < delta.lower < delta.upper < 0.2650


def test_what_may_leak_everything_has_a_bracket() -> None:
    leak = approximate(Fraction(1), Fraction(1))
    found = composed_delta((Group(ChoicePair(leak, GaussianPair(Fraction(1))), 2),), Fraction(1), W)
    assert 0 < found.lower <= found.upper == 1


def test_rates_from_below_are_those_of_a_use() -> None:
    choice = ChoicePair(GaussianPair(Fraction(1)), pure(Fraction(3, 2)))
    grid = np.array([0.5, 1.0, 2.5])
    for below in lower_deltas((Group(choice, 2),), grid, W):
        for epsilon, value in zip(grid.tolist(), below.tolist(), strict=True):
            mixes = [
                composed_delta(
                    tuple(merged(Counter({choice.first: j, choice.second: 2 - j}))), Fraction(epsilon), W
                ).upper
                for j in range(3)
            ]
            assert value <= max(mixes)
