"""The contract: an exact value and its sensitivity go in, a noisy value and an event come out.

A mechanism is frozen and knows its cost before it sees data. `release` draws; nothing else does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from dither.adjacency import Adjacency
from dither.events import Event
from dither.exact import Number, check, rational
from dither.measures import Guarantee
from dither.mechanisms.released import Interval, Release

__all__ = ["Mechanism"]


class Mechanism(ABC):
    """A way to answer privately."""

    adjacency: Adjacency | None

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one release costs, never less than the truth, whatever the data."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """The sentence that a release writes: what accounting reads."""

    @property
    @abstractmethod
    def expected_error(self) -> float:
        """The mean absolute error of one coordinate or score, for the law that is drawn; rounded up."""

    @abstractmethod
    def _error(self, beta: Any) -> float:
        """`error` for an exact `beta` strictly between 0 and 1."""

    @abstractmethod
    def release(self, value: Any) -> Release:
        """Draw once. Bad input is refused before anything is drawn."""

    @abstractmethod
    def _interval(self, value: Any, level: Any) -> Interval:
        """Bounds that hold the exact answer with probability `level` or more, from the noisy `value` alone."""

    def error(self, beta: Number = 0.05) -> float:
        """A bound on the absolute error that holds with probability 1 − `beta` or more, for the law that is drawn."""
        exact = rational(beta, "beta")
        check.between(0, 1, beta=exact)
        return self._error(exact)
