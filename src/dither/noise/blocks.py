"""Cutting a law into blocks: the layout on which `rejection` samples. Proof: rejection.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import PrecisionError
from dither.exact import Ball, ball, check, lower, precision, upper

__all__ = [
    "COARSE",
    "FINE",
    "RATIO_ERROR",
    "Arm",
    "Block",
    "BlockPlan",
    "Floats",
    "Layout",
    "Shape",
    "exp_minus",
    "exp_minus_any",
    "plan",
]

Floats = TypeVar("Floats", float, NDArray[np.float64])

_PLANNING_BITS = 128
_DOUBLE_BITS = 1000  # integers of so many bits, doubled or rounded, are still finite doubles
RATIO_ERROR = 2.0**-44
"""What `Shape.ratio` may be off by, in absolute terms."""


class Shape(Protocol):
    """The weight g of a law on one side of its peak, as a function of the distance i ≥ 0 from the peak. Hashable."""

    def weight(self, i: int) -> Ball:
        """g(i) > 0, never increasing in i."""
        ...

    def tail_bound(self, i: int) -> Ball:
        """At least the sum of g(n) over n ≥ i."""
        ...

    def ratio(self, near: Floats, offset: Floats) -> Floats | None:
        """g(near + offset) / g(near) in double precision with an error below `RATIO_ERROR`, if it is at least ½.

        `near` and `offset` are integers rounded to double. None if the shape has no proven double-precision form:
        balls decide then.
        """
        ...


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a law: the points peak + sign · i for i ≥ first, with weight shape.weight(i)."""

    shape: Shape
    sign: int
    first: int
    peak: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """How blocks are laid out. No choice here can change the law, only the speed."""

    keep: Fraction
    """A block ends before g falls below `keep` times its value at the block's nearest point; at least ½."""
    index_bits: int = 16
    """2^index_bits table words."""
    uniform_bits: int = 48
    """How many bits of the uniform number are drawn at once."""
    tail_share: Fraction = Fraction(1, 1 << 16)
    """Blocks end where less than this share of an arm is left; the rest is drawn from a second table."""
    margin: float = 2.0**-40
    """Double precision decides when it is this sure; must exceed RATIO_ERROR and the rounding around it."""
    largest_block_bits: int | None = None
    """Blocks hold at most 2^largest_block_bits points; None where Python integers hold the points."""

    def __post_init__(self) -> None:
        check.between(4 * RATIO_ERROR, inf, margin=self.margin)
        check.at_least(Fraction(1, 2), keep=self.keep)

    def for_tail(self) -> Layout:
        """The layout of the table behind this one: drawn from so rarely that it should be small."""
        return replace(
            self, keep=COARSE.keep, tail_share=max(self.tail_share, Fraction(1, 64)), largest_block_bits=None
        )


FINE = Layout(keep=Fraction(15, 16), largest_block_bits=62)
"""Few rejections: for vectors."""
COARSE = Layout(keep=Fraction(1, 2))
"""Few blocks, so that the first sample comes soon: for single draws."""


@dataclass(frozen=True, slots=True)
class Block:
    """2^bits neighbouring points of an arm, proposed together."""

    arm: Arm
    near: int
    """Distance of the nearest point from the peak."""
    bits: int
    start: int
    """The smallest point."""
    words: int
    """m, how many table words the block owns."""
    top: float
    """c · 2^bits · g(near) / m, rounded to double."""
    accept_below: int
    """A uniform number below accept_below / 2^uniform_bits accepts every point of the block."""
    reject_from: int
    """A uniform number from reject_from / 2^uniform_bits on rejects every point of the block."""
    fits_double: bool
    """Whether distances in the block can be rounded to double; balls decide where they cannot."""

    @property
    def nearest(self) -> int:
        """The point closest to the peak."""
        return self.arm.peak + self.arm.sign * self.near


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """Blocks, and the table words left to the tails beyond them."""

    blocks: Sequence[Block]
    scale: Fraction
    """The constant c: one round gives x with probability c · g(x) / 2^index_bits."""
    tail_words: int
    tail_arms: Sequence[Arm]


def plan(arms: Sequence[Arm], layout: Layout, scale: Fraction | None = None) -> BlockPlan:
    """Lay out blocks over the arms. Without a `scale`, c is chosen so that the table is nearly full."""
    with precision(_PLANNING_BITS):
        # Both arms of a symmetric law share their spans from 1 on.
        sides = {(arm.shape, max(arm.first, 1)) for arm in arms}
        outwards = {(shape, first): _spans(shape, first, layout) for shape, first in sides}
        runs = [(arm, _peak(arm) + outwards[arm.shape, max(arm.first, 1)]) for arm in arms]
        tail_arms = [replace(arm, first=_end(spans, arm.first)) for arm, spans in runs]
        tails = sum((arm.shape.tail_bound(arm.first) for arm in tail_arms), ball(0))
        if scale is None:
            # Twice the tails' four times below: rounding up to a whole word must not overfill the table.
            whole = sum((span.highest * (1 << span.bits) for _, spans in runs for span in spans), 8 * tails)
            room = (1 << layout.index_bits) - sum(len(spans) for _, spans in runs) - 1
            scale = Fraction(lower(ball(room) / whole))
        steps = {span: _step(span, scale, layout) for span in {span for _, spans in runs for span in spans}}
        blocks = [_place(steps[span], arm) for arm, spans in runs for span in spans]
        # Four times the tails' weight leaves room for their blocks, which overshoot them at most twice.
        tail_words = max(1, ceil(upper(4 * tails * ball(scale))))
    if not 0 < sum(block.words for block in blocks) + tail_words <= 1 << layout.index_bits:
        raise PrecisionError("the table of a sampler has too few words for its blocks; use more index bits")
    return BlockPlan(blocks, scale, tail_words, tail_arms)


@dataclass(frozen=True, slots=True, eq=False)
class _Span:
    near: int
    bits: int
    highest: Ball
    lowest: Ball


def _peak(arm: Arm) -> list[_Span]:
    """The peak alone, if the arm has it."""
    weight = arm.shape.weight(0)
    return [_Span(0, 0, weight, weight)] if arm.first == 0 else []


def _spans(shape: Shape, first: int, layout: Layout) -> list[_Span]:
    """Blocks of one side, outwards until less than `tail_share` of it is left."""
    spans: list[_Span] = []
    near, bits = first, 0
    enough = shape.tail_bound(first) * ball(layout.tail_share)
    while True:
        lowest = _lowest(shape, near, bits)
        # What is left is at least the next block, which is known sooner than a bound on all of it.
        if not lowest * (1 << bits) > enough and shape.tail_bound(near) <= enough:
            return spans
        highest = shape.weight(near)
        if not highest > 0:
            raise PrecisionError("a weight cannot be distinguished from 0; use a larger scale")
        least = highest * ball(layout.keep)
        while not lowest >= least and bits > 0:
            bits -= 1
            lowest = _lowest(shape, near, bits)
        while bits != layout.largest_block_bits and (wider := _lowest(shape, near, bits + 1)) >= least:
            bits, lowest = bits + 1, wider
        spans.append(_Span(near, bits, highest, lowest))
        near += 1 << bits


def _lowest(shape: Shape, near: int, bits: int) -> Ball:
    return shape.weight(near + (1 << bits) - 1)


def _end(spans: Sequence[_Span], first: int) -> int:
    return spans[-1].near + (1 << spans[-1].bits) if spans else first


@dataclass(frozen=True, slots=True)
class _Step:
    """What the blocks of two mirrored arms have in common."""

    near: int
    bits: int
    words: int
    top: float
    accept_below: int
    reject_from: int


def _step(span: _Span, scale: Fraction, layout: Layout) -> _Step:
    mass = ball(scale) * (1 << span.bits)
    highest = mass * span.highest
    words = max(1, ceil(upper(highest)))
    chances = mass * (1 << layout.uniform_bits) / words
    return _Step(
        near=span.near,
        bits=span.bits,
        words=words,
        top=float(highest / words),
        accept_below=max(0, floor(lower(chances * span.lowest))),
        reject_from=min(1 << layout.uniform_bits, ceil(upper(chances * span.highest))),
    )


def _place(step: _Step, arm: Arm) -> Block:
    start = arm.peak + step.near if arm.sign > 0 else arm.peak - step.near - (1 << step.bits) + 1
    fits = (step.near + (1 << step.bits)).bit_length() <= _DOUBLE_BITS
    return Block(arm, step.near, step.bits, start, step.words, step.top, step.accept_below, step.reject_from, fits)


_INVERSE_FACTORIALS = [1.0]
for _k in range(1, 19):
    _INVERSE_FACTORIALS.append(_INVERSE_FACTORIALS[-1] / _k)
_HIGHEST, *_LOWER = reversed(_INVERSE_FACTORIALS)


def exp_minus(x: Floats) -> Floats:
    """e^{−x} for 0 ≤ x ≤ 1 with an error below 2^-50, from additions and multiplications only.

    The Taylor polynomial of degree 18 leaves less than 1/19! < 2^-56. For Horner's rule let T_k be the exact partial
    results, between 0 and 1/k!, and u = 2^-53. A coefficient is off by k units, one for each division, and there are
    two roundings, of x T_{k+1} ≤ 1/(k+1)! and of T_k: the errors obey e_k ≤ x e_{k+1} + u ((k + 1)/k! + 1/(k + 1)!)
    but for terms in u². So e_0 ≤ u (e + e + e − 1) < 7.2 u; together below 8 u = 2^-50.
    """
    total = _HIGHEST + 0 * x
    for coefficient in _LOWER:
        total = coefficient - x * total
    return total


_FARTHEST, _PARTS = 41, 32


def _powers() -> NDArray[np.float64]:
    """e^{−n/32} for n below 41 · 32, each off by less than 6 units of 2^-53; then 0, off by less than 2^-59.

    Each is the product of two numbers that are rounded from balls, by 2 units at most.
    """
    with precision(_PLANNING_BITS):
        whole, parts = (
            [float((-ball(n) / share).exp()) for n in range(count)]
            for share, count in ((1, _FARTHEST), (_PARTS, _PARTS))
        )
    return np.append(np.outer(whole, parts), 0.0)


_POWERS = _powers()
_LISTED_POWERS: list[float] = _POWERS.tolist()
_FIRST, *_OTHERS = reversed(_INVERSE_FACTORIALS[:8])


def exp_minus_any(x: Floats) -> Floats:
    """e^{−x} for x ≥ 0: a relative error below 9 · 2^-53 for x < 41, an absolute one below 2^-59 beyond.

    With n = ⌊32x⌋, r = x − n/32 < 1/32 is exact. The Taylor polynomial of degree 7 leaves r^8/8! < 0.3 units. In
    Horner's rule, as in `exp_minus`, each further step weighs 1/32 of the one before: less than 1.2 units, and with
    e^{−r} > 0.96 relatively less than 1.6 together. The power is off by 6 units, and the product by 1.
    """
    if isinstance(x, float):
        if not x < _FARTHEST:
            return 0.0
        n = int(x * _PARTS)
        rest, total = x - n / _PARTS, _FIRST
        for coefficient in _OTHERS:
            total = coefficient - rest * total
        return total * _LISTED_POWERS[n]
    near = np.minimum(x, _FARTHEST)
    floor = np.floor(near * _PARTS)
    near -= floor / _PARTS
    found: Floats = _FIRST - near * 0
    for coefficient in _OTHERS:
        found = coefficient - near * found
    found *= _POWERS.take(floor.astype(np.intp))
    return found
