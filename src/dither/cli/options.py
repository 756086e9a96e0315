"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

__all__ = [
    "BOUNDS",
    "BUDGET_DELTA",
    "BUDGET_EPSILON",
    "BUDGET_RHO",
    "CERTIFICATE",
    "DELTA",
    "EPSILON",
    "FAILURES_ALLOWED",
    "FORM",
    "JSON",
    "KEY",
    "LEDGER",
    "MAX_GROUPS",
    "MAX_ROWS",
    "OUT",
    "PERSON",
    "PLOT",
    "REPORT",
    "RHO",
    "ROWS",
    "SOURCE",
    "TABLE",
    "asks",
    "asks_for_risk",
    "asks_in_sql",
]

_Command = TypeVar("_Command", bound=Callable[..., None])
_Text: TypeAlias = str | None
_Texts: TypeAlias = list[str] | None

JSON: TypeAlias = Annotated[bool, typer.Option("--json", help="The result as JSON on the standard output.")]

# The data.
SOURCE: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A CSV or Parquet file, a pattern in quotes, a database URL, or a description such as dither.toml.",
    ),
]
TABLE: TypeAlias = Annotated[_Text, typer.Option(metavar="NAME", help="The table, if FILE is a database URL.")]

# Who is protected.
PERSON: TypeAlias = Annotated[
    _Text, typer.Option(metavar="COLUMN", help="The privacy unit: the column that identifies a person.")
]
ROWS: TypeAlias = Annotated[
    _Text,
    typer.Option(
        metavar="CHANGE",
        help="The privacy unit is one row: add-remove, or replace if the number of rows is public.",
    ),
]
MAX_GROUPS: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="Contribution bound: groups of a person that count.")
]
MAX_ROWS: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", help="Contribution bound: rows of a person that count in each group."),
]

# What is asked.
BOUNDS: TypeAlias = Annotated[
    _Texts,
    typer.Option(
        metavar="COLUMN=LOW,HIGH",
        help="Values of a column are clamped to these bounds, where an aggregate states none: 'cost=0,200'.",
    ),
]

# The price.
EPSILON: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="The privacy budget that this question spends.")
]
DELTA: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="With epsilon: for partition selection, or Gaussian noise.")
]
RHO: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="The budget as zero-concentrated DP, instead of epsilon.")
]

# The budget.
BUDGET_EPSILON: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="The privacy budget of the dataset. It is given once.")
]
BUDGET_DELTA: TypeAlias = Annotated[_Text, typer.Option(metavar="NUMBER", help="The delta of the privacy budget.")]
BUDGET_RHO: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="The privacy budget as rho, instead of epsilon.")
]
FAILURES_ALLOWED: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help="How many questions may fail before the owner must resume. It is given once."),
]
LEDGER: TypeAlias = Annotated[
    _Text, typer.Option(metavar="PLACE", help="The record of what was spent: a file, or a URL.")
]

# What becomes of the answer.
KEY: TypeAlias = Annotated[
    _Text,
    typer.Option(metavar="TEXT", help="Idempotency key: the same key and question give the same answer, charged once."),
]
OUT: TypeAlias = Annotated[Path | None, typer.Option(metavar="FILE", help="The answer as .csv, .parquet or .json.")]
CERTIFICATE: TypeAlias = Annotated[Path | None, typer.Option(metavar="FILE", help="What it cost, for `dither verify`.")]
REPORT: TypeAlias = Annotated[Path | None, typer.Option(metavar="FILE", help="One page with all of it, .html.")]
PLOT: TypeAlias = Annotated[Path | None, typer.Option(metavar="FILE", help="A picture, .svg, .png or .pdf.")]
FORM: TypeAlias = Annotated[
    str, typer.Option("--format", metavar="FORM", help="What is printed: table, csv, json or markdown.")
]

_QUESTION: Mapping[str, Any] = {
    "person": PERSON,
    "rows": ROWS,
    "max_groups": MAX_GROUPS,
    "max_rows_per_group": MAX_ROWS,
    "join": Annotated[
        _Texts,
        typer.Option(
            metavar="COLUMN=FILE", help="A public table with one row for each value of COLUMN: .csv, .parquet."
        ),
    ],
    "column": Annotated[_Texts, typer.Option(metavar="NAME=VALUE", help="A new column: 'total=price * quantity'.")],
    "where": Annotated[_Texts, typer.Option(metavar="CONDITION", help='Only rows for which this holds: "age >= 18".')],
    "per_person": Annotated[
        _Texts,
        typer.Option(
            metavar="NAME=AGGREGATE",
            help="Make each person one row with this column: 'total=sum(cost, 0, 200)'; may be repeated.",
        ),
    ],
    "group_by": Annotated[
        _Texts, typer.Option(metavar="COLUMN", help="A column, or 'bins(age, [0, 18, 65])'; may be repeated.")
    ],
    "keys": Annotated[
        _Texts,
        typer.Option(
            metavar="KEY,KEY", help="The public keys (key set): Paris,Lyon; city=Paris,Lyon for several columns."
        ),
    ],
    "agg": Annotated[
        _Texts,
        typer.Option(
            metavar="NAME=AGGREGATE", help="What to ask: visits=count, 'spend=mean(cost, 0, 200)'; may be repeated."
        ),
    ],
    "bounds": BOUNDS,
    "number": Annotated[
        _Texts,
        typer.Option(
            metavar="COLUMN", help="A text column to read as numbers; other values are missing; may be repeated."
        ),
    ],
    "epsilon": EPSILON,
    "delta": DELTA,
    "rho": RHO,
    "noise": Annotated[_Text, typer.Option(metavar="KIND", help="laplace or gaussian; the better one unless given.")],
    "weight": Annotated[
        _Texts, typer.Option(metavar="NAME=NUMBER", help="A column's share of the budget: visits=2; 1 unless given.")
    ],
    "level": Annotated[_Text, typer.Option(metavar="NUMBER", help="The level of the intervals; 0.95 unless given.")],
    "population": Annotated[
        bool | None,
        typer.Option("--population", help="Intervals of means are for the mean of the population."),
    ],
    "left_out": Annotated[
        bool | None,
        typer.Option("--left-out", help="A fiftieth of the price estimates how much limits and bounds leave out."),
    ],
    "ledger": LEDGER,
    "table": TABLE,
    "identity": Annotated[_Text, typer.Option(metavar="NAME", help="The name under which the budget is kept.")],
}


_RISK: Mapping[str, Any] = {
    "advantage": Annotated[
        _Text, typer.Option(metavar="NUMBER", help="Find the noise for this advantage of an attacker: TPR - FPR.")
    ],
    "tpr": Annotated[_Text, typer.Option(metavar="NUMBER", help="Find the noise for this true positive rate.")],
    "fpr": Annotated[_Text, typer.Option(metavar="NUMBER", help="At this false positive rate.")],
    "posterior": Annotated[
        _Text, typer.Option(metavar="NUMBER", help="Find the noise with which an attacker becomes at most this sure.")
    ],
    "guess": Annotated[
        _Text, typer.Option(metavar="NUMBER", help="Find the noise with which guesses are right at most this often.")
    ],
    "prior": Annotated[
        _Text, typer.Option(metavar="NUMBER", help="With --posterior or --guess: how sure the attacker is beforehand.")
    ],
    "chance": Annotated[
        _Text, typer.Option(metavar="NUMBER", help="With --posterior: the probability of outputs that are left aside.")
    ],
    "reconstruction": Annotated[
        _Text, typer.Option(metavar="NUMBER", help="Find the noise for this probability of reconstructing a record.")
    ],
    "baseline": Annotated[
        _Text, typer.Option(metavar="NUMBER", help="With --reconstruction: the probability without the output.")
    ],
}
"""What an attacker may do at most, as `dp.calibrate` takes it."""

_OF_SQL = (
    "person", "rows", "max_groups", "max_rows_per_group", "join", "keys", "bounds", "number", "epsilon", "delta", "rho",
    "noise", "weight", "level", "population", "left_out", "ledger", "table", "identity",
)  # fmt: skip
"""What a text in SQL does not say."""


def asks(command: _Command) -> _Command:
    """Give a command all that describes a question, behind its arguments and before its own options.

    The command takes them as `**_question` and gives its context to `flags.described`, which knows what they mean.
    """
    return _with_options(command, _QUESTION)


def asks_in_sql(command: _Command) -> _Command:
    """The same for a command that takes its question as a text in SQL."""
    return _with_options(command, {name: option for name, option in _QUESTION.items() if name in _OF_SQL})


def asks_for_risk(command: _Command) -> _Command:
    """Give a command all numbers of a risk, before its own options; it takes them as keywords."""
    return _with_options(command, _RISK)


def _with_options(command: _Command, shared_options: Mapping[str, Any]) -> _Command:
    own = inspect.signature(command, eval_str=True).parameters.values()
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in shared_options.items()
    ]
    arguments = [each for each in own if each.kind is each.POSITIONAL_OR_KEYWORD]
    options = [each for each in own if each.kind is each.KEYWORD_ONLY]
    vars(command)["__signature__"] = inspect.Signature([*arguments, *shared, *options])
    return command
