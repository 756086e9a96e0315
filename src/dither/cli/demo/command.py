"""The command itself; the story loads when it is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dither.cli.options import JSON
from dither.cli.screen import print_json

__all__ = ["command"]


def command(
    folder: Annotated[Path, typer.Option(help="A new folder, or one of an earlier demo.")] = Path("dither-demo"),
    people: Annotated[int, typer.Option(min=1_000, help="How many people; each has ten visits on average.")] = 100_000,
    json: JSON = False,
) -> None:
    """Show everything at once, on invented hospital visits.

    Plan, private answers, ledger, refusal, report.
    Nobody in the table exists, so the truth may stand beside each answer.

    Example: dither demo --folder my-first-release
    """
    from rich.console import Console

    from dither.cli.demo.story import tell

    found = tell(folder, people, Console(quiet=json))
    if json:
        print_json(found)
