"""What differs between the engines: ingest, fetch, hash. One small file each."""

from dither.tables.engines.engine import Engine

__all__ = ["Engine"]
