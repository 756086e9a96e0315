"""The contract of a law on the integers: exact probabilities and exact samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, precision, rational, whole
from dither.exact.search import first_integer
from dither.noise import entropy
from dither.noise.entropy import BitSource

__all__ = ["WORKING_BITS", "Integers", "Law", "Size", "SymmetricLaw", "integer_array", "lattice_scale"]

Size = int | tuple[int, ...]
Integers = NDArray[np.int64] | NDArray[np.object_]
"""int64 where every value fits, Python integers in an object array otherwise."""

WORKING_BITS = 128
"""The precision at which probabilities are computed unless the caller asked for more."""


class Law(ABC):
    """A probability law on the integers, with exact probabilities and exact samples.

    `pmf`, `cdf` and `tail` return balls of python-flint that are certain to contain the true value. `quantile` and
    `sample` return integers.
    """

    def pmf(self, x: SupportsIndex) -> Ball:
        """Compute P[X = x].

        Parameters
        ----------
        x : int
            A point.

        Returns
        -------
        Ball
            A ball that contains the probability.
        """
        with precision(WORKING_BITS):
            return self._pmf(whole(x, "x"))

    def tail(self, x: SupportsIndex) -> Ball:
        """Compute P[X > x], with small relative error far out.

        Parameters
        ----------
        x : int
            A point.

        Returns
        -------
        Ball
            A ball that contains the probability.
        """
        with precision(WORKING_BITS):
            return self._tail(whole(x, "x"))

    def cdf(self, x: SupportsIndex) -> Ball:
        """Compute P[X ≤ x], with small relative error far out.

        Parameters
        ----------
        x : int
            A point.

        Returns
        -------
        Ball
            A ball that contains the probability.
        """
        with precision(WORKING_BITS):
            return self._cdf(whole(x, "x"))

    def largest_loss(self, shift: int) -> Fraction | None:
        """Bound the privacy loss ln P[X = x]/P[X = x − shift] over all x, in either order.

        Parameters
        ----------
        shift : int
            By how much the law is moved.

        Returns
        -------
        Fraction or None
            What no loss exceeds; None where none is known, as where there is none.
        """
        return None if shift else Fraction(0)

    @abstractmethod
    def _pmf(self, x: int) -> Ball:
        """P[X = x], at the working precision."""

    @abstractmethod
    def _tail(self, x: int) -> Ball:
        """P[X > x], at the working precision."""

    @abstractmethod
    def _cdf(self, x: int) -> Ball:
        """P[X ≤ x], at the working precision."""

    @abstractmethod
    def _draw(self, source: BitSource) -> int:
        """One exact sample."""

    @abstractmethod
    def _draw_many(self, source: BitSource, count: int) -> Integers:
        """`count` independent exact samples."""

    @overload
    def sample(self, size: None = None) -> int: ...
    @overload
    def sample(self, size: Size) -> Integers: ...
    def sample(self, size: Size | None = None) -> int | Integers:
        """Draw exactly from this law.

        The randomness is cryptographic and cannot be seeded.

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape of an array of independent samples. By default one integer is drawn.

        Returns
        -------
        int or numpy.ndarray
            The sample; an array is of int64, or of Python integers where one does not fit.
        """
        source = entropy.current()
        if size is None:
            return self._draw(source)
        shape = size if isinstance(size, tuple) else (size,)
        for length in shape:
            check.count(least=0, size=length)
        return self._draw_many(source, prod(shape)).reshape(shape)

    def quantile(self, probability: Number) -> int:
        """Find the smallest x with cdf(x) ≥ `probability`.

        Parameters
        ----------
        probability : Number
            A number strictly between 0 and 1.

        Returns
        -------
        int
            The quantile, never smaller than the true one: where cdf(x) and `probability` agree to 128 bits, the next
            integer.
        """
        level = rational(probability, "probability")
        check.between(0, 1, probability=level)
        return _quantile(self, level)


@lru_cache(maxsize=4096)
def _quantile(law: Law, level: Fraction) -> int:
    """Remembered: intervals and plans ask equal laws for few levels, again and again."""

    def reaches(x: int) -> bool:
        # Compare the smaller side: 1 − level may be far below the rounding of cdf.
        if level > Fraction(1, 2):
            return bool(law._tail(x) <= ball(1 - level))
        return bool(law._cdf(x) >= ball(level))

    with precision(WORKING_BITS):
        return _first_true(reaches)


class SymmetricLaw(Law):
    """A law with P[X = x] = P[X = −x]; `_upper_tail` gives the rest."""

    @abstractmethod
    def _upper_tail(self, x: int) -> Ball:
        """P[X > x] for x ≥ 0."""

    def _tail(self, x: int) -> Ball:
        return self._upper_tail(x) if x >= 0 else 1 - self._upper_tail(-x - 1)

    def _cdf(self, x: int) -> Ball:
        return self._tail(-x - 1)


_SMALLEST_SCALE = Fraction(1, 2**200)
_LARGEST_SCALE = Fraction(2**900)


def lattice_scale(value: Number, name: str = "scale") -> Fraction:
    """A noise scale in lattice steps, of a size that balls and doubles can both work with."""
    scale = rational(value, name)
    check.positive(**{name: scale})
    if not _SMALLEST_SCALE <= scale <= _LARGEST_SCALE:
        raise ParameterError(f"{name} must lie between 2^-200 and 2^900 lattice steps. Use another lattice.")
    return scale


def integer_array(values: list[int]) -> Integers:
    """The values as int64 if they all fit, else as Python integers."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        out: NDArray[np.object_] = np.empty(len(values), dtype=np.object_)
        out[:] = values
        return out


def _first_true(holds: Callable[[int], Any]) -> int:
    """The smallest integer at which a condition that stays true once true holds."""
    low, high = -1, 0
    while not holds(high):
        low, high = high, 2 * high + 1
    while low < 0 and holds(low):
        low, high = 2 * low - 1, low
    return first_integer(holds, low + 1, high)
