"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

__all__ = [
    "BOUNDS",
    "BUDGET_DELTA",
    "BUDGET_EPSILON",
    "BUDGET_RHO",
    "DELTA",
    "EPSILON",
    "FAILURES_ALLOWED",
    "JSON",
    "LEDGER",
    "MAX_GROUPS",
    "MAX_ROWS",
    "PERSON",
    "RHO",
    "ROWS",
    "SOURCE",
    "TABLE",
    "asks",
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
PERSON: TypeAlias = Annotated[_Text, typer.Option(metavar="COLUMN", help="The column that tells persons apart.")]
ROWS: TypeAlias = Annotated[
    _Text,
    typer.Option(
        metavar="CHANGE", help="Each row is somebody of their own: add-remove, or replace if their number is public."
    ),
]
MAX_GROUPS: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="How many groups of a person count; 1 unless given.")
]
MAX_ROWS: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="How many rows of a person count in each group; 1 unless given.")
]

# What is asked.
BOUNDS: TypeAlias = Annotated[
    _Texts,
    typer.Option(
        metavar="COLUMN=LOW,HIGH",
        help="The bounds of a column for all aggregates that do not say their own: 'cost=0,200'.",
    ),
]

# The price.
EPSILON: TypeAlias = Annotated[_Text, typer.Option(metavar="NUMBER", help="The price of this question.")]
DELTA: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="With epsilon: for groups that are found, or Gaussian noise.")
]
RHO: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="The price as zero-concentrated privacy, instead of epsilon.")
]

# The budget.
BUDGET_EPSILON: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="What may be spent in all. It is given once.")
]
BUDGET_DELTA: TypeAlias = Annotated[_Text, typer.Option(metavar="NUMBER", help="The delta that may be spent in all.")]
BUDGET_RHO: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="The rho that may be spent in all, instead of epsilon.")
]
FAILURES_ALLOWED: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help="How many questions may fail before the owner has to look. It is given once."),
]
LEDGER: TypeAlias = Annotated[
    _Text, typer.Option(metavar="PLACE", help="Where it is written down what was spent: a file, or a URL.")
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
            metavar="KEY,KEY", help="The public groups: Paris,Lyon; city=Paris,Lyon if there are several columns."
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
            metavar="COLUMN", help="A column of texts whose numbers count, all else in it is missing; may be repeated."
        ),
    ],
    "epsilon": EPSILON,
    "delta": DELTA,
    "rho": RHO,
    "noise": Annotated[_Text, typer.Option(metavar="KIND", help="laplace or gaussian; the better one unless given.")],
    "weight": Annotated[
        _Texts, typer.Option(metavar="NAME=NUMBER", help="A column's part of the price: visits=2; 1 unless given.")
    ],
    "level": Annotated[_Text, typer.Option(metavar="NUMBER", help="The level of the intervals; 0.95 unless given.")],
    "population": Annotated[
        bool | None,
        typer.Option("--population", help="Intervals of means hold the mean of the population of the rows."),
    ],
    "ledger": LEDGER,
    "table": TABLE,
    "identity": Annotated[_Text, typer.Option(metavar="NAME", help="The name under which the budget is kept.")],
}


def asks(command: _Command) -> _Command:
    """Give a command all that describes a question, behind its arguments and before its own options.

    The command takes them as `**_question` and gives its context to `flags.described`, which knows what they mean.
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in _QUESTION.items()
    ]
    arguments = [each for each in own if each.kind is each.POSITIONAL_OR_KEYWORD]
    options = [each for each in own if each.kind is each.KEYWORD_ONLY]
    vars(command)["__signature__"] = inspect.Signature([*arguments, *shared, *options])
    return command
