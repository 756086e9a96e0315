"""The few questions of `dither init`: what the flags do not say is read from the standard input, line by line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import typer

from dither.cli.aggregates import assigned, bounds
from dither.cli.draft import Draft, toml_key
from dither.cli.screen import printable, working
from dither.cli.toml_file import CHANGES, budget_of
from dither.errors import ParameterError
from dither.exact import rational
from dither.ledger.budget import Budget
from dither.ledger.failures import FAILURES_ALLOWED, check_allowance
from dither.tables import missing_column, open_source
from dither.tables.column_kinds import KINDS, text_kinds
from dither.tables.lattice import checked_bounds
from dither.tables.public_columns import PublicColumn, public_columns

__all__ = ["drafted"]

_LIMITS = {
    "max_groups": "Contribution bound: how many groups of a person count; an empty line if you do not know yet",
    "max_rows_per_group": "Contribution bound: how many of their rows in each; an empty line if you do not know yet",
}
_ADDED_UP = "Columns with numbers to add up or average, separated by commas; an empty line for none"


def drafted(flags: Mapping[str, Any]) -> Draft:
    """What the flags and the answers say of a dataset."""
    columns, kinds, seen = _looked_at(flags["source"], flags["table"], flags["public"])
    person, change = _protected(flags["person"], flags["rows"], columns)
    limits = {name: flags[name] for name in _LIMITS if flags[name] is not None}
    if person is None and limits:
        raise ParameterError("--max-groups and --max-rows-per-group go with --person: a row is one row in one group.")
    if person is not None:
        limits |= {name: _limit(question, name) for name, question in _LIMITS.items() if name not in limits}
    return Draft(
        columns=columns,
        kinds=kinds,
        person=person,
        change=change,
        bounds=_bounds(flags["bounds"], columns, is_asked=not flags["public"]),
        budget=_budget(*(flags[f"budget_{name}"] for name in ("epsilon", "delta", "rho"))),
        failures_allowed=_allowance(flags["failures_allowed"]),
        seen=seen,
        **limits,
    )


def _looked_at(
    source: str, table: str | None, public: bool
) -> tuple[dict[str, str], dict[str, str], dict[str, PublicColumn]]:
    """The columns with their kinds or types, those kinds that only a description can say, and what is public."""
    opened = open_source(source, table, "init")
    try:
        with working("looking at the columns"):
            seen = public_columns(opened) if public else {}
            kinds = text_kinds(opened, opened.columns)
            types = {name: str(opened.table.schema()[name]) for name in opened.columns} | dict(opened.refused)
            return {name: kinds.get(name, of) for name, of in types.items()}, kinds, seen
    finally:
        opened.engine.close()


def _protected(person: str | None, rows: str | None, columns: Mapping[str, str]) -> tuple[str | None, str]:
    """The column of persons, or None and what may happen to a row."""
    if person is not None and rows is not None:
        raise ParameterError("--person and --rows exclude each other. Choose one privacy unit.")
    if rows is not None and rows not in CHANGES:
        raise ParameterError(f"--rows must be one of {', '.join(CHANGES)}.")
    if person is None and rows is None:
        listed = ", ".join(f"{printable(name)} ({kind})" for name, kind in columns.items())
        typer.echo(f"Columns: {listed}.", err=True)
        who = _needed("The column that identifies a person ('rows' if each row is one)", "--person or --rows")
        person, rows = (None, "add-remove") if who == "rows" and "rows" not in columns else (who, None)
    if person is not None and person not in columns:
        raise missing_column(person, list(columns))
    return person, rows or "add-remove"


def _bounds(
    said: list[str] | None, columns: Mapping[str, str], *, is_asked: bool
) -> dict[str, tuple[Fraction, Fraction]]:
    named = dict(assigned(text, "--bounds cost=0,200") for text in said or ())
    if not named and is_asked:
        for name in _asked(_ADDED_UP, "", "--bounds").split(","):
            if name.strip():
                known = _of_numbers(name.strip(), columns)
                named[known] = _needed(f"The smallest and the largest {known} that make sense: 0,200", "--bounds")
    return {_of_numbers(name, columns): checked_bounds(bounds(both)) for name, both in named.items()}


def _of_numbers(name: str, columns: Mapping[str, str]) -> str:
    """The name of a column that exists and may hold numbers."""
    if name not in columns:
        raise missing_column(name, list(columns))
    if columns[name] in KINDS and columns[name] != "number":
        raise ParameterError(
            f"bounds are those of numbers, and column {name!r} is of the kind {columns[name]}. Leave them out; if it "
            f'holds numbers, add them to the description, and {toml_key(name)} = "number" to its [columns].'
        )
    return name


def _limit(question: str, name: str) -> int | None:
    answer = _asked(question, "", f"--{name.replace('_', '-')}")
    if not answer:
        return None
    if not answer.isdecimal() or len(answer) > 9:
        raise ParameterError(f"{name} must be a whole number of at least 1, got {answer!r}.")
    return int(answer)


def _budget(epsilon: str | None, delta: str | None, rho: str | None) -> Budget:
    """That of the flags, if they say one; else it is asked."""
    if epsilon is None and rho is None:
        epsilon = _needed("The epsilon to be spent in all, such as 2", "--budget-epsilon or --budget-rho")
        delta = delta or _asked("The delta to be spent in all", "0", "--budget-delta")
    found = budget_of(epsilon, None if delta is None or not rational(delta, "budget_delta") else delta, rho)
    assert found is not None
    return found


def _allowance(said: int | None) -> int:
    return FAILURES_ALLOWED if said is None else check_allowance(said)


def _needed(question: str, flag: str) -> str:
    """An answer that nobody else can give."""
    answer = _asked(question, "", flag)
    if not answer:
        raise ParameterError(f"this needs an answer: {question[0].lower()}{question[1:]}. Say it with {flag}.")
    return answer


def _asked(question: str, usual: str, flag: str) -> str:
    """A line of the standard input, or the usual answer if it is empty. Where there is none, nobody has answered."""
    typer.echo(f"{question} [{usual}]: " if usual else f"{question}: ", nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        typer.echo(err=True)
        raise ParameterError(
            f"the answers end here: {question[0].lower()}{question[1:]}. Say it with {flag}"
            + (f", or answer with an empty line for {usual}." if usual else ".")
        )
    return line.strip() or usual
