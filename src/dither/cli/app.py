"""The commands of `dither`: each is loaded when it is asked for, and every error ends here as one sentence.

A command is a function `command` in `dither/cli/<name>.py`, whose first line is its summary and whose help has an
example. Such a module imports nothing but typer and the light modules of this package: what takes time to load is
imported inside the function, so that `dither --help` and the completion of the shell are quick. It takes `--json`
(`dither.cli.options.JSON`), prints through `dither.cli.screen`, and lets the errors of dither pass.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from dither.cli.failures import reporting_failures
from dither.cli.screen import outlive_readers

__all__ = ["COMMANDS", "app", "main"]

_NEW_OBJECTS = 300_000
"""After how many new objects garbage is looked for. Loading modules makes many and leaves little behind: with Python's
700, a tenth of the time of a short command goes into looking."""

COMMANDS = (
    "demo",
    "init",
    "suggest",
    "plan",
    "release",
    "sql",
    "ledger",
    "explain",
    "account",
    "solve",
    "verify",
    "claims",
    "audit",
    "stream",
    "serve",
    "keys",
)
"""In the order of the help."""


class _Loaded(Mapping[str, Any]):
    """The commands by name, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name=name)(importlib.import_module(f"dither.cli.{name}").command)
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """The group of all commands: the one place where errors become sentences and exit codes."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _Loaded()})

    def invoke(self, ctx: Any) -> Any:
        with reporting_failures():
            return super().invoke(ctx)


app = typer.Typer(name="dither", cls=_Commands, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _dither() -> None:
    """Differential privacy you can check.

    Every command takes --help, which shows an example, and --json. Exit codes: 0 all is well; 1 something is shown to
    be wrong; 2 bad usage or bad input; 3 over budget; 4 trouble with the engine, the ledger or the machine.
    """


def main() -> None:
    """Run the command line; the exit codes stand in `dither --help`."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    outlive_readers()
    app()
