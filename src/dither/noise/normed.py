"""Noise vectors on ℤᵏ with P[x] ∝ e^{−‖x‖/t} for the norms ℓ₂ and ℓ∞, drawn exactly. Proofs: normed.md."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import Ball, ball, precision, uniform_is_below
from dither.noise import entropy
from dither.noise.discrete_laplace import DiscreteLaplace
from dither.noise.entropy import BitSource
from dither.noise.geometric import Geometric
from dither.noise.law import WORKING_BITS, Integers, integer_array
from dither.noise.uniform import UniformBelow

__all__ = ["NORMED", "EuclideanNoise", "LargestCoordinateNoise", "NormedNoise"]

_DRAWN_BITS = 62
_MARGIN = 2.0**-48
_SHORT = 10**12
_ROOM = 1 << 60


@dataclass(frozen=True)
class NormedNoise(ABC):
    """Noise on ℤᵏ, k = `dimension`, with P[x] ∝ e^{−‖x‖/t}, t = `scale` in steps."""

    scale: Fraction
    dimension: int

    @property
    @abstractmethod
    def half_cell(self) -> Ball:
        """c: the norm of no vector with entries in [−½, ½] is larger."""

    @abstractmethod
    def _drawn(self, source: BitSource, count: int) -> Integers:
        """`count` exact vectors, one per row."""

    def sample(self, count: int = 1) -> Integers:
        """`count` independent exact vectors: an array of int64 or of Python integers, one row each."""
        return self._drawn(entropy.current(), count)

    def tail(self, radius: Fraction) -> Ball:
        """A bound on P[‖X‖ > radius], from above: e^{2c/t} Q(k, (radius − c)/t), Q that of the gamma law."""
        with precision(WORKING_BITS):
            start = (ball(radius) - self.half_cell) / ball(self.scale)
            if not start > 0:
                return Ball(1)
            beyond = start.gamma_upper(self.dimension, regularized=1)
            return (beyond * (2 * self.half_cell / ball(self.scale)).exp()).min(Ball(1))

    def mean_norm(self) -> Ball:
        """A bound on E‖X‖, from above: e^{2c/t}(kt + c)."""
        with precision(WORKING_BITS):
            return (2 * self.half_cell / ball(self.scale)).exp() * (ball(self.dimension * self.scale) + self.half_cell)


@dataclass(frozen=True)
class EuclideanNoise(NormedNoise):
    """‖x‖ = ‖x‖₂. Two halves of the coordinates are drawn alike, and kept with the probability that makes it exact."""

    @property
    def half_cell(self) -> Ball:
        """√k/2."""
        return Ball(self.dimension).sqrt() / 2

    def _drawn(self, source: BitSource, count: int) -> Integers:
        if self.dimension == 1:
            return DiscreteLaplace(self.scale)._draw_many(source, count).reshape(count, 1)
        first, second = _halves(self)
        kept: list[Any] = []
        missing = count
        while missing:
            proposed = missing + missing // 2 + 2
            left, right = first._drawn(source, proposed), second._drawn(source, proposed)
            accepted = np.flatnonzero(self._accepts(source, first, second, left, right))[:missing]
            kept.append(np.concatenate([left[accepted], right[accepted]], axis=1))
            missing -= len(accepted)
        return np.concatenate(kept) if kept else np.empty((0, self.dimension), dtype=np.int64)

    def _accepts(
        self, source: BitSource, first: EuclideanNoise, second: EuclideanNoise, left: Integers, right: Integers
    ) -> NDArray[np.bool_]:
        """Each pair with probability e^{−γ}, γ = ‖(a, b)‖/t − ‖a‖/t₁ − ‖b‖/t₂ ≥ 0."""
        a, b = (np.square(part.astype(np.float64)).sum(axis=1) for part in (left, right))
        whole = np.sqrt(a + b) / float(self.scale)
        gamma = whole - np.sqrt(a) / float(first.scale) - np.sqrt(b) / float(second.scale)
        # Sums and roots are right up to (k + 8) parts in 2^53 of ‖(a, b)‖/t; so is their difference, absolutely.
        margin = _MARGIN * (self.dimension + 8) * (whole + 1)
        uniform, words, bits = _uniform(source, len(a))
        chance = np.exp(-gamma)
        accepted: NDArray[np.bool_] = uniform < chance
        for i in np.flatnonzero(~(np.abs(uniform - chance) > margin)).tolist():
            exact = partial(self._chance, first, second, left[i].tolist(), right[i].tolist())
            accepted[i] = uniform_is_below(exact, int(words[i]), bits, lambda: source.bits(1))
        return accepted

    def _chance(self, first: EuclideanNoise, second: EuclideanNoise, a: list[int], b: list[int]) -> Ball:
        """e^{−γ}, to any precision."""
        squares = [sum(x * x for x in part) for part in (a, b)]
        roots = [Ball(square).sqrt() for square in (sum(squares), *squares)]
        scales = (self.scale, first.scale, second.scale)
        whole, left, right = (root / ball(scale) for root, scale in zip(roots, scales, strict=True))
        return (left + right - whole).exp()


@lru_cache(maxsize=1024)
def _halves(whole: EuclideanNoise) -> tuple[EuclideanNoise, EuclideanNoise]:
    """Laws of the two halves with 1/t₁² + 1/t₂² ≤ 1/t²: tᵢ = t√(k/kᵢ), rounded up to twelve digits."""
    sizes = whole.dimension // 2, whole.dimension - whole.dimension // 2
    parts = tuple(EuclideanNoise(_longer(whole.scale, Fraction(whole.dimension, size)), size) for size in sizes)
    assert sum(1 / part.scale**2 for part in parts) <= 1 / whole.scale**2
    return parts[0], parts[1]


def _longer(scale: Fraction, square: Fraction) -> Fraction:
    """scale · √square, rounded up: short where the scale is."""
    root = math.isqrt(math.ceil(square * _SHORT**2)) + 1
    return scale * Fraction(root, _SHORT)


@dataclass(frozen=True)
class LargestCoordinateNoise(NormedNoise):
    """‖x‖ = ‖x‖∞ = max |xᵢ|: a uniform point of a cube whose size is drawn first."""

    @property
    def half_cell(self) -> Ball:
        """½."""
        return Ball(1) / 2

    def _drawn(self, source: BitSource, count: int) -> Integers:
        if not count:
            return np.empty((0, self.dimension), dtype=np.int64)
        radius = self._radii(source, count)
        sides = np.repeat(2 * radius + 1, self.dimension)
        if sides.dtype == np.int64:
            return _below(source, sides).reshape(count, -1) - radius[:, None]
        flat = [UniformBelow(int(side))._draw(source) - int(side) // 2 for side in sides.tolist()]
        return integer_array(flat).reshape(count, self.dimension)

    def _radii(self, source: BitSource, count: int) -> Integers:
        """r with P[r] ∝ (2r + 1)ᵏ e^{−r/t}: a sum of k + 1 geometric numbers, kept with Π (2r + 1)/(2r + 2i)."""
        steps, kept, missing = Geometric(self.scale), [], count
        while missing:
            drawn = steps._draw_many(source, missing * (self.dimension + 1)).reshape(missing, -1)
            small = drawn.dtype == np.int64 and int(drawn.max()) < _ROOM // (self.dimension + 1)
            sums = drawn.sum(axis=1) if small else drawn.astype(object).sum(axis=1)
            accepted = self._accepts(source, sums)
            kept.append(sums[accepted])
            missing -= int(accepted.sum())
        return np.concatenate(kept)

    def _accepts(self, source: BitSource, radii: Integers) -> NDArray[np.bool_]:
        ratios = (2 * radii + 1).astype(np.float64)[:, None]
        chance = np.exp(np.log(ratios / (ratios - 1 + 2 * np.arange(1, self.dimension + 1))).sum(axis=1))
        uniform, words, bits = _uniform(source, len(radii))
        accepted: NDArray[np.bool_] = uniform < chance
        for i in np.flatnonzero(~(np.abs(uniform - chance) > _MARGIN * (self.dimension + 8))).tolist():
            r = int(radii[i])
            exact = math.prod(Fraction(2 * r + 1, 2 * r + 2 * j) for j in range(1, self.dimension + 1))
            accepted[i] = uniform_is_below(partial(ball, exact), int(words[i]), bits, lambda: source.bits(1))
        return accepted


def _uniform(source: BitSource, count: int) -> tuple[NDArray[np.float64], NDArray[np.uint64], int]:
    """Uniform numbers: in double precision, their first binary digits, and how many of these there are."""
    bits = min(_DRAWN_BITS, source.word_bits - 1)
    words = source.words(count) >> np.uint64(source.word_bits - bits)
    return words.astype(np.float64) / 2.0**bits, words, bits


def _below(source: BitSource, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """A uniform number below each bound: as many bits as the largest needs, again where they are not below."""
    bits = min(int(bounds.max()).bit_length(), source.word_bits)
    if bits < int(bounds.max()).bit_length():
        return np.array([UniformBelow(int(bound))._draw(source) for bound in bounds.tolist()], dtype=np.int64)
    own = np.ceil(np.log2(bounds.astype(np.float64) + 1)).astype(np.uint64) + np.uint64(1)
    shift = np.uint64(source.word_bits) - np.minimum(own, np.uint64(source.word_bits))
    out, open_ones = np.empty(len(bounds), dtype=np.int64), np.arange(len(bounds))
    while len(open_ones):
        drawn = (source.words(len(open_ones)) >> shift[open_ones]).astype(np.int64)
        fits = (drawn >= 0) & (drawn < bounds[open_ones])
        out[open_ones[fits]] = drawn[fits]
        open_ones = open_ones[~fits]
    return out


NORMED: dict[str, type[NormedNoise]] = {"l2": EuclideanNoise, "linf": LargestCoordinateNoise}
"""The laws by the names of their norms."""
