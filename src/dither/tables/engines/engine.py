"""What an engine must offer beyond Ibis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from inspect import Parameter, Signature
from threading import Lock
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pyarrow as pa

from dither.errors import EngineError

__all__ = ["BATCH_ROWS", "Engine", "builtin"]

_COMPILING = Lock()
"""The options of Ibis are those of the whole process."""

BATCH_ROWS = 1 << 16
"""Groups that are in memory at once."""


class Engine(ABC):
    """A place where tables are: it runs the expressions, and only aggregates leave it."""

    name: str
    backend: Any
    """The Ibis backend."""

    @abstractmethod
    def plain(self, table: ir.Table) -> ir.Table:
        """A table of somebody else's connection, with texts that are equal only if they are the same."""

    @abstractmethod
    def hash(self, values: Sequence[ir.Value], salt: int) -> ir.Value:
        """64 bits that look random and depend on the values and the secret salt; the engine's own fast hash."""

    def total(self, value: Any) -> Any:
        """The sum of whole numbers of up to 44 bits, of any number of rows: it must not be found in 64 bits."""
        return value.sum().cast("decimal(38, 0)")

    def same(self, a: Any, b: Any) -> list[Any]:
        """Conditions under which two values are the same, NULL being the same as NULL."""
        return [a.identical_to(b)]

    @abstractmethod
    def upload(self, table: pa.Table) -> ir.Table:
        """A public table, for joins."""

    @abstractmethod
    def _batches(self, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The result of a SQL query, of the types of `schema` or of such as can be cast to them."""

    def _compiled(self, expression: ir.Table) -> str:
        """SQL with one SELECT per step: fused, a value that is named four times would be written out four times."""
        with _COMPILING:
            fused, ibis.options.sql.fuse_selects = ibis.options.sql.fuse_selects, False
            try:
                return self._sql(expression)
            finally:
                ibis.options.sql.fuse_selects = fused

    def _sql(self, expression: ir.Table) -> str:
        return str(self.backend.compile(expression))

    def fetch(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        """The rows of an expression in batches, of the same types on every engine; an empty batch if there are none.

        An error of the engine is told without its words, also not as the cause: they may be data.
        """
        schema = _schema(expression)
        failed, empty = "", True
        try:
            for batch in self._batches(self._compiled(expression), schema):
                empty = False
                yield batch.cast(schema)
        except Exception as error:
            failed = type(error).__name__
        if failed:
            raise EngineError(
                f"{self.name} could not answer ({failed}). What was charged stays charged. "
                "Check that the source is still there and that the engine has memory and disk."
            )
        if empty:
            yield pa.RecordBatch.from_pylist([], schema=schema)


def _schema(expression: ir.Table) -> pa.Schema:
    """The types that leave an engine: whole numbers have 64 bits, whatever the column had."""
    types = {name: pa.int64() if of.is_integer() else of.to_pyarrow() for name, of in expression.schema().items()}
    return pa.schema(types.items())


def builtin(name: str, returns: str, *values: Any) -> ir.Value:
    """A function of the engine that Ibis does not know, applied to `values`."""
    types = {f"value{index}": value.type() for index, value in enumerate(values)}

    def declared() -> None: ...

    declared.__name__ = name
    declared.__annotations__ = {**types, "return": dt.dtype(returns)}
    parameters = [Parameter(key, Parameter.POSITIONAL_OR_KEYWORD, annotation=of) for key, of in types.items()]
    declared.__signature__ = Signature(parameters, return_annotation=dt.dtype(returns))  # type: ignore[attr-defined]
    function: Any = ibis.udf.scalar.builtin(declared, name=name)
    return function(*values)
