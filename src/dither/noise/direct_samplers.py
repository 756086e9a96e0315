"""Single draws without a table: for the first samples of a law, before blocks pay. Proof: direct_samplers.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, sqrt

from dither.exact import Ball, Real, ball, once, precision
from dither.noise.blocks import COARSE, exp_minus
from dither.noise.entropy import BitSource
from dither.noise.rejection import accepts

__all__ = ["DirectGaussian", "DirectGeometric", "DirectLaplace"]

_LN2 = Fraction(69, 100)  # a little less than ln 2, so that a point of a run keeps at least half of its weight
_FARTHEST = 40  # e^−40 is far below every margin
_DOUBLE_BITS = 1000
_RARE = 2.0**-32  # far above every margin, so that the powers that are listed lie far apart
_SPARE_BITS = 64


class _Rounds(ABC):
    """Draws by rounds, of which the first that is accepted counts."""

    def draw(self, source: BitSource) -> int:
        """One exact sample."""
        while (x := self._attempt(source)) is None:
            pass
        return x

    @abstractmethod
    def _attempt(self, source: BitSource) -> int | None:
        """One round: a sample, or None if it was rejected."""


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
        once_more = _exp_minus(float(1 << self._bits) * self._rate)
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


@dataclass(frozen=True)
class DirectGaussian(_Rounds):
    """P[X = x] ∝ e^{−x²/(2V)}: Laplace noise of scale t = ⌊√V⌋ + 1, accepted with e^{−(|x| − V/t)²/(2V)}."""

    variance: Fraction

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

    def _chance(self, distance: int) -> float | None:
        """e^{−(|x| − V/t)²/(2V)} with an error below 2^-43 (direct_samplers.md); None where no double holds it."""
        if distance.bit_length() > _DOUBLE_BITS:
            return None
        middle, inverse = self._doubles
        return _exp_minus(((float(distance) - middle) * inverse) ** 2 / 2)

    def _exactly(self, distance: int) -> Ball:
        scale = self._proposal.scale
        return ball(-((distance * scale - self.variance) ** 2) / (2 * self.variance * scale**2)).exp()


_POWERS = [exp_minus(1.0) ** n for n in range(_FARTHEST + 1)]


def _exp_minus(x: float) -> float:
    """e^{−x} for x ≥ 0 with an error below 2^-44 (direct_samplers.md)."""
    if not x <= _FARTHEST:
        return 0.0
    whole = int(x)
    return exp_minus(x - whole) * _POWERS[whole]


def _accepted(source: BitSource, chance: float | None, exactly: Real) -> bool:
    """True with the probability `exactly`, which `chance` knows to 2^-43."""
    bits = min(COARSE.uniform_bits, source.word_bits)
    return accepts(source, source.bits(bits), bits, chance, COARSE.margin, exactly)
