"""What an engine must offer beyond Ibis."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from inspect import Parameter, Signature
from threading import Condition, Lock, RLock
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary, WeakValueDictionary, finalize

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa

from dither.errors import EngineError, ParameterError
from dither.tables.database_engines.sealed_entry import ColumnType, Sealed, has_word, refused_column, seal
from dither.tables.plain_columns import batch_without_rows

__all__ = ["BATCH_ROWS", "PUBLIC_NAME", "Engine", "builtin", "content_digest", "leaves_of", "leaving", "or_empty"]

_COMPILING = Lock()
"""The options of Ibis are those of the whole process."""
_CONNECTIONS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""A lock for each connection: two engines may share one, and a connection has one question at a time."""
_RECENT: Final = 8
"""Public tables that are kept for the next question though none names them now."""
_BRINGING = Lock()
_LEFT: WeakKeyDictionary[Any, deque[str]] = WeakKeyDictionary()
"""The names of tables that no question can name any more, for each session: also of engines that are gone."""
_LEAVES = (ops.PhysicalTable, ops.SQLQueryResult, ops.SQLStringView)

PUBLIC_NAME = "dither_public"
"""Part of the names that public tables have in an engine."""
BATCH_ROWS = 1 << 16
"""Groups that are in memory at once."""


class Engine(ABC):
    """A place where tables are: it runs the expressions, and only aggregates leave it."""

    name: str
    backend: Any
    """The Ibis backend."""
    column_types: ClassVar[Mapping[str, ColumnType]]
    """Every type that enters, by the name that the engine's own catalogue has for it."""

    @classmethod
    def of_backend(cls, backend: Any) -> Engine:
        """The engine of somebody else's connection, a backend of Ibis."""
        return cls(backend)  # type: ignore[call-arg]  # engines whose making takes other things say how

    @classmethod
    def at(cls, url: str) -> Engine:
        """Connect to a database by its URL, for engines that come by the scheme of a URL."""
        return cls.of_backend(ibis.connect(url))

    def __init__(self, *, is_ours: bool) -> None:
        self._is_ours = is_ours  # then the connection ends with the engine
        self._brought = BroughtTables(self._session)
        self._twins: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.checked: set[int] = set()  # the forms of questions whose names and types were checked
        self._rehearsed: set[int | None] = set()
        self._turns = Condition()
        self._asking = 0
        self._is_closed = False

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Held for the whole of a question, from its rehearsal over its charge to its answer: `close` waits for it."""
        with self._turns:
            if self._is_closed:
                raise EngineError("the dataset was closed, so nothing was charged. Open it again.")
            self._asking += 1
        try:
            yield
        finally:
            with self._turns:
                self._asking -= 1
                self._turns.notify_all()

    def close(self) -> None:
        """End a connection of our own; on one of others, drop what was brought there.

        No question is taken from now on, and those that were are answered first: they may have been charged.
        """
        with self._turns:
            if self._is_closed:
                return
            self._is_closed = True
            self._turns.wait_for(lambda: not self._asking)
        with self.lock:
            if self._is_ours:
                self.backend.disconnect()
                return
            self._drop(self._brought.all())

    def _drop(self, names: Iterable[str]) -> None:
        """Drop tables that were brought. One that cannot be dropped ends with its session, and fails no question."""
        for name in names:
            with suppress(Exception):
                self._drop_one(name)

    @abstractmethod
    def _drop_one(self, name: str) -> None:
        """Drop a table that was brought, if it is there."""

    @property
    def _session(self) -> Any:
        """Where tables are that are brought."""
        return self._connection

    @abstractmethod
    def catalogue(self, table: ir.Table) -> dict[str, str]:
        """The type of each column, as the engine names it: never what Ibis makes of it."""

    def sealed(self, table: ir.Table) -> Sealed:
        """The table with its columns entered, each by the expression of its type; those of other types stay outside."""
        with self.lock:
            self._drop(self._brought.left_behind())
            for leaf in table.op().find(_LEAVES):
                self._twin(leaf)  # now, so that no rehearsal asks the source for anything
            return seal(table, self.catalogue(table), self.column_types)

    @property
    def lock(self) -> Any:
        """Held while the connection is used: it answers one question at a time, whoever asks, in whatever thread."""
        with _COMPILING:
            return _CONNECTIONS.setdefault(self._connection, RLock())

    @property
    def _connection(self) -> Any:
        """What must not be used by two threads at once."""
        return self.backend.con

    def kept(self, table: ir.Table) -> ir.Table:
        """A table that questions use again and again: worked out once, where the rows below it cannot change."""
        return table

    def fill(self, expression: ir.Table) -> None:  # noqa: B027  # most engines keep nothing
        """Work out the tables that are `kept` for an expression, if they were not yet."""

    def ready(self) -> None:  # noqa: B027  # most engines have nothing to do
        """See to it, before a charge, that the engine can be asked at all. No row is looked at."""

    def check_days(self) -> None:  # noqa: B027  # most engines have nothing to do
        """Refuse a session in which a time may be on another day than before: a stream would count its row again."""

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

    def upload(self, table: pa.Table) -> ir.Table:
        """A public table, for joins; its columns enter as others do. One of the same content is brought once."""
        for field in table.schema:
            if not has_word(field.type):
                raise refused_column(field.name, str(field.type))
        with self.asking(), self.lock:
            found = self._brought.once(table, self._uploaded, self.sealed)
        for name, of in found.refused.items():
            raise refused_column(name, of)
        return found.table.select(*table.column_names)  # without what tells persons apart: nobody is in a public table

    @abstractmethod
    def _uploaded(self, table: pa.Table) -> ir.Table:
        """A table in the engine, as it is."""

    @abstractmethod
    def _batches(self, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The result of a SQL query, of the types of `schema` or of such as can be cast to them; one batch or more."""

    def _compiled(self, expression: ir.Table) -> str:
        """SQL with one SELECT per step: fused, a value that is named four times would be written out four times.

        In a thread of its own: how deep a query may be nested then depends on the query alone, and not on how deep the
        calls of whoever asks are. A question that was rehearsed is not too deep after it was charged.
        """
        with _COMPILING, ThreadPoolExecutor(1) as fresh:
            fused, ibis.options.sql.fuse_selects = ibis.options.sql.fuse_selects, False
            try:
                return fresh.submit(self._sql, expression).result()
            finally:
                ibis.options.sql.fuse_selects = fused

    def _sql(self, expression: ir.Table) -> str:
        return str(self.backend.compile(expression))

    def fetch(self, expression: ir.Table) -> Generator[pa.RecordBatch]:
        """The rows of an expression in batches, of the same types on every engine; an empty one if there are none.

        The connection is held until the last batch, or until the generator is closed, by the same thread.
        An error of the engine is reported without its message, also not as the cause: they may be data.
        """
        failed = ""
        try:
            yield from self.rows(expression)
        except Exception as error:
            failed = type(error).__name__
        if failed:
            raise EngineError(
                f"{self.name} could not answer ({failed}). What was charged stays charged. "
                "Check that the source is still there and that the engine has memory and disk."
            )

    def rows(self, expression: ir.Table) -> Generator[pa.RecordBatch]:
        """The same, with the errors of the engine as they are: whoever asks must not show their words."""
        schema = leaving(expression)
        query = self._compiled(expression)
        with self.lock:
            self.fill(expression)
            for batch in self._batches(query, schema):
                yield batch.cast(schema)

    def rehearse(self, expression: ir.Table, form: int | None = None) -> None:
        """Run a question on tables of the same types without rows, before it is charged; refused if that fails.

        Types and names decide alone, as there are no rows: the refusal is free and tells nothing of the data. Questions
        of one `form`, which differ in nothing but the salt, are rehearsed once.
        """
        found = expression.op().find(_LEAVES)
        with self.lock:
            self._drop(self._brought.left_behind())
            self._brought.check_there(found)
        self.fill(expression)
        if form in self._rehearsed:
            return
        failed = ""
        try:
            with self.lock:
                asked = expression.op().replace({leaf: self._twin(leaf) for leaf in found}).to_expr()
                schema = leaving(asked)
                for batch in self._batches(self._compiled(asked), schema):
                    batch.cast(schema)
        except Exception as error:
            failed = type(error).__name__
        if failed:
            raise ParameterError(
                f"{self.name} cannot run this question, not even on a table without rows ({failed}), so nothing was "
                "charged. Ask it in fewer steps."
            )
        if form is not None:
            self._rehearsed.add(form)

    def _twin(self, leaf: Any) -> Any:
        """A relation of the same columns and types without rows, made once."""
        if leaf not in self._twins:
            self._twins[leaf] = self._brought.keep(self._without_rows(leaf.to_expr()).op())
        return self._twins[leaf]

    @abstractmethod
    def _without_rows(self, table: ir.Table) -> ir.Table:
        """A table of its own with the same columns and types: what is asked of LIMIT 0 may be left out unplanned."""


class BroughtTables:
    """Tables that one engine brought to a session: public ones of questions, and the empty twins of the rehearsal.

    Each is there as long as a question can name it. An expression holds the leaf that stands for the table, so the
    table is left behind when the leaf is gone; it is dropped when the connection is used next, by whichever engine, and
    never by the garbage collector, which runs in the middle of anything. All that is there is dropped when the engine
    is closed. Used by who holds the connection.
    """

    def __init__(self, session: Any) -> None:
        with _BRINGING:
            self._left = _LEFT.setdefault(session, deque())
        self._there: set[str] = set()
        self._known: WeakValueDictionary[str, ops.DatabaseTable] = WeakValueDictionary()
        self._recent: dict[str, Sealed] = {}

    def once(
        self, table: pa.Table, bring: Callable[[pa.Table], ir.Table], entered: Callable[[ir.Table], Sealed]
    ) -> Sealed:
        """A public table with its columns entered, brought unless one of the same content is there."""
        digest = content_digest(table)
        found = self._recent.pop(digest, None)
        if found is None:
            leaf = self._known.get(digest)
            if leaf is None:
                leaf = self._known[digest] = self.keep(bring(table).op())
            found = entered(leaf.to_expr())
        self._recent[digest] = found
        for oldest in list(self._recent)[:-_RECENT]:
            del self._recent[oldest]
        return found

    def keep(self, leaf: ops.DatabaseTable) -> ops.DatabaseTable:
        """A table that was made here, until nothing holds its leaf."""
        self._there.add(leaf.name)
        finalize(leaf, self._left.append, leaf.name).atexit = False
        return leaf

    def check_there(self, leaves: Iterable[Any]) -> None:
        """Refuse a question about a public table that was dropped, before it is charged."""
        names = [getattr(leaf, "name", "") for leaf in leaves]
        if any(PUBLIC_NAME in name and name not in self._there for name in names):
            raise EngineError(
                "a public table of the question is no longer in the engine, so nothing was charged. Build the question "
                "again from the dataset."
            )

    def left_behind(self) -> Iterator[str]:
        """The tables to drop now."""
        while self._left:
            name = self._left.popleft()
            self._there.discard(name)
            yield name

    def all(self) -> Iterator[str]:
        """Every table that is there, to be dropped as well."""
        yield from self.left_behind()
        while self._there:
            yield self._there.pop()


def content_digest(table: pa.Table) -> str:
    """A name for the content of a table: its columns, their types and all rows in order."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def leaves_of(expression: ir.Table) -> tuple[Any, ...]:
    """The relations that an expression reads."""
    return tuple(expression.op().find(_LEAVES))


def or_empty(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches, or one without rows: its types are looked at as those of others are."""
    empty = True
    for batch in batches:
        empty = False
        yield batch
    if empty:
        yield batch_without_rows(schema)


def leaving(expression: ir.Table) -> pa.Schema:
    """The types that leave an engine: whole numbers have 64 bits, whatever the column had, and texts count their bytes
    in 64, so that any number of batches can be put together."""
    types = {name: of.to_pyarrow() for name, of in expression.schema().items()}
    for name, of in types.items():
        if pa.types.is_integer(of):
            types[name] = pa.int64()
        elif pa.types.is_string(of):
            types[name] = pa.large_string()
    return pa.schema(types)


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
