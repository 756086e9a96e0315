"""Hostile values in the columns by which private tables are joined: of persons, and of foreign keys."""

from __future__ import annotations

from typing import Any

import pytest

import dither as dp
from dither.errors import DitherError
from dither.ledger import Ledger
from tests.engine.exact import exact_batches, needs_of
from tests.tables.hostile.conftest import Open
from tests.tables.hostile.containers import CONTAINERS, Container, people
from tests.tables.hostile.runner import warned
from tests.tables.hostile.search import types_of
from tests.tables.hostile.values import Typed

MAIN = [CONTAINERS["duckdb"][0], CONTAINERS["postgres"][0]]
_OF_EACH_KIND = {
    "BIGINT", "UHUGEINT", "DECIMAL(38,38)", "VARCHAR", "VARCHAR beyond ASCII", "DATE", "TIMESTAMP", "BLOB", "DOUBLE",
    "bigint", "numeric", "text", "citext", "date", "timestamptz", "bytea", "double precision",
}  # fmt: skip
"""Types that are tried at each commit; the others at night."""


def _opened(container: Any, typed: Typed, book: Ledger, *, hostile: bool, by_key: bool) -> dp.Dataset:
    """A table of people, and one of other rows that are theirs by a foreign key, or by the column of the person."""
    name = container.made([typed], people(range(len(typed.hostile)), hostile=hostile))
    container.run(f"CREATE TABLE {name}_theirs AS SELECT c0 AS reference, w AS theirs FROM {name}")
    if not by_key:
        container.run(f"CREATE TABLE {name}_persons AS SELECT reference AS c0, theirs FROM {name}_theirs")
    tables = {"people": name, "other": f"{name}_theirs" if by_key else f"{name}_persons"}
    url: Any = {"source": container.server}
    if container.name == "DuckDB table":
        tables, url = {each: container.server.table(of) for each, of in tables.items()}, {"identity": name}
    return dp.Dataset(
        **url,
        tables=tables,
        foreign_keys={"other.reference": "people.c0"} if by_key else None,
        unit=dp.Person("who" if by_key else "c0", max_groups=2, max_rows_per_group=2),
        budget=dp.ApproxDP(10**6, "1e-3"),
        ledger=book,
    )


def _outcome(container: Any, typed: Typed, book: Ledger, *, hostile: bool, by_key: bool) -> Any:
    """The types of the exact answers and the warnings, or how it is refused; a failure of the engine goes through."""
    try:
        data = _opened(container, typed, book, hostile=hostile, by_key=by_key)
    except DitherError as error:
        return type(error).__name__, str(error).partition(" has ")[2]
    with data, warned() as heard:
        on: Any = {"reference": "c0"} if by_key else "c0"
        back: Any = {"c0": "reference"} if by_key else "c0"
        people, other = data.table("people"), data.table("other")
        found = []
        for how in ("inner", "left", "semi", "anti"):
            is_added = how in ("inner", "left")
            try:
                joined = other.join(people, on=on, how=how) if is_added else people.join(other, on=back, how=how)
            except dp.errors.ParameterError as error:
                found.append(str(error))
                continue
            question = joined.group_by("city", keys=list("abcd")).agg(
                rows=dp.count(), people=dp.count_people(), theirs=dp.sum("theirs" if is_added else "w", (0, 100))
            )
            batches = exact_batches(question._bounded, needs_of(question.aggregates))
            found.append(str({key: {str(batch.schema) for batch in each} for key, each in batches.items()}))
    return found, heard


@pytest.mark.parametrize("by_key", [False, True], ids=["persons", "foreign keys"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(
            kind, typed.name, id=f"{kind.name} - {typed.name}",
            marks=[
                *([pytest.mark.xdist_group("postgres")] if kind is MAIN[1] else []),
                *([] if typed.name in _OF_EACH_KIND else [pytest.mark.nightly]),
            ],
        )
        for kind in MAIN
        for typed in types_of(kind)
    ],
)  # fmt: skip
def test_no_value_decides_whether_tables_can_be_joined(
    kind: type[Container], name: str, by_key: bool, container: Open, book: Ledger
) -> None:
    (typed,) = (each for each in types_of(kind) if each.name == name)
    before, after = (
        _outcome(container(kind), typed, book, hostile=hostile, by_key=by_key) for hostile in (False, True)
    )
    assert before == after
