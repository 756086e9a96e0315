"""Rows of a dataset, filtered, extended and grouped step by step. Nothing is asked until `Question.release`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dither.engine.aggregate import Aggregate, known_bounds
from dither.engine.binning import Bins
from dither.engine.distribution_aggregates import Edge
from dither.engine.domains import Domains
from dither.engine.grouping_sets import with_grouping_sets
from dither.engine.groups import check_values, crossed, fingerprint, public_keys
from dither.engine.join_rules import with_private, with_public, with_rows_below
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.price import Terms
from dither.engine.private_tables import ForeignKey, Lineage, PrivateTable
from dither.engine.question import Question
from dither.engine.shortcuts import Shortcuts, Single
from dither.engine.written_question import aggregates_text, expression_code, in_quotes, keys_code, named_code
from dither.errors import ParameterError
from dither.release import ReleasePath
from dither.tables import (
    Column,
    Expression,
    Lattice,
    Levels,
    Source,
    columns_of,
    different,
    few_steps,
    filtered,
    kinds_of,
    missing_column,
    no_text_is_read,
    not_reserved,
    one_row_each,
    refused_column,
    shown,
    with_values,
)
from dither.unit import Person, TableUnit

if TYPE_CHECKING:
    from dither.continual.periods import Length
    from dither.engine.sql import SqlQuestion
    from dither.engine.stream import Stream

__all__ = ["Origin", "Query"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, their privacy unit, and the release path: no public name leads to the rows past it."""

    _source: Source
    unit: TableUnit
    release_path: ReleasePath
    table_name: str = "data"
    """What SQL may call the rows, beside `data`."""
    tables: Mapping[str, PrivateTable] = field(default_factory=dict)
    """All tables of the dataset, by name."""
    keys: tuple[ForeignKey, ...] = ()
    """The foreign keys between them."""
    public: Mapping[str, pa.Table] = field(default_factory=dict)
    """Public tables that SQL may name."""
    whole_unit: TableUnit | None = None
    """The privacy unit of the dataset, where that of these rows is another: of one row per person."""

    @property
    def unit_of_rows(self) -> TableUnit:
        """The privacy unit with the limits of the dataset."""
        return self.whole_unit or self.unit


@dataclass(frozen=True)
class Query(Shortcuts[Single]):
    """Rows of a dataset, filtered, extended and grouped; a `Dataset` is the query of all its rows.

    Methods return new queries, and nothing is asked until `release`. It is not built by hand.

    Parameters
    ----------
    origin : Origin
        The source, the privacy unit and the ledger.
    keys : mapping of str to Expression
        The columns of the groups, by the names that they have in the answer.
    public_keys : pyarrow.Table or None
        The groups, if they are public.
    words : tuple of str
        What was asked so far, as the ledger will record it.
    domains : mapping of str to Domain
        What is publicly known of columns: their ranges or keys.
    calls : tuple of str
        What was asked so far, as calls of Python.
    lineage : Lineage
        The tables and columns of the dataset that it is made of.
    levels : Levels or None
        Where there are several sets of groups, as of GROUPING SETS, how many groups of a person count in each.
    """

    origin: Origin = field(repr=False)
    _table: Any = field(repr=False)
    """The rows, as an expression of Ibis."""
    keys: Mapping[str, Expression] = field(default_factory=dict)
    public_keys: pa.Table | None = None
    words: tuple[str, ...] = ()
    domains: Domains = field(default_factory=dict, repr=False)
    calls: tuple[str, ...] = field(default=(), repr=False)
    lineage: Lineage = field(default_factory=Lineage, repr=False)
    levels: Levels | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """What was asked so far. Of the source its name alone."""
        return f"Query({'; '.join((repr(self.origin.release_path.account), *self.words))})"

    @property
    def columns(self) -> dict[str, str]:
        """The names of the columns and their kinds: whole, real, text, truth, date or time. They are public.

        In a CSV file all are texts, read as numbers or days where these are needed. A column of another type is named
        by that type, and cannot be used.
        """
        return {**self.origin._source.refused, **kinds_of(self._table)}

    def _mentions(self, *said: str | Expression | None) -> None:
        """Refuse columns of the source that did not enter, by name and type."""
        refused = self.origin._source.refused
        for each in said:
            names = columns_of(each) if isinstance(each, Expression) else {str(each)}
            for name in names & refused.keys() - set(self._table.columns):
                raise refused_column(name, refused[name])

    def _with(self, *words: str, call: str, **changes: Any) -> Query:
        table = changes.get("_table", self._table)
        if table is not self._table:
            few_steps(table)
            if self.origin._source.has_types:
                no_text_is_read(table)
            changes.setdefault("lineage", self.lineage.touched())
        kept = ("origin", "_table", "keys", "public_keys", "domains", "lineage")
        return Query(
            **{name: getattr(self, name) for name in kept} | changes,
            words=(*self.words, *words),
            calls=(*self.calls, call),
        )

    def _rows(self, verb: str) -> None:
        if self.keys:
            raise ParameterError(f"{verb} is about rows, and this query has groups already. Call it before group_by.")

    def where(self, *conditions: Expression) -> Query:
        """Keep only the rows for which all conditions hold.

        Parameters
        ----------
        *conditions : Expression
            Conditions such as `dp.col("age") >= 18`. One on a missing value does not hold.

        Returns
        -------
        Query
            The rows that are left.

        Raises
        ------
        ParameterError
            If there are groups already, or a column does not exist or is of the wrong type.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> people = pa.table({"age": [17, 30, 45] * 100, "city": ["Paris", "Lyon", "Paris"] * 100})
        >>> data = dp.Dataset(people, unit=dp.Rows(), budget=dp.PureDP(1), ledger="people.ledger", identity="people")
        >>> adults = data.where(dp.col("age") >= 18, dp.col("city") == "Paris")
        >>> adults.count(epsilon=0.5).guarantee
        PureDP(epsilon=0.5, adjacency='add or remove one record')
        """
        self._rows("where")
        table = self._table
        for condition in conditions:
            if not isinstance(condition, Expression):
                raise ParameterError("where takes conditions such as dp.col('age') >= 18.")
            self._mentions(condition)
            table = filtered(table, condition)
        call = f".where({', '.join(map(expression_code, conditions))})"
        lineage = self.lineage.filtered(*conditions)
        words = (f"where {each}" for each in conditions)
        return self._with(*words, call=call, _table=lineage.rows(otherwise=table), lineage=lineage)

    def with_columns(self, /, **columns: Expression) -> Query:
        """Add columns, each computed from its own row.

        Parameters
        ----------
        **columns : Expression
            The new columns by name, such as `total=dp.col("price") * dp.col("amount")`. The column of the privacy unit
            cannot be replaced.

        Returns
        -------
        Query
            The rows with these columns.

        Raises
        ------
        ParameterError
            If there are groups already, or an expression does not fit the columns.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> sales = pa.table({"price": [2.0, 5.0] * 100, "amount": [3, 1] * 100})
        >>> data = dp.Dataset(sales, unit=dp.Rows(), budget=dp.PureDP(1), ledger="sales.ledger", identity="sales")
        >>> data.with_columns(total=dp.col("price") * dp.col("amount")).columns
        {'price': 'real', 'amount': 'whole', 'total': 'real'}
        """
        self._rows("with_columns")
        unit = self.origin.unit
        for name, expression in columns.items():
            if isinstance(unit, Person) and name == unit.column:
                raise ParameterError(f"the column {name!r} identifies persons and cannot be replaced.")
            if not isinstance(expression, Expression):
                raise ParameterError(f"with_columns takes expressions such as dp.col('price') * 2; {name!r} is none.")
            not_reserved(name)
            self._mentions(expression)
        words = (f"with {in_quotes(name)} = {expression}" for name, expression in columns.items())
        domains = {name: each for name, each in self.domains.items() if name not in columns}
        call = f".with_columns({named_code(columns)})"
        lineage, table = self.lineage.touched(*columns), with_values(self._table, columns)
        return self._with(*words, call=call, _table=table, domains=domains, lineage=lineage)

    def table(self, name: str) -> Query:
        """All rows of one table of the dataset, by its name.

        Parameters
        ----------
        name : str
            One of the names in `Dataset(tables=...)`.

        Returns
        -------
        Query
            The rows of that table, with the column of the privacy unit.

        Raises
        ------
        ParameterError
            If there is no such table.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> data = dp.Dataset(
        ...     tables={
        ...         "visits": pa.table({"pid": [1, 1, 2], "spend": [5, 9, 2]}),
        ...         "people": pa.table({"pid": [1, 2], "age": [30, 50]}),
        ...     },
        ...     unit=dp.Person("pid"),
        ...     budget=dp.PureDP(1),
        ...     ledger="clinic.ledger",
        ...     identity="clinic",
        ... )
        >>> data.table("people").columns
        {'pid': 'whole', 'age': 'whole'}
        """
        found = self.origin.tables.get(name)
        if found is None:
            raise ParameterError(f"there is no table {name!r}. There are: {', '.join(self.origin.tables)}.")
        origin = replace(self.origin, _source=found.source, unit=self.origin.unit_of_rows, table_name=name)
        words, calls = (f"of {in_quotes(name)}",), (f".table({name!r})",)
        return Query(origin, found._rows, domains=found.domains, words=words, calls=calls, lineage=found.lineage)

    def join(self, other: Any, on: Any, how: str = "left") -> Query:
        """Add the columns of a public table, or of another table of the dataset.

        Parameters
        ----------
        other : pandas.DataFrame, polars.DataFrame, pyarrow.Table or Query
            A public table, which is not protected; or a query about another table of this dataset, as
            `data.table("people")` is. Under `dp.Rows()` every value of `on` stands once in a public table, so that a
            row stays one row.
        on : str, list of str or dict
            The column that both have, several, or pairs such as {"mine": "theirs"}. Two private tables are joined on
            the column of the privacy unit, or along a foreign key of the dataset: a row belongs to one person.
        how : {"left", "inner", "semi", "anti"}, default "left"
            Rows that find nothing stay, with NULL, or are left out. "semi" and "anti" add no columns: rows stay if they
            find something in another private table, or if they find nothing (in SQL: EXISTS and NOT EXISTS).

        Returns
        -------
        Query
            The rows with these columns. One that both tables have is called "people.age" then, if both are private.

        Raises
        ------
        ParameterError
            If there are groups already, a column is missing, the join would mix people, or a public table has the
            column that tells persons apart: then it is about persons, and not public.

        Notes
        -----
        Where tables are joined by person alone, each person brings at most 100 rows of the other table.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"city": ["Paris", "Lyon"] * 100})
        >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> rivers = pa.table({"city": ["Paris", "Lyon"], "river": ["Seine", "Rhône"]})
        >>> data.join(rivers, on="city").columns
        {'city': 'text', 'river': 'text'}
        """
        self._rows("join")
        return with_private(self, other, on, how) if isinstance(other, Query) else with_public(self, other, on, how)

    def union(self, other: Query) -> Query:
        """Put the rows of another query of this dataset below these, as UNION ALL does.

        Parameters
        ----------
        other : Query
            Rows of the same table or of another one of the dataset. A row that is in both is there twice.

        Returns
        -------
        Query
            The rows of both, each still its person's, with the columns that both have with one kind.

        Raises
        ------
        ParameterError
            If the privacy unit is not `dp.Person`, there are groups or one row per person already, or the other query
            is one of another dataset.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"user": [1, 1, 2], "day": ["Mon", "Tue", "Mon"], "spend": [5, 9, 2]})
        >>> data = dp.Dataset(
        ...     visits, unit=dp.Person("user"), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits"
        ... )
        >>> both = data.where(dp.col("day") == "Mon").union(data.where(dp.col("spend") > 4))
        >>> both.columns
        {'user': 'whole', 'day': 'text', 'spend': 'whole'}
        """
        self._rows("union")
        return with_rows_below(self, other)

    def _check_is_public(self, table: pa.Table) -> None:
        """Refuse a table that is seen to be about persons: nothing would protect its rows."""
        unit = self.origin.unit
        if isinstance(unit, Person) and unit.column in table.column_names:
            raise ParameterError(
                f"the table has the column {unit.column!r}, which tells persons apart: it is about persons, and join "
                "protects nothing of a table that it is given. Join a private table in the source, as by a view, so "
                "that its rows are those of the person; leave the column out if the rest is public."
            )

    def per_person(self, /, **columns: Aggregate) -> Query:
        """Make one row of each person, with aggregates within the person.

        No noise is added and nothing is released. From then on a person is one row in one group; their other columns
        are gone, as they may have had several values.

        Parameters
        ----------
        **columns : Aggregate
            The new columns by name: `dp.count()`, `dp.sum`, `dp.mean`, `dp.min` or `dp.max`, which are exact here.

        Returns
        -------
        Query
            One row per person.

        Raises
        ------
        ParameterError
            If the privacy unit is not `dp.Person`, there are groups already, or an aggregate is another one.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"user": [1, 1, 2, 3] * 25, "spend": [5.0, 9.0, 20.0, 1.0] * 25})
        >>> data = dp.Dataset(
        ...     visits, unit=dp.Person("user"), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits"
        ... )
        >>> each = data.per_person(visits=dp.count(), spend=dp.sum("spend", bounds=(0, 100)))
        >>> each.mean("visits", bounds=(0, 100), epsilon=0.5).guarantee
        PureDP(epsilon=0.5, adjacency='add or remove one person (by user)')
        """
        self._rows("per_person")
        unit = self.origin.unit
        if not isinstance(unit, Person):
            raise ParameterError("per_person needs persons: unit=dp.Person('user_id'). Here each row is its own.")
        if not columns:
            raise ParameterError("per_person takes one or more aggregates, such as visits=dp.count().")
        asked = {name: _within_person(name, aggregate) for name, aggregate in columns.items()}
        self._mentions(*(of for _, of, _ in asked.values()))
        source, whole = replace(self.origin._source, refused={}), self.origin.unit_of_rows
        origin = replace(self.origin, unit=Person(unit.column, 1, 1), whole_unit=whole, _source=source)
        table = one_row_each(self._table, unit.column, asked)
        call, words = f".per_person({named_code(columns)})", f"per person {aggregates_text(columns)}"
        lineage = self.lineage.per_person()
        return self._with(words, call=call, origin=origin, _table=table, domains={}, lineage=lineage)

    def group_by(self, *columns: str | Bins | Sequence[str | Bins], keys: Any = None) -> Query:
        """Group the rows by the values of columns.

        Parameters
        ----------
        *columns : str or Bins
            Names of columns, or public bins such as `dp.bins("age", [0, 18, 65, 120])`.
        keys : list, dict or table, optional
            The key set, if the groups are public: a list of values (of tuples, for several columns), a dictionary of
            lists (all combinations), or a table with these columns. All keys are in the answer, also those without
            rows. Without them, groups are found privately (partition selection): only those with enough people are
            shown, and the release needs a `delta`. Bins are public already: give keys for the other columns only.

        Returns
        -------
        Query
            The groups; go on with `agg`.

        Raises
        ------
        ParameterError
            If there are groups already, a column does not exist, or keys do not fit the columns.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> people = pa.table({"age": [17, 30, 70] * 200, "city": ["Paris", "Lyon", "Paris"] * 200})
        >>> data = dp.Dataset(
        ...     people, unit=dp.Rows(), budget=dp.ApproxDP(2, 1e-6), ledger="people.ledger", identity="people"
        ... )
        >>> public = data.group_by("city", keys=["Lyon", "Nice", "Paris"]).agg(people=dp.count())
        >>> public.release(epsilon=0.5).to_arrow()["city"].to_pylist()
        ['Lyon', 'Nice', 'Paris']
        >>> found = data.group_by("city").agg(people=dp.count())
        >>> sorted(found.release(epsilon=1, delta=1e-7).to_arrow()["city"].to_pylist())
        ['Lyon', 'Paris']
        >>> binned = data.group_by(dp.bins("age", [0, 18, 65, 120])).agg(people=dp.count())
        >>> binned.release(epsilon=0.5).to_arrow().num_rows
        3
        """
        self._rows("group_by")
        by: tuple[Any, ...] = columns
        if len(columns) == 1 and isinstance(columns[0], list | tuple):
            by = tuple(columns[0])
        names = [each.name if isinstance(each, Bins) else each for each in by]
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise ParameterError("group_by takes one or more different column names or bins.")
        different((), names)
        for name in names:
            not_reserved(name)
        binned = [each for each in by if isinstance(each, Bins)]
        plain = [each for each in by if isinstance(each, str)]
        if keys is not None and not plain:
            raise ParameterError("bins are public already: leave keys=... out.")
        table = self._table
        self._mentions(*plain, *(each.of for each in binned))
        for name in plain:
            if name not in table.columns:
                raise missing_column(name, shown(table))
        public = public_keys(plain, keys, kinds_of(table)) if keys is not None else None
        code = [repr(each) if isinstance(each, str) else f"dp.{each}" for each in by]
        code += [] if public is None else [keys_code(public)]
        made: dict[str, Expression] = {name: Column(name) for name in plain}
        for each in binned:
            table = filtered(table, each.within)
            made[each.name] = each.label
        if binned and (public is not None or not plain):
            known = [public] if public is not None else []
            public = crossed([*known, *(pa.table({each.name: each.values}) for each in binned)]).select(names)
        shown_by = [in_quotes(each) if isinstance(each, str) else each.words for each in by]
        said = f"by {', '.join(shown_by)}"
        if public is not None:
            said += f" for {public.num_rows} public keys {fingerprint(public)}"
        ordered = {name: made[name] for name in names}
        call = f".group_by({', '.join(code)})"
        return self._with(said, call=call, _table=table, keys=ordered, public_keys=public)

    def grouping_sets(self, *sets: Sequence[str], keys: Any = None, level: str = "level") -> Query:
        """Group the rows by several sets of columns at once, such as cities by day, cities, and all rows.

        The answer has the groups of every set, with NULL for the columns that a set does not have, as GROUPING SETS
        and ROLLUP of SQL give them.

        Parameters
        ----------
        *sets : list of str
            The columns of each set; an empty list is the group of all rows.
        keys : dict, optional
            The key set of each column, if the groups are public; all combinations are in the answer. Without it, groups
            are found privately, and the release needs a `delta`.
        level : str, default "level"
            The column with the number of the set, from 0 on, which tells a total from a group whose key is missing.

        Returns
        -------
        Query
            The groups; go on with `agg`.

        Raises
        ------
        ParameterError
            If the privacy unit is not `dp.Person`, there are groups already, or columns or keys do not fit.

        Notes
        -----
        A person counts in `max_groups` groups of each set, and in the one group of all rows. What a person can change
        adds up over the sets, and so does the noise.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"user": list(range(600)), "city": ["Paris", "Lyon", "Paris"] * 200})
        >>> unit = dp.Person("user", max_groups=1, max_rows_per_group=1)
        >>> data = dp.Dataset(visits, unit=unit, budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> both = data.grouping_sets(["city"], [], keys={"city": ["Lyon", "Paris"]}).agg(visits=dp.count())
        >>> print(both.plan(epsilon=0.5))
        column  noise             share   error (95 %)
        visits  Laplace, scale 4  100.0%  ±12
        At most 1 row of each user in each of at most 2 groups (level, city) counts.
        costs PureDP(epsilon=0.5, adjacency='add or remove one person (by user)')
        >>> both.release(epsilon=0.5).to_arrow().select(["level", "city"]).to_pylist()[-1]
        {'level': 1, 'city': None}
        """
        self._rows("grouping_sets")
        return with_grouping_sets(self, sets, keys, level)

    def over(
        self,
        column: str,
        *,
        start: date,
        periods: int,
        every: Length = "day",
        max_periods: int | None = None,
        min_separation: int = 1,
    ) -> Stream:
        """Follow the rows over time: questions are answered period by period, for one price.

        Parameters
        ----------
        column : str
            The column with the day or time of each row.
        start : datetime.date
            The first day of the first period.
        periods : int
            How many periods there are; the horizon is public and is paid for at once.
        every : {"day", "week", "month"}, default "day"
            How long a period is.
        max_periods : int, optional
            In how many periods one person may take part; needed if the privacy unit is `dp.Person`. Who has used up
            their share is left out of later periods.
        min_separation : int, default 1
            How many periods a person waits at least from one to the next in which they take part.

        Returns
        -------
        Stream
            The stream; go on with `group_by` and `agg`.

        Raises
        ------
        ParameterError
            If the column does not exist, the horizon is not valid, or `max_periods` is missing.

        Examples
        --------
        >>> import datetime
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"user": [1, 2, 3], "day": [datetime.date(2026, 1, 1)] * 3})
        >>> unit = dp.Person("user", max_rows_per_group=1)
        >>> data = dp.Dataset(visits, unit=unit, budget=dp.ZCDP(1), ledger="visits.ledger", identity="visits")
        >>> stream = data.over("day", start=datetime.date(2026, 1, 1), periods=365, max_periods=30)
        >>> print(stream.agg(visits=dp.count()).plan(rho="0.5"))
        column  shows  factorisation     deviation, first period  last period
        ...
        """
        from dither.engine.stream import stream_of  # it loads factorisations, which other questions do not need

        return stream_of(self, column, start, periods, every, max_periods, min_separation)

    def agg(self, /, **aggregates: Aggregate) -> Question:
        """State what to ask of each group, or of all rows if there are no groups.

        Parameters
        ----------
        **aggregates : Aggregate
            The columns of the answer by name, such as `visits=dp.count()` or `spend=dp.mean("spend", bounds=(0, 200))`.

        Returns
        -------
        Question
            The question: `.plan(epsilon=...)` shows its expected error, `.release(epsilon=...)` answers it.

        Raises
        ------
        ParameterError
            If there is no aggregate, a column does not exist or is of the wrong type, or two columns of the answer
            would have the same name.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"spend": [20.0, 50.0] * 500})
        >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> question = data.agg(visits=dp.count(), spend=dp.mean("spend", bounds=(0, 200)))
        >>> question.release(epsilon=0.5).to_arrow().num_rows
        1
        """
        if not aggregates:
            raise ParameterError("agg takes one or more aggregates, such as visits=dp.count().")
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise ParameterError(f"{name} must be an aggregate such as dp.count(), got {type(aggregate).__name__}.")
            not_reserved(name)
        shown = [*self.keys, *(f"{name}{end}" for name in aggregates for end in ("", "_low", "_high"))]
        for name in shown:
            if shown.count(name) > 1:
                raise ParameterError(f"two columns of the answer would be called {name!r}. Rename one.")
        if self.public_keys is not None:
            check_values(self.public_keys.num_rows, sum(aggregate.width for aggregate in aggregates.values()))
        question = Question(self, aggregates)
        question.check()
        typed = {
            name: aggregate.typed(lambda of: question._column_types.is_whole(of))
            for name, aggregate in aggregates.items()
        }
        return Question(self, typed)

    def sql(self, text: str) -> SqlQuestion:
        """Ask in SQL; nothing is asked until `release`.

        The text is compiled to the question that `where`, `group_by` and `agg` would make, and costs the same. What
        has no such question is refused before anything is charged.

        Parameters
        ----------
        text : str
            One SELECT about the table `data`, which is also called by its own name. Bounds and public keys of columns
            come from `Dataset(columns=...)`. HAVING, ORDER BY, LIMIT and arithmetic between aggregates are done after
            the noise and cost nothing.

        Returns
        -------
        SqlQuestion
            The question: `.plan(epsilon=...)` shows its expected error, `.release(epsilon=...)` answers it.

        Raises
        ------
        ParameterError
            If the text cannot be read or is not answered; the message names the part and its place.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
        >>> data = dp.Dataset(
        ...     visits,
        ...     unit=dp.Rows(),
        ...     budget=dp.PureDP(1),
        ...     ledger="visits.ledger",
        ...     identity="visits",
        ...     columns={"city": ["Lyon", "Paris"], "spend": (0, 200)},
        ... )
        >>> question = data.sql("SELECT city, COUNT(*) AS n, AVG(spend) AS spend FROM visits GROUP BY city ORDER BY n")
        >>> question.release(epsilon=0.5).to_arrow().column_names
        ['city', 'n', 'n_low', 'n_high', 'spend', 'spend_low', 'spend_high']
        """
        from dither.engine.sql import question_of  # it is built on this module

        self._rows("sql")
        return question_of(self, text)

    def _all_rows(self, aggregate: Aggregate, terms: Terms) -> Single:
        if self.keys:
            raise ParameterError("this is a question about all rows, and there are groups. Use agg(...).release(...).")
        return Single.from_table(self.agg(value=aggregate)._release(terms))


def _within_person(name: str, aggregate: Any) -> tuple[str, Expression | None, Lattice | None]:
    if isinstance(aggregate, Count) and not aggregate.people:
        return "count", None, None
    if isinstance(aggregate, Total | Mean | Edge):
        known_bounds(aggregate.bounds)  # nothing is found privately within one person
        return aggregate.verb, aggregate.of, aggregate.lattice
    raise ParameterError(f"per_person knows count, sum, mean, min and max; {name!r} is none of these.")
