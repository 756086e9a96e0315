"""The engine with one mistake each: a replay on generated tables must find it. And refusals: alike on both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.audit.replay import replay
from dither.audit.replay.calls import BitStream, Recorder
from dither.engine import most_common, noisy_groups
from dither.errors import DitherError, EngineError, OverBudget, ParameterError
from dither.noise._replay import recording
from dither.tables import BoundedTable, Lattice, RowCount, Sum, row_operations
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.expression_compiler import between
from dither.unit import Rows
from tests.replay.apart import caught, replayed
from tests.replay.engine_cases import APART, CASES, PLACES
from tests.replay.tables import UNITS, neighbours
from tests.replay.test_engine import compared

WORLDS = 60
"""With two heavy persons, and rows of nobody in six."""

Opened = Callable[..., dp.Dataset]
Patch = pytest.MonkeyPatch
GROUPED = {case.name: case for case in CASES}
WHOLE = {case.name: case for case in APART}


def all_groups(patch: Patch) -> None:
    patch.setattr(BoundedTable, "_few_groups", lambda self, each, salt, *rank: each)


def all_rows(patch: Patch) -> None:
    patch.setattr(RowCount, "contribution", lambda self, person, max_rows: person.rows)


def all_single_rows(patch: Patch) -> None:
    """Of a person too, where rows are chosen one by one."""
    patch.setattr(BoundedTable, "_first", lambda self, table, *how: table)


def whole_sums(patch: Patch) -> None:
    """A person's sum as it is, however many rows they have."""
    patch.setattr(Sum, "contribution", lambda self, person, max_rows: person.total + self.lattice.low * person.count)


def no_clamp(patch: Patch) -> None:
    """Neither of a value nor of a sum. (Each is clamped by itself, so that one mistake would do no harm.)"""

    def steps(self: Lattice, real: Any) -> Any:
        reach, step = 10 * float(self.magnitude * self.step), float(self.step)
        return (between(real, -reach, reach) / step + 0.5).floor().cast("int64") - self.low

    whole_sums(patch)
    patch.setattr(Lattice, "steps", steps)


def nobody_counts(patch: Patch) -> None:
    """Rows without a person as those of one more."""
    attributed = BoundedTable._attributed

    def counted(self: BoundedTable, wanted: Any) -> Any:
        nobody = self.rows["world"].cast("string")
        rows = self.rows.mutate(user=self.rows["user"].fill_null(nobody))
        return attributed(replace(self, rows=rows), wanted)

    patch.setattr(BoundedTable, "_attributed", counted)


def no_threshold(patch: Patch) -> None:
    def shown(self: noisy_groups.Drawing, batch: pa.RecordBatch) -> pa.Table:
        noisy = {self.plan.columns[key]: self._noised(key, batch) for key in self._measured}
        return noisy_groups._table(pa.Table.from_batches([batch]).select(list(self.keys)), noisy)

    patch.setattr(noisy_groups.Drawing, "_shown", shown)


def no_threshold_of_values(patch: Patch) -> None:
    def shown(self: most_common.FoundNoise, people: Any, values: pa.Array) -> list[tuple[int, object]]:
        return [(int(count), value.as_py()) for count, value in zip(people, values, strict=True)]

    patch.setattr(most_common.FoundNoise, "_shown", shown)


def several_partners(patch: Patch) -> None:
    """A public table in which a row finds two rows."""
    joined = row_operations.joined
    twice = pa.concat_tables([PLACES, PLACES])
    patch.setattr(
        "dither.engine.join_rules.joined",
        lambda engine, table, public, on, names, how: joined(engine, table, twice, on, names, how=how),
    )


def one_group_moves(patch: Patch) -> None:
    """A row that is replaced leaves one group and enters another: two, and not one."""
    patch.setattr(Rows, "moved_groups", property(lambda self: 1))


def only_groups_with_rows(patch: Patch) -> None:
    """Public groups, but for those that have no rows."""
    draw = noisy_groups.Drawing.draw

    def drawn(self: noisy_groups.Drawing, answers: Any) -> pa.Table:
        first, *rest = map(list, answers)
        public = pa.Table.from_batches(first).select(list(self.keys))
        return draw(replace(self, public=public), [iter(each) for each in (first, *rest)])

    patch.setattr(noisy_groups.Drawing, "draw", drawn)


WRONG: dict[str, tuple[str, str, Callable[[Patch], None], str]] = {
    "no bound on groups": ("count", "persons", all_groups, "more than the sensitivity"),
    "no bound on rows in a group": ("count", "persons", all_rows, "more than the sensitivity"),
    "no bound on the rows of a histogram": ("histogram", "persons", all_single_rows, "more than the sensitivity"),
    "no bound on the rows of a quantile": ("quantile", "persons", all_single_rows, "more than the sensitivity"),
    "no clamp": ("sum", "rows", no_clamp, "more than the sensitivity"),
    "no clamp of a person's sum": ("sum", "persons", whole_sums, "more than the sensitivity"),
    "rows of nobody": ("count", "persons", nobody_counts, "more than the sensitivity"),
    "groups without a threshold": ("found groups", "persons", no_threshold, "fewer people have than the threshold"),
    "values without a threshold": (
        "found values", "persons", no_threshold_of_values, "fewer people have than the threshold",
    ),
    "a join that doubles rows": ("join", "rows", several_partners, "more than the sensitivity"),
    "only groups with rows": ("count", "rows", only_groups_with_rows, "another type or shape"),
    "a replaced row in one group": ("count", "replaced rows", one_group_moves, "more than the sensitivity"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_in_the_engine_is_found(name: str, opened: Opened, monkeypatch: Patch) -> None:
    case, kind, mistake, words = WRONG[name]
    mistake(monkeypatch)
    verdict = compared(GROUPED[case], kind, WORLDS, 0, opened, lambda table: table)
    assert not verdict.passed
    assert words in str(verdict.difference), verdict.difference


FAR = dp.sum("x", (0, 200))


@pytest.mark.parametrize(
    ("asked", "price", "words"),
    [
        ({"sum": FAR}, {"epsilon": 1}, "more than the sensitivity 13107200, that is 200 in the unit of the column"),
        ({"sum": FAR}, {"rho": 1}, "squared, that is 40000 in the unit of the column"),
        ({"sum": FAR, "near": dp.sum("x", (0, 100))}, {"epsilon": 2}, "the sensitivity 13107200, in steps"),
    ],
    ids=["laplace", "gaussian", "two columns"],
)  # fmt: skip
def test_a_sensitivity_is_said_in_the_unit_of_the_column(
    asked: dict[str, Any], price: dict[str, Any], words: str, opened: Opened, monkeypatch: Patch
) -> None:
    no_clamp(monkeypatch)
    case = replace(GROUPED["sum"], ask=asked, price=price)
    verdict = compared(case, "rows", WORLDS, 0, opened, lambda table: table)
    assert words in str(verdict.difference)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("data.count", all_rows),
        ("data.median", all_single_rows),
        ("data.sum", whole_sums),
        ("data.count", nobody_counts),
    ],
    ids=["count", "median", "sum", "nobody"],
)
def test_a_mistake_is_found_without_groups(
    name: str, mistake: Callable[[Patch], None], opened: Opened, monkeypatch: Patch
) -> None:
    case = WHOLE[name]
    mistake(monkeypatch)
    sides = []
    for table in neighbours("persons", WORLDS, name):
        with opened(table, UNITS["persons"], case.price) as data:
            sides.append(caught(data, lambda rows: case.ask(rows, **case.price), WORLDS, seed=0))
    verdicts = [replayed(sides[0], sides[1], world, sides[0].released.guarantee) for world in range(WORLDS)]
    assert {"more than the sensitivity" in str(each.difference) for each in verdicts if not each.passed} == {True}


# --------------------------------------------------------------------------- refusals

REFUSED: dict[str, tuple[Callable[[dp.Dataset], Any], type[DitherError]]] = {
    "more than there is": (lambda data: data.count(epsilon=26), OverBudget),
    "more in groups than there is": (
        lambda data: data.group_by("city", keys=["Paris"]).agg(n=dp.count()).release(epsilon=26), OverBudget,
    ),
    "no number for a price": (lambda data: data.count(epsilon=float("nan")), ParameterError),
    "no such column": (lambda data: data.sum("nothing", (0, 1), epsilon=1), ParameterError),
    "a sum of days": (lambda data: data.sum("day", (0, 1), epsilon=1), ParameterError),
    "groups of reals": (lambda data: data.group_by("x", keys=[0.5]).agg(n=dp.count()), ParameterError),
    "no delta": (lambda data: data.group_by("city").agg(n=dp.count()).release(epsilon=1), ParameterError),
    "another person": (lambda data: data.with_columns(user=dp.col("k")), ParameterError),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_the_same_on_both_sides_and_nothing_is_drawn(name: str, opened: Opened) -> None:
    ask, kind_of_error = REFUSED[name]
    first, second = neighbours("persons", WORLDS, name)

    def asked(table: pa.Table) -> Any:
        with opened(table, UNITS["persons"], {}) as data:
            try:
                return ask(data)
            finally:
                assert not any(data.spent.values())

    verdict = replay(asked, first, second)
    assert verdict.passed, verdict.difference
    assert isinstance(verdict.result, kind_of_error)
    assert drawn_by(asked, first) <= {"salt"}


def test_what_fails_after_the_charge_is_charged_and_tells_nothing(opened: Opened, monkeypatch: Patch) -> None:
    def failing(self: DuckDB, query: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        count = self.backend.con.sql(query).to_arrow_table().num_rows
        raise ValueError(f"{count} rows")

    monkeypatch.setattr(DuckDB, "rehearse", lambda *_: None)  # or it would fail before the charge
    monkeypatch.setattr(DuckDB, "_batches", failing)

    def asked(table: pa.Table) -> Any:
        with opened(table, UNITS["persons"], {}) as data:
            try:
                return data.group_by("k").agg(n=dp.count()).release(epsilon=1, delta="0.1")
            finally:
                assert data.spent == {"epsilon": 1, "delta": Fraction(1, 10)}

    first, second = neighbours("persons", WORLDS, "failing")
    verdict = replay(asked, first, second)
    assert verdict.passed, verdict.difference
    assert type(verdict.result) is EngineError
    assert drawn_by(asked, first) == {"salt"}


def drawn_by(pipeline: Callable[[Any], Any], table: pa.Table) -> set[str]:
    """The kinds of the calls that draw. (A salt is part of a question and tells nothing: it precedes the charge.)"""
    recorder = Recorder(BitStream(0))
    with recording(recorder.stream, recorder), suppress(DitherError):
        pipeline(table)
    return {call.kind for call in recorder.calls}


def test_a_replay_that_is_told_of_too_few_groups_is_refused(opened: Opened) -> None:
    case = replace(GROUPED["count"], groups=2)
    with pytest.raises(ParameterError, match="worlds must name the world of each group"):
        compared(case, "rows", 3, 0, opened, lambda table: table)
