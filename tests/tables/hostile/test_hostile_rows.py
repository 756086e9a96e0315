"""No row decides whether a question fails, and none moves an answer by more than was declared.

For each container and column type somebody with one hostile value is added to a small table, for each such value in a
table of its own; then operators are asked of both. Every commit asks a part of all pairs of type and operator, the
nightly run all of them and random values too. A case is named in full where it fails, and run alone by

    python -m tests.tables.hostile "DuckDB table / DOUBLE / 'NaN' / sum, huge bounds"
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from dither.ledger import Ledger
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import CONTAINERS, Container
from tests.tables.hostile.operators import OPERATORS
from tests.tables.hostile.search import AT_NIGHT, RANDOM_VALUES, fresh_seed, pairs, part_of, tried, types_of

_MARKS: dict[str, list[Any]] = {
    "duckdb": [],
    "postgres": [pytest.mark.xdist_group("postgres")],
    "spark": [pytest.mark.slow, pytest.mark.xdist_group("spark")],
}
every_pair = pytest.mark.parametrize(
    ("engine", "kind", "name"),
    [
        pytest.param(engine, kind, name, id=f"{kind.name} - {name}", marks=_MARKS[engine])
        for engine in CONTAINERS
        for kind, name in pairs(engine)
    ],
)


@every_pair
def test_no_row_decides(
    engine: str, kind: type[Container], name: str, container: Open, book: Ledger, request: pytest.FixtureRequest
) -> None:
    (typed,) = (each for each in types_of(kind) if each.name == name)
    opened = container(kind)
    report = tried(opened, typed, part_of(engine, opened, typed), book)
    assert not report.findings, str(report)
    request.node.user_properties.append((f"hostile rows, {engine}", report.answered))


@pytest.mark.nightly
@pytest.mark.parametrize("one_row", [False, True], ids=["a person", "a row"])
@every_pair
def test_no_row_decides_for_long(
    engine: str,
    kind: type[Container],
    name: str,
    one_row: bool,
    container: Open,
    book: Ledger,
    request: pytest.FixtureRequest,
) -> None:
    seed = fresh_seed()
    (typed,) = (each for each in kind.types(random.Random(seed), RANDOM_VALUES) if each.name == name)
    asked = list(OPERATORS)[seed % AT_NIGHT[engine] :: AT_NIGHT[engine]]
    report = tried(container(kind), typed, asked, book, one_row=one_row)
    assert not report.findings, f"DITHER_HOSTILE_SEED={seed}\n{report}"
    request.node.user_properties.append((f"hostile rows, {engine}", report.answered))
