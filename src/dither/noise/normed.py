"""Noise vectors on ℤᵏ with P[x] ∝ e^{−‖x‖/t} for the norms ℓ₂ and ℓ∞, drawn exactly. Proofs: normed.md."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import Ball, ball, once, precision, uniform_is_below
from dither.noise import entropy
from dither.noise.blocks import FINE, Arm, exp_minus_any
from dither.noise.discrete_gaussian import DiscreteGaussian
from dither.noise.entropy import BitSource
from dither.noise.law import WORKING_BITS, Integers, integer_array
from dither.noise.radius_cells import RadiusCells
from dither.noise.rejection import BlockSampler
from dither.noise.uniform import UniformBelow

__all__ = ["NORMED", "EuclideanNoise", "LargestCoordinateNoise", "NormedNoise"]

_DRAWN_BITS = 62
_MARGIN = 2.0**-48
_CELLS = 16  # of widths, in a √k-th part of t
_MOST_BLOCKS = 32  # of coordinates, in a σ
_ROOM_BITS = 112  # 1 + 2^-112 is more than Gaussian weights of σ ≥ 2 exceed their integral by
_WIDE_RATE = Fraction(1, 8)
_TAIL_SHARE = Fraction(1, 1 << 18)  # so little that one word of a table is enough for it
_WIDE = 1 << 8  # of k cells of widths, each at least 32 blocks long
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
    def _blocks(self) -> tuple[int, int]:
        """A cell of widths is so many blocks of so many points long: η is their product."""
        parts = _CELLS * (math.isqrt(self.dimension) + 1)
        number = min(max(math.ceil(self.scale / parts), 2), _MOST_BLOCKS)
        return number, math.ceil(self.scale / (parts * number))

    @once
    def _step(self) -> int:
        """η, the length of a cell of widths."""
        return math.prod(self._blocks)

    @once
    def _rate(self) -> Fraction:
        """η²/(2t²)."""
        return self._step**2 / (2 * self.scale**2)

    @once
    def _cells(self) -> RadiusCells:
        """The law of cells: λ = η²/(2t²), or a little less for wide noise, so that one table is enough for each k."""
        parts = _CELLS * (math.isqrt(self.dimension) + 1)
        wide = self.scale >= _WIDE * self.dimension * parts * _MOST_BLOCKS
        return RadiusCells(self.dimension, Fraction(1, 2 * parts**2) if wide else self._rate, 2)

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
        """A vector of independent Gaussian noise of σ = nη for each n, by the same steps whatever n is (normed.md)."""
        number, length = self._blocks
        places, lengths = _gaussian_places(number), [n * length for n in cells.tolist()]
        rows = np.repeat(np.arange(len(cells)), self.dimension)
        found: Any = np.zeros(len(rows), dtype=np.int64)
        missing = np.arange(len(rows))
        while len(missing):
            blocks = places.draw_many(source, len(missing))
            points, kept = self._points(source, blocks, lengths, rows[missing])
            if points.dtype == np.object_:
                found = found.astype(np.object_)
            found[missing] = points
            missing = missing[~kept]
        vectors: Integers = found.reshape(len(cells), self.dimension)
        return vectors

    def _points(
        self, source: BitSource, blocks: Integers, lengths: list[int], rows: NDArray[np.intp]
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """A uniform point of each block, `lengths` of its row long, and whether it is kept as Gaussian noise."""
        number, _ = self._blocks
        outwards: Any = np.where(blocks < 0, ~blocks, blocks)
        inside: Any = _below(source, lengths, rows)
        room = (int(outwards.max()) + 1) * max(lengths) < _ROOM
        wide: Any = np.array(lengths, dtype=np.int64 if room else np.object_)[rows]
        points: Any = (blocks if room else blocks.astype(np.object_)) * wide + inside
        share = np.where(blocks < 0, wide - inside, inside).astype(np.float64) / wide.astype(np.float64)
        exponent = share * (2 * outwards.astype(np.float64) + share) / (2 * number**2)

        def exactly(i: int) -> Ball:
            from_start = int(points[i]) ** 2 - (int(outwards[i]) * int(wide[i])) ** 2
            return ball(Fraction(-from_start, 2 * (number * int(wide[i])) ** 2)).exp()

        return points, _are_kept(source, exp_minus_any(exponent), 8 * _MARGIN, exactly)

    def _accepts(self, source: BitSource, cells: Integers, vectors: Integers) -> NDArray[np.bool_]:
        """Each vector with the chance of normed.md, in which a uniform number places the width within its cell."""
        squares = np.square(vectors.astype(np.float64)).sum(axis=1) / (2 * float(self._step) ** 2)
        place, place_words, bits = _uniform(source, len(cells))
        rest = (np.uint64(1 << bits) - place_words).astype(np.float64) / 2.0**bits  # 1 − place keeps its digits so
        uniform, words, _ = _uniform(source, len(cells))
        before = cells - 1.0
        rate, slope, width = float(self._rate), float(self._rate - self._cells.rate), before + place
        with np.errstate(divide="ignore", invalid="ignore"):
            gone = rest * (cells + width) / (width * width) / (cells * cells)
            exponent = rate * place * (before + width) + slope * before * before + squares * gone
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
        exponent = ball(self._rate) * width**2 - ball(self._cells.rate) * (cell - 1) ** 2
        if square:
            exponent += ball(Fraction(square, 2 * self._step**2)) * (1 / width**2 - ball(Fraction(1, cell**2)))
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
        rows = np.repeat(np.arange(count), self.dimension)
        inside = _below(source, [2 * r + 1 for r in radii.tolist()], rows)
        return inside.reshape(count, self.dimension) - radii[:, None]

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
        margin = _MARGIN * (self.dimension + 8)
        return _are_kept(source, chance, margin, lambda i: self._chance(int(cells[i]), int(radii[i])))

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


def _are_kept(
    source: BitSource, chance: NDArray[np.float64], margin: float, exactly: Callable[[int], Ball]
) -> NDArray[np.bool_]:
    """True with the probability `exactly(i)` at each place i, which `chance` knows to `margin`; balls decide at NaN."""
    uniform, words, bits = _uniform(source, len(chance))
    kept: NDArray[np.bool_] = uniform < chance
    for i in np.flatnonzero(~(np.abs(uniform - chance) > margin + 2.0**-bits)).tolist():
        kept[i] = uniform_is_below(partial(exactly, i), int(words[i]), bits, lambda: source.bits(1))
    return kept


def _below(source: BitSource, bounds: list[int], rows: NDArray[np.intp]) -> Integers:
    """A uniform number below the bound of each row: words below q · bound, for the largest q, are divided by q."""
    if max(bounds) >= min(1 << source.word_bits, _ROOM):
        return integer_array([UniformBelow(bounds[row])._draw(source) for row in rows.tolist()])
    parts = [((1 << source.word_bits) - 1) // bound for bound in bounds]
    divisors = np.array(parts, dtype=np.uint64)[rows]
    largest = np.array([part * bound - 1 for part, bound in zip(parts, bounds, strict=True)], dtype=np.uint64)[rows]
    words = source.words(len(rows))
    missing = np.flatnonzero(words > largest)
    while len(missing):
        words[missing] = source.words(len(missing))
        missing = missing[words[missing] > largest[missing]]
    return (words // divisors).view(np.int64)


@lru_cache(maxsize=_MOST_BLOCKS)
def _gaussian_places(number: int) -> BlockSampler:
    """Blocks m of ℤ with P[m] ∝ e^{−j²/(2s²)}, s = `number`: j = m or −1 − m of them lie between it and 0.

    The table behind is laid out at once: later it would tell by its time that a coordinate may be large.
    """
    shape = DiscreteGaussian(Fraction(number**2))
    places = BlockSampler.over([Arm(shape, 1, 0, 0), Arm(shape, -1, 0, -1)], replace(FINE, tail_share=_TAIL_SHARE))
    _laid_out = places._deeper
    return places


NORMED: dict[str, type[NormedNoise]] = {"l2": EuclideanNoise, "linf": LargestCoordinateNoise}
"""The laws by the names of their norms."""
