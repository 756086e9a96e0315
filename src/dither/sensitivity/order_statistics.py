"""Median, quantiles, minimum and maximum: how much the element of a given rank can change."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.adjacency import REPLACE_ONE, Adjacency
from dither.errors import ParameterError
from dither.exact import Number, check, rational, set_fields
from dither.sensitivity.order_statistics_added_removed import AddRemoveRank
from dither.sensitivity.order_statistics_replaced import ReplacedRun
from dither.sensitivity.records import Bounds, checked_bounds, of_records, padded, width_above
from dither.sensitivity.statistic import Profile

__all__ = ["Maximum", "Median", "Minimum", "OrderStatistic", "Quantile", "rank"]


def rank(probability: Fraction, size: int) -> int:
    """⌈p·n⌉, and 1 for the minimum (p = 0): the rank of the p-quantile among n records.

    It grows by 0 or 1 with each record. The empty dataset has rank 0 (or 1, for the minimum), which is the lower bound
    (or the upper one): the padding x[0] = low, x[n + 1] = high of `records.padded`.
    """
    return math.ceil(probability * size) if probability > 0 else 1


class OrderStatistic(ABC):
    """The element of rank ⌈p·n⌉ of the sorted data, clamped to `bounds`; what the four classes below share.

    `bounds`: the public interval (low, high) that each record is clamped to, as the nearest doubles; None if there is
    none: the global and the smooth sensitivity are infinite then, the local sensitivity is not.
    `adjacency`: REPLACE_ONE or ADD_REMOVE. Under ADD_REMOVE the number of records may change; no records at all have
    the value low (high, for a minimum).
    """

    __slots__ = ()

    bounds: Bounds
    adjacency: Adjacency

    def __post_init__(self) -> None:
        set_fields(self, bounds=checked_bounds(self.bounds))
        of_records(self.adjacency)

    @abstractmethod
    def _share(self) -> Fraction:
        """p: which quantile it is."""

    @property
    def global_sensitivity(self) -> float:
        """The width high − low, rounded up: any rank can jump from one bound to the other (claim C17)."""
        return width_above(self._interval)

    def value(self, data: Any) -> float:
        """Return the element of rank ⌈p·n⌉, exactly.

        Parameters
        ----------
        data : array or sequence of numbers
            The records.

        Returns
        -------
        float
            The exact value, not private.
        """
        values = padded(data, self._interval, self.adjacency)
        answer = float(values[rank(self._share(), len(values) - 2)])
        if not math.isfinite(answer):
            raise ParameterError("data without records has a value only inside bounds. Give bounds=(low, high).")
        return answer

    def sensitivity_within(self, data: Any, distance: int) -> float:
        """Compute the largest local sensitivity within a distance: a difference of two records, rounded up.

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
        values = padded(data, self._interval, self.adjacency)
        if self.adjacency == REPLACE_ONE:
            place = rank(self._share(), len(values) - 2)
            return ReplacedRun(values, first=place, last=place)
        return AddRemoveRank(values, self._share())

    @property
    def _interval(self) -> tuple[float, float] | None:
        return self.bounds  # type: ignore[return-value]  # made so by __post_init__


@dataclass(frozen=True, slots=True)
class Median(OrderStatistic):
    """The lower median, the element of rank ⌈n/2⌉, with its sensitivities; a `Statistic`.

    Parameters
    ----------
    bounds : tuple of (Number, Number) or None
        The public interval (low, high) to which each record is clamped, as the nearest doubles. None if there is none:
        then the global and the smooth sensitivity are infinite, the local sensitivity is not.
    adjacency : Adjacency, default REPLACE_ONE
        `REPLACE_ONE` or `ADD_REMOVE` of `dp.adjacency`. Under `ADD_REMOVE` no records at all have the value low.

    Examples
    --------
    >>> from dither.sensitivity import local_sensitivity, smooth_sensitivity
    >>> ages, median = [31, 35, 38, 40, 41, 44, 52], Median((0, 120))
    >>> median.value(ages), median.global_sensitivity, local_sensitivity(median, ages)
    (40.0, 120.0, 2.0)
    >>> round(smooth_sensitivity(median, ages, beta=0.5), 3)
    17.85
    """

    bounds: Bounds
    adjacency: Adjacency = REPLACE_ONE

    def _share(self) -> Fraction:
        return Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Quantile(OrderStatistic):
    """The p-quantile, the element of rank ⌈p·n⌉, with its sensitivities; a `Statistic`.

    Parameters
    ----------
    probability : Number
        p from 0 (the minimum) to 1 (the maximum).
    bounds : tuple of (Number, Number) or None
        The public interval (low, high) to which each record is clamped; None if there is none, as in `Median`.
    adjacency : Adjacency, default REPLACE_ONE
        `REPLACE_ONE` or `ADD_REMOVE` of `dp.adjacency`.

    Examples
    --------
    >>> Quantile(0.9, (0, 120)).value([31, 35, 38, 40, 41, 44, 52])
    52.0
    """

    probability: Number
    bounds: Bounds
    adjacency: Adjacency = REPLACE_ONE

    def __post_init__(self) -> None:
        set_fields(self, probability=rational(self.probability, "probability"))
        check.probability(probability=self.probability)
        super(Quantile, self).__post_init__()

    def _share(self) -> Fraction:
        return rational(self.probability)


@dataclass(frozen=True, slots=True)
class Minimum(OrderStatistic):
    """The smallest record, with its sensitivities; a `Statistic`.

    Parameters
    ----------
    bounds : tuple of (Number, Number) or None
        The public interval (low, high) to which each record is clamped; None if there is none, as in `Median`.
    adjacency : Adjacency, default REPLACE_ONE
        `REPLACE_ONE` or `ADD_REMOVE` of `dp.adjacency`. Under `ADD_REMOVE` no records at all have the value high.
    """

    bounds: Bounds
    adjacency: Adjacency = REPLACE_ONE

    def _share(self) -> Fraction:
        return Fraction(0)


@dataclass(frozen=True, slots=True)
class Maximum(OrderStatistic):
    """The largest record, with its sensitivities; a `Statistic`.

    Parameters
    ----------
    bounds : tuple of (Number, Number) or None
        The public interval (low, high) to which each record is clamped; None if there is none, as in `Median`.
    adjacency : Adjacency, default REPLACE_ONE
        `REPLACE_ONE` or `ADD_REMOVE` of `dp.adjacency`.
    """

    bounds: Bounds
    adjacency: Adjacency = REPLACE_ONE

    def _share(self) -> Fraction:
        return Fraction(1)
