"""Every law of `dither.noise`, at many scales. A new law joins with one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from dither.exact import Number, rational
from dither.noise import (
    Bernoulli,
    BernoulliExp,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    Geometric,
    Gumbel,
    Law,
    PowerLaw,
    Steepest,
    StudentT,
    UniformBelow,
)

__all__ = ["FAMILIES", "HUGE", "WIDE", "Family", "Member"]

HUGE = 2**70
"""A scale whose samples need Python integers."""
WIDE = 2**40

_SCALES: Sequence[Number] = ("0.3", 1, "3.7", 10, 1000, 2**20, WIDE)
_COINS: Sequence[Number] = ("0.2", "1/3", "0.75")


@dataclass(frozen=True)
class Family:
    """Laws of one kind: one for each scale (or chance, for coins)."""

    name: str
    at: Callable[[Number], Law]
    scales: Sequence[Number] = _SCALES
    huge: bool = True
    """Whether the family has wide members, of scale 2^40 and 2^70."""

    def members(self) -> list[Member]:
        return [Member(self, rational(scale)) for scale in self.scales]


@dataclass(frozen=True)
class Member:
    """One law of a family, which knows its neighbours."""

    family: Family
    scale: Fraction

    def law(self, factor: Number = 1) -> Law:
        """The law at this scale, or at `factor` times it."""
        return self.family.at(self.scale * rational(factor))

    def __str__(self) -> str:
        return f"{self.family.name} {self.scale}"


def _stairs(scale: Fraction) -> tuple[int, int, int]:
    """Sensitivity, ε and step, for stairs that grow with the scale."""
    return ceil(10 * scale), 1, ceil(4 * scale)


FAMILIES = [
    Family("discrete Laplace", DiscreteLaplace),
    Family("discrete Gaussian", DiscreteGaussian.from_sigma, ("0.4", *_SCALES[1:])),  # at 0.3 nearly all are 0
    Family("geometric", Geometric),
    Family("Gumbel", Gumbel),
    Family("power law", lambda scale: PowerLaw(scale, gamma=4)),
    Family("power law, not whole", lambda scale: PowerLaw(scale, gamma="2.5"), ("3.7",)),  # decided by balls: slow
    Family("Student t", lambda scale: StudentT(scale, degrees=3)),
    Family("steepest", lambda scale: Steepest(4 * rational(scale), index=4)),
    Family("staircase", lambda scale: DiscreteStaircase(3, epsilon=3 / rational(scale), step=1), ("0.6", *_SCALES[1:])),
    Family("broad stairs", lambda scale: DiscreteStaircase(*_stairs(rational(scale))), _SCALES[3:]),
    Family("uniform", lambda scale: UniformBelow(ceil(1000 * rational(scale)))),
    Family("coin", Bernoulli, _COINS, huge=False),
    Family("exponential coin", BernoulliExp, ("0.3", 1, "3.7"), huge=False),
]
