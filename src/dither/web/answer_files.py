"""Answers, plans and certificates as they are sent: JSON, CSV and Parquet. All of it was released."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

from dither.engine import Plan, Question, TableRelease
from dither.engine.answer_file import written_answer
from dither.ledger.budget import amounts
from dither.web.offered_dataset import figures

__all__ = ["FILES", "answer_as_dict", "as_json", "plan_as_dict"]

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""How a text may start that a spreadsheet would run."""
_SIZES: Final = (100, 1_000, 10_000, 100_000)


def as_json(value: Any) -> bytes:
    """The bytes of a value; null stands for a number that is infinite or unknown."""
    return json.dumps(_finite(value), ensure_ascii=False, default=str, allow_nan=False).encode()


def plan_as_dict(question: Question, plan: Plan) -> dict[str, Any]:
    """What a release would do: noise, error and cost, and the same question in Python."""
    names = ("column", "noise", "share", "error")
    return {
        "cost": figures(amounts(plan.cost)),
        "level": str(plan.level),
        "protected": str(question.neighbour),
        "columns": [dict(zip(names, line, strict=True)) for line in plan.lines()],
        "errors": {
            name: {str(size): error for size, error in plan.errors(name, _SIZES).items()} for name in plan.aggregates
        },
        "left_out": plan.left_out,
        "risk": plan.risk,
        "shortage": plan.shortage,
        "python": question.code,
    }


def answer_as_dict(id: str, release: TableRelease) -> dict[str, Any]:
    """The answer with its certificate: nothing in it changes when it is asked for again."""
    return {
        "id": id,
        "rows": release.to_arrow().to_pylist(),
        "level": str(release.plan.level),
        "left_out": release.plan.left_out,
        "cost": figures(amounts(release.plan.cost)),
        "certificate": release.certificate(),
    }


def _csv(release: TableRelease) -> bytes:
    """The bytes of which the certificate has the digest, unless a text could be run by a spreadsheet."""
    return written_answer(without_formulas(release.tidy()))


def without_formulas(table: pa.Table) -> pa.Table:
    """Texts that start like a formula get an apostrophe before them, as spreadsheets read plain text; names too."""
    for at, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            table = table.set_column(at, name, pa.array([_harmless(each) for each in column.to_pylist()], column.type))
    return table.rename_columns([_harmless(name) or "" for name in table.column_names])


def _harmless(text: str | None) -> str | None:
    return f"'{text}" if text is not None and text.startswith(_FORMULA) else text


def _parquet(release: TableRelease) -> bytes:
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(release.tidy(), sink)
    return bytes(sink.getvalue())


FILES: Final[Mapping[str, tuple[str, Callable[[TableRelease], bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "json": ("application/json", lambda release: as_json(release.to_arrow().to_pylist())),
    "parquet": ("application/vnd.apache.parquet", _parquet),
    "certificate": ("application/json", lambda release: as_json(release.certificate())),
}
"""What can be downloaded of an answer, by name: its type, and how it is written."""


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_finite, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value
