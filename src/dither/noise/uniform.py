"""Uniform integers below any n."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import SupportsIndex

import numpy as np

from dither.exact import Ball, ball, check, set_fields
from dither.noise.entropy import BitSource
from dither.noise.law import Integers, Law, integer_array

__all__ = ["UniformBelow"]


@dataclass(frozen=True, init=False)
class UniformBelow(Law):
    """A uniform integer: P[X = x] = 1/n for 0 ≤ x < n.

    Parameters
    ----------
    bound : int
        n ≥ 1, of any size.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Sampled exactly: noise/uniform.md has the proof.

    Examples
    --------
    >>> UniformBelow(10).quantile(0.5)
    4
    """

    bound: int

    def __init__(self, bound: SupportsIndex) -> None:
        check.count(bound=bound)
        # a NumPy integer would wrap
        set_fields(self, bound=index(bound))

    def _pmf(self, x: int) -> Ball:
        """P[X = x]."""
        return ball(int(0 <= x < self.bound)) / self.bound

    def _tail(self, x: int) -> Ball:
        """P[X > x] = (n − 1 − x)/n inside the range."""
        return ball(min(max(self.bound - 1 - x, 0), self.bound)) / self.bound

    def _cdf(self, x: int) -> Ball:
        """P[X ≤ x] = (x + 1)/n inside the range."""
        return ball(min(max(x + 1, 0), self.bound)) / self.bound

    @property
    def _bits(self) -> int:
        return (self.bound - 1).bit_length()

    def _draw(self, source: BitSource) -> int:
        while (x := source.bits(self._bits)) >= self.bound:
            pass
        return x

    def _draw_many(self, source: BitSource, count: int) -> Integers:
        bits = self._bits
        if bits >= min(64, source.word_bits):
            return integer_array([self._draw(source) for _ in range(count)])
        out = np.empty(count, dtype=np.int64)
        shift = np.uint64(source.word_bits - bits)
        done = 0
        while done < count:
            points = source.words(count - done) >> shift
            kept = points[points < self.bound]
            out[done : done + len(kept)] = kept
            done += len(kept)
        return out
