"""What a terminal shows: JSON, words without commands, and a sign of life on long work."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from dither.progress import working

__all__ = ["bar", "finite", "outlive_readers", "print_json", "printable", "working"]


def print_json(value: Any) -> None:
    """JSON on the standard output; exact numbers are texts, and null is a number that is infinite or unknown."""
    typer.echo(json.dumps(finite(value), ensure_ascii=False, indent=2, default=str, allow_nan=False))


def finite(value: Any) -> Any:
    """The value with None for numbers that JSON has no word for: infinity, and NaN.

    >>> finite({"error": [1.5, float("inf")]})
    {'error': [1.5, None]}
    """
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def printable(text: str) -> str:
    """The text without signs that a terminal would obey: files, ledgers and certificates hold what others wrote."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


class _Pipe(io.RawIOBase):
    """A pipe to a reader who may go away; what is written after that is dropped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: Any) -> int:
        try:
            return os.write(self._descriptor, text)
        except BrokenPipeError:
            return len(text)


def outlive_readers() -> None:
    """Let commands go on when the reader of their output goes away, as `head` does, and end with their own exit code.

    An answer was paid for, and its files are wanted still; a certificate that is refused stays refused.
    """
    if sys.stdout is None or sys.stdout.isatty():
        return
    sys.stdout.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Pipe(sys.stdout.fileno())), sys.stdout.encoding, sys.stdout.errors, line_buffering=True
    )


@contextmanager
def bar(what: str) -> Iterator[Callable[[float], object]]:
    """A bar on stderr that grows with the share of the work done, if somebody can see it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda share: progress.update(task, completed=share)
