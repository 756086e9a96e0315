"""Limits and bounds of a suggestion written into a description, and that what is left out is told.

All else stays as it was.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from dither.engine.question import Question
from dither.engine.suggestion import Suggestion
from dither.errors import ParameterError
from dither.exact import rational

__all__ = ["with_keys", "write_limits"]

_PLAIN = re.compile("[A-Za-z0-9_-]+")
_SECTION = re.compile(r"\s*\[")


def write_limits(file: Path, found: Suggestion, name: str, question: Question) -> list[str]:
    """Write a suggestion into a description; say where each part of it was written.

    Limits stand in [unit]; bounds in [bounds], if that is where the question has them from; and the question tells what
    they leave out.
    """
    entries = ", ".join(str(entry.number) for entry in found.entries)
    source = f"suggested: entry {entries} of the ledger"
    names = ("max_groups", "max_rows_per_group")
    limits = {name: (str(found.unit.stated(name)), source) for name in names}
    told = {"left_out": ("true", "a fiftieth of the price tells how much the limits leave out")}
    try:
        text = file.read_text(encoding="utf-8")
        bounds = _bounds_of_columns(text, found, question)
        text = with_keys(text, "unit", limits)
        text = with_keys(text, "bounds", {name: (said, source) for name, said in bounds.items()})
        file.write_text(with_keys(text, f"questions.{name}", told), encoding="utf-8")
    except OSError:
        raise ParameterError(
            f"the limits cannot be written to {str(file)!r}; they were paid for. Write them yourself: "
            + ", ".join(f"{name} = {limit}" for name, (limit, _) in limits.items())
        ) from None
    written = [f"Wrote the limits into [unit] of {file}."]
    written += [f"Wrote the bounds of {', '.join(bounds)} into [bounds] of {file}."] if bounds else []
    own = [name for name in found.bounds if _column(found, name) not in bounds]
    written += [f"The bounds of {', '.join(own)} stand in the question itself: write them there."] if own else []
    return written


def _bounds_of_columns(text: str, found: Suggestion, question: Question) -> dict[str, str]:
    """The bounds that the question took from [bounds], by columns; those of which two were chosen are left out."""
    each: dict[str, set[tuple[float, float]]] = {}
    for column, both in tomllib.loads(text, parse_float=Decimal).get("bounds", {}).items():
        names = [name for name in found.bounds if _column(found, name) == column]
        asked = [getattr(question.aggregates[name], "bounds", None) for name in names]
        if (
            names
            and _PLAIN.fullmatch(column)
            and all(tuple(ends or ()) == tuple(map(rational, both)) for ends in asked)
        ):
            each[column] = {found.bounds[name] for name in names}
    return {column: "[{:.15g}, {:.15g}]".format(*chosen.pop()) for column, chosen in each.items() if len(chosen) == 1}


def _column(found: Suggestion, name: str) -> str:
    return str(getattr(found.question.aggregates[name], "of", ""))


def with_keys(text: str, section: str, keys: Mapping[str, tuple[str, str]]) -> str:
    """The text with these keys in a section, in the place of what stood there, in a comment or not.

    Without such a section, as where a name is quoted, nothing is written.
    """
    if not keys:
        return text
    lines, head = text.split("\n"), r"\s*\.\s*".join(map(re.escape, section.split(".")))
    first = next((at for at, line in enumerate(lines) if re.match(rf"\s*\[\s*{head}\s*\]", line)), None)
    if first is None:
        return text
    last = next((at for at in range(first + 1, len(lines)) if _SECTION.match(lines[at])), len(lines))
    kept = [line for line in lines[first + 1 : last] if not re.match(rf"\s*#?\s*({'|'.join(keys)})\s*=", line)]
    while kept and not kept[-1].strip():
        kept.pop()
    made = [f"{name} = {value}  # {words}" for name, (value, words) in keys.items()]
    return "\n".join([*lines[: first + 1], *kept, *made, "", *lines[last:]])
