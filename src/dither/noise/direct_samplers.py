"""Draws without a table: for the first samples of a law and for short vectors. Proof: direct_samplers.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isqrt, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import Ball, Real, ball, once, precision, uniform_is_below
from dither.noise.blocks import COARSE, exp_minus, exp_minus_any
from dither.noise.entropy import BitSource
from dither.noise.law import Integers, integer_array
from dither.noise.rejection import accepts

__all__ = ["DirectGaussian", "DirectGeometric", "DirectLaplace"]

_LN2 = Fraction(69, 100)  # a little less than ln 2, so that a point of a run keeps at least half of its weight
_DOUBLE_BITS = 1000
_RARE = 2.0**-32  # far above every margin, so that the powers that are listed lie far apart
_SPARE_BITS = 64
_SPARE_ROUNDS = 24
_ROOM_BITS, _MOST_POINT_BITS = 61, 54  # of machine integers, and of points: room for 2^7 runs


class _Rounds(ABC):
    """Draws by rounds, of which the first that is accepted counts."""

    def draw(self, source: BitSource) -> int:
        """One exact sample."""
        while (x := self._attempt(source)) is None:
            pass
        return x

    def draw_many(self, source: BitSource, count: int) -> Integers:
        """`count` independent exact samples: the first that are accepted, in the order of their rounds."""
        kept: list[Integers] = []
        missing = count
        while missing:
            found = self._attempts(source, missing * self._rounds_for_each + _SPARE_ROUNDS)[:missing]
            kept.append(found)
            missing -= len(found)
        return integer_array([x for part in kept for x in part.tolist()])

    _rounds_for_each = 2
    """How many are played for each sample at first. No choice here can change the law, only the speed."""

    @abstractmethod
    def _attempt(self, source: BitSource) -> int | None:
        """One round: a sample, or None if it was rejected."""

    @abstractmethod
    def _attempts(self, source: BitSource, count: int) -> Integers:
        """So many rounds: the samples of those that were accepted, in their order."""


@dataclass(frozen=True)
class DirectGeometric(_Rounds):
    """P[X = x] ∝ e^{−x/t} for x ≥ 0: how many runs of 2^k points are passed, and which point of a run it is."""

    scale: Fraction

    @once
    def _bits(self) -> int:
        """k, with 2^k/t ≤ ln 2 where t is not too small for that."""
        most = int(self.scale * _LN2)
        return max(most.bit_length() - 1, 0)

    @once
    def _rate(self) -> float:
        return float(1 / self.scale)

    @once
    def _powers(self) -> list[float]:
        """The chances p^j that j runs are passed, p = e^{−2^k/t}, in double precision; the smallest first."""
        once_more = exp_minus_any(float(1 << self._bits) * self._rate)
        powers = [once_more]
        while powers[-1] * once_more > _RARE:
            powers.append(powers[-1] * once_more)
        return powers[::-1]

    def _attempt(self, source: BitSource) -> int | None:
        bits = self._bits
        point = source.bits(bits) if bits else 0
        if not _accepted(source, exp_minus(point * self._rate), lambda: ball(-point / self.scale).exp()):
            return None
        return (self._runs(source) << bits) + point

    def _attempts(self, source: BitSource, count: int) -> Integers:
        bits = self._bits
        if bits > min(_MOST_POINT_BITS, source.word_bits):
            drawn = (self._attempt(source) for _ in range(count))
            return integer_array([x for x in drawn if x is not None])
        points = _digits(source, count, bits) if bits else np.zeros(count, dtype=np.uint64)
        chances = exp_minus_any(points.astype(np.float64) * self._rate)
        accepted = _all_accepted(source, chances, lambda i: ball(-int(points[i]) / self.scale).exp())
        points = points[accepted].view(np.int64)
        runs = self._all_runs(source, len(points))
        if runs.max(initial=0) >> (_ROOM_BITS - bits):
            return integer_array(
                [(run << bits) + point for run, point in zip(runs.tolist(), points.tolist(), strict=True)]
            )
        return (runs << bits) + points

    def _all_runs(self, source: BitSource, count: int) -> NDArray[np.int64]:
        """`_runs`, so many times."""
        bits, most = min(COARSE.uniform_bits, source.word_bits), len(self._powers)
        uniform = _digits(source, count, bits)
        low = uniform / float(1 << bits) - COARSE.margin
        high = (uniform + np.uint64(1)) / float(1 << bits) + COARSE.margin
        passed = most - np.searchsorted(self._powers, high, side="right")
        for i in np.flatnonzero(most - np.searchsorted(self._powers, low, side="right") != passed).tolist():
            passed[i] = self._settled(source, int(uniform[i]), bits)
        for i in np.flatnonzero(passed == most).tolist():
            passed[i] += self._runs(source)
        return passed

    def _runs(self, source: BitSource) -> int:
        """How many p^j a uniform number is below; if it is below all that are listed, the rest is drawn anew."""
        powers, bits = self._powers, min(COARSE.uniform_bits, source.word_bits)
        passed, most = 0, len(powers)
        while True:
            uniform = source.bits(bits)
            low, high = uniform / (1 << bits) - COARSE.margin, (uniform + 1) / (1 << bits) + COARSE.margin
            found = most - bisect_right(powers, high)
            if bisect_right(powers, low) != most - found:
                found = self._settled(source, uniform, bits)
            passed += found
            if found < most:
                return passed

    def _settled(self, source: BitSource, uniform: int, bits: int) -> int:
        """The same, where double precision leaves it open: by balls and further digits."""
        run = (1 << self._bits) / self.scale
        while True:
            with precision(bits + _SPARE_BITS):
                chances = [ball(-j * run).exp() * (1 << bits) for j in range(1, len(self._powers) + 1)]
                sure = sum(bool(chance >= uniform + 1) for chance in chances)
                if sure == sum(not chance <= uniform for chance in chances):
                    return sure
            uniform, bits = 2 * uniform + source.bits(1), bits + 1


@dataclass(frozen=True)
class DirectLaplace(_Rounds):
    """P[X = x] ∝ e^{−|x|/t}: a magnitude and a fair sign, of which −0 is rejected."""

    scale: Fraction

    @once
    def _magnitude(self) -> DirectGeometric:
        return DirectGeometric(self.scale)

    def _attempt(self, source: BitSource) -> int | None:
        magnitude = self._magnitude.draw(source)
        if not source.bits(1):
            return magnitude
        return -magnitude or None

    def _attempts(self, source: BitSource, count: int) -> Integers:
        magnitudes = self._magnitude._attempts(source, count)
        negative = _digits(source, len(magnitudes), 1) == 1
        signed: Integers = np.where(negative, -magnitudes, magnitudes)
        kept: Integers = signed[~negative | (signed != 0)]
        return kept


@dataclass(frozen=True)
class DirectGaussian(_Rounds):
    """P[X = x] ∝ e^{−x²/(2V)}: Laplace noise of scale t = ⌊√V⌋ + 1, accepted with e^{−(|x| − V/t)²/(2V)}."""

    variance: Fraction

    _rounds_for_each = 3

    @once
    def _proposal(self) -> DirectLaplace:
        return DirectLaplace(Fraction(isqrt(int(self.variance)) + 1))

    @once
    def _doubles(self) -> tuple[float, float]:
        """V/t and 1/√V."""
        return float(self.variance / self._proposal.scale), 1 / sqrt(self.variance)

    def _attempt(self, source: BitSource) -> int | None:
        x = self._proposal.draw(source)
        return x if _accepted(source, self._chance(abs(x)), lambda: self._exactly(abs(x))) else None

    def _attempts(self, source: BitSource, count: int) -> Integers:
        drawn = self._proposal._attempts(source, count)
        distances: Any = np.abs(drawn)
        if distances.dtype == np.int64:
            middle, inverse = self._doubles
            chances = exp_minus_any(((distances.astype(np.float64) - middle) * inverse) ** 2 / 2)
        else:
            chances = np.full(len(drawn), np.nan)  # beyond machine integers: balls decide
        accepted: Integers = drawn[_all_accepted(source, chances, lambda i: self._exactly(int(distances[i])))]
        return accepted

    def _chance(self, distance: int) -> float | None:
        """e^{−(|x| − V/t)²/(2V)} with an error below 2^-43 (direct_samplers.md); None where no double holds it."""
        if distance.bit_length() > _DOUBLE_BITS:
            return None
        middle, inverse = self._doubles
        return exp_minus_any(((float(distance) - middle) * inverse) ** 2 / 2)

    def _exactly(self, distance: int) -> Ball:
        scale = self._proposal.scale
        return ball(-((distance * scale - self.variance) ** 2) / (2 * self.variance * scale**2)).exp()


def _accepted(source: BitSource, chance: float | None, exactly: Real) -> bool:
    """True with the probability `exactly`, which `chance` knows to 2^-43."""
    bits = min(COARSE.uniform_bits, source.word_bits)
    return accepts(source, source.bits(bits), bits, chance, COARSE.margin, exactly)


def _all_accepted(source: BitSource, chances: NDArray[np.float64], exactly: Callable[[int], Ball]) -> NDArray[np.bool_]:
    """True with the probability `exactly(i)` at each place i, which `chances` knows to 2^-43; balls decide at NaN."""
    bits = min(COARSE.uniform_bits, source.word_bits)
    uniform, steps = _digits(source, len(chances), bits), float(1 << bits)
    accepted: NDArray[np.bool_] = (uniform + np.uint64(1)) / steps <= chances - COARSE.margin
    rejected = uniform / steps >= chances + COARSE.margin
    for i in np.flatnonzero(~(accepted | rejected)).tolist():
        accepted[i] = uniform_is_below(partial(exactly, i), int(uniform[i]), bits, lambda: source.bits(1))
    return accepted


def _digits(source: BitSource, count: int, bits: int) -> NDArray[np.uint64]:
    """So many uniform integers below 2^bits, 1 ≤ bits ≤ `word_bits`, each from a word of its own."""
    return source.words(count) >> np.uint64(source.word_bits - bits)
