"""Laws that are drawn in parts, on every short stream of bits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.exact import upper
from dither.noise import BernoulliExp, DiscreteStaircase, Gumbel, Law, gumbel
from dither.noise.entropy import BitSource
from dither.noise.law import Integers, integer_array
from tests.every_stream import Outcomes, every_stream


class Runs:
    """A geometric number by coins: how often one of chance e^{−ε} shows 1 in a row."""

    def __init__(self, epsilon: Fraction) -> None:
        self._coin = BernoulliExp(epsilon)

    def _draw(self, source: BitSource) -> int:
        length = 0
        while self._coin._draw(source):
            length += 1
        return length

    def _draw_many(self, source: BitSource, count: int) -> Integers:
        return integer_array([self._draw(source) for _ in range(count)])


def with_short_parts(law: DiscreteStaircase) -> DiscreteStaircase:
    on_top, top, _, place = law._parts
    law.__dict__["_parts"] = (on_top, top, Runs(law.epsilon), place)
    return law


LAWS: list[Law] = [
    with_short_parts(DiscreteStaircase(3, 1, 2)),
    with_short_parts(DiscreteStaircase(2, "0.7", 1)),
    with_short_parts(DiscreteStaircase(1, 2, 1)),
    Gumbel("1/9"),
    Gumbel("2/3"),
    Gumbel("5/4"),
]


@pytest.fixture(autouse=True)
def _every_gumbel_law_is_drawn_by_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """In production only steep ones are, and their outer coins show 1 too rarely for short streams."""
    monkeypatch.setattr(gumbel, "_STEEP", Fraction(10))


def probability(law: Law, x: int) -> Fraction:
    return Fraction(upper(law.pmf(x)))  # 53 bits, where streams have 16


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
def test_every_stream_adds_up_to_the_law(law: Law, vector: bool) -> None:
    def draw(source: BitSource) -> int:
        return int(law._draw_many(source, 1)[0]) if vector else law._draw(source)

    outcomes = every_stream(draw, longest=16, word_bits=3)
    assert outcomes.undecided < Fraction(1, 6)
    assert all(outcomes.allows(x, probability(law, x)) for x in range(-8, 9))
    assert not _allows_another(outcomes, law)


def _allows_another(outcomes: Outcomes, law: Law) -> bool:
    """Whether the streams would also fit a law whose likely points have other probabilities."""
    likely = [x for x in range(-3, 4) if probability(law, x) > 2 * outcomes.undecided]
    assert likely
    moved = [probability(law, x) + sign * 2 * outcomes.undecided for x in likely for sign in (1, -1)]
    return any(outcomes.allows(x, p) for x, p in zip([x for x in likely for _ in (1, -1)], moved, strict=True))
