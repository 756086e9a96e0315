"""Exact groups in, noisy groups out.

The result has the keys and one column for each part (`Plan.columns`): everything else is made of that. Where groups
are public, all of them are there. Where they are found (partition selection), batches of the main question are noised
as they come and only groups whose noisy number of people reaches the threshold of `mechanisms/discovery_threshold.py`
are kept; what else is asked is asked of these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dither.engine.aggregate import PEOPLE
from dither.engine.found_ranges import Ranged, RangeNoise, written_ranges
from dither.engine.group_sensitivity import Measured, Need
from dither.engine.groups import Groups, Wholes, counted, with_plain_texts
from dither.engine.left_out import LEFT_OUT
from dither.engine.plan import Plan, noisy_columns
from dither.errors import ParameterError
from dither.exact import once
from dither.noise.tape import answered, at_once
from dither.release import Then
from dither.tables import BoundedTable, ExactAggregate, Measure
from dither.tables.plain_columns import column_of_numbers, in_order, numbers_of

__all__ = ["Drawing", "Looking", "exact_numbers", "questions", "sums_left_out"]


_ABOUT = "dither left out"


def sums_left_out(parts: pa.Table) -> list[int]:
    """The noisy sums of what is left out, as `draw` wrote them beside the columns."""
    found: list[int] = json.loads((parts.schema.metadata or {})[_ABOUT.encode()])
    return found


def questions(needs: Mapping[str, Need], table: BoundedTable, fresh_salt: Callable[[], int]) -> list[ExactAggregate]:
    """One for all measures, if there are any, and one for each other need; each has a salt of its own.

    Where a range is to be found, that is the other need, and the measures are those of the bounds.
    """
    measures: dict[str, Measure] = {}
    for key, column in noisy_columns(needs).items():
        need = needs[key]
        sums = need.in_bounds if isinstance(need, Ranged) else need
        measures |= sums.measures(column) if isinstance(sums, Measured) else {}
    pooled = [table.totals(measures, fresh_salt())] if measures else []
    return pooled + [need.ask(table, fresh_salt()) for need in needs.values() if not isinstance(need, Measured)]


def exact_measures(
    needs: Mapping[str, Measured], columns: Mapping[str, str], groups: Groups, batches: Iterable[pa.RecordBatch]
) -> dict[str, Wholes]:
    """The exact numbers of needs that one question answers together, by their keys; 0 for groups without rows."""
    names = [name for key, need in needs.items() for name in need.measures(columns[key])]
    answers = {name: np.zeros(len(groups), dtype=np.int64) for name in names}
    for places, batch in groups.found(batches):
        for name, values in answers.items():
            values[places] = counted(batch.column(name))
    return {key: need.exact(answers, columns[key]) for key, need in needs.items()}


def exact_numbers(
    needs: Mapping[str, Need], groups: Groups, answers: Sequence[Iterator[pa.RecordBatch]]
) -> dict[str, Wholes]:
    """The exact numbers of all needs of public groups, from the answers to `questions`."""
    rest, columns = list(answers), noisy_columns(needs)
    measured = {key: need for key, need in needs.items() if isinstance(need, Measured)}
    found = exact_measures(measured, columns, groups, rest.pop(0)) if measured else {}
    others = [key for key in needs if key not in measured]
    return found | {key: needs[key].collect(each, groups) for key, each in zip(others, rest, strict=True)}


@dataclass(frozen=True)
class Drawing:
    """What is asked of the engine for a plan, and how the answers get their noise."""

    plan: Plan
    keys: Sequence[str]
    public: pa.Table | None
    """The groups, where they are public."""

    @once
    def _measured(self) -> dict[str, Measured]:
        """The parts that one question answers together."""
        parts = self.plan.parts.items()
        return {key: part.need for key, part in parts if isinstance(part.need, Measured)}

    @once
    def _others(self) -> list[str]:
        return [key for key in self.plan.parts if key not in self._measured]

    def rehearse(self, exact: Sequence[ExactAggregate]) -> None:
        """Read answers without rows as those of the engine will be read; refused, free of charge, if that fails."""
        answers = [each._without_rows() for each in exact]
        failed = ""
        try:
            known = (
                self.public if self.public is not None else pa.Table.from_batches(answers[:1]).select(list(self.keys))
            )
            groups = Groups(known.slice(0, 0))  # types alone decide
            for batch in answers[: len(answers) - (LEFT_OUT in self.plan.parts)]:
                groups.places(batch)
            for key, batch in zip(self._others, answers[len(answers) - len(self._others) :], strict=True):
                self.plan.parts[key].need.collect(iter([batch]), groups)
        except Exception as error:
            failed = type(error).__name__
        if failed:
            raise ParameterError(
                f"the answer to this question could not be read, not even if there were no rows ({failed}), so nothing "
                "was charged. Give keys of the types that the columns have."
            )

    def draw(self, answers: Sequence[Iterator[pa.RecordBatch]]) -> pa.Table:
        """The noisy parts of each group."""
        rest, about = list(answers), None
        if self.public is None and self.keys:
            table = self._found(rest.pop(0))
            groups = Groups(table.select(list(self.keys)))
        else:
            groups = Groups(self.public if self.public is not None else pa.table({}))
            columns, table = self.plan.columns, groups.keys
            exact = exact_measures(self._measured, columns, groups, rest.pop(0)) if self._measured else {}
            for key, numbers in exact.items():
                table = _table(table, {columns[key]: self.plan.parts[key].noise.draw(numbers)})
        for key, batches in zip(self._others, rest, strict=True):
            part = self.plan.parts[key]
            if key == LEFT_OUT:  # of all groups together, so that it is no column
                sums = part.noise.draw(part.need.collect(batches, groups)).flatten()
                about = {_ABOUT: json.dumps(sums.to_pylist())}
                continue
            table = _table(table, {self.plan.columns[key]: part.noise.draw(part.need.collect(batches, groups))})
        return table.select([*self.keys, *self.plan.columns.values()]).replace_schema_metadata(about)

    def _found(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Groups with enough people. Every group of a batch gets noise before any is left out."""
        found = [self._exact_batch(batch) for batch in at_once(batches)]
        shown = answered(
            lambda: [self._shown(batch) for batch in found],
            "groups",
            found,
            keys=tuple(self.keys),
            people=self.plan.columns[PEOPLE],
            noises={self.plan.columns[key]: self.plan.parts[key].noise for key in self._measured},
            histogram=self.plan.discovery,
        )
        # In the order of the keys: that of the engine may depend on groups that are not shown.
        return with_plain_texts(in_order(pa.concat_tables(shown), list(self.keys)))

    def _shown(self, batch: pa.RecordBatch) -> pa.Table:
        assert self.plan.discovery is not None
        noisy = {self.plan.columns[key]: self._noised(key, batch) for key in self._measured}
        table = _table(pa.Table.from_batches([batch]).select(list(self.keys)), noisy)
        enough = numbers_of(noisy[self.plan.columns[PEOPLE]]) >= self.plan.discovery.threshold
        return table.take(column_of_numbers(np.flatnonzero(enough)))

    def _exact_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The keys, and for each part the numbers that get noise."""
        columns = {name: batch.column(name) for name in self.keys}
        for key, need in self._measured.items():
            column = self.plan.columns[key]
            exact = need.exact({name: counted(batch.column(name)) for name in need.measures(column)}, column)
            columns[column] = column_of_numbers(exact) if exact.ndim == 1 else _listed(exact)
        return pa.RecordBatch.from_pydict(columns)

    def _noised(self, key: str, batch: pa.RecordBatch) -> pa.Array:
        column = batch.column(self.plan.columns[key])
        is_listed = pa.types.is_fixed_size_list(column.type)
        if is_listed:  # (−1 for the size would fail where there are no rows, which must not show)
            exact = numbers_of(column.flatten()).reshape(len(column), column.type.list_size)
        else:
            exact = counted(column)
        return self.plan.parts[key].noise.draw(exact)


@dataclass(frozen=True)
class Looking:
    """What is asked first where ranges are to be found, and what is asked then."""

    whole: Drawing
    table: BoundedTable
    fresh_salt: Callable[[], int]

    @property
    def _looks(self) -> dict[str, RangeNoise]:
        return self.whole.plan.looks

    @once
    def in_bounds(self) -> list[ExactAggregate]:
        """What would be asked then if bounds were kept: other ranges change numbers in it, and nothing else."""
        drawing = replace(self.whole, plan=self.whole.plan.in_bounds)
        exact = self._asked_by(drawing)
        drawing.rehearse(exact)
        return exact

    def _asked_by(self, drawing: Drawing) -> list[ExactAggregate]:
        return questions({key: part.need for key, part in drawing.plan.parts.items()}, self.table, self.fresh_salt)

    @once
    def _different(self) -> dict[tuple[Any, ...], Ranged]:
        """Looks at the same cells of the same column are at the same counts, each with noise of its own."""
        return {noise.need.look: noise.need for noise in self._looks.values()}

    def questions(self) -> list[ExactAggregate]:
        """What is asked of the engine first."""
        return [need.ask(self.table, self.fresh_salt()) for need in self._different.values()]

    def draw(self, answers: Sequence[Iterator[pa.RecordBatch]]) -> Then:
        """Look, choose, and ask for the sums."""
        everyone = Groups(pa.table({}))
        known = zip(self._different.items(), answers, strict=True)
        counts = {look: need.collect(batches, everyone) for (look, need), batches in known}
        found = {key: noise.found(counts[noise.need.look]) for key, noise in self._looks.items()}
        drawing = replace(self.whole, plan=self.whole.plan.narrowed(found))
        return Then(self._asked_by(drawing), lambda batches: written_ranges(drawing.draw(batches), found))


def _listed(rows: Wholes) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(column_of_numbers(rows.ravel()), rows.shape[1])


def _table(keys: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        keys = keys.append_column(name, column) if keys.num_columns else pa.table({name: column})
    return keys
