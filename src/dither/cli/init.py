"""`dither init`: a first description of a dataset, from its columns and a few questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dither.cli import options
from dither.cli.screen import print_json

__all__ = ["command"]


def command(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="A CSV or Parquet file, a pattern in quotes, or a database URL.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the description.")] = Path("dither.toml"),
    person: options.PERSON = None,
    rows: options.ROWS = None,
    max_groups: options.MAX_GROUPS = None,
    max_rows_per_group: options.MAX_ROWS = None,
    bounds: options.BOUNDS = None,
    budget_epsilon: options.BUDGET_EPSILON = None,
    budget_delta: options.BUDGET_DELTA = None,
    budget_rho: options.BUDGET_RHO = None,
    failures_allowed: options.FAILURES_ALLOWED = None,
    ledger: options.LEDGER = None,
    table: options.TABLE = None,
    public: Annotated[
        bool, typer.Option("--public", help="Everybody may know the rows: look at them to suggest bounds and keys.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a description that exists.")] = False,
    json: options.JSON = False,
) -> None:
    """Describe a dataset in a commented dither.toml.

    Only the names and types of the columns are looked at, unless you say --public; a CSV file has no types, so its
    first lines show whether a column holds numbers, dates or texts. What the flags do not say is asked: who is
    protected, between which bounds numbers lie, and what may be spent. An empty line takes what stands in brackets;
    where the answers end before the questions do, nothing is written.

    \b
    Example:
      dither init visits.csv --person user_id --max-groups 3 \\
        --max-rows-per-group 1 --bounds cost=0,200 --budget-epsilon 2
    """
    from dither.cli.interview import drafted
    from dither.errors import ParameterError

    if out.suffix.lower() != ".toml":
        raise ParameterError(f"a description ends in .toml, got {out.name!r}.")
    if out.exists() and not force:
        raise ParameterError(f"{str(out)!r} exists. Give --force to write over it, or --out and another name.")
    draft = drafted(context.params)
    text = draft.text(source, out, ledger, table)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError:
        raise ParameterError(f"the description cannot be written to {str(out)!r}. Check the folder.") from None
    if json:
        print_json({"written": str(out), "columns": dict(draft.columns)})
    else:
        typer.echo(f"Wrote {out}. Read it, change what is wrong, then: dither plan {out}")
