"""Ask the same of two tables that differ by hostile people, and hold the answers against what was declared.

Both properties are of one case, (container, type, value, operator): the outcome is of the same class with and without
the row (answered in the same types and with the same warnings, or refused before any charge in the same words; never a
failure of the engine), and the exact numbers move by at most what the noise was made for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

import dither as dp
from dither.engine.group_sensitivity import Need
from dither.engine.left_out import CutNeed, cuts_of
from dither.engine.most_common import FoundValues, PeopleOfValues
from dither.engine.noisy_groups import questions as questions_of
from dither.engine.quantiles import Ranks
from dither.engine.question import Question
from dither.errors import EngineError, ParameterError
from dither.ledger import Ledger
from dither.unit import Neighbour
from tests.engine.exact import exact_batches, looks_of, needs_of, numbers_of
from tests.engine.sensitivity import check, check_rows
from tests.tables.hostile.containers import Container, Row, people
from tests.tables.hostile.operators import LEFT_OUT, OPERATORS, SHAPES
from tests.tables.hostile.values import Typed

__all__ = ["Case", "Finding", "Report", "Worlds", "warned"]

_ENOUGH = 3
"""How many findings of one question are looked for."""


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """What is added to which column where, and what is asked."""

    container: str
    type: str
    value: str
    operator: str

    def __str__(self) -> str:
        return " / ".join((self.container, self.type, self.value, self.operator))


@dataclass(frozen=True, slots=True)
class Finding:
    """A case in which a property does not hold."""

    case: Case
    what: str

    def __str__(self) -> str:
        return f"{self.case}: {self.what}"


@dataclass
class Report:
    """What was asked and what was found."""

    answered: int = 0
    refused: int = 0
    barred: int = 0
    """Values with which the container is refused when it is opened, as is declared of it."""
    findings: list[Finding] = field(default_factory=list)
    operators: set[tuple[str, str]] = field(default_factory=set)
    """The pairs of type and operator that were answered."""

    def __iadd__(self, other: Report) -> Report:
        self.answered += other.answered
        self.refused += other.refused
        self.barred += other.barred
        self.findings += other.findings
        self.operators |= other.operators
        return self

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings[:40]))


@dataclass
class Worlds:
    """A container with a pair of tables that hold all `types`, opened once."""

    container: Container
    types: Sequence[Typed]
    book: Ledger
    one_row: bool = False
    """Whether each row is protected by itself, so that the hostile person has one."""
    worlds: Sequence[int] | None = None
    """Those of some hostile values alone; all of them unless given."""

    @property
    def unit(self) -> Any:
        return dp.Rows() if self.one_row else dp.Person("who", max_groups=2, max_rows_per_group=2)

    @cached_property
    def _worlds(self) -> Sequence[int]:
        return range(max(len(typed.hostile) for typed in self.types)) if self.worlds is None else self.worlds

    @cached_property
    def before(self) -> dp.Dataset:
        """Without hostile people."""
        return self._dataset(self.rows(hostile=False))

    @cached_property
    def after(self) -> dp.Dataset:
        """With them."""
        return self._dataset(self.rows(hostile=True))

    def rows(self, *, hostile: bool) -> list[Row]:
        """The rows of one of both tables."""
        return people(self._worlds, hostile=hostile, one_row=self.one_row)

    def _dataset(self, rows: Sequence[Row]) -> dp.Dataset:
        budget = dp.ApproxDP(10**6, "1e-3")
        return dp.Dataset(**self.container.source(self.types, rows), unit=self.unit, budget=budget, ledger=self.book)

    def close(self) -> None:
        """Close both datasets."""
        for name in ("before", "after"):
            if name in vars(self):
                vars(self)[name].close()

    def alone(self, typed: Typed, world: int) -> Worlds:
        """One value of one type by itself."""
        return replace(self, types=[typed], worlds=[world])

    def ask(self, typed: Typed, operators: Iterable[str]) -> Report:
        """Ask operators of one type; those of one shape together."""
        report, shapes = Report(), dict[str, list[str]]()
        for name in operators:
            shapes.setdefault(OPERATORS[name].shape, []).append(name)
        for shape, names in shapes.items():
            if shape.startswith("per person") and self.one_row:
                continue  # there are no persons
            report += self._ask(typed, shape, names)
        return report

    def accepted(self, typed: Typed) -> set[str]:
        """The operators that are not refused when a question is built."""
        column, queries = f"c{list(self.types).index(typed)}", dict[str, Any]()
        for name, shape in SHAPES.items():
            queries[name] = _built(lambda shape=shape: shape.prepare(self.before, column, self._worlds))
        return {
            name
            for name, operator in OPERATORS.items()
            if not isinstance(_question(queries[operator.shape], name, column), str)
        }

    def _ask(self, typed: Typed, shape: str, names: list[str]) -> Report:
        column = f"c{list(self.types).index(typed)}"
        first, second = (
            _built(lambda data=data: SHAPES[shape].prepare(data, column, self._worlds)) for data in self._pair
        )
        report, asked = Report(), []
        for name in names:
            refused = _question(first, name, column)
            if not isinstance(refused, str):
                asked.append(name)
            elif refused == (again := _question(second, name, column)):
                report.refused += len(self._named(typed))
            elif isinstance(again, str):
                report.findings += self._everywhere(typed, name, f"is refused in other words with the rows: {again}")
            else:
                report.findings += self._everywhere(typed, name, "is refused without the rows only")
        if asked and isinstance(second, str):
            report.findings += self._everywhere(typed, asked[0], f"is refused with the rows only: {second}")
        elif asked:
            questions = _built(lambda: [query.agg(**_aggregates(asked, column)) for query in (first, second)])
            if isinstance(questions, str):
                report.findings += self._everywhere(typed, asked[0], f"is refused with the rows only: {questions}")
            else:
                report += self._compare(typed, shape, asked, questions)
        return report

    @property
    def _pair(self) -> tuple[dp.Dataset, dp.Dataset]:
        return self.before, self.after

    def _named(self, typed: Typed) -> dict[int, str]:
        """The name of the hostile value of this type in each world that has one."""
        return {world: name for world, name in enumerate(typed.hostile) if world in self._worlds}

    def _case(self, typed: Typed, value: str, operator: str) -> Case:
        return Case(self.container.name, typed.name, value, operator)

    def _everywhere(self, typed: Typed, operator: str, what: str) -> list[Finding]:
        return [Finding(self._case(typed, "any value", operator), what)]

    def _compare(self, typed: Typed, shape: str, names: list[str], questions: list[Question]) -> Report:
        """The exact numbers of two questions, one of which is asked of the table with hostile rows."""
        needs = needs_of(questions[0].aggregates)
        together = _pooled(questions[0], shape)
        batches, said, pooled = [], [], []
        for question in questions:
            try:
                with warned() as heard:
                    batches.append(exact_batches(question._bounded, needs))
                    pooled.append(numbers_of(exact_batches(question._bounded, together), together, pa.table({})))
            except EngineError:
                return self._isolated(typed, shape, names, questions)
            said.append((_types(batches[-1]), heard))
        groups = _groups(questions[0], batches)
        numbers = []
        for each, (_, heard) in zip(batches, said, strict=True):
            try:
                with warned(heard):
                    numbers.append(numbers_of(each, needs, groups))
            except (pa.ArrowException, OverflowError, ValueError):
                return self._isolated(typed, shape, names, questions)
        report = Report()
        if said[0] != said[1]:
            report.findings += self._everywhere(typed, names[0], "is answered in other types or with other warnings")
        for key, need in together.items():
            before, after = (_wholes(each[key]) for each in pooled)
            if not _moved_together(need, before, after, len(self._worlds)):
                report.findings += self._everywhere(typed, names[0], f"moves {key} by more than was declared")
        for name in names:
            own = OPERATORS[name].aggregate(f"c{list(self.types).index(typed)}").needs
            report += self._moved(typed, name, questions[0], {key: needs[key] for key in own}, groups, numbers)
        return report

    def _isolated(self, typed: Typed, shape: str, names: list[str], asked: list[Question]) -> Report:
        """Which of the operators fails, and on which value."""
        report = Report()
        if len(names) > 1:
            for name in names:
                report += self._ask(typed, shape, [name])
                if len(report.findings) >= _ENOUGH:
                    break
            return report
        (name,) = names
        rehearsed = [_built(lambda each=each: _rehearsed(each, shape)) for each in asked]
        if all(isinstance(each, str) for each in rehearsed):
            return Report(refused=len(self._named(typed)))
        if len(self._worlds) > 1:
            for world in self._named(typed):
                alone = self.alone(typed, world)
                report += alone.ask(typed, [name])
                alone.close()
                if len(report.findings) >= _ENOUGH:
                    return report
            return report if report.findings else Report(findings=self._everywhere(typed, name, "fails after a charge"))
        (value,) = self._named(typed).values() or ("any value",)
        return Report(findings=[Finding(self._case(typed, value, name), "fails after a charge")])

    def _moved(
        self,
        typed: Typed,
        name: str,
        question: Question,
        needs: Mapping[str, Any],
        groups: pa.Table,
        numbers: list[Any],
    ) -> Report:
        """Whether each need of an operator moves by what it may, in each world."""
        report = Report(operators={(typed.name, name)})
        places = _worlds_of(groups)
        for world, value in self._named(typed).items():
            here = places.get(world, [])
            report.answered += 1
            for key, need in needs.items():
                before, after = ([_entries(each[key])[at] for at in here] for each in numbers)
                try:
                    _check(need, question.neighbour, before, after)
                except (AssertionError, OverflowError):  # or an answer that Python cannot hold
                    what = f"moves {key} by more than was declared"
                    report.findings.append(Finding(self._case(typed, value, name), what))
        return report


@contextmanager
def warned(heard: set[str] | None = None) -> Iterator[set[str]]:
    """The warnings that are given meanwhile: somebody who sees one learns of it. Those of a library about itself (an
    old name of a function) are not counted, as they are given once."""
    found = set() if heard is None else heard
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            yield found
        finally:
            found |= {
                f"{each.category.__name__}: {each.message}"
                for each in given
                if not issubclass(each.category, DeprecationWarning | FutureWarning | ResourceWarning)
            }


def _types(batches: Mapping[str, list[pa.RecordBatch]]) -> dict[str, set[str]]:
    """The columns of each answer and their types."""
    return {key: {str(batch.schema) for batch in found} for key, found in batches.items()}


def _check(need: Any, neighbour: Neighbour, before: list[Any], after: list[Any]) -> None:
    """Somebody was added: seen from there, somebody is taken away."""
    if isinstance(need, Ranks):
        check_rows(neighbour, before, after)
    elif isinstance(need, FoundValues):
        check(need, neighbour, after, before)
    else:
        check(need, neighbour, np.array(after, dtype=np.int64), np.array(before, dtype=np.int64))


def _entries(numbers: Any) -> Any:
    """One entry for each group."""
    return numbers.groups if isinstance(numbers, PeopleOfValues) else numbers


def _aggregates(names: Sequence[str], column: str) -> dict[str, Any]:
    return {f"v{at}": OPERATORS[name].aggregate(column) for at, name in enumerate(names)}


def _pooled(question: Question, shape: str) -> dict[str, Need]:
    """What is asked about all groups together: where values lie, and what is left out."""
    found = looks_of(question.aggregates)
    if shape == LEFT_OUT and (cuts := cuts_of(question.aggregates, question.neighbour, list(question.query.keys))):
        found[LEFT_OUT] = CutNeed(cuts, question.neighbour.adjacency.protects == "person")
    return found


def _wholes(pooled: Any) -> list[int]:
    """Counts of cells, or sums."""
    return list(pooled.ravel() if isinstance(pooled, np.ndarray) else pooled.binned.counts)


def _moved_together(need: Need, before: Sequence[int], after: Sequence[int], people: int) -> bool:
    """Whether so many people who came made nothing smaller, and all of it larger by no more than they may."""
    moved = [int(new) - int(old) for old, new in zip(before, after, strict=True)]
    each = need.step if isinstance(need, CutNeed) else 1
    return min(moved) >= 0 and sum(moved) <= people * each


def _rehearsed(question: Question, shape: str) -> None:
    """Refuse what a release would refuse before its charge."""
    needs = needs_of(question.aggregates) | _pooled(question, shape)
    for exact in questions_of(needs, question._bounded, lambda: 0):
        exact._rehearse()


def _built(build: Any) -> Any:
    """A query, or why it is refused."""
    try:
        return build()
    except ParameterError as error:
        return f"{type(error).__name__}: {error}"


def _question(query: Any, name: str, column: str) -> Any:
    """The question of one operator, or why it is refused."""
    return query if isinstance(query, str) else _built(lambda: query.agg(**_aggregates([name], column)))


def _groups(question: Question, batches: Sequence[Mapping[str, list[pa.RecordBatch]]]) -> pa.Table:
    """The public groups, or all that were found in either table."""
    if question.query.public_keys is not None:
        return question.query.public_keys
    names = list(question.query.keys)
    found = [pa.table(batch).select(names) for each in batches for part in each.values() for batch in part]
    return pa.concat_tables(found).group_by(names).aggregate([])


def _worlds_of(groups: pa.Table) -> dict[int, list[int]]:
    """The places of the groups of each world."""
    places: dict[int, list[int]] = {}
    by_name = "world" in groups.column_names
    for at, key in enumerate(groups.column("world" if by_name else "w").to_pylist()):
        world = int(key[1:]) if by_name else int(key[1:].partition(",")[0])
        places.setdefault(world, []).append(at)
    return places
