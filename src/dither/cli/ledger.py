"""`dither ledger`: what was spent, when, by whom, and on what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.failures import SHOWN_WRONG
from dither.cli.places import is_there
from dither.cli.screen import print_json, printable, working
from dither.cli.table import print_table
from dither.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from dither.ledger import Entry, Ledger

__all__ = ["command"]

_SHOWN = 50
"""How many releases fit a terminal, with some patience."""


def command(
    place: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The ledger, a file or a URL postgresql://..., or a description of data."),
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read everything anew: hashes, links, sums and caps.")
    ] = False,
    anchor: Annotated[
        str | None,
        typer.Option(metavar="ANCHOR", help="An anchor that was kept elsewhere, to be found again; implies --verify."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all entries to a file, .csv or .json.")
    ] = None,
    json: options.JSON = False,
) -> None:
    """Show what was spent, when, by whom, and on what.

    The anchor of the newest entry is shown too. Keep it where those who can write the ledger cannot: with it, --anchor
    notices a ledger that was cut off or replaced by an old copy. Ends with 1 if the ledger is not what was written.

    \b
    Example:
      dither ledger dither.toml
      dither ledger visits.ledger --verify
      dither ledger visits.ledger --export spent.csv
    """
    if place.endswith(".toml"):
        place = _named_in(Path(place))
    if not is_there(place):
        raise ParameterError(f"no ledger is found at {place!r}. Check the path; `dither release` makes one.")
    from dither.ledger import Ledger

    ledger = Ledger(place, create=False)
    try:
        checked = _verified(ledger, anchor) if verify or anchor is not None else None
        newest = ledger.anchor()
        entries = list(ledger.entries())
        accounts = [_account(ledger, entry) for entry in entries if entry.kind == "budget"]
    finally:
        ledger.close()
    rows = [_row(entry) for entry in entries if entry.kind != "answer"]
    if export is not None:
        _export(rows, export, place)
    if json:
        print_json({"accounts": accounts, "entries": rows, "anchor": newest, "verified": checked})
    else:
        _print(accounts, rows, newest, checked)


def _named_in(description: Path) -> str:
    """The ledger of a description."""
    from dither.cli.toml_file import read

    found = read(description).ledger
    if found is None:
        raise ParameterError("the description names no ledger. Name the ledger itself.")
    return found


def _verified(ledger: Ledger, anchor: str | None) -> int:
    """How many entries were checked. What does not fit is shown, and ends with 1."""
    try:
        with working("reading the ledger anew"):
            return ledger.verify(anchor)
    except LedgerError as error:
        typer.echo(f"Error: {printable(str(error))}", err=True)
        raise typer.Exit(SHOWN_WRONG) from None


def _account(ledger: Ledger, opening: Entry) -> dict[str, Any]:
    from dither.cli.figures import as_dict

    account = ledger.account(opening.account)
    return {
        "account": account.name,
        "budget": as_dict(account.budget),
        "spent": as_dict(account.spent),
        "remaining": as_dict(account.remaining),
        "releases": account.charges,
        "protects": str(account.budget.adjacency),
        "opened": opening.content["at"],
    }


def _row(entry: Entry) -> dict[str, Any]:
    from dither.cli.figures import as_dict
    from dither.ledger.budget import read_budget

    content = entry.content
    is_charge = entry.kind == "charge"
    return {
        "number": entry.number,
        "kind": entry.kind,
        "at": content["at"],
        "by": content.get("by", ""),
        "account": entry.account,
        **({"cost": as_dict(read_budget(content["cost"]))} if is_charge else {}),
        **({} if is_charge else {"budget": as_dict(read_budget(content["budget"]))}),
        "question": content.get("question", content.get("description", "")),
        "key": content.get("key"),
        "hash": entry.hash,
    }


def _print(accounts: list[dict[str, Any]], rows: list[dict[str, Any]], anchor: str, checked: int | None) -> None:
    columns = ("dataset", "budget", "spent", "left", "releases", "who is protected")
    lines = [
        [each["account"], *(_words(each[name]) for name in ("budget", "spent", "remaining")), str(each["releases"]),
         each["protects"]]
        for each in accounts
    ]  # fmt: skip
    print_table(columns, lines, right=("releases",), prose=("who is protected",))
    typer.echo()
    charges = [
        [str(row["number"]), row["at"][:16].replace("T", " "), row["by"], _words(row["cost"]), row["question"]]
        for row in rows
        if row["kind"] == "charge"
    ]
    if len(charges) > _SHOWN:
        typer.echo(f"{len(charges) - _SHOWN} earlier releases are not shown here; --json and --export have them all.")
    headings = ("entry", "when (UTC)", "who", "cost", "what")
    print_table(headings, charges[-_SHOWN:], right=("entry",), prose=("what",))
    typer.echo(f"\nAnchor: {anchor}")
    if checked is not None:
        typer.echo(f"Verified: all {checked} entries are what was written.")


def _words(figures: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in figures.items() if name != "delta" or value != "0")


def _export(rows: list[dict[str, Any]], file: Path, place: str) -> None:
    import csv
    import json

    if file.suffix.lower() not in (".csv", ".json"):
        raise ParameterError(f"--export must end in .csv or .json, got {file.name!r}.")
    if file.resolve() == Path(place).resolve():
        raise ParameterError("--export would overwrite the ledger. Name another file.")
    if file.exists():  # it may be the data, which a ledger knows by a fingerprint only
        raise ParameterError(f"--export writes a new file, and {str(file)!r} exists. Name another file.")
    flat = [{**row, "cost": _words(row.get("cost", {})), "budget": _words(row.get("budget", {}))} for row in rows]
    try:
        with file.open("w", encoding="utf-8", newline="") as out:
            if file.suffix.lower() == ".json":
                json.dump(rows, out, ensure_ascii=False, indent=2)
            else:
                writer = csv.DictWriter(out, list(flat[0]) if flat else [])
                writer.writeheader()
                writer.writerows(flat)
    except OSError:
        raise ParameterError(f"--export cannot be written to {str(file)!r}. Check the folder.") from None
