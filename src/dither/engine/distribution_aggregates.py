"""Answers that are chosen rather than computed: quantiles, extremes, histograms, the most common values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dither.engine.aggregate import Aggregate, Answer, Counting, Noisy, OfColumn
from dither.engine.binning import Bins
from dither.engine.group_statistics import Distinct, Need, Tally
from dither.engine.most_common import Best, FoundValues
from dither.engine.quantiles import Extreme, Ranks
from dither.tables import Expression, Lattice

__all__ = ["CountDistinct", "Edge", "Quantile", "Spread", "Top"]


@dataclass(frozen=True, slots=True, eq=False)
class CountDistinct(Counting):
    """How many different values."""

    of: Expression

    @property
    def needs(self) -> Mapping[str, Need]:
        return {f"distinct {self.of}": Distinct(self.of)}

    def __str__(self) -> str:
        return f"count_distinct({self.of})"


@dataclass(frozen=True, slots=True, eq=False)
class Spread(Counting):
    """How many rows are in each bin."""

    bins: Bins

    @property
    def needs(self) -> Mapping[str, Need]:
        return {f"histogram of {self.bins}": Tally(self.bins.label, self.bins.within, self.bins.values)}

    @property
    def width(self) -> int:
        return len(self.bins.edges) - 1

    def __str__(self) -> str:
        return f"histogram of {self.bins}"


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked(OfColumn):
    @property
    def lattice(self) -> Lattice:
        """Where values are counted."""
        return Lattice.within(self.bounds, from_zero=False)


@dataclass(frozen=True, slots=True, eq=False)
class Quantile(_Ranked):
    """Where given parts of the rows lie below."""

    probabilities: tuple[Fraction, ...]
    alone: bool
    interval_level: Fraction | None

    @property
    def needs(self) -> Mapping[str, Need]:
        need = Ranks(self.of, self.lattice, self.probabilities, self.interval_level)
        return {str(self): need}

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """The places, and behind them the ends of their intervals if these were paid for."""
        (noisy,) = parts.values()
        count = len(self.probabilities)
        columns = [noisy.value[:, at : at + count] for at in range(0, noisy.value.shape[1], count)]
        return Answer(*(column[:, 0] if self.alone else column for column in columns))

    @property
    def width(self) -> int:
        return len(self.probabilities)

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.probabilities))
        level = "" if self.interval_level is None else f", interval_level={self.interval_level}"
        return f"quantile({self.of}, [{listed}], bounds=({self.bounds[0]}, {self.bounds[1]}){level})"


@dataclass(frozen=True, slots=True, eq=False)
class Edge(_Ranked):
    """As far out as privacy allows."""

    largest: bool

    @property
    def verb(self) -> str:
        return "max" if self.largest else "min"

    @property
    def needs(self) -> Mapping[str, Need]:
        return {str(self): Ranks(self.of, self.lattice, Extreme(self.largest))}

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        return Answer(noisy.value[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class Top(Aggregate):
    """The most common values."""

    of: Expression
    number: int
    candidates: pa.Array | None

    @property
    def needs(self) -> Mapping[str, Need]:
        return {str(self): self._need}

    @property
    def _need(self) -> Need:
        if self.candidates is None:
            return FoundValues(self.of, self.number)
        return Best(self.of, self.of.is_in(self.candidates.to_pylist()), self.candidates, self.number)

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        (noisy,) = parts.values()
        return Answer(noisy.value)

    @property
    def width(self) -> int:
        return 1 if self.candidates is None else len(self.candidates)

    def __str__(self) -> str:
        among: Any = "" if self.candidates is None else f", candidates={self.candidates.to_pylist()}"
        return f"top({self.of}, {self.number}{among})"
