"""Errors in the words of the command line: one clear sentence on stderr, and an exit code that scripts can use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from dither.cli.screen import printable
from dither.errors import DitherError, OverBudget, ParameterError

__all__ = ["BAD_INPUT", "OVER_BUDGET", "SHOWN_WRONG", "TROUBLE", "reporting_failures"]

SHOWN_WRONG = 1
"""A claim fails, a certificate or a ledger is not what was written, an audit found a leak."""
BAD_INPUT = 2
OVER_BUDGET = 3
TROUBLE = 4


@contextmanager
def reporting_failures() -> Iterator[None]:
    """Errors inside end the program with one sentence, never with a traceback.

    Errors of dither never hold data, so they are shown as they are. Of any other error only the type is shown, as its
    words may be data. Who is looking for a mistake in dither sets DITHER_TRACEBACK=1.
    """
    try:
        yield
    except OverBudget as error:
        _leave(f"{error} Pay less, or ask less; `dither ledger` shows what was spent on.", OVER_BUDGET)
    except ParameterError as error:
        _leave(str(error), BAD_INPUT)
    except DitherError as error:
        _leave(str(error), TROUBLE)
    except Exception as error:
        if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):
            raise  # typer's own
        _unexpected(error)


def _unexpected(error: Exception) -> None:
    if os.environ.get("DITHER_TRACEBACK"):
        raise error
    name = type(error).__name__
    _leave(
        f"this should not have happened ({name}). What was charged to a ledger stays charged. "
        "Run it again with DITHER_TRACEBACK=1 and report where it happened.",
        TROUBLE,
    )


def _leave(sentence: str, code: int) -> None:
    typer.echo(f"Error: {printable(sentence)}", err=True)
    raise typer.Exit(code) from None
