"""The contract: an exact value and its sensitivity go in, a noisy value and an event come out.

A mechanism is frozen and knows its cost before it sees data. `release` draws; nothing else does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from dither.adjacency import Adjacency
from dither.events import Event
from dither.exact import Number, check, rational
from dither.guarantees import Guarantee
from dither.mechanisms.released import Interval, Release

__all__ = ["Mechanism"]


class Mechanism(ABC):
    """What every mechanism can do: state its cost and its error before it sees data, then release.

    Subclasses are frozen dataclasses. `release` draws noise; nothing else does. Mechanisms do not read or charge a
    ledger: sum up what they cost with `dp.compose`, or use `dp.Dataset`, which does both.

    Attributes
    ----------
    adjacency : Adjacency or None
        Which datasets are neighbours; None if the sensitivity alone defines them.
    """

    adjacency: Adjacency | None

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The privacy guarantee of one release, never below the true cost, whatever the data."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """What a release does, in exact numbers: the input of accounting and of the ledger."""

    @property
    @abstractmethod
    def expected_error(self) -> float:
        """The mean absolute error of one coordinate or score, for the distribution that is drawn; rounded up."""

    @abstractmethod
    def _error(self, beta: Any) -> float:
        """`error` for an exact `beta` strictly between 0 and 1."""

    @abstractmethod
    def release(self, value: Any) -> Release:
        """Draw the noise once and return the private answer; bad input is refused before anything is drawn.

        Parameters
        ----------
        value : Any
            The exact value, scores, counts or data: each mechanism says what it takes.

        Returns
        -------
        Release
            The noisy answer in `.value`, with its event, guarantee, intervals and certificate.
        """

    @abstractmethod
    def _interval(self, value: Any, level: Any) -> Interval:
        """Bounds that hold the exact answer with probability `level` or more, from the noisy `value` alone."""

    def error(self, beta: Number = 0.05) -> float:
        """Bound the absolute error with probability 1 − `beta` or more, for the distribution that is drawn.

        Parameters
        ----------
        beta : Number, default 0.05
            The probability that the bound may be missed, strictly between 0 and 1.

        Returns
        -------
        float
            The bound, in the unit of the value; rounded up. It depends on no data.
        """
        exact = rational(beta, "beta")
        check.between(0, 1, beta=exact)
        return self._error(exact)
