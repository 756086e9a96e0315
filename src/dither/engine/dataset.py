"""A dataset: a source, its privacy unit, and a budget that a ledger keeps."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from dither.engine.first_look import FirstLook, first_look
from dither.engine.private_tables import PrivateTable, foreign_keys_of, private_tables
from dither.engine.query import Origin, Query
from dither.engine.question import Question
from dither.engine.suggestion import Suggestion, suggested
from dither.errors import LedgerConflict, LedgerError, ParameterError
from dither.exact import Number, in_words, set_fields
from dither.ledger import Account, Failures, Ledger, PerPeriod
from dither.ledger.budget import Amounts, Budget, amounts
from dither.ledger.ledger import NoLedger, check_account
from dither.release import ReleasePath
from dither.tables import Source, arrow_table, different, folded, open_source, open_sources
from dither.unit import Person, Rows, TableUnit

__all__ = ["Dataset", "for_analyst", "for_plans"]

_log = logging.getLogger(__package__)


class Dataset(Query):
    """A table with a privacy budget: every question is charged to a ledger before it is answered.

    Select rows with `where`, `with_columns`, `join` and `per_person`, group them with `group_by`, and state with `agg`
    what to ask of each group. That makes a question: `.plan(epsilon=...)` shows its expected error and costs nothing;
    `.release(epsilon=...)` charges the budget and returns a table with intervals. For one number over all rows, call
    `count`, `sum`, `mean`, `median` and so on directly.

    `close` the dataset when done, or use it in a `with` block.

    Parameters
    ----------
    source : Any
        The data: the path or glob of CSV or Parquet files, or a list of them; a frame of pandas, Polars or Arrow; an
        Ibis table; a database URL such as "postgresql://..." with `table`; or a Spark session with `table`.
    unit : Rows or Person
        The privacy unit: `dp.Rows()` if each row is another person; else `dp.Person("user_id", max_groups=3,
        max_rows_per_group=5)`, which protects all rows of a person and bounds their contribution.
    budget : PureDP, ApproxDP, ZCDP or PerPeriod, optional
        The privacy budget: what all releases together may cost. It is given once and kept in the ledger; leave it out
        when the ledger has it.
    failures_allowed : int, optional
        How many questions may fail after their charge, or be in flight at once, before the owner has to resume the
        dataset with `dither ledger ... --resume`. It is given once, with the budget; 3 by default.
    ledger : str, os.PathLike or Ledger
        Where charges are recorded: the path of a file, which is made if there is none; "postgresql://..." for a ledger
        that several machines share; or ":memory:" for tests and notebooks, which is gone with the process.
    table : str, optional
        The name of the table, for a database URL or a Spark session.
    tables : mapping of str, optional
        Several tables that belong to the same people, by name, with one budget: files and frames, or Ibis tables; with
        a database URL or a Spark session as source, the names of tables there. Methods of the dataset itself are about
        the first; `data.table("people")` is about another, and SQL names them.
    foreign_keys : mapping of str to str, optional
        How a table without the column of the privacy unit belongs to people: {"orders.customer": "customers.id"}.
    public : mapping of str, optional
        Public tables that SQL may name: frames that are not protected.
    identity : str, optional
        The name under which the ledger keeps the budget. Frames in memory and Ibis tables need one; files and tables
        have one of their own.
    columns : mapping of str, optional
        What is publicly known of columns, for questions in SQL: a pair (low, high) of numbers or days is the range to
        which values are clamped, a list is the set of keys of a column that is grouped by.

    Raises
    ------
    ParameterError
        If the source, the unit or the budget is not one of these.
    LedgerConflict
        If the ledger has another budget for this data, or has a part of it under another name.
    LedgerError
        If the budget is left out and the ledger does not have it, or the ledger cannot be used.
    EngineError
        If the data cannot be opened.

    Notes
    -----
    The costs of all releases add up, which is valid even if a question depends on earlier answers. Only public
    facts leave the dataset without noise: names and types of columns, and the keys and bounds that you give.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"user": range(1000), "city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
    >>> data = dp.Dataset(
    ...     visits,  # or "visits.csv"; then identity is not needed
    ...     unit=dp.Person("user", max_groups=1, max_rows_per_group=1),
    ...     budget=dp.PureDP(1),
    ...     ledger="visits.ledger",
    ...     identity="visits",
    ... )
    >>> question = data.group_by("city", keys=["Lyon", "Paris"]).agg(
    ...     people=dp.count_people(), spend=dp.mean("spend", bounds=(0, 200))
    ... )
    >>> question.plan(epsilon=0.5).error("people")  # with probability 0.95, before anything is spent
    12.0
    >>> release = question.release(epsilon=0.5)
    >>> release.to_arrow().column_names
    ['city', 'people', 'people_low', 'people_high', 'spend', 'spend_low', 'spend_high']
    >>> data.where(dp.col("spend") > 30).count(epsilon=0.25).guarantee
    PureDP(epsilon=0.25, adjacency='add or remove one person (by user)')
    >>> data.remaining["epsilon"]
    Fraction(1, 4)
    >>> data.close()
    """

    _ours: ExitStack

    def __init__(
        self,
        source: Any = None,
        *,
        unit: TableUnit,
        budget: Budget | PerPeriod | None = None,
        failures_allowed: int | None = None,
        ledger: str | os.PathLike[str] | Ledger,
        table: str | None = None,
        tables: Mapping[str, Any] | None = None,
        foreign_keys: Mapping[str, str] | None = None,
        public: Mapping[str, Any] | None = None,
        identity: str | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(unit, Rows | Person):
            raise ParameterError("unit must be the privacy unit: dp.Rows() or dp.Person('user_id').")
        if budget is not None and not isinstance(budget, PerPeriod):
            amounts(budget)
        with ExitStack() as ours:  # what is opened here is closed, now if the dataset is refused
            members = _opened(source, table, tables, identity, ours)
            known = _tables(members, unit, foreign_keys, columns)
            opened = next(iter(members.values()))
            book = ledger if isinstance(ledger, Ledger) else _book(ledger, create=budget is not None)
            if book is not ledger:
                ours.callback(book.close)
            account = book.named(opened.identity)
            # The budget that the ledger has is for its own unit: under another one it is refused, as any other is.
            stated = (book.account(account).stated if budget is None else budget)._under(unit.adjacency)
            allowed, state = failures_allowed, opened.state
            _no_account_of_its_own(book, account, opened.parts)
            book.open_account(account, stated, parts=opened.parts, failures_allowed=allowed, state=state)
            origin = _origin(known, unit, foreign_keys, public, ReleasePath(book, account))
            first = known[origin.table_name]
            super().__init__(origin, first._rows, domains=first.domains, lineage=first.lineage)
            set_fields(self, _ours=ours.pop_all())

    def close(self) -> None:
        """Close the connections that were opened here: to the ledger, to files, frames and databases named by text.

        From a session of your own, what was brought there is dropped. Questions of other threads are answered first.
        """
        self.origin._source.engine.close()  # before the ledger, which still gets their outcomes
        self._ours.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """The name of the source, its privacy unit, and what the ledger holds: nothing of its rows."""
        said = [repr(self.origin.release_path.account), f"unit={self.origin.unit}"]
        with suppress(LedgerError):  # it was moved away: a name is still a name
            account = self._account
            left = ", ".join(f"{name} {in_words(amount)}" for name, amount in account.remaining.items())
            said += [f"budget={account.stated._under(None)}", f"remaining: {left}"]
        return f"Dataset({', '.join(said)})"

    @overload
    def suggest(self, question: Question, *, epsilon: Number, share: Number = ...) -> Suggestion: ...

    @overload
    def suggest(self, question: None = ..., *, epsilon: Number, delta: Number | None = ...) -> FirstLook: ...

    def suggest(
        self,
        question: Question | None = None,
        *,
        epsilon: Number,
        share: Number | None = None,
        delta: Number | None = None,
    ) -> Suggestion | FirstLook:
        """Choose limits and bounds for a question, privately; without a question, take a first look at the table.

        For a question, a part of its price pays for private histograms. A first look tells for one ε how many rows and
        people there are, and of each column what it holds, the share of missing values, how many different texts there
        are, and where numbers lie.

        Parameters
        ----------
        question : Question, optional
            The question, with public groups or without groups. Limits of the privacy unit may be missing; bounds may be
            wide, and narrower ones are chosen within them.
        epsilon : Number
            What may be spent on the suggestion and the question together; or all that the first look costs.
        share : Number, optional
            The part of it that the suggestion costs, 0.1 by default. It is charged now.
        delta : Number, optional
            Of a first look: what it may cost besides, so that the most common texts are found.

        Returns
        -------
        Suggestion or FirstLook
            `.question`, to be released with `.epsilon`; `print` shows what was considered. Or what was seen: `print`
            shows it, and `.report("look.html")` writes a page.

        Raises
        ------
        ParameterError
            If the privacy unit is not `dp.Person`, or groups are not public.
        OverBudget
            If less is left of the budget; nothing is charged.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> trips = pa.table({"driver": [each // 20 for each in range(40_000)], "fare": [12.5] * 40_000})
        >>> unit = dp.Person("driver")
        >>> data = dp.Dataset(trips, unit=unit, budget=dp.PureDP(1), ledger="trips.ledger", identity="trips")
        >>> suggestion = data.suggest(data.agg(fare=dp.mean("fare", bounds=(0, 10_000))), epsilon=1)
        >>> low, high = suggestion.bounds["fare"]
        >>> 0 <= low < high <= 10_000  # mostly about 10 to 15
        True
        >>> suggestion.question.release(epsilon=suggestion.epsilon).to_arrow().column_names
        ['fare', 'fare_low', 'fare_high']
        """
        if question is None:
            if share is not None:
                raise ParameterError("share is about a question: a first look costs all of epsilon. Leave it out.")
            return first_look(self, epsilon, delta)
        if delta is not None:
            raise ParameterError("delta is for a first look: private histograms need none. Leave it out.")
        return suggested(question, epsilon, "0.1" if share is None else share)

    @property
    def budget(self) -> Budget:
        """The privacy budget, as the ledger has it; one that is renewed, of all periods together."""
        return self._account.budget

    @property
    def per_period(self) -> PerPeriod | None:
        """How the budget is renewed; None if it is not."""
        return self._account.per_period

    @property
    def spent(self) -> Amounts:
        """What was charged so far, exactly: {"epsilon": ..., "delta": ...}, or {"rho": ...}."""
        return self._account.spent

    @property
    def remaining(self) -> Amounts:
        """What is left of the budget, exactly, in the form of `spent`; of one that is renewed, in this period."""
        return self._account.remaining

    @property
    def changed(self) -> str | None:
        """When files of the source were first found to be written to after the budget was given; None if they were not.

        Earlier answers are about what the files held then. The budget goes on: the people are likely the same.
        """
        return self._account.changed

    @property
    def failures(self) -> Failures:
        """How many questions failed after their charge, or have no outcome, and how many may."""
        return self._account.failures

    @property
    def _account(self) -> Account:
        release_path = self.origin.release_path
        return release_path.ledger.account(release_path.account)


def for_analyst(data: Dataset, by: str, share: str | None) -> Query:
    """All rows of a dataset, asked by somebody who is not the user of this process.

    `share` is the account of what this analyst may spend; the budget of the dataset pays in any case.
    """
    origin = replace(data.origin, release_path=replace(data.origin.release_path, by=by, share=share))
    return Query(origin, data._table, domains=data.domains, lineage=data.lineage)


@contextmanager
def for_plans(
    source: Any,
    *,
    unit: TableUnit,
    failures_allowed: int | None,
    table: str | None,
    identity: str | None,
    columns: Mapping[str, Any] | None = None,
) -> Iterator[Query]:
    """The dataset without a ledger: its questions have plans, and none can be released."""
    with ExitStack() as ours:
        members = _opened(source, table, None, identity, ours)
        known = _tables(members, unit, None, columns)
        opened = next(iter(members.values()))
        check_account(opened.identity, opened.parts, failures_allowed)
        origin = _origin(known, unit, None, None, ReleasePath(NoLedger(), opened.identity))
        first = known[origin.table_name]
        yield Query(origin, first._rows, domains=first.domains, lineage=first.lineage)


def _opened(
    source: Any, table: str | None, tables: Mapping[str, Any] | None, identity: str | None, ours: ExitStack
) -> dict[str, Source]:
    """The tables by name; all are in one engine."""
    if tables is None:
        if source is None:
            raise ParameterError("a dataset needs a source, or tables={'visits': ..., 'people': ...}.")
        found = {_table_name(source, table, identity): open_source(source, table, identity)}
    elif table is not None:
        raise ParameterError("tables=... names the tables: leave table=... out.")
    else:
        found = open_sources(source, tables, identity)
    engine = next(iter(found.values())).engine
    _log.debug("opened a source in %s", engine.name)
    ours.callback(engine.close)  # sessions and tables of others stay open
    return found


def _tables(
    members: Mapping[str, Source],
    unit: TableUnit,
    foreign_keys: Mapping[str, str] | None,
    columns: Mapping[str, Any] | None,
) -> dict[str, PrivateTable]:
    if len(members) == 1 and isinstance(unit, Person) and not foreign_keys:
        next(iter(members.values())).check(unit.column)
    return private_tables(members, unit, foreign_keys_of(foreign_keys, members), columns)


def _origin(
    known: Mapping[str, PrivateTable],
    unit: TableUnit,
    foreign_keys: Mapping[str, str] | None,
    public: Mapping[str, Any] | None,
    release_path: ReleasePath,
) -> Origin:
    """Where the rows of the first table come from, which methods of the dataset itself are about."""
    name = next(iter(known))
    keys = foreign_keys_of(foreign_keys, {each: table.source for each, table in known.items()})
    brought = {each: arrow_table(frame) for each, frame in (public or {}).items()}
    for each in brought:
        if each in known:
            raise ParameterError(f"the table {each!r} is private and public at once. Choose another name.")
    different(known, brought)  # SQL does not tell them apart, and would take one of both
    for each in (*known, *brought):
        if each != name and folded(each) == "data":
            raise ParameterError(f"SQL calls the first table 'data', and {each!r} is another one. Choose another name.")
    return Origin(known[name].source, unit, release_path, name, known, keys, brought)


def _no_account_of_its_own(book: Ledger, account: str, parts: Collection[str]) -> None:
    """Refuse a table that has a budget under its own name: earlier ledgers name no parts of Spark tables."""
    for part in parts:
        try:
            has_one = part != account and bool(book.account(part))
        except LedgerError:
            has_one = False
        if has_one:
            raise LedgerConflict(f"a table of this dataset has a budget already, as {part!r}. Go on with that one.")


def _table_name(source: Any, table: str | None, identity: str | None) -> str:
    """What SQL calls the table: its name in the database, that of the file without its ending, or the identity."""
    if table is not None:
        return table.rpartition(".")[2].strip('"')
    if isinstance(source, str | os.PathLike):
        return Path(os.fspath(source)).stem
    return identity or "data"


def _book(ledger: str | os.PathLike[str], *, create: bool) -> Ledger:
    try:
        return Ledger(ledger, create=create)
    except LedgerError as error:
        if create:
            raise
        failure = str(error)
    raise LedgerError(f"{failure} A new dataset needs a budget, such as budget=dp.PureDP(1).")
