"""What differs between the engines: ingest, fetch, hash. One small file each."""

from dither.tables.database_engines.engine import Engine

__all__ = ["Engine"]
