"""The block sampler on every stream of bits: the probabilities are those of the law, exactly.

A round is short, so all of its streams can be run. The layouts here are tiny (words of a few bits), which makes the
rare steps of production frequent: void words, tails, undecided digits and balls occur in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import Ball, ball, precision
from dither.noise import (
    Bernoulli,
    BernoulliExp,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Gumbel,
    PowerLaw,
    Steepest,
    StudentT,
    UniformBelow,
)
from dither.noise.blocks import COARSE, FINE, RATIO_ERROR, Layout
from dither.noise.entropy import BitSource
from dither.noise.rejection import BlockSampler, RejectionLaw
from tests.every_stream import RecordedBits, every_stream

_INDEX_BITS, _UNIFORM_BITS = 4, 1
_WORD_BITS = _INDEX_BITS + _UNIFORM_BITS
_LONGEST = 20


def _layout(margin: float) -> Layout:
    return Layout(
        keep=Fraction(1, 2),
        index_bits=_INDEX_BITS,
        uniform_bits=_UNIFORM_BITS,
        tail_share=Fraction(1, 3),
        margin=margin,
        largest_block_bits=3,
    )


def _single(sampler: BlockSampler) -> Callable[[BitSource], int | None]:
    return sampler._attempt


def _vector(sampler: BlockSampler) -> Callable[[BitSource], int | None]:
    def attempt(source: BitSource) -> int | None:
        points = np.empty(1, dtype=np.int64)
        rejected, large = sampler._propose(source, points)
        assert not large
        return None if len(rejected) else int(points[0])

    return attempt


def _weight_in_a_round(law: RejectionLaw, sampler: BlockSampler, x: int) -> Fraction:
    """c · g(x) / 2^index_bits to 200 bits: what rejection.md says that a round must give."""
    sides = [arm for arm in law._arms() if (x - arm.peak) * arm.sign >= arm.first]
    assert len(sides) == 1, "the arms hold every integer once"
    with precision(200):
        weight = sides[0].shape.weight(abs(x - sides[0].peak))
        mantissa, exponent = weight.mid().man_exp()
    exact = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return sampler._plan.scale * exact / (1 << _INDEX_BITS)


_LAWS = [
    DiscreteLaplace("0.4"),
    DiscreteLaplace(2),
    DiscreteLaplace("2.7"),
    DiscreteGaussian.from_sigma("0.6"),
    DiscreteGaussian.from_sigma(3),
    Geometric(1),
    Geometric("2.9"),
    Gumbel(1),
    Gumbel(2),
    PowerLaw(1, 4),
    PowerLaw(2, "5.5"),
    StudentT(1, 5),
    Steepest(3, 4),
]


@pytest.mark.parametrize("path", [_single, _vector])
@pytest.mark.parametrize("margin", [2.0**-40, 2.0], ids=["doubles", "balls only"])
@pytest.mark.parametrize("law", _LAWS, ids=str)
def test_a_round_has_exact_probabilities(
    law: RejectionLaw, margin: float, path: Callable[[BlockSampler], Callable[[BitSource], int | None]]
) -> None:
    sampler = BlockSampler.over(law._arms(), _layout(margin))
    sampler.__dict__["_deeper"] = _NoTail()  # tails have a test of their own; here they would hide small errors
    outcomes = every_stream(path(sampler), _LONGEST, _WORD_BITS)
    points = {x for block in sampler._blocks for x in range(block.start, block.start + (1 << block.bits))}
    assert len(points) >= 3
    assert set(outcomes.mass) == points | {None}
    assert outcomes.undecided < Fraction(1, 1000)
    for x in points:
        assert outcomes.allows(x, _weight_in_a_round(law, sampler, x)), x


class _NoTail:
    """Stands for the table behind the first one, and rejects."""

    def _attempt(self, source: BitSource) -> None:
        return None


@pytest.mark.parametrize("law", _LAWS, ids=str)
def test_tails_come_from_deeper_tables_with_exact_probabilities(law: RejectionLaw) -> None:
    sampler = BlockSampler.over(law._arms(), _layout(2.0**-40))
    points = {x for block in sampler._blocks for x in range(block.start, block.start + (1 << block.bits))}
    deeper = sampler._deeper
    deeper.__dict__["_deeper"] = _NoTail()
    outcomes = every_stream(deeper._attempt, _LONGEST, _WORD_BITS)
    reached = [x for x in outcomes.mass if isinstance(x, int)]
    assert reached
    assert points.isdisjoint(reached)
    assert outcomes.undecided < Fraction(1, 1000)
    to_come_here = Fraction(sampler._plan.tail_words, 1 << _INDEX_BITS)
    for x in reached:
        assert outcomes.allows(x, _weight_in_a_round(law, sampler, x) / to_come_here), x


def test_draw_starts_again_after_a_rejected_round() -> None:
    law = DiscreteLaplace("0.4")
    sampler = BlockSampler.over(law._arms(), _layout(2.0**-40))
    outcomes = every_stream(sampler.draw, 15, _WORD_BITS)
    assert outcomes.undecided < Fraction(1, 5)
    assert len(outcomes.mass) >= 3
    for x in outcomes.mass:
        assert isinstance(x, int)
        assert outcomes.allows(x, Fraction(float(law.pmf(x)))), x


@pytest.mark.parametrize("wide", [False, True], ids=["offsets in the word", "offsets in words of their own"])
@pytest.mark.parametrize("law", [Geometric(5)], ids=str)
def test_offsets_come_from_bits_of_their_own(law: RejectionLaw, wide: bool) -> None:
    """A word of 7 digits holds those of the table and of a point among 8; one of 5 digits does not."""
    sampler = BlockSampler.over(law._arms(), _layout(2.0**-40))
    sampler.__dict__["_deeper"] = _NoTail()
    assert _WORD_BITS - _INDEX_BITS < sampler._columns.widest <= 7 - _INDEX_BITS
    outcomes = every_stream(_vector(sampler), 23, _WORD_BITS if wide else 7)
    assert outcomes.undecided < Fraction(1, 500)
    for x in outcomes.mass:
        if x is not None:
            assert isinstance(x, int)
            assert outcomes.allows(x, _weight_in_a_round(law, sampler, x)), x


_VECTORS = [
    DiscreteLaplace("0.4"),
    DiscreteGaussian.from_sigma(1000),
    DiscreteGaussian(2**80),
    Gumbel(9),
    PowerLaw(50, 4),
]


@pytest.mark.parametrize("law", _VECTORS, ids=str)
def test_words_that_accept_every_point_are_no_more_than_the_farthest_is_due(law: RejectionLaw) -> None:
    """They are most of the words; each leads to its block, and with one more a block would have too many."""
    sampler = law._many(10**6)
    assert sampler is not None
    columns, size = sampler._columns, 1 << sampler._layout.index_bits
    assert columns.sure > 0.85 * size
    assert columns.sure + len(columns.block) == size
    masks = np.full(size, columns.common_mask) if columns.common_mask is not None else columns.sure_masks
    first, most = 0, 0
    for number, block in enumerate(sampler._blocks):
        rest = np.flatnonzero(columns.block == number)
        sure = block.words - len(rest)
        assert (rest + columns.passed[number]).tolist() == list(range(sure, block.words))
        own = slice(first, first + sure)
        assert set(columns.sure_starts[own].tolist()) <= {block.start}
        assert set(masks[own].tolist()) <= {(1 << block.bits) - 1}
        with precision(200):
            due = block.words * sampler._chance(block, block.near + (1 << block.bits) - 1)
            assert due >= sure
            most += bool(due < sure + 1)
        first += sure
    assert first == columns.sure
    assert most > 0.9 * len(sampler._blocks)


_Batch = tuple[list[int], list[int], dict[int, int]]


class _Scripted(BlockSampler):
    """Proposes what it was told, a batch at a time."""

    def __init__(self, batches: list[_Batch]) -> None:
        self._batches = batches
        self.asked: list[int] = []

    def _propose(self, source: BitSource, points: NDArray[np.int64]) -> tuple[NDArray[np.intp], dict[int, int]]:
        self.asked.append(len(points))
        known, rejected, large = self._batches.pop(0)
        points[:] = np.arange(100, 100 + len(points))
        points[: len(known)] = known
        return np.array(rejected, dtype=np.intp), large


def test_rejected_rounds_are_replaced_by_accepted_ones_that_follow() -> None:
    sampler = _Scripted([([1, 2, 3, 4, 5, 6, 7], [1, 3, 4], {})])
    assert sampler.draw_many(RecordedBits(0, 0), 4).tolist() == [1, 6, 3, 7]
    assert sampler.asked == [20]


def test_where_too_few_follow_the_accepted_ones_come_first_and_more_is_drawn() -> None:
    sampler = _Scripted([([1, 2, 3, 4, 5], [0, 2, *range(5, 20)], {}), ([7, 8], [0], {})])
    assert sampler.draw_many(RecordedBits(0, 0), 4).tolist() == [2, 4, 5, 8]
    assert sampler.asked == [20, 17]


def test_vectors_put_points_beyond_int64_in_their_place() -> None:
    far = 1 << 70
    batches: list[_Batch] = [([1, 2, 0, 3, 0], [0, 3], {2: far, 4: -far})]
    assert _Scripted(batches).draw_many(RecordedBits(0, 0), 4).tolist() == [-far, 2, far, 105]
    several: list[_Batch] = [([0, 1], [*range(2, 21)], {0: far}), ([5, 6, 7], [], {})]
    assert _Scripted(several).draw_many(RecordedBits(0, 0), 5).tolist() == [far, 1, 5, 6, 7]


def test_long_vectors_are_made_of_batches() -> None:
    law = DiscreteGaussian.from_sigma(1000)
    assert law.sample(100_000).shape == (100_000,)
    assert law.sample((0, 3)).shape == (0, 3)


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 8, 11])
@pytest.mark.parametrize("many", [False, True])
def test_uniform_integers(bound: int, many: bool) -> None:
    law = UniformBelow(bound)

    def draw(source: BitSource) -> int:
        return int(law._draw_many(source, 1)[0]) if many else law._draw(source)

    outcomes = every_stream(draw, 15, 5)
    assert set(outcomes.mass) == set(range(bound))
    assert len(set(outcomes.mass.values())) == 1, "all values have the same mass on the same streams"
    assert outcomes.undecided < Fraction(1, 4)


@pytest.mark.parametrize(
    "coin", [Bernoulli("1/3"), Bernoulli(0), Bernoulli(1), Bernoulli("5/8"), BernoulliExp(1), BernoulliExp("0.01")]
)
@pytest.mark.parametrize("many", [False, True])
def test_coins(coin: Bernoulli | BernoulliExp, many: bool) -> None:
    def draw(source: BitSource) -> int:
        return int(coin._draw_many(source, 1)[0]) if many else coin._draw(source)

    outcomes = every_stream(draw, 16, 4)
    assert outcomes.undecided <= Fraction(1, 1 << 14)
    with precision(200):
        mantissa, exponent = coin.chance().mid().man_exp()
    assert outcomes.allows(1, Fraction(int(mantissa)) * Fraction(2) ** int(exponent))


def test_the_bound_of_uniform_integers_may_be_a_numpy_integer() -> None:
    assert UniformBelow(np.int64(1)) == UniformBelow(1)
    assert UniformBelow(np.int64(1)).sample() == 0


@pytest.mark.parametrize("layout", [FINE, COARSE], ids=["fine", "coarse"])
@pytest.mark.parametrize(
    "law", [DiscreteLaplace(1000), DiscreteGaussian.from_sigma(100), PowerLaw(50, 4), Gumbel(9)], ids=str
)
def test_the_doubles_of_a_plan_are_right_to_the_last_bits(law: RejectionLaw, layout: Layout) -> None:
    """`top` is a(nearest point) to 52 bits: rejection.md counts on it."""
    sampler = BlockSampler.over(law._arms(), layout)
    with precision(200):
        for block in sampler._blocks:
            factor = sampler._plan.scale * (1 << block.bits) / block.words
            truth = block.arm.shape.weight(block.near) * ball(factor)
            assert truth <= 1
            assert abs(truth - Ball(block.top)) < Ball(2) ** -52


def test_a_layout_without_a_margin_is_refused() -> None:
    with pytest.raises(ParameterError, match="margin must lie strictly between"):
        Layout(keep=Fraction(1, 2), margin=RATIO_ERROR)
    with pytest.raises(ParameterError, match="keep must be at least 1/2"):
        Layout(keep=Fraction(1, 3))


def test_points_beyond_all_doubles_are_drawn() -> None:
    """One draw in a hundred of this law is beyond 2^1024; none may fail."""
    law = PowerLaw(Fraction(2) ** 900, "1.05")
    assert max(abs(law.sample()) for _ in range(2000)) > 2**1024


@pytest.mark.parametrize("law", [Geometric, DiscreteLaplace, lambda scale: PowerLaw(scale, 4)])
def test_scales_that_no_ball_can_hold_are_refused(law: Callable[[Fraction], RejectionLaw]) -> None:
    with pytest.raises(ParameterError, match="scale must lie between"):
        law(Fraction(1, 2**201))
    assert law(Fraction(1, 2**200)).sample() == 0
