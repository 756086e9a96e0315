"""Events of correlated noise: a matrix applied to a stream, with Gaussian noise on what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events.event import EventBase, check_count, exact_number, under
from dither.exact import Number, check, in_words, set_fields

__all__ = ["MatrixNoise", "TreeNoise"]

_MOST_COEFFICIENTS = 20_000
_MOST_STEPS = 10**9
_MOST_WORK = 2 * 10**7
_ROUNDING = Fraction(1, 2**50)
_MOST_LOOKED_AT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixNoise(EventBase):
    """Matrix factorisation: Gaussian noise on C x, where x are the sums of a stream, one for each step.

    C is lower triangular and Toeplitz: C_ts is `coefficients`[t − s], and 0 beyond them. Everything else, such as
    running totals or trained weights, is computed from C x with its noise. DP-FTRL with banded or square-root factors
    is of this kind, and so is training with correlated noise.

    Parameters
    ----------
    variance : Number
        σ² > 0, the square of the standard deviation of the noise on each coordinate of C x.
    coefficients : sequence of Number
        c₀, c₁, …; at most 20,000, and not all 0. As many as there are bands.
    steps : int
        The number of steps, 1 to 10^9.
    participations : int, default 1
        In how many steps one record may be, at most.
    separation : int, default 1
        How far apart these steps are, at least.
    sensitivity_squared : Number, default 1
        Δ², the square of how far one record moves the sum of a step, in ℓ₂.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated: the sensitivity alone
        defines them.

    Raises
    ------
    ParameterError
        If a number is out of range, or the whole is too large to be computed.

    Notes
    -----
    `distance_squared` says how far C x moves, and why that is an upper bound; it is exact with one participation, with
    a separation of at least as many steps as there are bands, and with falling coefficients.

    Examples
    --------
    >>> event = MatrixNoise(variance=4, coefficients=(1, "0.5", "0.25"), steps=1000, participations=5, separation=100)
    >>> print(event)
    Gaussian noise of variance 4 on 3 bands of 1000 steps, 5 of them with the same record, 100 steps apart
    >>> event.distance_squared
    Fraction(105, 16)
    """

    variance: Fraction
    coefficients: tuple[Fraction, ...]
    steps: int
    participations: int = 1
    separation: int = 1
    sensitivity_squared: Fraction = Fraction(1)
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self,
            *,
            variance: Number,
            coefficients: Sequence[Number],
            steps: int,
            participations: int = ...,
            separation: int = ...,
            sensitivity_squared: Number = ...,
            adjacency: Adjacency | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._exact("variance", "sensitivity_squared")
        set_fields(self, coefficients=tuple(exact_number(value, "coefficients") for value in self.coefficients))
        check.positive(variance=self.variance, sensitivity_squared=self.sensitivity_squared)
        _check_stream(self.steps, self.participations, self.separation)
        if not 0 < len(self.coefficients) <= _MOST_COEFFICIENTS or not any(self.coefficients):
            raise ParameterError(
                f"coefficients must be 1 to {_MOST_COEFFICIENTS} numbers, not all 0; got {len(self.coefficients)}."
            )
        if not self._is_apart and self._times * len(self.coefficients) > _MOST_WORK:
            raise ParameterError("coefficients times participations must be at most 2e7 where bands overlap.")

    @property
    def _times(self) -> int:
        """In how many steps a record can be."""
        return min(self.participations, -(-self.steps // self.separation))

    @property
    def _is_apart(self) -> bool:
        return self._times == 1 or self.separation >= len(self.coefficients)

    @property
    def distance_squared(self) -> Fraction:
        """How far one record moves C x at most, squared: an upper bound, exact where it is said to be.

        A record adds vectors of length Δ at most at the steps of a pattern π, so C x moves by at most Δ² Σ |⟨C_i, C_j⟩|
        over i, j ∈ π, for the columns C_i. Where bands do not overlap only i = j counts, and a column loses terms only
        at the end of the stream. Else the coefficients are replaced by |c_m| or the largest that follows, which only
        makes products larger; for such falling coefficients ⟨C_i, C_j⟩ = Σ_m c_{m+j−i} c_m, i ≤ j, falls with j and
        with j − i. In both cases the pattern 0, b, 2b, … of separation b comes first in every place, and has the
        largest sum.
        """
        return self._moved() * self.sensitivity_squared

    @property
    def reached_squared(self) -> Fraction:
        """How far some record moves C x at least, squared: `distance_squared` where that is exact.

        The record adds Δu at the steps 0, b, 2b, … in one direction, where C x moves by Δ‖Σ C_i‖; or with the signs of
        which the mean over all is Σ ‖C_i‖².
        """
        if self._is_apart:
            return self.distance_squared
        largest = max(map(abs, self.coefficients))
        signed = np.array([float(value / largest) for value in self.coefficients])
        moved = _added(signed, self._times, self.separation, self.steps)
        sizes = _added(signed**2, self._times, self.separation, self.steps)
        off = (4 * len(signed) + 4 * self._times + 16) * float(_ROUNDING)  # of each place, by the size of what is added
        rounded = np.maximum(np.abs(moved) - off * _added(np.abs(signed), self._times, self.separation, self.steps), 0)
        most = max(float(rounded @ rounded), float(sizes.sum()))
        return (
            Fraction(most)
            * largest**2
            * (1 - (len(moved) + 4 * self._times + 16) * _ROUNDING)
            * (self.sensitivity_squared)
        )

    def _moved(self) -> Fraction:
        steps, apart, times = self.steps, self.separation, self._times
        if self._is_apart:
            squares = [value**2 for value in self.coefficients]
            whole = sum(squares, Fraction(0))
            found = Fraction(0)
            for start in range((times - 1) * apart, -1, -apart):
                if steps - start >= len(squares):  # all columns before are whole as well
                    return found + whole * (start // apart + 1)
                found += sum(squares[: steps - start], Fraction(0))
            return found
        largest = max(map(abs, self.coefficients))
        sizes = np.array([float(abs(value) / largest) for value in self.coefficients])
        falling = np.maximum.accumulate(sizes[::-1])[::-1]
        moved = _added(falling, times, apart, steps)
        length = len(moved)
        # Sums of what is not negative: each is off by a few times their number of units in the last place.
        return Fraction(float(moved @ moved)) * largest**2 * (1 + (length + 4 * times + 16) * _ROUNDING)

    def __str__(self) -> str:
        often = f", {self.participations} of them with the same record, {self.separation} steps apart"
        return (
            f"Gaussian noise of variance {in_words(self.variance)} on {len(self.coefficients)} bands "
            f"of {self.steps} steps{often if self.participations > 1 else ''}"
            f"{_of_sensitivity(self.sensitivity_squared)}{under(self.adjacency)}"
        )


def _added(column: np.ndarray, times: int, apart: int, steps: int) -> np.ndarray:
    """The column, moved down by 0, `apart`, 2·`apart`, … and added up, as far as the stream goes."""
    moved = np.zeros(min(len(column) + (times - 1) * apart, steps))
    for start in range(0, times * apart, apart):
        part = column[: max(len(moved) - start, 0)]
        moved[start : start + len(part)] += part
    return moved


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNoise(EventBase):
    """Tree aggregation: Gaussian noise on the sum of each node of a binary tree over the steps of a stream.

    Parameters
    ----------
    variance : Number
        σ² > 0, the square of the standard deviation of the noise on each node.
    steps : int
        The number of steps, 1 to 10^9; each is a leaf. Nodes are those that the binary counter completes.
    sensitivity_squared : Number, default 1
        Δ², the square of how far one record moves the sum of a step, in ℓ₂.
    participations : int, default 1
        In how many steps one record may be, at most; 1 for a single epoch.
    separation : int, default 1
        How far apart these steps are, at least.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated: the sensitivity alone
        defines them.

    Raises
    ------
    ParameterError
        If a number is out of range.

    Examples
    --------
    >>> event = TreeNoise(variance=4, steps=8)
    >>> print(event)
    Gaussian noise of variance 4 on each node of a tree over 8 steps
    >>> event.distance_squared
    Fraction(4, 1)
    """

    variance: Fraction
    steps: int
    sensitivity_squared: Fraction = Fraction(1)
    participations: int = 1
    separation: int = 1
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self,
            *,
            variance: Number,
            steps: int,
            sensitivity_squared: Number = ...,
            participations: int = ...,
            separation: int = ...,
            adjacency: Adjacency | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._exact("variance", "sensitivity_squared")
        check.positive(variance=self.variance, sensitivity_squared=self.sensitivity_squared)
        _check_stream(self.steps, self.participations, self.separation)

    @property
    def distance_squared(self) -> Fraction:
        """How far one record moves all nodes together at most, squared: an upper bound, exact for one participation.

        On a level each node holds 2^l neighbouring steps, so at most m = ⌈2^l/separation⌉ of the k participations. The
        sum of the squares of their numbers is largest if as many nodes as possible hold m: ⌊k/m⌋·m² + (k mod m)².
        """
        k = min(self.participations, -(-self.steps // self.separation))
        total = 0
        for level in range(self.steps.bit_length()):
            most = min(k, -(-(1 << level) // self.separation))
            total += k // most * most**2 + (k % most) ** 2
        return total * self.sensitivity_squared

    @property
    def reached_squared(self) -> Fraction:
        """How far some record moves all nodes together at least, squared: one in the first step and each b after it.

        Of very many participations only the first 100,000 are looked at.
        """
        k = min(self.participations, -(-self.steps // self.separation), _MOST_LOOKED_AT)
        places, total = np.arange(k, dtype=np.int64) * self.separation, 0
        for level in range(self.steps.bit_length()):
            nodes = places >> level
            _, often = np.unique(nodes[nodes < self.steps >> level], return_counts=True)
            total += int(often @ often)
        return total * self.sensitivity_squared

    def __str__(self) -> str:
        often = f", {self.participations} of them with the same record, {self.separation} apart"
        return (
            f"Gaussian noise of variance {in_words(self.variance)} on each node of a tree over {self.steps} steps"
            f"{often if self.participations > 1 else ''}"
            f"{_of_sensitivity(self.sensitivity_squared)}{under(self.adjacency)}"
        )


def _check_stream(steps: int, participations: int, separation: int) -> None:
    check_count(1, steps=steps, participations=participations, separation=separation)
    if not steps <= _MOST_STEPS:
        raise ParameterError(f"steps must be at most {_MOST_STEPS}, got steps={steps}.")


def _of_sensitivity(squared: Fraction) -> str:
    return "" if squared == 1 else f", each of squared sensitivity {in_words(squared)}"
