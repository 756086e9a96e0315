"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

__all__ = [
    "AGG",
    "BOUNDS",
    "BUDGET_DELTA",
    "BUDGET_EPSILON",
    "BUDGET_RHO",
    "COLUMN",
    "DELTA",
    "EPSILON",
    "GROUP_BY",
    "IDENTITY",
    "JSON",
    "KEYS",
    "LEDGER",
    "LEVEL",
    "MAX_GROUPS",
    "MAX_ROWS",
    "NOISE",
    "NUMBER",
    "PERSON",
    "POPULATION",
    "RHO",
    "ROWS",
    "SOURCE",
    "TABLE",
    "WEIGHT",
    "WHERE",
]

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
IDENTITY: TypeAlias = Annotated[_Text, typer.Option(metavar="NAME", help="The name under which the budget is kept.")]

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
WHERE: TypeAlias = Annotated[
    _Texts, typer.Option(metavar="CONDITION", help='Only rows for which this holds: "age >= 18".')
]
COLUMN: TypeAlias = Annotated[
    _Texts, typer.Option(metavar="NAME=VALUE", help="A new column: 'total=price * quantity'.")
]
GROUP_BY: TypeAlias = Annotated[
    _Texts, typer.Option(metavar="COLUMN", help="A column, or 'bins(age, [0, 18, 65])'; may be repeated.")
]
KEYS: TypeAlias = Annotated[
    _Texts,
    typer.Option(
        metavar="KEY,KEY", help="The public groups: Paris,Lyon; city=Paris,Lyon if there are several columns."
    ),
]
AGG: TypeAlias = Annotated[
    _Texts,
    typer.Option(
        metavar="NAME=AGGREGATE", help="What to ask: visits=count, 'spend=mean(cost, 0, 200)'; may be repeated."
    ),
]
BOUNDS: TypeAlias = Annotated[
    _Texts,
    typer.Option(
        metavar="COLUMN=LOW,HIGH",
        help="The bounds of a column for all aggregates that do not say their own: 'cost=0,200'.",
    ),
]
NUMBER: TypeAlias = Annotated[
    _Texts,
    typer.Option(
        metavar="COLUMN", help="A column of texts whose numbers count, all else in it is missing; may be repeated."
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
NOISE: TypeAlias = Annotated[
    _Text, typer.Option(metavar="KIND", help="laplace or gaussian; the better one unless given.")
]
WEIGHT: TypeAlias = Annotated[
    _Texts, typer.Option(metavar="NAME=NUMBER", help="A column's part of the price: visits=2; 1 unless given.")
]
LEVEL: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="The level of the intervals; 0.95 unless given.")
]
POPULATION: TypeAlias = Annotated[
    bool, typer.Option("--population", help="Intervals of means hold the mean of the population of the rows.")
]

# The budget.
BUDGET_EPSILON: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="What may be spent in all. It is given once.")
]
BUDGET_DELTA: TypeAlias = Annotated[_Text, typer.Option(metavar="NUMBER", help="The delta that may be spent in all.")]
BUDGET_RHO: TypeAlias = Annotated[
    _Text, typer.Option(metavar="NUMBER", help="The rho that may be spent in all, instead of epsilon.")
]
LEDGER: TypeAlias = Annotated[
    _Text, typer.Option(metavar="PLACE", help="Where it is written down what was spent: a file, or a URL.")
]
