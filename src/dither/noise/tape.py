"""The tape of an audit: what goes into every draw, what it was made for, and what comes out.

Whoever draws says so through `answered`, at the one place where exact values meet randomness. Nothing is kept: there is
no tape unless `dither.audit` laid one in through the test switch (`_replay`), which is off in production.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

__all__ = ["Tape", "answered", "at_once", "each", "noise_is_removed"]

Answer = TypeVar("Answer")
Item = TypeVar("Item")


class Tape(Protocol):
    """What an audit lays in."""

    def answer(self, draw: Callable[[], Any], kind: str, values: Any, terms: dict[str, Any]) -> Any:
        """The answer of a call: drawn now, or recorded before."""
        ...

    def turn(self, group: int | None) -> None:
        """What follows is about this group, or about all."""
        ...


_tape: Tape | None = None
_is_noise_removed = False


def noise_is_removed() -> bool:
    """Whether answers are exact now: in a test that asked for it, through the test switch."""
    return _is_noise_removed


def answered(draw: Callable[[], Answer], kind: str, values: Any, **terms: Any) -> Answer:
    """`draw()`: an answer of this `kind` that depends on data through `values` alone; all `terms` are public.

    Calls inside `draw` are part of this one.
    """
    if _tape is None:
        return draw()
    answer: Answer = _tape.answer(draw, kind, values, terms)
    return answer


def at_once(batches: Iterable[Item]) -> Iterable[Item]:
    """The batches as they come; for a tape all of them together, as how they are cut is the engine's affair."""
    return batches if _tape is None else list(batches)


def each(groups: Iterable[Item]) -> Iterator[Item]:
    """The groups one by one; the tape is notified when the next one begins, and after the last."""
    for place, group in enumerate(groups):
        if _tape is not None:
            _tape.turn(place)
        yield group
    if _tape is not None:
        _tape.turn(None)
