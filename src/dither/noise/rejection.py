"""Exact rejection from a staircase of blocks: the sampler behind the laws of this package. Proof: rejection.md.

The integers are cut into blocks of 2^k neighbours on which the weight g of the law hardly changes. A draw takes

1. a block, from a table of 2^16 equally likely words of which block j owns m_j ≥ c · 2^k · g(nearest point of j);
2. one of its 2^k points x, by k fair bits;
3. x with probability c · 2^k · g(x) / m_j ≤ 1, else everything starts again.

Each x comes out of one round with probability c · g(x) / 2^16 exactly, whatever the whole numbers m_j are: they only
set the speed. Real numbers appear in step 3 alone, where 48 known bits of a uniform number are compared with a
probability: whole-number bounds decide nearly always, then double precision with a proven margin, then balls.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.exact import Ball, Real, ball, once, uniform_is_below
from dither.noise.blocks import COARSE, FINE, Arm, Block, BlockPlan, Layout, Shape, plan
from dither.noise.entropy import BitSource
from dither.noise.law import Integers, Law, SymmetricLaw, integer_array

__all__ = ["BlockSampler", "Direct", "RejectionLaw", "TwoSidedLaw", "accepts"]

_CHUNK = 1 << 15  # proposals at a time: all of a round stays in the processor's cache
_SPARE_ROUNDS = 16
_ROUNDING = 2.0**-50
_INT64_ROOM = 1 << 61  # the last fine block starts before the last coarse one ends, and is shorter: far below 2^62


class BlockSampler:
    """Samples exactly from a law on arms, P[x] ∝ g(x), by the blocks of a plan."""

    def __init__(self, layout: Layout, plan: BlockPlan) -> None:
        self._layout = layout
        self._plan = plan
        self._blocks = plan.blocks
        self._word_bits = layout.index_bits + layout.uniform_bits
        self._uniform_bits = layout.uniform_bits
        self._uniform_mask = (1 << layout.uniform_bits) - 1
        self._ends = list(accumulate([*(block.words for block in plan.blocks), plan.tail_words]))

    @classmethod
    def over(cls, arms: Sequence[Arm], layout: Layout) -> BlockSampler:
        """The sampler of the law on the given arms."""
        return cls(layout, plan(arms, layout))

    @once
    def _deeper(self) -> BlockSampler:
        """The table for what lies beyond the blocks; it has one behind it in turn, and so on without end.

        A round through both tables must again give x with probability c · g(x) / 2^index_bits, and it comes here
        with probability tail_words / 2^index_bits, so the constant here is c · 2^index_bits / tail_words.
        """
        here, layout = self._plan, self._layout.for_tail()
        scale = here.scale * (1 << layout.index_bits) / here.tail_words
        return BlockSampler(layout, plan(here.tail_arms, layout, scale))

    # ------------------------------------------------------------ single draws

    def draw(self, source: BitSource) -> int:
        """One exact sample."""
        while (x := self._attempt(source)) is None:
            pass
        return x

    def _attempt(self, source: BitSource) -> int | None:
        """One round: a sample, or None if it was rejected."""
        word = source.bits(self._word_bits)
        uniform = word & self._uniform_mask
        index = bisect_right(self._ends, word >> self._uniform_bits)
        if index < len(self._blocks):
            block = self._blocks[index]
            x = block.start + (source.bits(block.bits) if block.bits else 0)
            return x if uniform < block.accept_below or self._accepts(source, block, x, uniform) else None
        if index == len(self._blocks):
            return self._deeper._attempt(source)
        return None

    def _accepts(self, source: BitSource, block: Block, x: int, uniform: int) -> bool:
        """Whether a uniform number that begins with `uniform` ≥ `accept_below` is below c · 2^bits · g(x) / m."""
        if uniform >= block.reject_from:
            return False
        shape, i = block.arm.shape, abs(x - block.arm.peak)
        ratio = shape.ratio(float(block.near), float(i - block.near)) if block.fits_double else None
        chance = None if ratio is None else block.top * ratio
        layout = self._layout
        return accepts(source, uniform, layout.uniform_bits, chance, layout.margin, lambda: self._chance(block, i))

    def _chance(self, block: Block, i: int) -> Ball:
        """c · 2^bits · g(i) / m."""
        return block.arm.shape.weight(i) * ball(self._plan.scale * (1 << block.bits) / block.words)

    # ----------------------------------------------------------------- vectors

    def draw_many(self, source: BitSource, count: int) -> Integers:
        """`count` independent exact samples, from batches of independent rounds."""
        parts: list[Any] = []
        missing = count
        while missing or not parts:
            wanted = min(missing, _CHUNK)
            points = np.empty(wanted + (wanted >> 5) + _SPARE_ROUNDS, dtype=np.int64)
            rejected, large = self._propose(source, points)
            parts.append(_accepted(points, rejected, large, wanted))
            missing -= len(parts[-1])
        if all(part.dtype == np.int64 for part in parts):
            together: Integers = parts[0] if len(parts) == 1 else np.concatenate(parts)
            return together
        return integer_array([x for part in parts for x in part.tolist()])

    def _propose(self, source: BitSource, points: NDArray[np.int64]) -> tuple[NDArray[np.intp], dict[int, int]]:
        """Play a round for each place of `points`: those that were rejected, and accepted points beyond int64."""
        columns, spare_bits = self._columns, source.word_bits - self._layout.index_bits
        words = source.words(len(points))
        index = (words >> np.uint64(spare_bits)).view(np.int64)
        offsets = words if columns.widest <= spare_bits else source.words(len(points))
        inside = offsets & (columns.sure_masks.take(index) if columns.common_mask is None else columns.common_mask)
        np.add(columns.sure_starts.take(index), inside.view(np.int64), out=points)
        places = np.flatnonzero(index >= columns.sure)
        if not len(places):
            return places, {}
        return self._settle(source, points, places, index[places] - columns.sure, offsets[places])

    def _settle(
        self,
        source: BitSource,
        points: NDArray[np.int64],
        places: NDArray[np.intp],
        index: NDArray[np.int64],
        offsets: NDArray[np.uint64],
    ) -> tuple[NDArray[np.intp], dict[int, int]]:
        """The rounds whose word does not accept every point of its block."""
        columns, bits = self._columns, self._layout.uniform_bits
        blocks = columns.block.take(index)
        found = columns.start.take(blocks) + (offsets & columns.mask.take(blocks)).view(np.int64)
        points[places] = found
        passed = index + columns.passed.take(blocks)
        uniform = source.words(len(places)) >> np.uint64(source.word_bits - bits)
        decided = self._decide(blocks, found, passed, uniform)
        large: dict[int, int] = {}
        for i in np.flatnonzero(decided == 0).tolist():
            x = self._one(source, int(blocks[i]), int(found[i]), int(passed[i]), int(uniform[i]))
            decided[i] = -1 if x is None else 1
            if x is not None and -_INT64_ROOM < x < _INT64_ROOM:
                points[places[i]] = x
            elif x is not None:
                large[int(places[i])] = x
        return places[decided < 0], large

    def _decide(
        self,
        blocks: NDArray[np.intp],
        points: NDArray[np.int64],
        passed: NDArray[np.int64],
        uniform: NDArray[np.uint64],
    ) -> NDArray[np.int8]:
        """1 accepted, −1 rejected, 0 for balls to decide (or a tail to draw from)."""
        columns, steps, margin = self._columns, float(1 << self._layout.uniform_bits), self._layout.margin
        words = columns.words.take(blocks)
        low = (passed + uniform / steps) / words
        high = (passed + (uniform + np.uint64(1)) / steps) / words
        decided = (high <= columns.accept_below.take(blocks)).astype(np.int8)
        decided -= low >= columns.reject_from.take(blocks)
        for shape, owned in columns.shapes:
            mine = np.flatnonzero(owned.take(blocks) & (decided == 0))
            own = blocks[mine]
            offset = np.abs(points[mine] - columns.nearest.take(own)).astype(np.float64)
            ratio = shape.ratio(columns.near.take(own), offset)
            if ratio is None:
                continue
            chance = columns.top.take(own) * ratio
            below, above = high[mine] <= chance - margin, low[mine] >= chance + margin
            decided[mine] = below.astype(np.int8) - above.astype(np.int8)
        return decided

    def _one(self, source: BitSource, index: int, x: int, passed: int, uniform: int) -> int | None:
        """The rare round that double precision leaves open."""
        if index == len(self._blocks):
            return self._deeper._attempt(source)
        block = self._blocks[index]

        def rest() -> Ball:
            return block.words * self._chance(block, abs(x - block.arm.peak)) - passed

        return x if uniform_is_below(rest, uniform, self._layout.uniform_bits, lambda: source.bits(1)) else None

    @once
    def _columns(self) -> _Columns:
        return _Columns(self._blocks, self._plan.tail_words, self._layout)

    @property
    def fits_int64(self) -> bool:
        """Whether all blocks lie well within int64, so that vectors may be drawn with machine integers."""
        return all(-_INT64_ROOM < b.start and b.start + (1 << b.bits) < _INT64_ROOM for b in self._blocks)


def accepts(source: BitSource, uniform: int, bits: int, chance: float | None, margin: float, exactly: Real) -> bool:
    """Whether a uniform number that begins with the binary digits of `uniform` is below the number `exactly`.

    `chance` is that number in double precision, off by less than half of `margin`, or None where it has no such form.
    """
    if chance is not None:
        steps = 1 << bits
        if (uniform + 1) / steps <= chance - margin:
            return True
        if uniform / steps >= chance + margin:
            return False
    return uniform_is_below(exactly, uniform, bits, lambda: source.bits(1))


def _accepted(points: NDArray[np.int64], rejected: NDArray[np.intp], large: dict[int, int], wanted: int) -> Integers:
    """At most `wanted` of the accepted points: rounds after them take the places of those that were rejected."""
    found: Any = points
    if large:
        found = points.astype(np.object_)
        found[list(large)] = list(large.values())
    holes = rejected[: np.searchsorted(rejected, wanted)]
    after = np.delete(np.arange(wanted, len(points)), rejected[len(holes) :] - wanted)
    if len(after) < len(holes):
        left: Integers = np.delete(found, rejected)
        return left
    found[holes] = found[after[: len(holes)]]
    filled: Integers = found[:wanted]
    return filled


class Direct(Protocol):
    """Draws exactly from a law without a table: slower, but at once."""

    def draw(self, source: BitSource) -> int:
        """One exact sample."""
        ...

    def draw_many(self, source: BitSource, count: int) -> Integers:
        """`count` independent exact samples, faster than one by one."""
        ...


class _FirstDraws:
    """The samples of a law until a table pays. The count begins anew with each source, so that bits decide alone."""

    def __init__(self, direct: Direct) -> None:
        self._direct = direct
        self._source: BitSource | None = None
        self._left = 0

    def draw(self, source: BitSource) -> int | None:
        """One exact sample, or None if it is time for a table."""
        if source is not self._source:
            self._source, self._left = source, _BEFORE_A_TABLE
        if not self._left > 0:
            return None
        self._left -= 1
        return self._direct.draw(source)

    def draw_many(self, source: BitSource, count: int) -> Integers:
        """A short vector, which needs no table however many were drawn before."""
        return self._direct.draw_many(source, count)


class RejectionLaw(Law):
    """A law that is sampled from a staircase of blocks. Hashable, as its samplers are kept for the next call."""

    @abstractmethod
    def _arms(self) -> Sequence[Arm]:
        """The sides of the law, which together hold every integer of its support once."""

    def _direct(self) -> Direct | None:
        """A sampler without a table, if there is one."""
        return None

    @once
    def _first(self) -> _FirstDraws | None:
        return _first_draws(self)

    @once
    def _single(self) -> BlockSampler:
        return _sampler(self, COARSE)

    def _many(self, count: int) -> BlockSampler | None:
        """The sampler of so long a vector; None where the points outgrow machine integers."""
        return _sampler(self, self._vector_layout(count)) if self._fits_int64 else None

    def _vector_layout(self, count: int) -> Layout:
        """How blocks are laid out for so long a vector: this changes nothing but the speed."""
        return FINE

    @property
    def _fits_int64(self) -> bool:
        return self._single.fits_int64

    def _draw(self, source: BitSource) -> int:
        if self._first is not None and (x := self._first.draw(source)) is not None:
            return x
        return self._single.draw(source)

    def _draw_many(self, source: BitSource, count: int) -> Integers:
        if count >= _MANY and (many := self._many(count)) is not None:
            return many.draw_many(source, count)
        if self._first is not None and _BEFORE_A_TABLE < count < _MANY:
            return self._first.draw_many(source, count)
        draw = self._draw if count <= _BEFORE_A_TABLE else self._single.draw
        return integer_array([draw(source) for _ in range(count)])


class TwoSidedLaw(SymmetricLaw, RejectionLaw, Shape):
    """A law P[X = x] = g(|x|)/Σ g, itself the shape g of both of its sides."""

    @abstractmethod
    def _whole(self) -> Ball:
        """Σ g(|x|) over all integers."""

    def _pmf(self, x: int) -> Ball:
        """P[X = x]."""
        return self.weight(abs(x)) / self._whole()

    def _arms(self) -> Sequence[Arm]:
        return (Arm(self, sign=1, first=0), Arm(self, sign=-1, first=1))


_MANY = 256  # below, laying out the fine table costs more than it saves
_BEFORE_A_TABLE = 48  # single draws that cost less than laying out the coarse one


@lru_cache(maxsize=128)
def _first_draws(law: RejectionLaw) -> _FirstDraws | None:
    direct = law._direct()
    return None if direct is None else _FirstDraws(direct)


@lru_cache(maxsize=128)
def _sampler(law: RejectionLaw, layout: Layout) -> BlockSampler:
    return BlockSampler.over(law._arms(), layout)


class _Columns:
    """The blocks as columns. Two more rows follow them: the tail (always left open) and the void (always rejected).

    The words of the table stand in another order than in single draws: first those that accept every point of their
    block, the blocks one after the other, then what is left of each block, the tail and the void.
    """

    def __init__(self, blocks: Sequence[Block], tail_words: int, layout: Layout) -> None:
        size, steps = 1 << layout.index_bits, 1 << layout.uniform_bits
        words = np.array([b.words for b in blocks] + [tail_words], dtype=np.int64)
        words = np.append(words, size - words.sum())
        accept_below = [b.accept_below for b in blocks] + [0, 0]
        sure = np.array(
            [m * below >> layout.uniform_bits for m, below in zip(words.tolist(), accept_below, strict=True)]
        )
        left = words - sure
        self.sure = int(sure.sum())
        """Below it, a word accepts."""
        self.block = np.repeat(np.arange(len(words)), left)
        """That of each word that does not, from the first of them on."""
        self.passed = sure - (np.cumsum(left) - left)
        """What to add to the number of such a word, for its place among all words of its block."""
        self.words = np.maximum(words, 1).astype(np.float64)
        self.start = np.array([b.start for b in blocks] + [0, 0], dtype=np.int64)
        self.nearest = np.array([b.nearest for b in blocks] + [0, 0], dtype=np.int64)
        self.near = np.array([b.near for b in blocks] + [0, 0], dtype=np.float64)
        self.top = np.array([b.top for b in blocks] + [0, 0], dtype=np.float64)
        # The place in a block, as a part of it, is rounded twice.
        self.accept_below = np.array(accept_below) / steps - _ROUNDING
        self.reject_from = np.array([b.reject_from for b in blocks] + [2 * steps, 0]) / steps + _ROUNDING
        self.reject_from[-1] = 0.0
        bits = np.array([b.bits for b in blocks] + [0, 0], dtype=np.uint64)
        self.mask = (np.uint64(1) << bits) - np.uint64(1)
        self.widest = int(bits.max())
        self.sure_starts = np.zeros(size, dtype=np.int64)
        self.sure_starts[: self.sure] = np.repeat(self.start, sure)
        masks = np.unique(self.mask[sure > 0])
        self.common_mask = masks[0] if len(masks) == 1 else None
        if self.common_mask is None:
            self.sure_masks = np.zeros(size, dtype=np.uint64)
            self.sure_masks[: self.sure] = np.repeat(self.mask, sure)
        shapes = {id(b.arm.shape): b.arm.shape for b in blocks}
        self.shapes = [
            (shape, np.array([b.arm.shape is shape for b in blocks] + [False] * 2)) for shape in shapes.values()
        ]
