"""Places as whole numbers, in order: where an answer can be.

`Doubles` are all floating-point numbers of some range, so that each octave has as many places: an answer is as fine as
its own size asks for. `Multiples` are the multiples of a public step, as in a column of whole numbers. `WholeNumbers`
are those without bounds: each of them up to 2^52, and beyond that the doubles, which are whole there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.estimators.records import Floats
from dither.mechanisms.public_measure import Wholes

__all__ = ["Axis", "Doubles", "Multiples", "WholeNumbers"]

_DIGITS = 52
"""Binary digits of a double behind its first one."""
_BIAS = 1023
_USUAL_DIGITS = 58


class Axis(ABC):
    """An increasing map of whole numbers to doubles."""

    @abstractmethod
    def room_digits(self, digits: int, count: int) -> int:
        """log₂ of how many of `count` places are 2^-digits of the size of a number, and fewer if the places are few."""

    @abstractmethod
    def places(self, values: Floats) -> Wholes:
        """The place of each value: a function of that value alone. It never decreases."""

    @abstractmethod
    def values(self, places: Wholes) -> Floats:
        """What places stand for."""

    @property
    @abstractmethod
    def least(self) -> int:
        """log₂ of the least distance from 0 that makes a difference."""

    @abstractmethod
    def even(self, first: int, end: int) -> Floats:
        """Values between two places at which the distance of neighbouring places changes."""

    def value(self, place: int) -> float:
        """What one place stands for."""
        return float(self.values(np.array([place]))[0])

    def place(self, value: float) -> int:
        """The place of one value."""
        return int(self.places(np.array([value], dtype=np.float64))[0])


@dataclass(frozen=True)
class Doubles(Axis):
    """Doubles from 2^`flat` on in magnitude, and between these the multiples of 2^(flat − 52).

    The place of x ≥ 2^flat is (k + 1)·2^52 + m, with x = (1 + m/2^52)·2^(flat + k): the bits of a double, read as a
    whole number, but for a constant.
    """

    flat: int

    def room_digits(self, digits: int, count: int) -> int:
        # Of the 40 octaves of any bounds, 2^58 places, these are as many.
        return max(min(_DIGITS - digits, count.bit_length() - _USUAL_DIGITS + _DIGITS - digits), 0)

    @property
    def least(self) -> int:
        return self.flat

    def places(self, values: Floats) -> Wholes:
        size = np.abs(values)
        far: Wholes = size.view(np.int64) - ((self.flat + _BIAS - 1) << _DIGITS)
        near = np.ldexp(np.minimum(size, 2.0**self.flat), _DIGITS - self.flat).astype(np.int64)
        found: Wholes = np.where(size < 2.0**self.flat, near, far)
        return np.where(values < 0, -found, found)

    def values(self, places: Wholes) -> Floats:
        size = np.abs(places)
        far = (np.maximum(size, 1 << _DIGITS) + ((self.flat + _BIAS - 1) << _DIGITS)).view(np.float64)
        found = np.where(size < 1 << _DIGITS, np.ldexp(size.astype(np.float64), self.flat - _DIGITS), far)
        return np.where(places < 0, -found, found)

    def even(self, first: int, end: int) -> Floats:
        low, high = self.value(first), self.value(end)
        top = np.frexp(max(abs(low), abs(high)))[1]
        powers = np.ldexp(1.0, np.arange(self.flat, max(int(top), self.flat) + 1))
        both = np.concatenate([-powers[::-1], powers])
        return both[(both > low) & (both < high)]


@dataclass(frozen=True)
class WholeNumbers(Doubles):
    """Doubles whose multiples of 2^(flat − 52) are those of 1; a value of a column of whole numbers is one."""

    flat: int = _DIGITS

    def room_digits(self, digits: int, count: int) -> int:
        return 0

    @property
    def least(self) -> int:
        return 0


@dataclass(frozen=True)
class Multiples(Axis):
    """Multiples of a public `step`; a value is rounded to the nearest."""

    step: Fraction

    def room_digits(self, digits: int, count: int) -> int:
        return 0

    @property
    def least(self) -> int:
        return math.frexp(float(self.step))[1] - 1

    def places(self, values: Floats) -> Wholes:
        return np.floor(values / float(self.step) + 0.5).astype(np.int64)

    def values(self, places: Wholes) -> Floats:
        found: Floats = places * np.float64(self.step)
        return found

    def even(self, first: int, end: int) -> Floats:
        return np.zeros(0)
