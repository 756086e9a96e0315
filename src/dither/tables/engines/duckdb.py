"""DuckDB, in this process: the default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from dither.errors import ParameterError
from dither.tables.engines.engine import BATCH_ROWS, Engine, builtin

__all__ = ["DuckDB"]

_LOCKED = ("lock_configuration=true",)
_SEALED = (
    "enable_external_access=false",  # no read_text, COPY, ATTACH or INSTALL
    "autoinstall_known_extensions=false",
    "autoload_known_extensions=false",
    "python_scan_all_frames=false",
    "python_enable_replacements=false",  # a table name is never a variable of Python
)


class DuckDB(Engine):
    """DuckDB in memory; it spills to disk when a query needs more memory than it has."""

    name = "DuckDB"

    def __init__(self, backend: Any = None) -> None:
        self.backend = ibis.duckdb.connect() if backend is None else backend

    def files(self, paths: Sequence[Path]) -> ir.Table:
        """A view on CSV or Parquet files, and from then on no other file can be opened."""
        kind = {path.suffix.lower() for path in paths}
        names = [str(path) for path in paths]
        if kind <= {".parquet", ".pq"}:
            table = self.backend.read_parquet(names)
        elif kind <= {".csv", ".tsv", ".txt"}:
            table = self.backend.read_csv(names)
        else:
            raise ParameterError("a source is CSV or Parquet files of one kind, by their endings .csv and .parquet.")
        self._seal(names)
        return table

    def _seal(self, names: Sequence[str]) -> None:
        listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        if names:
            self.backend.raw_sql(f"SET allowed_paths=[{listed}]")
        for setting in _SEALED + _LOCKED:
            self.backend.raw_sql(f"SET {setting}")

    def frame(self, table: pa.Table) -> ir.Table:
        """A table that lies in memory already."""
        uploaded = self.upload(table)
        self._seal([])
        return uploaded

    def hash(self, values: Sequence[ir.Value], salt: int) -> ir.Value:
        """DuckDB's own `hash` of all values and the salt."""
        return builtin("hash", "uint64", *values, ibis.literal(salt, type="int64"))

    def upload(self, table: pa.Table) -> ir.Table:
        name = ibis.util.gen_name("dither_public")
        return self.backend.create_table(name, table, temp=True)

    def _batches(self, query: str) -> Iterator[pa.RecordBatch]:
        yield from self.backend.con.sql(query).to_arrow_reader(BATCH_ROWS)
