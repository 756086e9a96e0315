"""`dither claims`: every theorem of the lectures beside the exact truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.screen import print_json
from dither.cli.table import print_table, width

if TYPE_CHECKING:
    from dither.audit.claims import Row

__all__ = ["command", "slack_in_words"]

_WIDE = 120
"""Columns of a terminal that shows everything."""


def command(
    id: Annotated[list[str] | None, typer.Option(help="Only this claim, in detail; may be repeated.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Rows as JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="The page docs/claims.md.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the slack of each claim into this file.")] = None,
) -> None:
    """Check every theorem of the lectures now.

    What it promises, what is exactly true, and the slack between.
    Nothing is stored. Each verdict is computed from certified numbers over a grid of parameters, in seconds.
    Ends with 0 if all hold, 1 if one fails, 2 for an unknown id.

    Example: dither claims --id C6 --id C22
    """
    rows = _rows(id or [])
    if plot is not None:
        _draw(rows, plot)
    if json:
        print_json([row.as_dict() for row in rows])
    elif markdown:
        from dither.cli.claims_page import page

        typer.echo(page(rows), nl=False)
    else:
        _print_table(rows, in_detail=bool(id))
    if any(row.verdict != "holds" for row in rows):
        raise typer.Exit(1)


def _rows(ids: Sequence[str]) -> list[Row]:
    # Loaded here: the mathematics takes longer to load than the help takes to read.
    from dither.audit import claims
    from dither.errors import ParameterError

    try:
        return claims.rows(ids)
    except ParameterError as error:
        raise typer.BadParameter(str(error), param_hint="--id") from None


def _print_table(rows: Sequence[Row], in_detail: bool) -> None:
    """The rows; a narrow terminal leaves out where a claim is from and which numbers are compared."""
    limit = width()
    is_wide = limit is None or limit >= _WIDE
    texts = ("claim", "source", "what is compared") if is_wide else ("claim",)
    numbers = ("textbook", "exact", "slack")
    cells = [
        [
            row.id,
            *(row.statement, row.source, row.quantity)[: len(texts)],
            *(f"{row.textbook:.4g}", f"{row.exact:.4g}", slack_in_words(row)),
            row.verdict,
        ]
        for row in rows
    ]
    print_table(("id", *texts, *numbers, "verdict"), cells, right=numbers, prose=texts)
    for row in rows if in_detail else ():
        typer.echo(_details(row))
    held = sum(row.verdict == "holds" for row in rows)
    points = sum(row.points for row in rows)
    typer.echo(f"{held} of {len(rows)} claims hold, at {points} points.")


def slack_in_words(row: Row) -> str:
    """From the tightest to the loosest point, if they differ in three digits."""
    least, most = f"{row.slack:.3g}", f"{row.largest_slack:.3g}"
    return least if least == most or row.verdict == "fails" else f"{least} – {most}"


def _details(row: Row) -> str:
    lines = [f"{row.id}  {row.formula}", f"  tightest at: {_words(row.witness)}"]
    if row.counterexample:
        found = row.counterexample
        lines.append(
            f"  counter-example: {found['quantity']} at {_words(found['at'])} is {found['exact']:.4g}, "
            f"printed {found['printed']:.4g} ({found['ratio']:.4g} times)"
        )
    lines += [f"  {name}: {value:.4g}" for name, value in row.figures.items()]
    return "\n".join(lines) + "\n"


def _words(at: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in at.items()) or "the one case there is"


def _draw(rows: Sequence[Row], file: Path) -> None:
    from dither.plots.slack import slack

    try:
        # A promise of 0 has no ratio to the truth.
        slack({row.id: (row.slack, row.largest_slack) for row in rows if row.textbook}).savefig(file)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"the picture cannot be written: {error}", param_hint="--plot") from None
