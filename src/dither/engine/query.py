"""Rows of a dataset, filtered, extended and grouped step by step. Nothing is asked until `Question.release`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dither.engine.aggregate import Aggregate
from dither.engine.binning import Bins
from dither.engine.distribution_aggregates import Edge
from dither.engine.domains import Domains
from dither.engine.groups import check_values, crossed, fingerprint, public_keys
from dither.engine.joins import with_private, with_public
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.price import Terms
from dither.engine.private_tables import ForeignKey, Lineage, PrivateTable
from dither.engine.question import Question
from dither.engine.question_code import expression_code, keys_code, named_code
from dither.engine.question_text import aggregates_text, in_quotes
from dither.engine.shortcuts import Shortcuts, Single
from dither.errors import ParameterError
from dither.release import Door
from dither.tables import (
    Column,
    Expression,
    Lattice,
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
    from dither.engine.sql import SqlQuestion

__all__ = ["Origin", "Query"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, their privacy unit, and the release path: no public name leads to the rows past it."""

    _source: Source
    unit: TableUnit
    door: Door
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
class Query(Shortcuts):
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
    """

    origin: Origin = field(repr=False)
    _table: Any = field(repr=False)
    """The rows, as an expression of Ibis."""
    keys: Mapping[str, Expression] = field(default_factory=dict)
    public_keys: pa.Table | None = None
    _key_table: Any = field(default=None, repr=False)
    """The public keys, in the engine."""
    words: tuple[str, ...] = ()
    domains: Domains = field(default_factory=dict, repr=False)
    calls: tuple[str, ...] = field(default=(), repr=False)
    lineage: Lineage = field(default_factory=Lineage, repr=False)

    def __repr__(self) -> str:
        """What was asked so far. Of the source its name alone."""
        return f"Query({'; '.join((repr(self.origin.door.account), *self.words))})"

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
        if "_table" in changes:
            few_steps(changes["_table"])
            if self.origin._source.has_types:
                no_text_is_read(changes["_table"])
        kept = ("origin", "_table", "keys", "public_keys", "_key_table", "domains")
        fields = {name: getattr(self, name) for name in kept} | {"lineage": self.lineage.touched()}
        return Query(**{**fields, **changes}, words=(*self.words, *words), calls=(*self.calls, call))

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
        return self._with(*(f"where {each}" for each in conditions), call=call, _table=table)

    def with_columns(self, **columns: Expression) -> Query:
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
        how : {"left", "inner"}, default "left"
            Rows that find nothing stay, with NULL, or are left out.

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

    def _check_is_public(self, table: pa.Table) -> None:
        """Refuse a table that is seen to be about persons: nothing would protect its rows."""
        unit = self.origin.unit
        if isinstance(unit, Person) and unit.column in table.column_names:
            raise ParameterError(
                f"the table has the column {unit.column!r}, which tells persons apart: it is about persons, and join "
                "protects nothing of a table that it is given. Join a private table in the source, as by a view, so "
                "that its rows are those of the person; leave the column out if the rest is public."
            )

    def per_person(self, **columns: Aggregate) -> Query:
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
        said, uploaded = f"by {', '.join(map(_by, by))}", None
        if public is not None:
            said += f" for {public.num_rows} public keys {fingerprint(public)}"
            uploaded = self.origin._source.engine.upload(public)
        ordered = {name: made[name] for name in names}
        call = f".group_by({', '.join(code)})"
        return self._with(said, call=call, _table=table, keys=ordered, public_keys=public, _key_table=uploaded)

    def agg(self, **aggregates: Aggregate) -> Question:
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
        whole = question._of_any_limits.is_whole
        return Question(self, {name: aggregate.typed(whole) for name, aggregate in aggregates.items()})

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
        return aggregate.verb, aggregate.of, aggregate.lattice
    raise ParameterError(f"per_person knows count, sum, mean, min and max; {name!r} is none of these.")


def _by(column: str | Bins) -> str:
    if isinstance(column, str):
        return in_quotes(column)
    has_own_name = isinstance(column.of, Column) and column.of.name == column.name
    return str(column) if has_own_name else f"{column} as {in_quotes(column.name)}"
