"""PostgreSQL: the tables stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from dither.tables.engines.engine import BATCH_ROWS, Engine, builtin

__all__ = ["PostgreSQL"]


class PostgreSQL(Engine):
    """A connection to a PostgreSQL server. Sums come back through a cursor of the server, in batches."""

    name = "PostgreSQL"

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    @classmethod
    def at(cls, url: str) -> PostgreSQL:
        """Connect to postgresql://user@host/database."""
        return cls(ibis.connect(url))

    def hash(self, values: Sequence[ir.Value], salt: int) -> ir.Value:
        """`hash_record_extended` of the row of values, seeded with the salt: 64 bits, of any types, NULL among them."""
        row: Any = builtin("row", "json", *values)
        return builtin("hash_record_extended", "int64", row, ibis.literal(salt, type="int64"))

    def upload(self, table: pa.Table) -> ir.Table:
        name = ibis.util.gen_name("dither_public")
        return self.backend.create_table(name, table, temp=True)

    def _batches(self, query: str) -> Iterator[pa.RecordBatch]:
        connection = self.backend.con
        with connection.transaction(), connection.cursor(name=ibis.util.gen_name("dither")) as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(BATCH_ROWS):
                names = [column.name for column in cursor.description]
                columns = [pa.array(values) for values in zip(*rows, strict=True)]
                yield pa.record_batch(columns, names=names)
