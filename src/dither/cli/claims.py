"""`dither claims`: every theorem of the lectures beside the exact truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    set: Annotated[list[str] | None, typer.Option(help="Bend a constant of the claim: factor=1.98.")] = None,
    points: Annotated[bool, typer.Option("--points", help="Every point of the grid; broken ones say so.")] = False,
) -> None:
    """Check every theorem of the lectures now.

    What it promises, what is exactly true, and the slack between.
    Nothing is stored. Each verdict is computed from certified numbers over a grid of parameters, in seconds.
    Ends with 0 if all hold, 1 if one fails, 2 for an unknown id.
    A constant of the printed formula can be bent, to see where the claim breaks.

    Example: dither claims --id C6 --id C22
    Example: dither claims --id C6 --set factor=1.98 --points
    """
    constants = _constants(set or [])
    if (constants or points) and len(id or []) != 1:
        raise typer.BadParameter("--set and --points are about one claim. Say which: --id C6.", param_hint="--id")
    rows = _rows(id or [], constants)
    if plot is not None:
        _draw(rows, plot)
    if points:
        _print_points(rows[0].id, constants, json)
    elif json:
        print_json([row.as_dict() for row in rows])
    elif markdown:
        from dither.cli.claims_page import page

        typer.echo(page(rows), nl=False)
    else:
        _print_table(rows, in_detail=bool(id))
    if any(row.verdict != "holds" for row in rows):
        raise typer.Exit(1)


def _constants(texts: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE, each; the claim checks the names and the values."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise typer.BadParameter(f"expected NAME=VALUE such as factor=1.98, got {text!r}.", param_hint="--set")
        found[name] = value
    return found


def _rows(ids: Sequence[str], constants: Mapping[str, str]) -> list[Row]:
    # Loaded here: the mathematics takes longer to load than the help takes to read.
    from dither.audit import claims
    from dither.errors import ParameterError

    try:
        return [claims.find(ids[0]).check(**constants)] if constants else claims.rows(ids)
    except ParameterError as error:
        raise typer.BadParameter(str(error), param_hint="--set" if constants else "--id") from None


def _print_points(id: str, constants: Mapping[str, str], json: bool) -> None:
    """What is promised and what is true, at each point; the comparison is that of the numbers, not of the digits."""
    from dither.audit import claims

    found = [point.as_dict() for point in claims.find(id).points(**constants)]
    if json:
        print_json(found)
        return
    numbers, words = ("textbook", "exact"), ("what is compared", "at")
    cells = [
        [
            *(each["quantity"], _words(each["at"])),
            *(f"{each['textbook']:.6g}", each["relation"], f"{each['exact']:.6g}"),
            "holds" if each["holds"] else "fails",
        ]
        for each in found
    ]
    print_table((*words, "textbook", "is", "exact", "verdict"), cells, right=numbers, prose=words)
    broken = sum(not each["holds"] for each in found)
    typer.echo(f"{broken} of {len(found)} points fail.")


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
    lines = [f"{row.id}  {row.formula}", f"  tightest at: {_words(row.witness)}", f"  {row.tightness}"]
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
