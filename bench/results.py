"""`bench/results.json`: what was measured last, topic by topic, with its date and versions."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.row import Row

__all__ = ["FILE", "read", "rows_of", "write"]

FILE = Path(__file__).resolve().parent / "results.json"


def read(file: Path = FILE) -> dict[str, Any]:
    """Topic → date, versions and rows."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def rows_of(topic: str, results: dict[str, Any]) -> list[Row]:
    """The rows of a topic."""
    return [Row(**row) for row in results[topic]["rows"]]


def write(topic: str, rows: Sequence[Row], file: Path = FILE) -> None:
    """Replace one topic; the others stay as they were measured."""
    peers = (file.parent / "peers.txt").read_text(encoding="utf-8") if (file.parent / "peers.txt").exists() else ""
    versions = {"python": platform.python_version()}
    versions |= dict(line.split("==") for line in peers.split() if line.count("==") == 1)
    entry = {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions,
        "rows": [asdict(row) for row in rows],
    }
    whole = dict(sorted({**read(file), topic: entry}.items()))
    file.write_text(json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8")
