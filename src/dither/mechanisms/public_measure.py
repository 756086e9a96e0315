"""Public measures on whole numbers, and the exponential mechanism on them, drawn exactly.

A place is a whole number; what it stands for is public (`dither.estimators.axes`). A `BaseMeasure` gives each stretch
of places a whole mass that its places share evenly, so that the mass of any piece is an exact fraction. Two measures
are mixed by adding them.

*The draw is exact.* Piece i wins the race with probability ∝ μ(i)·e^{q(i)/b}, and within it a place is drawn with
probability ∝ its mass: the place y comes with probability ∝ μ(y)·e^{q(y)/b}, the exponential mechanism with the base
measure μ (claim C12), on a finite set. Double precision holds μ(i) up to a relative error of 2^-48, which the margin of
the race forgives (noise/race.md); where that does not decide, the exact fraction does. How data cut the places into
pieces therefore changes nothing but the scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import once
from dither.mechanisms.released import Release
from dither.mechanisms.selection import Exponential
from dither.noise import UniformBelow
from dither.noise.race import Race, Scores
from dither.noise.tape import answered

__all__ = ["BaseMeasure", "Floats", "Mixture", "PublicMeasure", "Wholes", "released_place"]

Wholes = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST_MASS = 2.0**62


class PublicMeasure(ABC):
    """Masses of places, known to everyone."""

    @abstractmethod
    def weights(self, starts: Wholes) -> Floats:
        """The mass of each piece starts[i], …, starts[i + 1] − 1, in double precision."""

    @abstractmethod
    def weight(self, first: int, end: int) -> Fraction:
        """The mass of the places first, …, end − 1, exactly."""

    @abstractmethod
    def drawn(self, first: int, end: int) -> int:
        """One of these places, with a probability in proportion to its mass."""


@dataclass(frozen=True, eq=False)
class BaseMeasure(PublicMeasure):
    """The places cuts[s], …, cuts[s + 1] − 1 share masses[s] evenly.

    `cuts` increase strictly; `masses` are positive, one fewer, and add up to less than 2^62.

    >>> halves = BaseMeasure(np.array([0, 10, 11]), np.array([1, 1]))  # ten places share 1, one more has 1
    >>> halves.weight(5, 11), halves.weights(np.array([0, 5, 11])).tolist()
    (Fraction(3, 2), [0.5, 1.5])
    """

    cuts: Wholes
    masses: Wholes

    def __post_init__(self) -> None:
        assert len(self.cuts) == len(self.masses) + 1
        assert (np.diff(self.cuts) > 0).all()
        assert (self.masses > 0).all()
        assert float(np.sum(self.masses.astype(np.float64))) < _MOST_MASS

    def __eq__(self, other: object) -> bool:
        """Whether both give every place the same mass, in the same stretches."""
        if self is other or not isinstance(other, BaseMeasure):
            return self is other
        return np.array_equal(self.cuts, other.cuts) and np.array_equal(self.masses, other.masses)

    def __hash__(self) -> int:
        return hash((len(self.cuts), int(self.cuts[0]), int(self.cuts[-1]), self.total))

    @once
    def below(self) -> Wholes:
        """The mass below each cut."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.masses)])

    @property
    def total(self) -> int:
        """The mass of all places."""
        return int(self.below[-1])

    def scaled(self, factor: int) -> BaseMeasure:
        """So many times as much everywhere."""
        return BaseMeasure(self.cuts, self.masses * factor)

    @once
    def _per_place(self) -> Floats:
        """The mass of a place of each stretch; a last stretch of none, so that the end has one to be in."""
        return np.concatenate([self.masses / np.diff(self.cuts), [0.0]])

    def weights(self, starts: Wholes) -> Floats:
        cuts, below, density = self.cuts, self.below, self._per_place
        stretch = np.searchsorted(cuts, starts, side="right") - 1
        first, last = stretch[:-1], stretch[1:]
        begin, end = starts[:-1], starts[1:]
        within = density[first] * (end - begin)
        following = np.minimum(first + 1, len(cuts) - 1)
        # Sums of what is not negative: nothing cancels.
        across = (
            density[first] * (cuts[following] - begin)
            + (below[np.maximum(last, following)] - below[following])
            + density[last] * (end - cuts[last])
        )
        found: Floats = np.where(first == last, within, across)
        return found

    def _at(self, place: int) -> Fraction:
        """The mass below a place."""
        s = int(np.searchsorted(self.cuts, place, side="right")) - 1
        if s == len(self.masses):
            return Fraction(self.total)
        first, end = int(self.cuts[s]), int(self.cuts[s + 1])
        return int(self.below[s]) + Fraction(int(self.masses[s]) * (place - first), end - first)

    def weight(self, first: int, end: int) -> Fraction:
        return self._at(end) - self._at(first)

    def drawn(self, first: int, end: int) -> int:
        """By inversion: a uniform fraction of the mass, with a denominator in which every place is whole."""
        low, high = self._at(first), self._at(end)
        # Multiples of 1/d from `low` on, d the common denominator: a stretch in the middle needs its own length too.
        part = UniformBelow(int((high - low) * low.denominator * high.denominator)).sample()
        mass = low + Fraction(part, low.denominator * high.denominator)
        s = int(np.searchsorted(self.below, int(mass), side="right")) - 1
        begin, finish = max(first, int(self.cuts[s])), min(end, int(self.cuts[s + 1]))
        # The stretch is chosen; within it every place has the same mass.
        return begin + UniformBelow(finish - begin).sample()


@dataclass(frozen=True)
class Mixture(PublicMeasure):
    """The sum of measures."""

    parts: tuple[PublicMeasure, ...]

    def weights(self, starts: Wholes) -> Floats:
        found: Floats = np.sum([part.weights(starts) for part in self.parts], axis=0)
        return found

    def weight(self, first: int, end: int) -> Fraction:
        return sum((part.weight(first, end) for part in self.parts), Fraction(0))

    def drawn(self, first: int, end: int) -> int:
        masses = [part.weight(first, end) for part in self.parts]
        common = np.lcm.reduce([mass.denominator for mass in masses], dtype=object)
        rest = UniformBelow(int(sum(masses) * common)).sample()
        for part, mass in zip(self.parts, masses, strict=True):
            share = int(mass * common)
            if rest < share:
                return part.drawn(first, end)
            rest -= share
        raise AssertionError("the shares add up to all")


@dataclass(frozen=True, eq=False)
class _Measured(Scores):
    """Scores of pieces; the weights are those of a measure, in double precision and exactly."""

    starts: Any = None
    measure: Any = None

    def weight(self, candidate: int) -> Fraction:
        mass: Fraction = self.measure.weight(int(self.starts[candidate]), int(self.starts[candidate + 1]))
        return mass


def released_place(mechanism: Exponential, starts: Wholes, scores: Floats, measure: PublicMeasure) -> Release:
    """A place with probability ∝ μ·e^{q/b}: piece i, from starts[i] to starts[i + 1] − 1, has the score scores[i].

    `starts` increase strictly. The first and the last are public, those between may be data; scores are whole numbers.
    """
    assert len(starts) == len(scores) + 1

    def draw() -> int:
        known = _Measured(scores, measure.weights(starts), starts, measure)
        winner = Race("gumbel", mechanism.scale).winner(known)
        return measure.drawn(int(starts[winner]), int(starts[winner + 1]))

    place = answered(draw, "place", (starts, scores), mechanism=mechanism, measure=measure)
    return mechanism._released(place, mechanism._event(None))
