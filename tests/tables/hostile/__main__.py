"""Run one case alone: python -m tests.tables.hostile "container / type / value / operator".

A value or an operator may be left empty, which stands for all of them.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from dither.ledger import Ledger
from tests.servers import postgres_server, spark_session
from tests.tables.hostile.containers import CONTAINERS
from tests.tables.hostile.operators import OPERATORS
from tests.tables.hostile.runner import Worlds
from tests.tables.hostile.search import types_of


def main(case: str) -> int:
    """Print what is found; 1 if anything is."""
    container, name, value, operator = (part.strip(" ") for part in case.split(" / "))
    ((engine, kind),) = [(of, each) for of, listed in CONTAINERS.items() for each in listed if each.name == container]
    (typed,) = (each for each in types_of(kind) if each.name == name)
    chosen = [list(typed.hostile).index(value)] if value else None
    server: AbstractContextManager[Any] = nullcontext()
    if engine != "duckdb":
        server = postgres_server() if engine == "postgres" else spark_session()
    with server as started, tempfile.TemporaryDirectory() as folder:
        worlds = Worlds(kind(Path(folder), started), [typed], Ledger(Path(folder) / "ledger"), worlds=chosen)
        report = worlds.ask(typed, [operator] if operator else OPERATORS)
        worlds.close()
    print(report)
    print(f"{report.answered} answered, {report.refused} refused, {len(report.findings)} found")
    return bool(report.findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
