"""A dataset and its questions, as typed objects: what the flags of a command or a file `dither.toml` say."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dither.cli.draft import written_column
from dither.cli.kinds import check_kinds, columns_of_numbers
from dither.cli.ledger_location import is_there
from dither.cli.public_file import PublicFile
from dither.engine import Bins, Dataset, Plan, Query, Question
from dither.engine.aggregate import Aggregate
from dither.engine.dataset import for_plans
from dither.errors import LedgerError, ParameterError
from dither.ledger import IN_MEMORY, Account, Ledger, PerPeriod
from dither.ledger.budget import Budget
from dither.tables import Expression, open_source
from dither.tables.column_kinds import text_kinds
from dither.tables.database_engines.duckdb import SEPARATED
from dither.unit import TableUnit

if TYPE_CHECKING:
    from dither.engine.stream import StreamQuestion  # a plan of a release does not load streams

__all__ = ["Asked", "AskedStream", "Description", "column_names", "is_there"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: which rows, which groups, what of them, and the price."""

    aggregates: Mapping[str, Aggregate]
    joins: Mapping[str, PublicFile] = field(default_factory=dict)
    """Public tables, by the column that they have in common with the rows."""
    columns: Mapping[str, Expression] = field(default_factory=dict)
    """New columns, made when the tables are joined, and before rows are chosen."""
    where: tuple[Expression, ...] = ()
    per_person: Mapping[str, Aggregate] = field(default_factory=dict)
    """What the chosen rows of each person give: then a person is one row with these columns."""
    group_by: tuple[str | Bins, ...] = ()
    keys: Any = None
    price: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of `Question.plan`: epsilon, delta, rho, noise, weights, level, population."""
    key: str | None = None
    """The idempotency key."""
    sql: str | None = None
    """The question in SQL, which then says all but the joins and the price."""

    @property
    def public(self) -> Mapping[str, pa.Table]:
        """The public tables that are joined, by the column that they have in common with the rows."""
        return {on: file.table for on, file in self.joins.items()}

    def numbers(self, question: Question) -> Mapping[str, str]:
        """The columns of the source that are read as numbers, and what does so. In SQL, `question` alone says it."""
        asked = self.aggregates if self.sql is None else question.aggregates
        read, groups = (self.per_person, ()) if self.per_person else (asked, self.group_by)
        found = columns_of_numbers(read, groups, self.columns)
        return {
            name: why
            for name, why in found.items()
            if not any(name in each.schema.names for each in self.public.values())
        }

    @property
    def own_keys(self) -> Iterator[tuple[str, Any]]:
        """Each public key of a group, with its column, where that column is one of the source."""
        made = {
            *self.columns,
            *self.per_person,
            *(name for table in self.public.values() for name in table.schema.names),
        }
        plain = [each for each in self.group_by if isinstance(each, str)]
        listed = self.keys or ()
        if isinstance(listed, Mapping):
            pairs = [(name, key) for name, keys in listed.items() for key in keys]
        elif len(plain) == 1:
            pairs = [(plain[0], key) for key in listed]
        else:
            pairs = [pair for row in listed if isinstance(row, list) for pair in zip(plain, row, strict=False)]
        return ((name, key) for name, key in pairs if name not in made)

    def of(self, data: Query) -> Question:
        """The question to a dataset; what cannot be asked is refused here, before anything is spent."""
        if self.sql is not None:
            return self._joined(data).sql(self.sql)
        query = self.rows_of(data)
        query = query.per_person(**self.per_person) if self.per_person else query
        query = query.group_by(*self.group_by, keys=self.keys) if self.group_by else query
        try:
            return query.agg(**self.aggregates)
        except ParameterError:
            for name, aggregate in self.aggregates.items():  # which of them is it?
                with _naming(f"{name} = {aggregate}"):
                    query.agg(**{name: aggregate})
            raise

    def rows_of(self, data: Query) -> Query:
        """The rows that it is about, with the new columns."""
        query = self._joined(data)
        query = query.with_columns(**self.columns) if self.columns else query
        return query.where(*self.where) if self.where else query

    def _joined(self, data: Query) -> Query:
        query = data
        for on, table in self.public.items():
            with _naming(f"join on {on}"):
                query = query.join(table, on=on)
        return query

    def planned(self, data: Query) -> Plan:
        """The plan of this question."""
        return self.plan(self.of(data))

    def plan(self, question: Question) -> Plan:
        """The plan at this price. Without one it is refused in the words of the command line."""
        if not self.price.keys() & {"epsilon", "rho"} and not getattr(question, "stated_price", None):
            raise ParameterError(
                "the question has no price. Say what it may cost: --epsilon 0.5, or epsilon = 0.5 in the description."
            )
        return question.plan(**self.price)


@dataclass(frozen=True, slots=True)
class AskedStream:
    """A question that is asked period by period, and where what must be kept of it lies."""

    asked: Asked
    over: Mapping[str, Any]
    """The arguments of `Query.over`: column, start, periods, every, max_periods, min_separation."""
    show: tuple[str | int, ...]
    state: Path
    key_file: Path

    def of(self, data: Query) -> StreamQuestion:
        """The question to a dataset; what cannot be asked is refused here, before anything is spent."""
        stream, asked = self.asked.rows_of(data).over(**self.over), self.asked
        stream = stream.group_by(*asked.group_by, keys=asked.keys) if asked.group_by else stream
        return stream.agg(**asked.aggregates)

    @property
    def terms(self) -> dict[str, Any]:
        """The arguments of `StreamQuestion.plan`."""
        return {**self.asked.price, "show": self.show}


@dataclass(frozen=True, slots=True)
class Description:
    """A source, whom it protects, what may be spent, and what is asked."""

    source: str
    unit: TableUnit
    questions: Mapping[str, Asked]
    budget: Budget | PerPeriod | None = None
    """None where the ledger knows it already."""
    failures_allowed: int | None = None
    ledger: str | None = None
    table: str | None = None
    identity: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What columns were stated to hold: number, date, truth or text."""
    looks_for_kinds: bool = False
    """Whether the first lines of a CSV file tell the kinds that were not said."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The privacy domains: a pair is a range, a list is a set of keys."""
    streams: Mapping[str, AskedStream] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ledger is not None and Path(self.ledger).name == IN_MEMORY:
            raise ParameterError(
                "a ledger in memory is forgotten when the command ends, and the budget with it. "
                "Name a file, such as --ledger visits.ledger."
            )

    def question(self, name: str | None) -> tuple[str, Asked]:
        """The question of that name, or the only one."""
        if name is None and len(self.questions) == 1:
            return next(iter(self.questions.items()))
        if name is None:
            raise ParameterError(f"there are several questions. Name one of them: {', '.join(self.questions)}.")
        if name not in self.questions:
            raise ParameterError(f"there is no question {name!r}. Existing questions: {', '.join(self.questions)}.")
        return name, self.questions[name]

    def stream(self, name: str | None) -> tuple[str, AskedStream]:
        """The stream of that name, or the only one."""
        if name is None and len(self.streams) == 1:
            return next(iter(self.streams.items()))
        listed = ", ".join(self.streams) or "none; add one: [streams.visits] with over, start, periods, agg and epsilon"
        if name is None:
            raise ParameterError(f"name a stream of the description. There are: {listed}.")
        if name not in self.streams:
            raise ParameterError(f"there is no stream {name!r}. There are: {listed}.")
        return name, self.streams[name]

    def plans(self, questions: Iterable[Asked]) -> tuple[list[Plan], Account | None]:
        """The plan of each question, and what the ledger says of this dataset; what cannot be asked is refused here."""
        made, account = self.planned(questions)
        return [plan for _, plan in made], account

    def planned(self, questions: Iterable[Asked]) -> tuple[list[tuple[Question, Plan]], Account | None]:
        """Each question with its plan, and what the ledger says of this dataset.

        The dataset is opened without a ledger: no budget is opened, and nothing can be released from what the owner
        gave. The account is None if there is no ledger yet, or the dataset is not in it.
        """
        asked = list(questions)
        with self.for_planning() as data:
            made = [each.of(data) for each in asked]
            found = [(question, each.plan(question)) for each, question in zip(asked, made, strict=True)]
            identity = data.origin.release_path.account
        for each, question in zip(asked, made, strict=True):
            self.check(each, question, data.columns)
        return found, self.account_of(identity)

    def check(self, asked: Asked, question: Question, columns: Iterable[str]) -> None:
        """Refuse what would be about noise alone, by what the description says of columns."""
        existing = set(columns)
        self._check_keys(asked)
        self._check_kinds({name: why for name, why in asked.numbers(question).items() if name in existing})

    @contextmanager
    def for_planning(self) -> Iterator[Query]:
        """The dataset without a ledger."""
        with for_plans(self.source, unit=self.unit, **self._named) as data:
            yield data

    def account_for(self, asked: Asked) -> Account | None:
        """What the ledger says of this dataset; a question that cannot be asked is refused, limits may be missing."""
        with for_plans(self.source, unit=self.unit, **self._named) as data:
            asked.of(data)
            identity = data.origin.release_path.account
        return self.account_of(identity)

    def _check_kinds(self, read_as_numbers: Mapping[str, str]) -> None:
        kinds = dict(self.kinds)
        unknown = [column for column in read_as_numbers if column not in kinds]
        if unknown and self.looks_for_kinds:
            opened = open_source(self.source, self.table, self.identity)
            try:
                kinds |= text_kinds(opened, unknown)
            finally:
                opened.engine.close()
        check_kinds(read_as_numbers, kinds)

    def _check_keys(self, asked: Asked) -> None:
        """Refuse a key that no row can have: its group would be about noise alone, without a word."""
        if Path(self.source).suffix.lower() not in SEPARATED or "://" in self.source:
            return
        for name, key in asked.own_keys:
            if key == "":
                column = written_column(name)
                texts = shlex.quote(f"{column}=coalesce({column}, '')")
                raise ParameterError(
                    f"no row has the key '' of {name!r}: in a CSV file an empty field is a missing value. Leave that "
                    f"key out, or make texts of missing values first: --column {texts}."
                )

    @contextmanager
    def for_releasing(self, known: Account | None) -> Iterator[Dataset]:
        """The dataset with its ledger, and the budget that was stated or that the account in it has."""
        place = self._place
        if known is None:
            self._check_new()
        budget = self.budget or (None if known is None else known.stated)
        if budget is None:
            raise ParameterError(
                "this dataset has no budget yet. Say once what may be spent in all, such as --budget-epsilon 2."
                f"{self._perhaps_moved}"
            )
        with self._opened(budget, place) as data:
            yield data

    @property
    def _perhaps_moved(self) -> str:
        """The same people under two names would be paid for from two budgets."""
        if self.ledger is None or not is_there(self.ledger):
            return ""
        return (
            " If it had one at another place, that goes on: dither ledger move "
            f"{shlex.quote(str(self.ledger))} OLD_PLACE {shlex.quote(str(self.source))}"
        )

    def account_of(self, identity: str) -> Account | None:
        if self.ledger is None or not is_there(self.ledger):
            return None
        ledger = Ledger(self.ledger)
        try:
            return ledger.account(ledger.named(identity))
        except LedgerError:
            return None
        finally:
            ledger.close()

    def _check_new(self) -> None:
        """Refuse files or tables that have a budget already, as part of another dataset: they can only share it."""
        if not is_there(self._place):
            return
        opened = open_source(self.source, self.table, self.identity)
        opened.engine.close()
        ledger = Ledger(self._place)
        try:
            owner = ledger.owner(opened.parts)
        finally:
            ledger.close()
        if owner is not None:
            raise ParameterError(
                f"files or tables of this source have a budget in this ledger already, as {owner!r}. Name the source "
                f"as it was then, or go on with --identity {shlex.quote(owner)} (in a description: identity in "
                "[dataset]), so that they share that budget."
            )

    @property
    def _place(self) -> str:
        if self.ledger is None:
            raise ParameterError(
                "a release is written down in a ledger. Say where, such as --ledger visits.ledger; always the same one."
            )
        return self.ledger

    def _opened(self, budget: Budget | PerPeriod, ledger: str | os.PathLike[str]) -> Dataset:
        return Dataset(self.source, unit=self.unit, budget=budget, ledger=ledger, **self._named)

    @property
    def _named(self) -> dict[str, Any]:
        return {
            "failures_allowed": self.failures_allowed,
            "table": self.table,
            "identity": self.identity,
            "columns": self.columns,
        }


def column_names(source: str, table: str | None, identity: str | None) -> list[str]:
    """The names of the columns of a source, which are public."""
    opened = open_source(source, table, identity)
    try:
        return [*opened.columns, *opened.refused]
    finally:
        opened.engine.close()


@contextmanager
def _naming(what: str) -> Iterator[None]:
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{what}: {error}") from None
