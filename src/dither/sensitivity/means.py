"""Trimmed and winsorised means: sums of order statistics whose sensitivity is exact, rounded up once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.errors import ParameterError
from dither.exact import Number, rational, set_fields
from dither.sensitivity.means_added_removed import AddRemoveMean
from dither.sensitivity.order_statistics_replaced import ReplacedRun
from dither.sensitivity.records import (
    Bounds,
    Floats,
    checked_bounds,
    fraction_above,
    in_units,
    of_records,
    padded,
    width_above,
)
from dither.sensitivity.statistic import Profile
from dither.sensitivity.stepwise import Stepwise
from dither.sensitivity.trimmed import AddRemoveTrimmed
from dither.sensitivity.winsorised import AddRemoveWinsorised, ReplacedWinsorised

__all__ = ["TrimmedMean", "WinsorisedMean"]


@dataclass(frozen=True, slots=True)
class _MeanOfTheMiddle(ABC):
    """What the two means share: they know the k smallest and the k largest of n records, k = ⌊`trim`·n⌋."""

    trim: Number
    bounds: Bounds
    adjacency: Adjacency = REPLACE_ONE

    def __post_init__(self) -> None:
        set_fields(self, trim=_checked_trim(self.trim))
        set_fields(self, bounds=_finite_bounds(self.bounds))
        of_records(self.adjacency)

    @property
    def global_sensitivity(self) -> float:
        """What one record alone can change, rounded up.

        It is high − low if the record is replaced, half of it if it is added or removed.
        """
        return _of_one_record(self.bounds, self.adjacency)

    def value(self, data: Any) -> float:
        """Compute the mean, rounded to the nearest double; that rounding is not part of the sensitivities.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.

        Returns
        -------
        float
            The exact value, not private.
        """
        return float(self.exact_value(data))

    @abstractmethod
    def exact_value(self, data: Any) -> Fraction:
        """Compute the mean without rounding: the sensitivities are those of it.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.

        Returns
        -------
        Fraction
            The exact value, not private.
        """

    @abstractmethod
    def profile(self, data: Any) -> Profile:
        """Prepare the sensitivities of this dataset, sorted once.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.

        Returns
        -------
        Profile
            Ask it for `within(distance)` or `smooth(beta)`.
        """

    def sensitivity_within(self, data: Any, distance: int) -> float:
        """Compute the largest local sensitivity within a distance, rounded up.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.
        distance : int
            The number of steps to a neighbour.

        Returns
        -------
        float
            A^(t), never below the truth.
        """
        return self.profile(data).within(distance)


@dataclass(frozen=True, slots=True)
class TrimmedMean(_MeanOfTheMiddle):
    """The mean without the k smallest and the k largest of n records, k = ⌊`trim`·n⌋; a `Statistic`.

    Parameters
    ----------
    trim : Number
        The part of the records that is left out at each end, 0 ≤ `trim` < 1/2.
    bounds : tuple of (Number, Number)
        The public interval (low, high) to which each record is clamped.
    adjacency : Adjacency, default REPLACE_ONE
        `REPLACE_ONE` or `ADD_REMOVE` of `dp.adjacency`. No records at all have the middle of the bounds as their mean.

    Notes
    -----
    With records replaced, A^(t) is a difference of two order statistics over the n − 2k that are kept (`ReplacedRun`),
    and the smooth sensitivity takes O(n log n). With records added or removed, k moves with n (`AddRemoveTrimmed`), and
    distance t takes O(t²).

    Examples
    --------
    >>> TrimmedMean(0.25, (0, 120)).value([31, 35, 38, 40, 41, 44, 52, 990])
    40.75
    """

    def exact_value(self, data: Any) -> Fraction:
        """Compute the mean without rounding: the sensitivities are those of it.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.

        Returns
        -------
        Fraction
            The exact value, not private.
        """
        values = padded(data, checked_bounds(self.bounds), self.adjacency)[1:-1]
        cut = math.floor(rational(self.trim) * len(values))
        kept, unit = in_units(values[cut : len(values) - cut])
        return sum(kept) * unit / len(kept) if kept else Fraction(_middle(self.bounds))

    def profile(self, data: Any) -> Profile:
        """Prepare the sensitivities of this dataset, sorted once.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.

        Returns
        -------
        Profile
            Ask it for `within(distance)` or `smooth(beta)`.
        """
        values = padded(data, checked_bounds(self.bounds), self.adjacency)
        trim, size = rational(self.trim), len(values) - 2
        if self.adjacency == REPLACE_ONE:
            cut = math.floor(trim * size)
            return ReplacedRun(values, first=cut + 1, last=size - cut, divisor=size - 2 * cut)
        return _added(AddRemoveTrimmed, values, trim, self.bounds)


@dataclass(frozen=True, slots=True)
class WinsorisedMean(_MeanOfTheMiddle):
    """The mean after the k smallest and the k largest of n records became x[k + 1] and x[n − k]; a `Statistic`.

    Parameters
    ----------
    trim : Number
        The part of the records that is moved at each end, 0 ≤ `trim` < 1/2: k = ⌊`trim`·n⌋.
    bounds : tuple of (Number, Number)
        The public interval (low, high) to which each record is clamped.
    adjacency : Adjacency, default REPLACE_ONE
        `REPLACE_ONE` or `ADD_REMOVE` of `dp.adjacency`. No records at all have the middle of the bounds as their mean.

    Notes
    -----
    Distance t takes O(t³) with records replaced (`ReplacedWinsorised`), and as a rule with records added or removed
    (`AddRemoveWinsorised`).

    Examples
    --------
    >>> WinsorisedMean(0.25, (0, 120)).value([31, 35, 38, 40, 41, 44, 52, 990])
    40.875
    """

    def exact_value(self, data: Any) -> Fraction:
        """Compute the mean without rounding: the sensitivities are those of it.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.

        Returns
        -------
        Fraction
            The exact value, not private.
        """
        values = padded(data, checked_bounds(self.bounds), self.adjacency)[1:-1]
        cut = math.floor(rational(self.trim) * len(values))
        kept, unit = in_units(values[cut : len(values) - cut])
        if not kept:
            return Fraction(_middle(self.bounds))
        return (sum(kept) + cut * (kept[0] + kept[-1])) * unit / len(values)

    def profile(self, data: Any) -> Profile:
        """Prepare the sensitivities of this dataset, sorted once.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.

        Returns
        -------
        Profile
            Ask it for `within(distance)` or `smooth(beta)`.
        """
        values = padded(data, checked_bounds(self.bounds), self.adjacency)
        trim, size = rational(self.trim), len(values) - 2
        if self.adjacency != REPLACE_ONE:
            return _added(AddRemoveWinsorised, values, trim, self.bounds)
        cut = math.floor(trim * size)
        if size - 2 * cut <= 2:  # the mean of one or two middle records, as if trimmed
            return ReplacedRun(values, first=cut + 1, last=size - cut, divisor=size - 2 * cut)
        numbers, unit = in_units(values)
        moved = ReplacedWinsorised(tuple(numbers), cut)
        return Stepwise(
            lambda distance: fraction_above(moved.within(distance) * unit), fraction_above(moved.bound * unit)
        )


def _checked_trim(trim: Number) -> Fraction:
    share = rational(trim, "trim")
    if not 0 <= share < Fraction(1, 2):
        raise ParameterError(f"trim must be at least 0 and below 1/2, got trim={share}. Use Median for 1/2.")
    return share


def _finite_bounds(bounds: Bounds) -> tuple[float, float]:
    checked = checked_bounds(bounds)
    if checked is None:
        raise ParameterError("bounds must be given for a mean: without them one record can move it by any amount.")
    return checked


def _middle(bounds: Bounds) -> float:
    low, high = _finite_bounds(bounds)
    return low / 2 + high / 2


def _of_one_record(bounds: Bounds, adjacency: Adjacency) -> float:
    """How far the first record moves a mean: no record among others does more."""
    if adjacency == REPLACE_ONE:
        return width_above(checked_bounds(bounds))
    low, high, middle = map(Fraction, (*_finite_bounds(bounds), _middle(bounds)))
    return fraction_above(max(high - middle, middle - low))


def _added(kind: type[AddRemoveMean], values: Floats, trim: Fraction, bounds: Bounds) -> Profile:
    """The profile when records come and go."""
    (*numbers, middle), unit = in_units([*values, _middle(bounds)])
    moved = kind(tuple(numbers), trim, middle)
    bound = _of_one_record(bounds, ADD_REMOVE)
    return Stepwise(lambda distance: fraction_above(moved.within(distance) * unit), bound)
