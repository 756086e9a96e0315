"""How a part of a SQL text is refused: by its name, its place, and what to write instead."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from dither.errors import ParameterError

__all__ = ["INSTEAD", "in_one_line", "place_of", "refused"]

_NOW: Final = "the question that is recorded must say which rows it is about. Write the day: DATE '2024-12-31'."
INSTEAD: Final[dict[type[exp.Expr], str]] = {
    exp.Window: "windows look at other rows, and a question about rows looks at one at a time.",
    exp.Subquery: (
        "a value of all rows would tell of other people in each row. Ask for it first, and write the noisy number."
    ),
    exp.Exists: "EXISTS stands alone in WHERE, or beside other conditions with AND.",
    exp.RegexpLike: "patterns are not matched. Compare with = or IN.",
    exp.DPipe: "texts are not joined. Group by several columns instead.",
    exp.Mod: "write x - 10 * FLOOR(x / 10) for a remainder.",
    exp.ILike: "write LOWER(x) LIKE 'pa%'.",
    exp.Upper: "write LOWER(x) = 'paris', in small letters.",
    exp.Concat: "texts are not joined. Group by several columns instead.",
    exp.Length: "texts are compared with = and LIKE. Their lengths are not the same on every engine.",
    exp.CurrentDate: _NOW,
    exp.CurrentTimestamp: _NOW,
    exp.Interval: "an interval is added to a day of the text: write x > DATE '2024-12-31' - INTERVAL '3' MONTH.",
    exp.DateDiff: "compare days instead, as in x < DATE '2024-12-31' - INTERVAL '30' DAY.",
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), "write a = b or a <> b, with OR a IS NULL where that is meant."),
    exp.Select: "a SELECT stands in FROM, and in WHERE after EXISTS or IN.",
    exp.Null: "NULL stands in IS NULL, and is what CASE without ELSE gives.",
}
"""What to write instead of what is not answered."""


def refused(node: exp.Expr, why: str, name: str | None = None) -> ParameterError:
    """The refusal of a node. `why` is one or two sentences: the rule, and the nearest thing that works."""
    at = place_of(node)
    return ParameterError(f"{in_one_line(name or _name(node))}{f' ({at})' if at else ''}: {why}")


def _name(node: exp.Expr) -> str:
    """What a reader knows the node by: the column or function that was written, else the parser's name."""
    if isinstance(node, exp.Column | exp.Anonymous):
        return str(node.name)[:60]
    return type(node).__name__


def in_one_line(name: str) -> str:
    """A name as it is, unless it holds what no line can show."""
    return name if name.isprintable() else ascii(name)


def place_of(node: exp.Expr) -> str:
    """Where the node begins in the text, as far as the parser remembers: at its first word that has a place."""
    places = [each.meta for each in node.walk() if "start" in each.meta]
    if not places:
        return ""
    first = min(places, key=lambda meta: int(meta["start"]))
    column = first["col"] - (first["end"] - first["start"])
    return f"line {first['line']}, column {max(1, column)}"
