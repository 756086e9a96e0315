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
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dither.exact import Ball, Real, ball, once, uniform_is_below
from dither.noise.blocks import COARSE, FINE, Arm, Block, BlockPlan, Layout, Shape, plan
from dither.noise.entropy import BitSource
from dither.noise.law import Integers, Law, SymmetricLaw, integer_array

__all__ = ["BlockSampler", "Direct", "RejectionLaw", "TwoSidedLaw", "accepts"]

_CHUNK = 1 << 15  # proposals at a time: all of a round stays in the processor's cache
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
        """`count` independent exact samples: the first that are accepted, in the order in which they were proposed."""
        out = np.empty(count, dtype=np.int64)
        done = 0
        beyond: dict[int, int] = {}
        while done < count:
            left = count - done
            points, accepted, large = self._propose(source, min(_CHUNK, left + (left >> 4) + 1))
            kept = np.flatnonzero(accepted)[:left]
            out[done : done + len(kept)] = points[kept]
            for position, x in large.items():
                where = int(np.searchsorted(kept, position))
                if where < len(kept):
                    beyond[done + where] = x
            done += len(kept)
        if not beyond:
            return out
        values: list[int] = out.tolist()
        for where, x in beyond.items():
            values[where] = x
        return integer_array(values)

    def _propose(self, source: BitSource, count: int) -> tuple[NDArray[np.int64], NDArray[np.bool_], dict[int, int]]:
        """`count` rounds: points, which of them are accepted, and accepted points that do not fit int64."""
        columns = self._columns
        words = source.words(count)
        index = columns.table.take((words >> columns.index_shift).view(np.int64))
        uniform = words & columns.uniform_mask
        points = columns.start.take(index)
        if columns.has_wide_blocks:
            points += (source.words(count) >> columns.offset_shift.take(index)).view(np.int64)
        accepted = uniform < columns.accept_below.take(index)
        large: dict[int, int] = {}
        rest = np.flatnonzero(~accepted)
        if len(rest):
            decided = self._decide(index[rest], points[rest], uniform[rest])
            accepted[rest] = decided == 1
            for position in rest[decided == 0].tolist():
                x = self._settle(source, int(index[position]), int(points[position]), int(uniform[position]))
                accepted[position] = x is not None
                if x is not None and -_INT64_ROOM < x < _INT64_ROOM:
                    points[position] = x
                elif x is not None:
                    large[position] = x
        return points, accepted, large

    def _decide(
        self, index: NDArray[np.intp], points: NDArray[np.int64], uniform: NDArray[np.uint64]
    ) -> NDArray[np.int8]:
        """1 accepted, −1 rejected, 0 for balls to decide (or a tail to draw from)."""
        columns, steps = self._columns, float(1 << self._layout.uniform_bits)
        decided = np.where(uniform >= columns.reject_from.take(index), -1, 0).astype(np.int8)
        for shape, owned in columns.shapes:
            mine = np.flatnonzero(owned.take(index) & (decided == 0))
            blocks = index[mine]
            offset = np.abs(points[mine] - columns.nearest.take(blocks)).astype(np.float64)
            ratio = shape.ratio(columns.near.take(blocks), offset)
            if ratio is None:
                continue
            chance = columns.top.take(blocks) * ratio
            below = (uniform[mine] + np.uint64(1)) / steps <= chance - self._layout.margin
            above = uniform[mine] / steps >= chance + self._layout.margin
            decided[mine] = below.astype(np.int8) - above.astype(np.int8)
        return decided

    def _settle(self, source: BitSource, index: int, x: int, uniform: int) -> int | None:
        """The rare proposal that double precision leaves open."""
        if index == len(self._blocks):
            return self._deeper._attempt(source)
        return x if self._accepts(source, self._blocks[index], x, uniform) else None

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

    def _draw(self, source: BitSource) -> int:
        if self._first is not None and (x := self._first.draw(source)) is not None:
            return x
        return self._single.draw(source)

    def _draw_many(self, source: BitSource, count: int) -> Integers:
        if count >= _MANY and self._single.fits_int64:
            return _sampler(self, FINE).draw_many(source, count)
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
    """The blocks as columns. Two more rows follow them: the tail (always left open) and the void (always rejected)."""

    def __init__(self, blocks: Sequence[Block], tail_words: int, layout: Layout) -> None:
        size, steps = 1 << layout.index_bits, 1 << layout.uniform_bits
        word_bits = layout.index_bits + layout.uniform_bits
        owned = [block.words for block in blocks] + [tail_words]
        self.table = np.repeat(np.arange(len(blocks) + 2), [*owned, size - sum(owned)])
        self.index_shift = np.uint64(layout.uniform_bits)
        self.uniform_mask = np.uint64(steps - 1)
        self.start = np.array([b.start for b in blocks] + [0, 0], dtype=np.int64)
        self.nearest = np.array([b.nearest for b in blocks] + [0, 0], dtype=np.int64)
        self.near = np.array([b.near for b in blocks] + [0, 0], dtype=np.float64)
        self.top = np.array([b.top for b in blocks] + [0, 0], dtype=np.float64)
        self.accept_below = np.array([b.accept_below for b in blocks] + [0, 0], dtype=np.uint64)
        self.reject_from = np.array([b.reject_from for b in blocks] + [steps, 0], dtype=np.uint64)
        # A shift by all bits leaves 0 in NumPy, as it must for blocks of one point.
        self.offset_shift = np.array([word_bits - b.bits for b in blocks] + [word_bits] * 2, dtype=np.uint64)
        self.has_wide_blocks = any(b.bits for b in blocks)
        shapes = {id(b.arm.shape): b.arm.shape for b in blocks}
        self.shapes = [
            (shape, np.array([b.arm.shape is shape for b in blocks] + [False] * 2)) for shape in shapes.values()
        ]
