"""One of two pairs, not known which: it covers a mechanism that may do either of two things."""

from __future__ import annotations

from dataclasses import dataclass

from dither.pairs.subsampled import WorstPair

__all__ = ["ChoicePair"]


@dataclass(frozen=True)
class ChoicePair(WorstPair):
    """`first` or `second`, fixed in advance: by something that depends neither on the data nor on earlier answers.

    As a pair it is the worst of the two: it dominates both. Several of them together cost less than the product of
    these worst pairs, which no release has: see accounting/choices.py.
    """

    def swapped(self) -> ChoicePair:
        return ChoicePair(self.first.swapped(), self.second.swapped())
