"""What mechanisms that add noise share: two lattices, one for integers and one for real numbers.

Integers in, integers out: noise on ℤ is added, and nothing is rounded. Real numbers are rounded to a public dyadic
grid, and get noise in whole steps of it; the rounding has its own term in the cost (noise/lattice.md). Which of the
two happens follows from the type of the value, never from the value. The type must not depend on data either.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import NotANumberError, ParameterError
from dither.events import Event
from dither.exact import Ball, Number, ball, check, in_words, plain, precision, rational
from dither.exact.certified import above, below, exactly_above, exactly_below
from dither.guarantees import Guarantee
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.noise import Grid, add_integers
from dither.noise.law import SymmetricLaw, integer_array
from dither.noise.tape import answered

__all__ = ["Additive", "Noising", "array_interval", "described", "exactly_one", "failure", "moved", "numeric"]

_ROOM = 1 << 62
_MOST_NAMES = 10


@dataclass(frozen=True)
class Noising:
    """Noise on one lattice, and what it costs."""

    law: SymmetricLaw
    """The noise, in steps."""
    grid: Grid | None
    """The lattice of real numbers; None for the integers."""
    event: Event
    guarantee: Guarantee

    @property
    def step(self) -> Fraction:
        """The distance between neighbours on the lattice."""
        return Fraction(1) if self.grid is None else self.grid.step

    def add(self, value: Any) -> Any:
        """value + noise: an int or a float for a number, an array for an array."""
        add = add_integers if self.grid is None else self.grid.add
        return answered(lambda: add(value, self.law), "added", value, event=self.event, law=self.law, grid=self.grid)

    def reach(self, miss: Fraction) -> Fraction:
        """The smallest bound on |noise| that is missed with probability `miss` or less, and half a step of rounding."""
        steps = Fraction(self.law.quantile(1 - miss / 2))
        return steps if self.grid is None else (steps + Fraction(1, 2)) * self.step


class Additive(Mechanism):
    """A mechanism that adds independent noise to each coordinate."""

    dimension: int

    @property
    @abstractmethod
    def for_integers(self) -> Noising | None:
        """The noise that integers get, with its event and guarantee; None where integers are refused."""

    @property
    @abstractmethod
    def for_reals(self) -> Noising:
        """The noise that real numbers get, with its event and guarantee."""

    @abstractmethod
    def _mean_magnitude(self, law: Any) -> Ball:
        """E|X| of a law, in steps."""

    @property
    def _noisings(self) -> tuple[Noising, ...]:
        return (self.for_reals,) if self.for_integers is None else (self.for_integers, self.for_reals)

    def release(self, value: Any) -> Release:
        """Add noise to the exact value.

        An int gets integer noise and stays an int; other numbers get noise on a public grid and become a float; an
        array becomes an array. Which of the two applies follows from the type of the value, which must not depend on
        data.

        Parameters
        ----------
        value : int, float, Fraction, Decimal or array
            The exact value. Real arrays may have at most `dimension` coordinates.

        Returns
        -------
        Release
            The noisy value in `.value`, with `.guarantee`, `.event`, `.interval(level)` and `.certificate()`.

        Raises
        ------
        NotANumberError
            If the value is NaN, infinite, a boolean or not numeric.
        ParameterError
            If the array has more coordinates than the noise was calibrated for.
        """
        clean = numeric(value)
        noising = self.noising_for(clean)
        return Release(noising.add(clean), noising.event, noising.guarantee, self)

    def event_for(self, value: Any) -> Event:
        """State the event that `release(value)` will write; nothing is drawn.

        `event` covers integers and real numbers alike, so it may cost a little more than either.

        Parameters
        ----------
        value : int, float, Fraction, Decimal or array
            A value of the type to be released; only its type and size matter.

        Returns
        -------
        Event
            The event for values of this type.
        """
        return self.noising_for(numeric(value)).event

    def noising_for(self, value: Any) -> Noising:
        """State the noise that `release(value)` adds; nothing is drawn.

        Parameters
        ----------
        value : int, float, Fraction, Decimal or array
            A checked value (`numeric`); only its type and size matter.

        Returns
        -------
        Noising
            `for_integers` or `for_reals`.

        Raises
        ------
        ParameterError
            If the noise was not made for values of this type or size.
        """
        if _is_whole(value):
            if self.for_integers is None:
                raise ParameterError(
                    "integers cannot change by less than 1, and the sensitivity is below 1. "
                    "Give the sensitivity of the integers, or release a float."
                )
            self._check_integers(_size(value))
            return self.for_integers
        if _size(value) > self.dimension:
            raise ParameterError(
                f"the value has more real coordinates than dimension={self.dimension}, and each is rounded at a cost. "
                "Give their number: dimension=..."
            )
        return self.for_reals

    def _check_integers(self, size: int) -> None:
        """Refuse integer arrays of a size that the noise was not made for; by default there is none."""

    @property
    def expected_error(self) -> float:
        """The mean absolute error of one coordinate, rounded up: the larger one of integers and reals."""
        return max(self.expected_error_of(noising) for noising in self._noisings)

    def expected_error_of(self, noising: Noising) -> float:
        """Compute the mean absolute error of one coordinate on one lattice.

        Parameters
        ----------
        noising : Noising
            `for_integers` or `for_reals`.

        Returns
        -------
        float
            The mean absolute error, rounded up.
        """
        half = Fraction(0) if noising.grid is None else noising.step / 2
        return above(lambda: self._mean_magnitude(noising.law) * ball(noising.step) + ball(half))

    def _error(self, beta: Fraction) -> float:
        return max(exactly_above(noising.reach(beta)) for noising in self._noisings)

    def max_error(self, beta: Number = 0.05) -> float:
        """Bound the largest error of `dimension` coordinates with probability 1 − `beta` or more.

        Parameters
        ----------
        beta : Number, default 0.05
            The probability that the bound may be missed, strictly between 0 and 1.

        Returns
        -------
        float
            The bound on all errors at once, in the unit of the value.

        Notes
        -----
        The exact quantile of the maximum: P[|X| ≤ q]^d ≥ 1 − β (claim C25), from P[|X| > q] ≤ 1 − (1 − β)^{1/d}.

        Examples
        --------
        >>> from dither.mechanisms import Laplace
        >>> Laplace(sensitivity=1, scale=10, dimension=1000).max_error(0.05)
        99.0
        """
        exact = rational(beta, "beta")
        check.between(0, 1, beta=exact)
        return self._error(per_coordinate(exact, self.dimension))

    def _interval(self, value: Any, level: Fraction) -> Interval:
        """Noise is symmetric, so the bounds lie at equal distances; a float was rounded when it was shown."""
        whole = _is_whole(value)
        noising = self.for_integers if whole and self.for_integers is not None else self.for_reals
        reach = noising.reach(1 - level)
        if isinstance(value, np.ndarray):
            return array_interval(value, reach, whole)
        if whole:
            return value - int(reach), value + int(reach)
        middle, shown = Fraction(value), Fraction(math.ulp(value)) / 2
        return exactly_below(middle - shown - reach), exactly_above(middle + shown + reach)


def array_interval(value: NDArray[Any], reach: Fraction, whole: bool) -> Interval:
    if whole:
        return moved(value, -int(reach)), moved(value, int(reach))
    # Two roundings of the sum, and the one with which the value was shown: two units in the last place cover them.
    far = exactly_above(reach)
    with np.errstate(over="ignore"):  # past the largest float a bound is infinite
        low, high = value - far, value + far
        largest = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.abs(value))
        slack = 2 * np.spacing(np.minimum(largest, np.finfo(np.float64).max))
        return low - slack, high + slack


def moved(values: NDArray[Any], by: int) -> NDArray[Any]:
    """Integers + `by`; nothing wraps, sums past 2^63 become Python integers."""
    if values.dtype == np.int64 and abs(by) < _ROOM and ((values > -_ROOM) & (values < _ROOM)).all():
        return values + by
    return integer_array([x + by for x in values.ravel().tolist()]).reshape(values.shape)


def per_coordinate(beta: Fraction, dimension: int) -> Fraction:
    """1 − (1 − β)^{1/d}, rounded down: d independent errors, each missed so often, are all kept except with β."""
    if dimension == 1:
        return beta
    with precision(128):
        return Fraction(below(lambda: -(ball(1 - beta).log() / dimension).expm1()))


def numeric(value: Any) -> int | float | Fraction | Decimal | NDArray[Any]:
    """The value as one number or one array of finite numbers, checked before anything is drawn.

    Python lists keep the types of their numbers: NumPy would turn integers beyond 64 bits into floats.
    """
    if isinstance(value, np.ndarray):
        return _checked_array(_bare(value))
    if isinstance(value, np.generic):
        return numeric(_checked_array(np.asarray(value)).item())
    if isinstance(value, bool) or value is None:
        raise NotANumberError(f"the value must be a number or an array, got the type {type(value).__name__}.")
    exact = plain(value)
    if isinstance(exact, int | Fraction):
        return exact
    if isinstance(exact, float | Decimal):
        if not (exact.is_finite() if isinstance(exact, Decimal) else math.isfinite(exact)):  # asks no signalling NaN
            raise _not_finite()
        return exact
    if isinstance(value, list | tuple):
        return _checked_array(_array_of(value))
    if hasattr(value, "__array__"):
        return _checked_array(_bare(np.asarray(value)))
    raise NotANumberError(f"the value must be a number or an array of numbers, got the type {type(value).__name__}.")


def _bare(value: NDArray[Any]) -> NDArray[Any]:
    """The array without its subclass, which may have its own arithmetic, or hide values."""
    if isinstance(value, np.ma.MaskedArray):
        raise NotANumberError("the value must not be a masked array: it hides values. Drop or fill them first.")
    return np.asarray(value)


def _array_of(value: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    array: NDArray[Any] = np.array(value, dtype=object)
    if array.size and all(isinstance(x, float | np.floating) for x in array.ravel()):
        return np.array([plain(x) for x in array.ravel()], dtype=np.float64).reshape(array.shape)
    return array


def _checked_array(array: NDArray[Any]) -> NDArray[Any]:
    kind = array.dtype.kind
    if kind in "iu":
        return array
    if kind == "f" and array.dtype.itemsize <= 8:
        if not np.isfinite(array).all():
            raise _not_finite()
        return array
    if kind == "O":
        numbers = [numeric(x) for x in array.ravel()]
        if not any(isinstance(x, np.ndarray) for x in numbers):
            out: NDArray[Any] = np.empty(array.shape, dtype=object)
            out.ravel()[:] = numbers
            return out
    raise NotANumberError(
        "the value must be integers, floats of at most 64 bits, Fractions or Decimals, "
        f"got dtype {array.dtype}. Convert first."
    )


def _is_whole(value: Any) -> bool:
    """Whether the type says integer."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu" or (value.dtype.kind == "O" and all(isinstance(x, int) for x in value.ravel()))
    return isinstance(value, int)


def _size(value: Any) -> int:
    return int(value.size) if isinstance(value, np.ndarray) else 1


def _not_finite() -> NotANumberError:
    return NotANumberError("the value must be finite: NaN and infinities cannot be released. Clamp or drop them first.")


def described(mechanism: Mechanism, **shown: object) -> str:
    """The call that would build the mechanism again, without what was left out; the adjacency in words."""
    words = {name: _written(value) for name, value in shown.items() if value is not None}
    if mechanism.adjacency is not None:
        words["adjacency"] = repr(str(mechanism.adjacency))
    return f"{type(mechanism).__name__}({', '.join(f'{name}={value}' for name, value in words.items())})"


def _written(value: object) -> str:
    """As Python reads it back: a ratio is text, since 1/3 would be a float. Long tuples say only how long they are."""
    if isinstance(value, tuple):
        return repr(list(value)) if len(value) <= _MOST_NAMES else f"[{len(value)} names]"
    if not isinstance(value, Fraction):
        return repr(value)
    words = in_words(value)
    return repr(words) if "/" in words else words


def failure(delta: Number | None, n: int | None, allow_large: bool | None) -> Fraction | None:
    """δ, exactly, strictly between 0 and 1, and below 1/n for the public number n of people (claim C26).

    `allow_large` is None where the caller has no such option.
    """
    if n is not None:
        check.count(n=n)
    if delta is None:
        return None
    exact = rational(delta, "delta")
    check.between(0, 1, delta=exact)
    if n is not None and not exact * int(n) < 1 and allow_large is not True:
        raise ParameterError(
            f"delta must be far below 1/n, got delta={exact} for n={n}: publishing a random record would be allowed. "
            f"Give a smaller delta{'' if allow_large is None else ', or allow_large_delta=True'}."
        )
    return exact


def exactly_one(what: str, **ways: object) -> str:
    """The name of the one way that was given; an error that lists all of them otherwise."""
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        raise ParameterError(f"{what} must be given in exactly one way, {' or '.join(ways)}; got {found}.")
    return given[0]
