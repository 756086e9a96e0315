"""What can be asked of each group: types that know which exact numbers they need and what to make of noisy ones.

Needs with the same key are one need: a mean and a variance of one column share its count, and two quantiles of one
column that are asked for in one list share their price.

`AGGREGATES` is the registry of the functions that users call, filled by `@aggregate_function`: the package, the
command line and descriptions in TOML take their names and parameters from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.engine.found_ranges import FoundRange
from dither.engine.group_sensitivity import Need
from dither.errors import ParameterError
from dither.estimators.noise_tails import NoiseLaw
from dither.exact import Number
from dither.tables import Expression, Lattice

__all__ = [
    "AGGREGATES", "PEOPLE", "Aggregate", "Answer", "Bounds", "Counting", "Floats", "Noisy", "OfColumn",
    "aggregate_function", "known_bounds",
]  # fmt: skip

PEOPLE: Final = "people"
"""The key of the number of people, which decides what is shown where groups are found privately."""

Bounds = tuple[Number, Number]
Floats = NDArray[np.float64]
_Function = TypeVar("_Function", bound=Callable[..., "Aggregate"])

AGGREGATES: Final[dict[str, Callable[..., Aggregate]]] = {}
"""The functions that make aggregates, by the names that users know."""


def aggregate_function(function: _Function) -> _Function:
    """Enter a function into the registry under its name."""
    AGGREGATES[function.__name__] = function
    return function


@dataclass(frozen=True, slots=True)
class Noisy:
    """One noisy need: its value per group, and what is known of the noise."""

    value: Any
    find_reach: Callable[[], int]
    law: NoiseLaw | None = None
    miss: float = 0.0

    @property
    def reach(self) -> int:
        """The bound that |noise| keeps but for a probability of `miss`; certified, so it is found where it is used."""
        return self.find_reach()

    @property
    def low(self) -> Floats:
        """The smallest exact value that is plausible."""
        low: Floats = self.value.astype(np.float64) - self.reach
        return low

    @property
    def high(self) -> Floats:
        """The largest exact value that is plausible."""
        high: Floats = self.value.astype(np.float64) + self.reach
        return high


@dataclass(frozen=True, slots=True)
class Answer:
    """A value per group, and, where there is one, an interval that holds the exact value with the level asked for."""

    value: Any
    low: Any = None
    high: Any = None


class Aggregate(ABC):
    """One column of the answer."""

    __slots__ = ()

    @property
    @abstractmethod
    def needs(self) -> Mapping[str, Need]:
        """What must be known, by a key that equal needs share."""

    @abstractmethod
    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """The value and its interval, from the noisy parts alone: post-processing, at no cost."""

    def supposed(self, rows: int) -> Mapping[str, Any]:
        """Exact values of the needs in a group of so many rows, spread evenly over the bounds: for predictions."""
        return dict.fromkeys(self.needs, float(rows))

    def typed(self, is_whole: Callable[[Expression], bool]) -> Aggregate:
        """The same, knowing which expressions give whole numbers by the types of their columns."""
        return self

    def narrowed(self, found: Mapping[str, FoundRange]) -> Aggregate:
        """The same in the ranges that were found, by the keys of the needs."""
        return self

    @property
    def made_of(self) -> tuple[Aggregate, ...]:
        """The aggregates whose numbers it needs: itself, or the two sums of a ratio."""
        return (self,)

    @property
    def width(self) -> int:
        """How many values are held for each group."""
        return 1

    @property
    def bytes_of_answer(self) -> int:
        """At most so many bytes has the answer of one group: 32 hold a number, or its three with an interval."""
        return 32 * self.width

    @property
    def is_about_population(self) -> bool:
        """Whether `of_population` is known: an interval that holds the value of the population."""
        return False

    def of_population(self, answer: Answer, parts: Mapping[str, Noisy], miss: float) -> Answer:
        """With ends that hold the value of the population if they hold that of the rows, but for `miss`."""
        raise ParameterError("population=True is about means. Ask for other columns in another release.")

    @property
    def depends_on_size(self) -> bool:
        """Whether the error is smaller in larger groups."""
        return False

    @property
    def is_count(self) -> bool:
        """Whether no exact value is negative or broken."""
        return False


class Counting(Aggregate):
    """A whole number that is its own answer."""

    __slots__ = ()

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        return Answer(noisy.value, noisy.value - noisy.reach, noisy.value + noisy.reach)

    @property
    def is_count(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, eq=False)
class OfColumn(Aggregate):
    """Something about the values of a column, clamped to bounds."""

    of: Expression
    bounds: tuple[Number, Number]

    @property
    def verb(self) -> str:
        """What it is called."""
        return type(self).__name__.lower()

    def __str__(self) -> str:
        return f"{self.verb}({self.of}, bounds=({self.bounds[0]}, {self.bounds[1]}))"

    @property
    @abstractmethod
    def lattice(self) -> Lattice:
        """The steps to which values are rounded, within the bounds."""


def known_bounds(bounds: Bounds | None) -> Bounds:
    """There is no default: bounds that were taken from the data would tell of the rows at its ends."""
    if bounds is None:
        raise ParameterError(
            "bounds are needed: the range that values are clamped to, known beforehand and not taken from the data, "
            "such as bounds=(0, 200)."
        )
    return bounds
