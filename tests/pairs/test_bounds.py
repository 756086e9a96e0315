"""Pairs of which only bounds are known: bounds at few losses, and what lies between two pairs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.exact import Ball, precision
from dither.pairs.bounded import AtMostPair, on_fewer
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.pair import Pair
from dither.pairs.two_point import approximate
from tests.oracle.points import stream


def test_chords_between_a_few_bounds_lie_above_the_profile() -> None:
    for points in stream("few losses", 12):
        pair: Pair = (
            GaussianPair(points.size(-3, 1))
            if points.probability(-2) < Fraction(1, 2)
            else LaplacePair(points.size(-2, 1))
        )
        losses = np.linspace(-float(points.size(-1, 1)), float(points.size(-1, 1)), 60)
        found = on_fewer(losses, 7, pair.dots)
        with precision(200):
            for loss, bound in zip(losses.tolist(), found.tolist(), strict=True):
                assert not Ball(bound) + Ball(2) ** -900 < pair.profile(Ball(loss))
        assert (found <= pair.dots(losses[:1])[0] * (1 + 1e-9)).all()


def test_chords_are_rounded_up() -> None:
    """Of lines in e^ℓ, for which the chord is the very bound: none of many thousand lies below."""
    losses = np.sort(np.concatenate([np.linspace(-3, 0, 30_000), np.nextafter(np.linspace(-3, 0, 100), 1)]))
    line = 1 - np.exp(losses.astype(np.longdouble))
    found = on_fewer(losses, 5, lambda at: np.nextafter(-np.expm1(at), 2))
    assert (found >= line.astype(float)).all()
    assert np.abs(found - line).max() < 1e-11


@pytest.mark.parametrize("leak", [Fraction(0), Fraction(1, 10)])
def test_what_lies_between_two_pairs_is_bracketed_by_them(leak: Fraction) -> None:
    above, below = approximate(Fraction(2), leak), LaplacePair(Fraction(1))
    pair = AtMostPair(above, below)
    assert not pair.is_exact
    assert pair.delta_bracket(Fraction(1, 2))[1] == above.delta_bracket(Fraction(1, 2))[1]
    assert pair.delta_bracket(Fraction(1, 2))[0] == below.delta_bracket(Fraction(1, 2))[0]
    losses = np.array([-1.0, 0.0, 1.0, 5.0])
    with precision(200):
        for loss, bound in zip(losses.tolist(), pair.dots(losses).tolist(), strict=True):
            assert not Ball(bound) < above.profile(Ball(loss))
    assert (pair.tails(losses).p == below.tails(losses).p).all()
    assert (pair.largest_loss is None) == bool(leak)
    assert pair.support[1] >= 2
