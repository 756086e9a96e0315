"""Exact groups in, noisy groups out.

The result has the keys and one column for each part (`Plan.columns`): everything else is made of that. Where groups
are public, all of them are there. Where they are found, batches of the main question are noised as they come and only
groups with enough people are kept; what else is asked is asked of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from dither.engine.aggregate import PEOPLE
from dither.engine.group_sensitivity import Measured, Need
from dither.engine.groups import Groups, Wholes, counted, with_plain_texts
from dither.engine.plan import Plan, noisy_columns
from dither.errors import ParameterError
from dither.exact import once
from dither.noise.tape import answered, at_once
from dither.tables import BoundedTable, ExactAggregate, Measure
from dither.tables.plain_columns import column_of_numbers, numbers_of

__all__ = ["Drawing", "questions"]


def questions(needs: Mapping[str, Need], table: BoundedTable, fresh_salt: Callable[[], int]) -> list[ExactAggregate]:
    """One for all measures, if there are any, and one for each other need; each has a salt of its own."""
    measures: dict[str, Measure] = {}
    for key, column in noisy_columns(needs).items():
        need = needs[key]
        measures |= need.measures(column) if isinstance(need, Measured) else {}
    pooled = [table.totals(measures, fresh_salt())] if measures else []
    return pooled + [need.ask(table, fresh_salt()) for need in needs.values() if not isinstance(need, Measured)]


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
            for batch in answers:
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
        rest = list(answers)
        if self.public is None and self.keys:
            table = self._found(rest.pop(0))
            groups = Groups(table.select(list(self.keys)))
        else:
            groups = Groups(self.public if self.public is not None else pa.table({}))
            columns = self._known(groups, rest.pop(0)) if self._measured else {}
            table = _table(groups.keys, columns)
        for key, batches in zip(self._others, rest, strict=True):
            part = self.plan.parts[key]
            table = _table(table, {self.plan.columns[key]: part.noise.draw(part.need.collect(batches, groups))})
        return table.select([*self.keys, *self.plan.columns.values()])

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
        return with_plain_texts(pa.concat_tables(shown).sort_by([(key, "ascending") for key in self.keys]))

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

    def _known(self, groups: Groups, batches: Iterable[pa.RecordBatch]) -> dict[str, pa.Array]:
        """Public groups: those that the engine does not know are 0."""
        columns, found = self.plan.columns, {}
        names = [name for key, need in self._measured.items() for name in need.measures(columns[key])]
        answers = {name: np.zeros(len(groups), dtype=np.int64) for name in names}
        for places, batch in groups.found(batches):
            for name, values in answers.items():
                values[places] = counted(batch.column(name))
        for key, need in self._measured.items():
            found[columns[key]] = self.plan.parts[key].noise.draw(need.exact(answers, columns[key]))
        return found


def _listed(rows: Wholes) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(column_of_numbers(rows.ravel()), rows.shape[1])


def _table(keys: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        keys = keys.append_column(name, column) if keys.num_columns else pa.table({name: column})
    return keys
