"""What all events made of other events share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dither.adjacency import Adjacency, common
from dither.errors import ParameterError
from dither.events.event import EventBase

if TYPE_CHECKING:
    from dither.events.composite import Event

__all__ = ["MAX_DEPTH", "MAX_PARTS", "Composite", "leaves_of", "walk"]

MAX_DEPTH = 32
"""How deep events may be nested."""

MAX_PARTS = 100_000
"""How many events one event may hold in all."""


class Composite(EventBase):
    """An event made of other events."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Event, ...]:
        """The events it is made of."""
        raise NotImplementedError

    @property
    def adjacency(self) -> Adjacency | None:
        """The adjacency that all parts share; None if it is unstated."""
        return common(part.adjacency for part in self.parts)

    def _check_parts(self) -> None:
        for part in self.parts:
            if not isinstance(part, EventBase):
                raise ParameterError(f"expected an event, got the type {type(part).__name__}.")
        size = 1
        for depth, _ in (inside for part in self.parts for inside in walk(part, depth=2)):
            size += 1
            if depth > MAX_DEPTH or size > MAX_PARTS:
                raise ParameterError(
                    f"an event may hold {MAX_PARTS} events, nested {MAX_DEPTH} deep; this one holds more. "
                    "Use Repeated(event, times) instead of a list."
                )
        common(part.adjacency for part in self.parts)


def walk(event: Event, depth: int = 1) -> Iterator[tuple[int, Event]]:
    """Iterate over an event and all those inside it, each with its depth.

    Parameters
    ----------
    event : Event
        The outermost event.
    depth : int, default 1
        The depth that it gets; its parts get one more, and so on.

    Yields
    ------
    tuple of int and Event
        The depth, then the event; parents come before their parts.

    Examples
    --------
    >>> from dither.events import LaplaceNoise, Repeated
    >>> [(depth, type(inside).__name__) for depth, inside in walk(Repeated(LaplaceNoise(2), times=3))]
    [(1, 'Repeated'), (2, 'LaplaceNoise')]
    """
    yield depth, event
    if isinstance(event, Composite):
        for part in event.parts:
            yield from walk(part, depth + 1)


def leaves_of(event: Event) -> list[str]:
    """The kinds of the events inside that are not made of others, sorted.

    Parameters
    ----------
    event : Event
        The outermost event.

    Returns
    -------
    list of str
        Their names, each once.

    Examples
    --------
    >>> from dither.events import LaplaceNoise, Repeated
    >>> leaves_of(Repeated(LaplaceNoise(2), times=3))
    ['LaplaceNoise']
    """
    return sorted({type(inside).__name__ for _, inside in walk(event) if not isinstance(inside, Composite)})
