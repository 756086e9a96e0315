"""A service to try at once: the invented hospital visits, described, with a ledger and a key for their owner."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from dither.cli.demo.folder import prepared
from dither.cli.demo.visits import CONDITIONS, HOSPITALS, hospital_visits

__all__ = ["demo_service"]

_PEOPLE: Final = 20_000
_NOTE: Final = """Made by `dither serve --demo`. Everybody in hospital_visits.parquet is invented.
The next `dither serve --demo` goes on with what is here: the description, what was spent, and the keys.
"""
_DESCRIPTION: Final = """\
# Everybody in this table is invented.

[dataset]
source = "hospital_visits.parquet"

[unit]
person = "patient"
max_groups = 3
max_rows_per_group = 30

[columns]
hospital = {hospitals}
condition = {conditions}
day = [2025-01-01, 2025-12-31]
age = [0, 120]
cost = [0, 5000]

[budget]
epsilon = 5
ledger = "hospital_visits.ledger"

[server]
# port = 8470
# approval = true
"""


def demo_service(folder: Path, people: int = _PEOPLE) -> Path:
    """The description in a folder; one of an earlier start is taken as it is, with its ledger and its keys."""
    file = folder / "dither.toml"
    if not file.exists():
        prepared(folder, _NOTE, instead="Start it in another folder, or move that one away.")
        pq.write_table(hospital_visits(people), folder / "hospital_visits.parquet")
        listed = {"hospitals": _listed(HOSPITALS), "conditions": _listed(CONDITIONS)}
        file.write_text(_DESCRIPTION.format(**listed), encoding="utf-8")
    return file


def _listed(names: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
