"""One question on a stage: the real engine on made-up tables, with a ledger that is thrown away.

A release goes all the way: it is charged, opened, noised and shaped. The release path of the stage keeps the exact
numbers that it opened, so that their noise can be drawn again and again by the code that drew it the first time: runs
are one more key of the table, and the groups of a table get noise of their own. What the engine computes once for all
runs depends on the chance by which rows of a person are left out; both sides of a pair get the same chance, and privacy
is promised for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from dither.audit.attack.outcomes import as_rows, fitted
from dither.audit.project.made_up_tables import Side
from dither.audit.project.mentioned_columns import Inquiry
from dither.audit.replay.calls import Difference
from dither.engine import Dataset, Plan, Query, Question, TableRelease
from dither.engine.group_sensitivity import Measured, Need
from dither.engine.groups import Groups
from dither.engine.most_common import Best, FoundValues
from dither.engine.noisy_groups import Drawing
from dither.events import Event
from dither.guarantees import PureDP
from dither.ledger import Entry, Ledger
from dither.ledger.budget import Budget, amounts
from dither.release import Batches, ReleasePath, Then
from dither.tables import ExactAggregate
from dither.tables.database_engines.duckdb import DuckDB
from dither.unit import TableUnit

__all__ = ["Stage", "staged"]

_RUN = "dither run"
_MOST_ROWS = 200_000
_SOME = 4
_ACCOUNT = "stage"

Exact = list[list[pa.RecordBatch]]


@dataclass(frozen=True)
class _Keeping(ReleasePath):
    """A release path that keeps what it opened. Behind it there is no data but what was made up here."""

    kept: Exact = field(default_factory=list)

    def release(
        self,
        event: Event,
        cost: Budget,
        question: str,
        exact: Sequence[ExactAggregate],
        draw: Callable[[Sequence[Batches]], pa.Table | Then],
        *,
        alike: Sequence[ExactAggregate] = (),
        key: str | None = None,
        digest: Callable[[pa.Table, Entry], str] | None = None,
    ) -> tuple[pa.Table, Entry]:
        def keeping(answers: Sequence[Batches]) -> pa.Table | Then:
            self.kept.extend(list(each) for each in answers)
            return draw([iter(each) for each in self.kept])

        return super().release(event, cost, question, exact, keeping, alike=alike, key=key, digest=digest)


@contextmanager
def staged(asked: Inquiry, unit: TableUnit, empty: pa.Table, folder: Path, *, written: bool) -> Iterator[Stage]:
    """The question in an empty folder, before tables with the columns of `empty`.

    Ranges that are found are taken as the bounds: what is drawn in one range is compared, at the full price. (That
    looks have the sensitivity that they say is for record and replay.)
    """
    file = folder / ("table.csv" if written else "table.parquet")
    _write(empty, file)
    ledger = Ledger(folder / "stage.ledger")
    try:
        with Dataset(file, unit=unit, budget=PureDP(1), ledger=ledger, identity=_ACCOUNT) as data:
            plan = asked.planned(data).in_bounds
            open_query = Query(data.origin, data._table)  # a query that can be copied with another release path
            question = replace(asked.of(open_query), aggregates=plan.aggregates)
            yield Stage(question, plan, asked.price, file, ledger)
    finally:
        ledger.close()


def _write(table: pa.Table, file: Path) -> None:
    if file.suffix == ".csv":
        pa.csv.write_csv(table, file)
    else:
        pa.parquet.write_table(table, file)


@dataclass
class Stage:
    """A question, its plan, and what was opened so far."""

    question: Question
    plan: Plan
    price: Mapping[str, Any]
    file: Path
    ledger: Ledger
    labels: list[str] = field(default_factory=list)
    """What each number of an answer is; known after the first run."""
    _kept: dict[Side, Exact] = field(default_factory=dict)
    _seen: Groups | None = None
    _releases: int = 0

    def release(self, side: Side) -> TableRelease:
        """One release of this table, from the file to the answer, under an account with just this much to spend."""
        account, query = f"release {self._releases + 1}", self.question.query
        self._releases += 1
        _write(side.table, self.file)
        engine = query.origin._source.engine
        assert isinstance(engine, DuckDB)  # a file's
        engine.take_files_as_they_are()
        self.ledger.open_account(account, self.plan.cost)
        release_path = _Keeping(self.ledger, account)
        self._kept[side], self._seen = release_path.kept, None
        behind = replace(self.question, query=replace(query, origin=replace(query.origin, release_path=release_path)))
        released = behind.release(**self.price)
        if self.ledger.account(account).spent != amounts(released.plan.cost):
            raise Difference("the ledger was not charged what the release says it costs.")
        return replace(released, entry=replace(released.entry, account=_ACCOUNT))  # whose name is the stage's own

    def is_open(self, side: Side) -> bool:
        """Whether a release of this table came as far as to its exact numbers."""
        return bool(self._kept.get(side))

    # ------------------------------------------------------------ many runs

    @property
    def groups(self) -> int:
        """How many an answer has; where they are found, how many there are to find."""
        public = self.question.query.public_keys
        return len(self._shown) if public is None else int(public.num_rows)

    def many(self, side: Side, runs: int) -> NDArray[np.float64]:
        """The noisy parts of so many independent releases, a row for each; what is not shown is NaN."""
        rows = 1 + sum(batch.num_rows for batches in self._kept[side] for batch in batches)
        size = max(1, _MOST_ROWS // max(rows, self.groups))
        found = [self._at_once(side, min(size, runs - done)) for done in range(0, max(runs, 1), size)]
        return np.concatenate(found)

    def _at_once(self, side: Side, runs: int) -> NDArray[np.float64]:
        """The runs as one more key, whose groups are noised each on its own."""
        query, keys = self.question.query, list(self.question.query.keys)
        public = query.public_keys
        if public is None and not keys:
            numbered: pa.Table | None = pa.table({_RUN: np.arange(runs)})
        else:
            numbered = None if public is None else _repeated(public, runs)
        exact = [[_repeated(batch, runs) for batch in batches] for batches in self._kept[side]]
        parts = Drawing(self.plan, [_RUN, *keys], numbered).draw([iter(batches) for batches in exact])
        return self._aligned(parts, runs)

    def _aligned(self, parts: pa.Table, runs: int) -> NDArray[np.float64]:
        """The same number of the same group always at the same place."""
        groups, keys = self._shown, list(self.question.query.keys)
        run = np.asarray(parts.column(_RUN))
        place = np.zeros(len(run), dtype=np.int64)
        for batch in parts.select(keys).combine_chunks().to_batches() if keys else ():
            place = groups.places(batch)
        columns = [
            _numbers(parts.column(self.plan.columns[key]), part.need) * _unit(part.need)
            for key, part in self.plan.parts.items()
        ]
        if not self.labels:
            self.labels += self._named([each.shape[1] for each in columns])
        here = place >= 0
        found = np.full((runs * len(groups), sum(each.shape[1] for each in columns)), np.nan)
        found[(run * len(groups) + place)[here]] = np.hstack(columns)[here]
        rows = found.reshape(runs, len(groups) * found.shape[1])
        if not self._finds_groups:
            return rows
        return np.hstack([np.bincount(run, minlength=runs)[:, None], rows])

    @property
    def _finds_groups(self) -> bool:
        return bool(self.question.query.keys) and self.question.query.public_keys is None

    @property
    def _shown(self) -> Groups:
        """The groups that the auditor sees: all in which any table of the stage has rows, and a few public ones more.

        In the other public groups the exact numbers are 0 on all tables.
        """
        if self._seen is None:
            self._seen = self._groups_with_rows()
            self.labels.clear()
        return self._seen

    def _groups_with_rows(self) -> Groups:
        query = self.question.query
        keys = list(query.keys)
        if not keys:
            return Groups(pa.table({}))
        batches = [batch.select(keys) for kept in self._kept.values() if kept for batch in kept[0]]
        if query.public_keys is None:
            together = pa.Table.from_batches(batches).group_by(keys).aggregate([])
            return Groups(together.sort_by([(key, "ascending") for key in keys]))
        public = Groups(query.public_keys)
        places = np.concatenate([np.arange(min(_SOME, len(public))), *map(public.places, batches)])
        return Groups(query.public_keys.take(pa.array(np.unique(places[places >= 0]))))

    def _named(self, widths: Sequence[int]) -> list[str]:
        groups = self._shown.keys.to_pylist() or [{}]
        return (["the number of groups"] if self._finds_groups else []) + [
            f"{self._called(part)}{f' [{at + 1}]' if width > 1 else ''}{f' of {_said(group)}' if group else ''}"
            for group in groups
            for part, width in zip(self.plan.parts, widths, strict=True)
            for at in range(width)
        ]

    def _called(self, part: str) -> str:
        """By the columns of the answer that are made of it."""
        need = self.plan.parts[part].need
        columns = "/".join(name for name, aggregate in self.plan.aggregates.items() if part in aggregate.needs) or part
        return f"{columns} ({need.word})" if isinstance(need, Measured) else columns


def _unit(need: Need) -> float:
    """What 1 stands for: sums are kept in steps of a lattice, which are powers of two."""
    return float(need.unit or 1) if isinstance(need, Measured) else 1.0


def _said(group: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in group.items())


def _repeated(rows: Any, runs: int) -> Any:
    """A table or a batch so many times, with the number of the run."""
    each = np.arange(rows.num_rows)
    many = rows.take(pa.array(np.tile(each, runs)))
    run = pa.array(np.repeat(np.arange(runs), len(each)))
    columns = {_RUN: run, **dict(zip(many.schema.names, many.columns, strict=True))}
    return type(rows).from_pydict(columns)


def _numbers(column: Any, need: Need) -> NDArray[np.float64]:
    """A row for each entry: its number, or the numbers of its list."""
    whole = column.combine_chunks()
    is_list = pa.types.is_fixed_size_list(whole.type)
    inner, width = (whole.flatten(), whole.type.list_size) if is_list else (whole, 1)
    if pa.types.is_integer(inner.type) or pa.types.is_floating(inner.type):
        found: NDArray[np.float64] = inner.to_numpy().astype(np.float64).reshape(len(whole), width)
        return found
    assert isinstance(need, Best | FoundValues)
    return fitted(as_rows(whole.to_pylist()), 1 + need.number)  # a list is preceded by its length
