"""Run a sampler on every possible stream of bits and add up exact probabilities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.noise.entropy import BitSource

__all__ = ["Outcomes", "RecordedBits", "StreamEnded", "every_stream"]


class StreamEnded(Exception):
    """The sampler asked for more bits than were recorded."""

    def __init__(self, missing: int) -> None:
        super().__init__(f"{missing} bits more were asked for")
        self.missing = missing


class RecordedBits:
    """A source that hands out the `length` binary digits of `digits`, first digit first, and then ends."""

    def __init__(self, digits: int, length: int, word_bits: int = 64) -> None:
        self.word_bits = word_bits
        self._digits = digits
        self._left = length

    def bits(self, count: int) -> int:
        if count > self._left:
            raise StreamEnded(count - self._left)
        self._left -= count
        return (self._digits >> self._left) & ((1 << count) - 1)

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([self.bits(self.word_bits) for _ in range(count)], dtype=np.uint64)


@dataclass(frozen=True)
class Outcomes:
    """The exact probability of each outcome that was reached, and of streams that were too short to tell."""

    mass: dict[Hashable, Fraction]
    undecided: Fraction

    def allows(self, outcome: Hashable, probability: Fraction) -> bool:
        """Whether `probability` is possible for `outcome`: at least its mass, at most that and all undecided."""
        reached = self.mass.get(outcome, Fraction(0))
        return reached <= probability <= reached + self.undecided


def every_stream(draw: Callable[[BitSource], Hashable], longest: int, word_bits: int) -> Outcomes:
    """Run `draw` on all streams of at most `longest` bits; a stream is lengthened only when it was too short."""
    mass: dict[Hashable, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    waiting = [(0, 0)]
    while waiting:
        digits, length = waiting.pop()
        try:
            outcome = draw(RecordedBits(digits, length, word_bits))
        except StreamEnded as ended:
            longer = length + ended.missing
            if longer > longest:
                undecided += Fraction(1, 1 << length)
            else:
                waiting += [((digits << ended.missing) | more, longer) for more in range(1 << ended.missing)]
        else:
            mass[outcome] += Fraction(1, 1 << length)
    return Outcomes(dict(mass), undecided)
