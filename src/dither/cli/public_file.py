"""A public table that a question joins, from a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from dither.errors import ParameterError

__all__ = ["PublicFile"]


def _csv(path: Path) -> pa.Table:
    from pyarrow import csv

    return csv.read_csv(path)


def _parquet(path: Path) -> pa.Table:
    from pyarrow import parquet

    return parquet.read_table(path)


_READERS = {".csv": _csv, ".parquet": _parquet}


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A table that anyone may see, and where it is."""

    place: Path
    table: pa.Table = field(repr=False)

    @classmethod
    def at(cls, place: str) -> PublicFile:
        """A CSV file, whose columns get the types that all their values fit, or a Parquet file."""
        path = Path(place)
        reader = _READERS.get(path.suffix.lower())
        if reader is None:
            raise ParameterError(f"a public table is a file that ends in {' or '.join(_READERS)}, got {path.name!r}.")
        try:
            return cls(path, reader(path))
        except (OSError, pa.ArrowException):  # its words may be of another file, if the name is mistaken
            raise ParameterError(
                f"the public table {place!r} cannot be read. Check the path, and that every line has all columns."
            ) from None
