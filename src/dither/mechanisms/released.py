"""What comes out of a mechanism."""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from dither.adjacency import name
from dither.events import Event, to_json
from dither.exact import Number, check, rational
from dither.measures import Guarantee
from dither.mechanisms.certificate import sealed, shown, stated

if TYPE_CHECKING:
    from dither.mechanisms.mechanism import Mechanism

__all__ = ["Interval", "Release"]

Interval: TypeAlias = tuple[Any, Any]
"""Lower and upper bounds: two numbers, or two arrays of the shape of the value."""


@dataclass(frozen=True, slots=True)
class Release:
    """A private answer: it may be shown to anyone."""

    value: Any
    """The noisy answer."""
    event: Event
    """What was done, in exact numbers."""
    guarantee: Guarantee
    """What it cost, never less than the truth."""
    mechanism: Mechanism = field(repr=False)

    def interval(self, level: Number = 0.95) -> Interval:
        """Bounds that hold the exact answer with probability `level` or more over the noise, for each coordinate."""
        exact = rational(level, "level")
        check.between(0, 1, level=exact)
        return self.mechanism._interval(self.value, exact)

    def certificate(self) -> dict[str, Any]:
        """What a stranger needs to recompute the cost: plain JSON values, no data, not even the answer.

        `dither.engine.check_certificate` and `dither verify` do so.
        """
        return sealed(self._terms())

    def plot(self) -> Any:
        """A picture of the answers with their intervals, as a matplotlib Figure."""
        # These three go up the house: rooms below may not import plots, and plots loads matplotlib.
        return importlib.import_module("dither.plots").answers(self)

    def report(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """Write one page that stands alone, with table, picture, cost and certificate: `dither.plots.report`."""
        return importlib.import_module("dither.plots").report(self, path, **options)

    def _repr_html_(self) -> str:
        """For notebooks."""
        table: str = importlib.import_module("dither.plots.html").release_table(self)
        return table

    def _terms(self) -> dict[str, Any]:
        """What this kind of release has to say, in the order in which it is read."""
        return {
            "mechanism": type(self.mechanism).__name__,
            "unit": name(self.event.adjacency),
            "event": json.loads(to_json(self.event)),
            "guarantee": stated(shown(self.guarantee, self.event)),
        }
