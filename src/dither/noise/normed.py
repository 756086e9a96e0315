"""Noise vectors on ℤᵏ with P[x] ∝ e^{−‖x‖/t} for the norms ℓ₂ and ℓ∞, drawn exactly. Proofs: normed.md."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import Ball, ball, once, precision, uniform_is_below
from dither.noise import entropy
from dither.noise.blocks import exp_minus_any
from dither.noise.discrete_gaussian import DiscreteGaussian
from dither.noise.entropy import BitSource
from dither.noise.law import WORKING_BITS, Integers, integer_array
from dither.noise.radius_cells import RadiusCells
from dither.noise.uniform import UniformBelow

__all__ = ["NORMED", "EuclideanNoise", "LargestCoordinateNoise", "NormedNoise"]

_DRAWN_BITS = 62
_MARGIN = 2.0**-48
_CELLS = 16  # of widths, in a √k-th part of t
_SMALLEST_STEP = Fraction(2)
_ROOM_BITS = 112  # 1 + 2^-112 is more than Gaussian weights of σ ≥ 2 exceed their integral by
_WIDE_RATE = Fraction(1, 8)
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
    """‖x‖ = ‖x‖₂. Gaussian noise of a random width: its cell is drawn first; the vector is kept if the width fits.

    Made for scales far above √k, as on the grid of a release: below, few vectors are kept.
    """

    @property
    def half_cell(self) -> Ball:
        """√k/2."""
        return Ball(self.dimension).sqrt() / 2

    @once
    def _step(self) -> Fraction:
        """η, the length of a cell of widths."""
        return max(self.scale / (_CELLS * (math.isqrt(self.dimension) + 1)), _SMALLEST_STEP)

    @once
    def _cells(self) -> RadiusCells:
        return RadiusCells(self.dimension, self._step**2 / (2 * self.scale**2), 2)

    def _drawn(self, source: BitSource, count: int) -> Integers:
        kept: list[Any] = []
        missing = count
        while missing:
            cells = self._cells.draw_many(source, missing)
            vectors = self._gaussians(source, cells)
            kept.append(vectors[self._accepts(source, cells, vectors)])
            missing -= len(kept[-1])
        return np.concatenate(kept) if kept else np.empty((0, self.dimension), dtype=np.int64)

    def _gaussians(self, source: BitSource, cells: Integers) -> Integers:
        """A vector of independent Gaussian noise of σ = nη for each n."""
        widths, places = np.unique(cells, return_inverse=True)
        order = np.argsort(places, kind="stable")
        drawn = []
        for width, many in zip(widths.tolist(), np.bincount(places).tolist(), strict=True):
            law = DiscreteGaussian((width * self._step) ** 2)
            drawn.append(law._draw_many(source, many * self.dimension).reshape(many, self.dimension))
        found = np.concatenate(drawn)
        out = np.empty_like(found)
        out[order] = found
        return out

    def _accepts(self, source: BitSource, cells: Integers, vectors: Integers) -> NDArray[np.bool_]:
        """Each vector with the chance of normed.md, in which a uniform number places the width within its cell."""
        squares = np.square(vectors.astype(np.float64)).sum(axis=1) / (2 * float(self._step**2))
        place, place_words, bits = _uniform(source, len(cells))
        uniform, words, _ = _uniform(source, len(cells))
        before = cells - 1.0
        rate, width = float(self._cells.rate), before + place
        with np.errstate(divide="ignore", invalid="ignore"):
            gone = (1 - place) * (cells + width) / (width * width) / (cells * cells)
            exponent = rate * place * (before + width) + squares * gone
            unknown = 1 + 2 * rate * cells + 2 / width * (1 + squares / (cells * cells))
        chance = exp_minus_any(np.where(width > 0, exponent, 0.0))  # at a width of 0 nothing is known
        margin = _MARGIN * (self.dimension + 8) + unknown * 2.0**-bits
        accepted: NDArray[np.bool_] = uniform < chance
        for i in np.flatnonzero(~(np.abs(uniform - chance) > margin)).tolist():
            known = int(place_words[i]), int(words[i]), bits
            accepted[i] = self._settled(source, int(cells[i]), sum(x * x for x in vectors[i].tolist()), *known)
        return accepted

    def _settled(self, source: BitSource, cell: int, square: int, place: int, uniform: int, bits: int) -> bool:
        """The same, where double precision leaves it open: by balls and further digits of both numbers."""
        while True:
            with precision(bits + WORKING_BITS):
                chance = self._chance(cell, square, ball(place).union(ball(place + 1)) / (1 << bits)) * (1 << bits)
                if chance >= uniform + 1:
                    return True
                if chance <= uniform:
                    return False
            place, uniform, bits = 2 * place + source.bits(1), 2 * uniform + source.bits(1), bits + 1

    def _chance(self, cell: int, square: int, place: Ball) -> Ball:
        """The chance of a vector with this ‖x‖² in this cell, for a width at this place of it (normed.md)."""
        law, width = DiscreteGaussian((cell * self._step) ** 2), cell - 1 + place
        exponent = ball(self._cells.rate) * place * (cell - 1 + width)
        if square:
            exponent += ball(square / (2 * self._step**2)) * (1 / width**2 - ball(Fraction(1, cell**2)))
        room = (2 * Ball.pi() * ball(law.variance)).sqrt() * (1 + ball(2) ** -_ROOM_BITS)
        return (-exponent).exp() * (law._whole() / room) ** self.dimension


@dataclass(frozen=True)
class LargestCoordinateNoise(NormedNoise):
    """‖x‖ = ‖x‖∞ = max |xᵢ|: a uniform point of a cube whose size is drawn first."""

    @property
    def half_cell(self) -> Ball:
        """½."""
        return Ball(1) / 2

    @once
    def _cells(self) -> tuple[int, RadiusCells]:
        """B, the radii in a cell, and the law of cells: λ = B/t, or ⅛ for wide noise, so that one table is enough."""
        if self.scale >= self.dimension << 10:
            return math.ceil(self.scale * _WIDE_RATE), RadiusCells(self.dimension, _WIDE_RATE, 1)
        length = max(math.floor(self.scale * _WIDE_RATE), 1)
        return length, RadiusCells(self.dimension, length / self.scale, 1)

    def _drawn(self, source: BitSource, count: int) -> Integers:
        if not count:
            return np.empty((0, self.dimension), dtype=np.int64)
        radii = self._radii(source, count)
        sides = [2 * r + 1 for r in radii.tolist()]
        if max(sides) >= min(1 << source.word_bits, _ROOM):
            flat = [UniformBelow(side)._draw(source) - side // 2 for side in sides for _ in range(self.dimension)]
            return integer_array(flat).reshape(count, self.dimension)
        return _below(source, sides, self.dimension) - radii[:, None]

    def _radii(self, source: BitSource, count: int) -> Integers:
        """r with P[r] ∝ (2r + 1)ᵏ e^{−r/t}: a cell, a uniform radius in it, and the chance that makes it exact."""
        length, law = self._cells
        kept: list[Any] = []
        missing = count
        while missing:
            cells = law.draw_many(source, missing)
            if int(cells.max()) * length >= _ROOM:
                cells = cells.astype(np.object_)
            radii = (cells - 1) * length + UniformBelow(length)._draw_many(source, missing)
            kept.append(radii[self._accepts(source, cells, radii)])
            missing -= len(kept[-1])
        return np.concatenate(kept)

    def _accepts(self, source: BitSource, cells: Integers, radii: Integers) -> NDArray[np.bool_]:
        length, law = self._cells
        ends = cells * length
        lacking = (2 * (ends - radii) - 1).astype(np.float64) / (2 * ends).astype(np.float64)
        inside = (radii - (cells - 1) * length).astype(np.float64) / float(self.scale)
        slope = float(length / self.scale - law.rate)
        chance = np.exp(self.dimension * np.log1p(-lacking) - inside - slope * (cells - 1).astype(np.float64))
        uniform, words, bits = _uniform(source, len(radii))
        accepted: NDArray[np.bool_] = uniform < chance
        margin = _MARGIN * (self.dimension + 8) + 2.0**-bits
        for i in np.flatnonzero(~(np.abs(uniform - chance) > margin)).tolist():
            exact = partial(self._chance, int(cells[i]), int(radii[i]))
            accepted[i] = uniform_is_below(exact, int(words[i]), bits, lambda: source.bits(1))
        return accepted

    def _chance(self, cell: int, radius: int) -> Ball:
        """((2r + 1)/(2nB))ᵏ e^{−(r/t − λ(n − 1))}."""
        length, law = self._cells
        share = ball(Fraction(2 * radius + 1, 2 * cell * length)) ** self.dimension
        return share * ball(law.rate * (cell - 1) - radius / self.scale).exp()


def _uniform(source: BitSource, count: int) -> tuple[NDArray[np.float64], NDArray[np.uint64], int]:
    """Uniform numbers: in double precision, their first binary digits, and how many of these there are."""
    bits = min(_DRAWN_BITS, source.word_bits - 1)
    words = source.words(count) >> np.uint64(source.word_bits - bits)
    return words.astype(np.float64) / 2.0**bits, words, bits


def _below(source: BitSource, bounds: list[int], length: int) -> NDArray[np.int64]:
    """A row of uniform numbers below each bound: words below q · bound, for the largest q, are divided by q."""
    parts = [((1 << source.word_bits) - 1) // bound for bound in bounds]
    divisors = np.array(parts, dtype=np.uint64)
    largest = np.array([part * bound - 1 for part, bound in zip(parts, bounds, strict=True)], dtype=np.uint64)
    words = source.words(len(bounds) * length).reshape(len(bounds), length)
    rows, columns = np.nonzero(words > largest[:, None])
    while len(rows):
        again = source.words(len(rows))
        words[rows, columns] = again
        missing = again > largest[rows]
        rows, columns = rows[missing], columns[missing]
    return (words // divisors[:, None]).view(np.int64)


NORMED: dict[str, type[NormedNoise]] = {"l2": EuclideanNoise, "linf": LargestCoordinateNoise}
"""The laws by the names of their norms."""
