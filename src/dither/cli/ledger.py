"""`dither ledger`: what was spent, when, by whom, and on what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.failures import SHOWN_WRONG
from dither.cli.ledger_location import is_there
from dither.cli.screen import print_json, printable, working
from dither.cli.table import print_table
from dither.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    from dither.ledger import Entry, Ledger

__all__ = ["command"]

_LISTED = ("budget", "source", "charge", "resume")
"""Kinds of entries that are shown each; what came of a charge is shown beside it."""
_SHOWN = 50
"""How many releases fit a terminal, with some patience."""


def command(
    place: Annotated[
        str,
        typer.Argument(metavar="FILE", help="The ledger, a file or a URL postgresql://..., or a description of data."),
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Check everything again: hashes, links, sums and budgets.")
    ] = False,
    anchor: Annotated[
        str | None,
        typer.Option(
            metavar="ANCHOR", help="An anchor that was kept elsewhere; the ledger must contain it; implies --verify."
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all entries to a file, .csv or .json.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="For the owner: accept the failures, so that questions are taken again."),
    ] = False,
    account: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which dataset to resume, if several have failures.")
    ] = None,
    moved: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEDGER OLD NEW]", help="After the word move: the ledger, and where the data was and is."
        ),
    ] = None,
    *,
    json: options.JSON = False,
) -> None:
    """Show what was spent, when, by whom, and on what.

    The anchor of the newest entry is shown too. Keep it where those who can write the ledger cannot: with it, --anchor
    notices a ledger that was cut off or replaced by an old copy. Ends with 1 if the ledger is not what was written.

    Whether a question fails after its charge may reveal something about a row, so a dataset takes no more questions
    after a few failures; a process that was killed counts as one. Find out why they failed, then --resume, which is
    recorded.

    Data that was moved to another path keeps its account by `dither ledger move`: OLD is its path before, or the name
    of its account as this command shows it.

    \b
    Example:
      dither ledger dither.toml
      dither ledger visits.ledger --verify
      dither ledger visits.ledger --export spent.csv
      dither ledger visits.ledger --resume
      dither ledger move visits.ledger visits.csv data/visits.csv
    """
    if moved:
        _move(place, moved, json)
        return
    if account is not None and not resume:
        raise ParameterError("--account goes with --resume: it names the dataset that takes questions again.")
    if place.endswith(".toml"):
        place = _named_in(Path(place))
    if not is_there(place):
        raise ParameterError(f"no ledger is found at {place!r}. Check the path; `dither release` makes one.")
    from dither.ledger import Ledger

    ledger = Ledger(place, create=False)
    try:
        checked = _verified(ledger, anchor) if verify or anchor is not None else None
        lifted = _resumed(ledger, account) if resume else None
        newest = ledger.anchor()
        entries = list(ledger.entries())
        accounts = [_account(ledger, entry) for entry in entries if entry.kind == "budget"]
    finally:
        ledger.close()
    outcomes = _outcomes(entries)
    rows = [_row(entry, outcomes.get(entry.number)) for entry in entries if entry.kind in _LISTED]
    if export is not None:
        _export(rows, export, place)
    if json:
        print_json({"accounts": accounts, "entries": rows, "anchor": newest, "verified": checked, "lifted": lifted})
    else:
        _print(accounts, rows, newest, checked)
        if lifted:
            typer.echo(f"Resumed: {lifted} failed or without an outcome no longer count. Questions are taken again.")
        elif lifted is not None:
            typer.echo("Nothing to resume: no question failed or is without an outcome.")


def _move(word: str, places: list[str], json: bool) -> None:
    """The account of the data at one path, found under another from now on."""
    if word != "move" or len(places) != 3:
        raise ParameterError(
            "moving takes the ledger, where the data was, and where it is: dither ledger move visits.ledger old.csv "
            "new.csv."
        )
    from dither.ledger import Ledger, current_user
    from dither.tables import open_source
    from dither.tables.source import named_files

    location, old, new = places
    if not is_there(location):
        raise ParameterError(f"no ledger is found at {location!r}. Check the path.")
    source = open_source(new)
    source.engine.close()
    ledger = Ledger(location, create=False)
    try:
        names = [entry.account for entry in ledger.entries() if entry.kind == "budget"]
        account = ledger.named(old if old in names else named_files([Path(old).resolve()]))
        if account not in names:
            raise ParameterError(
                f"no account of this ledger is of {old!r}. Name the path before the move, or one of the accounts: "
                f"{', '.join(names)}."
            )
        ledger.move(account, source.identity, parts=source.parts, by=current_user())
    finally:
        ledger.close()
    if json:
        print_json({"account": account, "name": source.identity})
    else:
        typer.echo(f"The data at {printable(new)} goes on with the account {printable(account)}. Nothing was spent.")


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


def _resumed(ledger: Ledger, account: str | None) -> int:
    """How many failures were lifted: of the account that is named, or of the only one that has any."""
    from dither.ledger import current_user

    names = [entry.account for entry in ledger.entries() if entry.kind == "budget"]
    if account is not None and account not in names:
        raise ParameterError(f"--account names no dataset of this ledger. Existing datasets: {', '.join(names)}.")
    failing = [name for name in names if ledger.account(name).failures.unanswered and account in (None, name)]
    if not failing:
        return 0
    if len(failing) > 1:
        raise ParameterError(f"several datasets have failures. Name one with --account: {', '.join(failing)}.")
    return ledger.resume(failing[0], by=current_user())


def _outcomes(entries: list[Entry]) -> dict[int, str]:
    """What came of each charge whose outcome was awaited, by its number; of several attempts, the last one."""
    charges = {entry.number: entry.content["charge"] for entry in entries if entry.kind == "attempt"}
    found = dict.fromkeys(charges.values(), "pending")
    for entry in entries:
        if entry.kind == "outcome":
            found[charges[entry.content["attempt"]]] = entry.content["outcome"]
    return found


def _account(ledger: Ledger, opening: Entry) -> dict[str, Any]:
    from dither.cli.figures import as_dict

    account = ledger.account(opening.account)
    return {
        "account": account.name,
        "budget": as_dict(account.budget),
        **({} if account.per_period is None else {"per_period": str(account.per_period)}),
        "spent": as_dict(account.spent),
        "remaining": as_dict(account.remaining),
        "releases": account.charges,
        "failures": {name: getattr(account.failures, name) for name in ("failed", "pending", "allowed", "resumes")},
        "protects": str(account.budget.adjacency),
        "opened": opening.content["at"],
    }


def _row(entry: Entry, outcome: str | None) -> dict[str, Any]:
    from dither.cli.figures import as_dict
    from dither.ledger.budget import read_budget

    content = entry.content
    figures: dict[str, Any] = {
        name: as_dict(read_budget(content[name])) for name in ("cost", "budget") if name in content
    }
    words = f"{content['lifted']} failures lifted" if entry.kind == "resume" else content.get("description", "")
    return {
        "number": entry.number,
        "kind": entry.kind,
        "at": content["at"],
        "by": content.get("by", ""),
        "account": entry.account,
        **figures,
        "question": content.get("question", words),
        "outcome": outcome,
        "key": content.get("key"),
        "hash": entry.hash,
    }


def _is_of_a_share(row: dict[str, Any]) -> bool:
    """Whether it is the charge to what one analyst may spend: the next entry is the same charge, to the dataset."""
    account: str = row["account"]
    return row["kind"] == "charge" and account.endswith(f" (share of {row['by']})")


def _print(accounts: list[dict[str, Any]], rows: list[dict[str, Any]], anchor: str, checked: int | None) -> None:
    columns = ("dataset", "budget", "spent", "left", "releases", "failed", "privacy unit")
    lines = [
        [each["account"], *(_words(each[name]) for name in ("budget", "spent", "remaining")), str(each["releases"]),
         _failed(each["failures"]), each["protects"]]
        for each in accounts
    ]  # fmt: skip
    print_table(columns, lines, right=("releases",), prose=("privacy unit",))
    for each in accounts:
        if "per_period" in each:
            typer.echo(f"{each['account']}: {each['per_period']}. What is left is that of the current period.")
    typer.echo()
    charges = [
        [str(row["number"]), row["at"][:16].replace("T", " "), row["by"], _words(row.get("cost", {})),
         row["outcome"] or "", row["question"]]
        for row in rows
        if row["kind"] in ("charge", "resume") and not _is_of_a_share(row)
    ]  # fmt: skip
    if len(charges) > _SHOWN:
        typer.echo(f"{len(charges) - _SHOWN} earlier releases are not shown here; --json and --export have them all.")
    headings = ("entry", "when (UTC)", "who", "cost", "outcome", "what")
    print_table(headings, charges[-_SHOWN:], right=("entry",), prose=("what",))
    typer.echo(f"\nAnchor: {anchor}")
    if checked is not None:
        typer.echo(f"Verified: all {checked} entries are what was written.")


def _failed(counts: dict[str, int]) -> str:
    pending = f" + {counts['pending']} pending" if counts["pending"] else ""
    return f"{counts['failed']}{pending} of {counts['allowed']}"


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
