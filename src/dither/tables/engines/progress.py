"""A bar for work that takes longer than a second, if somebody can see it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["shown"]

_PATIENCE: Final = 1.0
_STEP: Final = 0.1


@contextmanager
def shown(what: str, share: Callable[[], float]) -> Iterator[None]:
    """A bar on stderr that follows the share of the work done, while the work inside takes longer than a second."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watching = threading.Thread(target=_watch, args=(what, share, done), daemon=True)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()


def _watch(what: str, share: Callable[[], float], done: threading.Event) -> None:
    if done.wait(_PATIENCE):
        return
    from rich.console import Console  # takes a while to load, and short work never needs it
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        while not done.wait(_STEP):
            progress.update(task, completed=share())
