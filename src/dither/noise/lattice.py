"""Real-valued releases live on a dyadic grid: the multiples of a power of two. Proof: lattice.md.

The grid depends on public parameters only, never on data. A value is rounded to the grid, integer noise is added in
units of the step, and the sum is shown as a float; rounding adds its own term to the sensitivity (`Grid.l1_steps`,
`Grid.l2_steps`), and the guarantee must be computed with that.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import NotANumberError, ParameterError
from dither.exact import Number, check, plain, rational, set_fields, whole
from dither.noise.law import Integers, Law, integer_array

__all__ = ["Grid", "Values", "add_integers"]

Values: TypeAlias = ArrayLike | int | float | Fraction | Decimal
"""A number, or an array of any shape of integers, floats up to 64 bits, Fractions or Decimals."""

_STEPS_PER_SCALE_BITS = 40
_INT64_ROOM = 1 << 61
_EXACT_IN_DOUBLES = 2.0**53
_CHUNK = 1 << 15  # values at a time, so that they stay in the processor's cache
_LARGEST_EXPONENT = 900
_MOST_DIGITS = 5000
_NO_OVERFLOW = 2.0**120  # below, a float may be divided by any step


@dataclass(frozen=True, slots=True)
class Grid:
    """A dyadic grid, the multiples of 2^exponent, on which real values are released.

    Parameters
    ----------
    exponent : int
        From -900 to 900.

    Raises
    ------
    ParameterError
        If the exponent is out of range.

    Examples
    --------
    >>> Grid(-2).step
    Fraction(1, 4)
    """

    exponent: int

    def __post_init__(self) -> None:
        set_fields(self, exponent=whole(self.exponent, "exponent"))
        check.at_least(-_LARGEST_EXPONENT, exponent=self.exponent)
        if self.exponent > _LARGEST_EXPONENT:
            raise ParameterError(f"exponent must be at most {_LARGEST_EXPONENT}, got exponent={self.exponent}.")

    @classmethod
    def for_scale(cls, scale: Number) -> Grid:
        """Choose the grid for noise of a public scale: between 2^40 and 2^41 steps to the scale.

        So fine, rounding raises the sensitivity by less than a part in 10^12 of the scale. Where the scale depends on
        data, pass a public stand-in (bounds, a smallest scale): the grid must not depend on data.

        Parameters
        ----------
        scale : Number
            The noise scale, between 2^-860 and 2^940.

        Returns
        -------
        Grid
            The grid.

        Examples
        --------
        >>> Grid.for_scale(1.0)
        Grid(exponent=-40)
        """
        exact = rational(scale, "scale")
        check.positive(scale=exact)
        return cls._of_octave(_floor_log2(exact))

    @classmethod
    def for_variance(cls, variance: Number) -> Grid:
        """Choose the grid for Gaussian noise of a public variance: as `for_scale` does for its root.

        Parameters
        ----------
        variance : Number
            The square of the noise scale.

        Returns
        -------
        Grid
            The grid.

        Examples
        --------
        >>> Grid.for_variance(2) == Grid.for_scale(1.5)
        True
        """
        exact = rational(variance, "variance")
        check.positive(variance=exact)
        return cls._of_octave(_floor_log2(exact) // 2)

    @classmethod
    def _of_octave(cls, octave: int) -> Grid:
        """The grid for scales from 2^octave to 2^(octave + 1)."""
        exponent = octave - _STEPS_PER_SCALE_BITS
        if abs(exponent) > _LARGEST_EXPONENT:
            raise ParameterError("scale must lie between 2^-860 and 2^940. Measure the value in another unit.")
        return cls(exponent)

    @property
    def step(self) -> Fraction:
        """The distance between neighbours, 2^exponent."""
        return _power_of_two(self.exponent)

    def l1_steps(self, sensitivity: Number, coordinates: SupportsIndex = 1) -> int:
        """Compute the ℓ₁ sensitivity in steps after rounding.

        Parameters
        ----------
        sensitivity : Number
            Δ > 0, before rounding, in the unit of the values.
        coordinates : int, default 1
            d, the number of coordinates, each of which is rounded.

        Returns
        -------
        int
            At most ⌈Δ₁/step⌉ + d − 1.
        """
        return math.ceil(self._steps(sensitivity)) + _coordinates(coordinates) - 1

    def l2_steps(self, sensitivity: Number, coordinates: SupportsIndex = 1) -> Fraction:
        """Compute the ℓ₂ sensitivity in steps after rounding.

        Parameters
        ----------
        sensitivity : Number
            Δ > 0, before rounding, in the unit of the values.
        coordinates : int, default 1
            d, the number of coordinates, each of which is rounded.

        Returns
        -------
        Fraction
            At most Δ₂/step + √d, with √d rounded up to a rational; ⌈Δ₂/step⌉ for d = 1.
        """
        steps, count = self._steps(sensitivity), _coordinates(coordinates)
        if count == 1:
            return Fraction(math.ceil(steps))
        return steps + Fraction(math.isqrt((count << 64) - 1) + 1, 1 << 32)

    def _steps(self, sensitivity: Number) -> Fraction:
        exact = rational(sensitivity, "sensitivity")
        check.positive(sensitivity=exact)
        return exact / self.step

    def round(self, values: Values) -> Integers:
        """Round values to the nearest grid point, halves upwards.

        A float means its exact binary value. NaN, infinities and types that are not numbers are refused.

        Parameters
        ----------
        values : number or array
            Numbers, or an array of any shape of integers, floats up to 64 bits, Fractions or Decimals.

        Returns
        -------
        numpy.ndarray
            The values in steps.
        """
        return self._round(_numbers(values))

    def _round(self, array: NDArray[Any]) -> Integers:
        kind, shift = array.dtype.kind, -self.exponent
        if kind == "f":
            return self._round_floats(array.astype(np.float64, copy=False))
        if kind in "iu" and 0 <= shift < 61 and _is_small(array, _INT64_ROOM >> shift):
            return array.astype(np.int64) << shift
        return self._round_exactly(array)

    def add(self, values: Values, noise: Law) -> float | NDArray[np.float64]:
        """Round values to the grid and add noise.

        Parameters
        ----------
        values : number or array
            Numbers, or an array of any shape of integers, floats up to 64 bits, Fractions or Decimals.
        noise : Law
            The noise, in steps.

        Returns
        -------
        float or numpy.ndarray
            The sums; those beyond the largest float are shown as the largest float.
        """
        if isinstance(values, int | float | Fraction | Decimal):
            return self.to_float(self._round_one(plain(values)) + noise.sample())
        array = _numbers(values)
        flat, out = array.ravel(), np.empty(array.size)
        for start in range(0, array.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            self._add_part(flat[part], noise.sample(flat[part].shape), out[part])
        return out.reshape(array.shape) if array.ndim else float(out[0])

    def _add_part(self, values: NDArray[Any], noise: Integers, out: NDArray[np.float64]) -> None:
        """Write the sums to `out`: of doubles where these hold both terms exactly, of integers otherwise."""
        if values.dtype.kind == "f" and noise.dtype == np.int64 and self.exponent < 0:
            # A narrower float would be multiplied and added as such: it has no room for the noise.
            steps, drawn = self._nearest(values.astype(np.float64, copy=False)), noise.astype(np.float64)
            if _is_small(steps, math.inf) and _is_small(drawn, _EXACT_IN_DOUBLES):
                np.add(steps, drawn, out=steps)
                np.multiply(steps, math.ldexp(1.0, self.exponent), out=out)
                return
        out[:] = self.sums(self._round(values), noise)

    def sums(self, steps: Integers, noise: Integers) -> NDArray[np.float64]:
        """Add integer noise to rounded values.

        Parameters
        ----------
        steps : numpy.ndarray
            The values in steps, as `round` gives them.
        noise : numpy.ndarray
            The noise in steps, of the same shape.

        Returns
        -------
        numpy.ndarray
            The sums as floats; those beyond the largest float are shown as the largest float.
        """
        return self._to_floats(_add(steps, noise))

    def _round_exactly(self, array: NDArray[Any]) -> Integers:
        return integer_array([self._round_one(x) for x in array.ravel().tolist()]).reshape(array.shape)

    def _round_one(self, value: Any) -> int:
        """⌊value/step + ½⌋ exactly."""
        if type(value) is float and abs(value) < _NO_OVERFLOW:
            scaled = math.ldexp(value, -self.exponent)
            whole = math.floor(scaled)
            return whole + (scaled - whole >= 0.5)  # as in _round_floats
        if isinstance(value, float | Decimal) and not _is_finite(value):
            raise _not_finite()
        numerator, denominator = value.as_integer_ratio()
        if self.exponent < 0:
            numerator <<= -self.exponent
        else:
            denominator <<= self.exponent
        return int((2 * numerator + denominator) // (2 * denominator))

    def _round_floats(self, array: NDArray[np.float64]) -> Integers:
        steps = self._nearest(array)
        return steps.astype(np.int64) if _is_small(steps, _INT64_ROOM) else self._round_exactly(array)

    def _nearest(self, array: NDArray[np.float64]) -> NDArray[np.float64]:
        """⌊value/step + ½⌋ as ⌈⌊2 value/step⌋/2⌉, exactly; infinite where a double cannot hold 2 value/step."""
        steps = np.empty(array.shape)
        with np.errstate(all="ignore"):  # exact, or so small that it rounds to 0, or infinite
            if self.exponent > 0:
                np.ldexp(array, 1 - self.exponent, out=steps)
            else:
                np.multiply(array, 2.0 ** (1 - self.exponent), out=steps)
        np.floor(steps, out=steps)
        steps *= 0.5
        return np.ceil(steps, out=steps)

    def to_float(self, steps: int) -> float:
        """Give the float at so many steps of the grid.

        Parameters
        ----------
        steps : int
            How many steps from 0.

        Returns
        -------
        float
            The value there; beyond the range of floats, the largest or the smallest one.
        """
        try:
            return steps / (1 << -self.exponent) if self.exponent < 0 else float(steps << self.exponent)
        except OverflowError:
            return sys.float_info.max if steps > 0 else -sys.float_info.max

    def _to_floats(self, steps: Integers) -> NDArray[np.float64]:
        if steps.dtype == np.int64 and self.exponent < 0:
            return np.ldexp(steps.astype(np.float64), self.exponent)
        flat = [self.to_float(x) for x in steps.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(steps.shape)


def _coordinates(count: SupportsIndex) -> int:
    exact = whole(count, "coordinates")
    check.at_least(1, coordinates=exact)
    return exact


def add_integers(values: Values, noise: Law) -> int | Integers:
    """Add integer noise to integers.

    Parameters
    ----------
    values : int or array
        Integers, or an array of any shape of integers.
    noise : Law
        The noise.

    Returns
    -------
    int or numpy.ndarray
        The sums: nothing is rounded and nothing wraps; sums past 2^63 become Python integers.
    """
    if isinstance(values, int):
        return int.__int__(values) + noise.sample()  # a subclass may have its own idea of a sum
    array = _numbers(values)
    if array.dtype.kind == "f":
        raise NotANumberError("values must be integers. Use Grid.add for real numbers.")
    exact = integer_array([_integer(x) for x in array.ravel().tolist()]) if array.dtype != np.int64 else array.ravel()
    total = _add(exact, noise.sample(exact.shape)).reshape(array.shape)
    return total if array.ndim else int(total[()])


def _add(left: Integers, right: Integers) -> Integers:
    if left.dtype == right.dtype == np.int64 and _is_small(left, _INT64_ROOM) and _is_small(right, _INT64_ROOM):
        return np.add(left, right, dtype=np.int64)
    return integer_array([a + b for a, b in zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)]).reshape(
        left.shape
    )


def _is_small(array: NDArray[Any], room: float) -> bool:
    """Whether every value is below `room` in magnitude; NaN is not. (abs would leave −2^63 negative.)"""
    return not array.size or bool(array.min() > -room and array.max() < room)


def _numbers(values: Values) -> NDArray[Any]:
    """The values as an array of exact numbers, or an error that names their type and none of them."""
    if isinstance(values, np.ma.MaskedArray):
        raise _not_numbers("a masked array")
    # As floats, a list of 2**53 + 1 and 0.5 would lose the 1.
    array = np.array(values, dtype=np.object_) if isinstance(values, list | tuple) else np.asarray(plain(values))
    kind = array.dtype.kind
    if kind == "f" and array.dtype.itemsize <= 8:
        if not np.isfinite(array).all():
            raise _not_finite()
        return array
    if kind in "iu":
        return array
    if kind == "b":
        return array.astype(np.int64)
    if kind != "O":
        raise _not_numbers(array.dtype.type.__name__)
    exact = np.empty(array.size, dtype=np.object_)
    exact[:] = [_number(x) for x in array.ravel()]
    return exact.reshape(array.shape)


def _number(value: Any) -> Any:
    """One value as a Python number."""
    if isinstance(value, np.generic) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        value = value.item()
    if not isinstance(value, int | float | Fraction | Decimal):
        raise _not_numbers(type(value).__name__)
    exact = plain(value)
    if isinstance(exact, float | Decimal) and not _is_finite(exact):
        raise _not_finite()
    return exact


def _is_finite(value: float | Decimal) -> bool:
    """A Decimal of thousands of digits before or after the point counts as infinite: it would cost as much."""
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS
    return math.isfinite(value)


def _integer(value: Any) -> int:
    if not isinstance(value, int):  # also a whole float: what is refused must not depend on the data
        raise NotANumberError("values must be integers. Use Grid.add for real numbers.")
    return int(value)


def _not_numbers(found: str) -> NotANumberError:
    return NotANumberError(
        f"values must be integers, float64 or narrower, Fractions or Decimals, got {found}. Convert first."
    )


def _not_finite() -> NotANumberError:
    return NotANumberError("values must be finite: NaN and infinities cannot be released. Clamp or drop them first.")


@cache
def _power_of_two(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def _floor_log2(value: Fraction) -> int:
    """The largest e with 2^e ≤ value."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if _power_of_two(guess) <= value else guess - 1
