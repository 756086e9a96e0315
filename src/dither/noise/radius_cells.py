"""Which cell of length a radius lies in: P[n] ∝ n^k e^{−λ(n−1)^p}, n ≥ 1. Proof: normed.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt
from typing import Literal

from dither.exact import Ball, ball
from dither.noise.blocks import FINE, Arm, Floats
from dither.noise.entropy import BitSource
from dither.noise.law import Integers
from dither.noise.rejection import BlockSampler

__all__ = ["RadiusCells"]


@dataclass(frozen=True)
class RadiusCells:
    """P[n] ∝ n^k e^{−λ(n−1)^p} for n ≥ 1: k = `dimension`, λ = `rate`, p = `power`."""

    dimension: int
    rate: Fraction
    power: Literal[1, 2]

    def draw_many(self, source: BitSource, count: int) -> Integers:
        """`count` independent exact samples."""
        return _sampler(self).draw_many(source, count)

    @property
    def peak(self) -> int:
        """The smallest n from which on the weight falls: k ≤ λn, or k ≤ 2λn(n − 1), where its logarithm has its top."""
        if self.power == 1:
            return max(ceil(self.dimension / self.rate), 1)
        product = ceil(self.dimension / (2 * self.rate))
        root = isqrt(product)
        return root + 1 if root * (root + 1) >= product else root + 2

    def log_weight(self, n: int) -> Ball:
        """k ln n − λ(n − 1)^p."""
        volume: Ball = self.dimension * ball(n).log() - ball(self.rate) * (n - 1) ** self.power
        return volume


@dataclass(frozen=True)
class _FromPeak:
    """The weight on one side of the peak, as a share of that at the peak."""

    cells: RadiusCells
    sign: Literal[1, -1]

    def weight(self, i: int) -> Ball:
        """g(i), at n = peak ± i."""
        n = self.cells.peak + self.sign * i
        return (self.cells.log_weight(n) - self.cells.log_weight(self.cells.peak)).exp() if n > 0 else ball(0)

    def tail_bound(self, i: int) -> Ball:
        """At least Σ g(n) over n ≥ i: some terms of at most g(i) each, and a geometric series from the next on."""
        peak = self.cells.peak
        some = peak // isqrt(self.cells.dimension) + 1
        if self.sign < 0 and i + some >= peak:
            return max(peak - i, 0) * self.weight(i)
        first = self.weight(i + some)
        return some * self.weight(i) + first / (1 - self.weight(i + some + 1) / first)

    def ratio(self, near: Floats, offset: Floats) -> Floats | None:
        """None: balls decide."""
        return None


@lru_cache(maxsize=128)
def _sampler(cells: RadiusCells) -> BlockSampler:
    """With the table behind, laid out at once: later it would tell by its time that the radius may be large."""
    arms = [Arm(_FromPeak(cells, 1), 1, 0, cells.peak), Arm(_FromPeak(cells, -1), -1, 1, cells.peak)]
    sampler = BlockSampler.over(arms, FINE)
    _laid_out = sampler._deeper
    return sampler
