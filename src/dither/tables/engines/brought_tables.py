"""Tables that are brought to an engine: public ones of questions, and the empty twins of the rehearsal.

Each is there as long as a question can name it. An expression holds the leaf that stands for the table, so the table is
left behind when the leaf is gone; it is dropped when the connection is used next, by whichever engine, and never by the
garbage collector, which runs in the middle of anything. All that is there is dropped when the engine is closed.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakValueDictionary, finalize

import ibis.expr.operations as ops
import pyarrow as pa

__all__ = ["BroughtTables", "content_digest"]

_RECENT: Final = 8
"""Public tables that are kept for the next question though none names them now."""
_LOCK = Lock()
_LEFT: WeakKeyDictionary[Any, deque[str]] = WeakKeyDictionary()
"""The names of tables that no question can name any more, for each session: also of engines that are gone."""


def content_digest(table: pa.Table) -> str:
    """A name for the content of a table: its columns, their types and all rows in order."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


class BroughtTables:
    """What one engine has brought to a session. Used by who holds the connection."""

    def __init__(self, session: Any) -> None:
        with _LOCK:
            self._left = _LEFT.setdefault(session, deque())
        self._there: set[str] = set()
        self._known: WeakValueDictionary[str, ops.DatabaseTable] = WeakValueDictionary()
        self._recent: dict[str, ops.DatabaseTable] = {}

    def once(self, table: pa.Table, bring: Callable[[pa.Table], ops.DatabaseTable]) -> ops.DatabaseTable:
        """The leaf of a public table, brought unless one of the same content is there."""
        digest = content_digest(table)
        leaf = self._known.get(digest)
        if leaf is None:
            leaf = self._known[digest] = self.keep(bring(table))
        self._recent.pop(digest, None)
        self._recent[digest] = leaf
        for oldest in list(self._recent)[:-_RECENT]:
            del self._recent[oldest]
        return leaf

    def keep(self, leaf: ops.DatabaseTable) -> ops.DatabaseTable:
        """A table that was made here, until nothing holds its leaf."""
        self._there.add(leaf.name)
        finalize(leaf, self._left.append, leaf.name).atexit = False
        return leaf

    def has(self, name: str) -> bool:
        """Whether it was made here and is there."""
        return name in self._there

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
