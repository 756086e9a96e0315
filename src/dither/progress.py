"""A sign of life on long work: a bar on stderr, if somebody sits in front of it.

Only the terminal of the process shows it, and of it only the main thread: a service answers in other threads, and what
is shown here reaches none of its analysts. How fast the bar grows follows from the data, as the time of a question
does; see docs/threat_model.md.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

__all__ = ["progress_bar", "working"]

_PATIENCE: Final = 1.0
"""Seconds after which work is long."""
_STEP: Final = 0.1

Share = Callable[[], float]
"""How much of the work is done, 0 to 1."""


@dataclass(slots=True)
class _Shown:
    """The work that is shown, and the part of it that tells how far it is."""

    what: str
    share: Share | None


_SHOWN: Final[list[_Shown]] = []
"""At most one: work inside of it tells its share there."""


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that work goes on, while what is inside takes longer than a second; a part of it may tell how far it is."""
    with _showing(what, None):
        yield


@contextmanager
def progress_bar(what: str, share: Share) -> Iterator[None]:
    """Show the share of the work done, while what is inside takes longer than a second."""
    if not _is_seen():
        yield
        return
    if not _SHOWN:
        with _showing(what, share):
            yield
        return
    around = _SHOWN[0]
    before, around.share = around.share, share
    try:
        yield
    finally:
        around.share = before


def _is_seen() -> bool:
    return sys.stderr.isatty() and threading.current_thread() is threading.main_thread()


@contextmanager
def _showing(what: str, share: Share | None) -> Iterator[None]:
    if _SHOWN or not _is_seen():
        yield
        return
    shown, done = _Shown(what, share), threading.Event()
    watching = threading.Thread(target=_watch, args=(shown, done), daemon=True)
    _SHOWN.append(shown)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()
        _SHOWN.clear()


def _watch(shown: _Shown, done: threading.Event) -> None:
    if done.wait(_PATIENCE):
        return
    from rich.console import Console  # takes a while to load, and short work never needs it
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(shown.what, total=None)
        while not done.wait(_STEP):
            share = shown.share
            if share is None:
                progress.update(task, total=None, completed=0)
            else:
                progress.update(task, total=1.0, completed=share())
