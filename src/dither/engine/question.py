"""A question to a dataset, with its aggregates: planned, then released. `Query.agg` makes it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dither.engine.aggregate import Aggregate
from dither.engine.group_sensitivity import Need, Whole
from dither.engine.noisy_groups import Drawing, Looking, questions
from dither.engine.plan import Plan, planned
from dither.engine.price import NoiseKind, Terms, with_price
from dither.engine.table_release import TableRelease
from dither.engine.wanted_error import smallest_epsilon, wishes
from dither.engine.written_question import aggregates_text, calls, charged_text
from dither.errors import LedgerError, ParameterError
from dither.exact import Number, once
from dither.ledger import Entry
from dither.ledger.budget import shortage
from dither.ledger.ledger import LONGEST_ANSWER
from dither.release import fresh_salt
from dither.tables import BoundedTable, ColumnTypes, Levels, People
from dither.unit import Neighbour, Rows, TableUnit

if TYPE_CHECKING:
    import pyarrow as pa

    from dither.engine.query import Query  # it is built on this module

__all__ = ["Question"]

_MANY_GROUPS = 100
"""Groups that are found in the data are taken for at least as many."""
_FORMS = 1024
"""Forms of questions that are remembered as checked."""
_EACH_ROW = Rows()
"""Types are checked as if each row were somebody's own."""


@dataclass(frozen=True)
class Question:
    """A query with its aggregates: plan it, then release it.

    `Query.agg` makes it.

    Parameters
    ----------
    query : Query
        The rows and their groups.
    aggregates : mapping of str to Aggregate
        What is asked of each group, by the name of its column.
    estimates_left_out : bool, default False
        Whether it says how much was left out, unless `left_out=...` says otherwise: what `suggest` chose does.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> question = data.group_by("city", keys=["Lyon", "Paris"]).agg(visits=dp.count())
    >>> print(question.plan(epsilon=0.5))
    column  noise             share   error (95 %)
    visits  Laplace, scale 2  100.0%  ±6
    costs PureDP(epsilon=0.5, adjacency='add or remove one record')
    >>> release = question.release(epsilon=0.5)
    >>> release.to_arrow().column_names
    ['city', 'visits', 'visits_low', 'visits_high']
    """

    query: Query
    aggregates: Mapping[str, Aggregate]
    estimates_left_out: bool = False

    @with_price
    def plan(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
    ) -> Plan:
        """Show what a release would do, before anything is spent; no data is read.

        Parameters
        ----------
        {price}

        Returns
        -------
        Plan
            The noise, the share of the price and the expected error of each column; `print` shows them as a table.

        Raises
        ------
        ParameterError
            If the price is not given in one of these ways, or does not fit the question.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500})
        >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> data.agg(visits=dp.count()).plan(epsilon=0.5).error("visits")
        6.0
        """
        plan = self._plan(Terms(epsilon, delta, rho, noise, weights, level, population, left_out=left_out))
        release_path = self.query.origin.release_path
        with suppress(LedgerError):  # opened for plans alone, or it was moved away
            account = release_path.ledger.account(release_path.account)
            return replace(plan, shortage=shortage(plan.cost, account.budget, release_path.left_of(account)))
        return plan

    @with_price
    def release(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
        key: str | None = None,
    ) -> TableRelease:
        """Charge the ledger, then answer: a table with the keys, the values and their intervals.

        Parameters
        ----------
        {price}

        Returns
        -------
        TableRelease
            The answers, which may be published: `.to_pandas()`, `.to_polars()`, `.to_arrow()`, `.plot()`,
            `.certificate()`.

        Raises
        ------
        ParameterError
            If the price is not given in one of these ways, or does not fit the question.
        OverBudget
            If less is left of the budget; nothing is charged.
        TooManyFailures
            If too many questions of the dataset failed; nothing is charged.
        LedgerConflict
            If `key` was used for another question; nothing is charged.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500})
        >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> question = data.group_by("city", keys=["Lyon", "Paris"]).agg(visits=dp.count())
        >>> release = question.release(epsilon=0.5)
        >>> release.to_pandas().columns.tolist()
        ['city', 'visits', 'visits_low', 'visits_high']
        """
        return self._release(Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out))

    def price(
        self,
        error: Number | Mapping[str, Number] | None = None,
        *,
        relative: Number | Mapping[str, Number] | None = None,
        rows: int | None = None,
        delta: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
    ) -> float:
        """Find the smallest ε for a wanted error; it inverts `plan`, reads no data and spends nothing.

        Parameters
        ----------
        error : Number or mapping of str to Number, optional
            Half the width of the interval that every group may have, in the unit of the column: one for all columns,
            or one for each that is named.
        relative : Number or mapping of str to Number, optional
            The same as a share of what is expected: of a count of `rows` rows, or of values spread evenly over bounds.
        rows : int, optional
            How many rows a group has; the smallest that matters. Errors of means, and shares, depend on it.
        delta : Number, optional
            The δ that the release may cost besides; groups that are found in the data need it.
        noise : {"laplace", "gaussian"}, optional
            The kind of noise. By default the one with the smaller price.
        weights : mapping of str to Number, optional
            How the columns of the answer share the price, by their names; 1 each unless given.
        level : Number, default 0.95
            The confidence level of the intervals.
        population : bool, default False
            Whether the intervals are to contain the mean of the population; part of them then depends on rows alone.
        left_out : bool, optional
            Whether a fiftieth of the price is to buy an estimate of what is left out.

        Returns
        -------
        float
            ε with four digits, rounded up, at most 0.5 % above the smallest one.

        Raises
        ------
        ParameterError
            If nothing is asked for, a column has no error that is known beforehand, or no ε is enough.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500, "spend": [20.0, 50.0] * 500})
        >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> question = data.group_by("city", keys=["Lyon", "Paris"]).agg(visits=dp.count())
        >>> question.price(error=100)
        0.02982
        >>> question.plan(epsilon=0.02982).error("visits")
        100.0
        >>> question.price(relative=0.05, rows=2_000)
        0.02982
        """
        asked = wishes(error, relative, list(self.aggregates))
        terms = Terms(None, delta, None, noise, weights, level, population, left_out=left_out)
        return smallest_epsilon(self._plan, terms, asked, rows, finds=self._finds)

    @property
    def _finds(self) -> bool:
        """Whether groups or values are found in the data."""
        needs = [need for aggregate in self.aggregates.values() for need in aggregate.needs.values()]
        return self._finds_groups or any(need.is_found for need in needs)

    @property
    def _finds_groups(self) -> bool:
        return bool(self.query.keys) and self.query.public_keys is None

    def _plan(self, terms: Terms) -> Plan:
        if terms.left_out is None:
            terms = replace(terms, left_out=self.estimates_left_out)
        if terms.left_out and self.query.levels is not None:
            raise ParameterError(
                "left_out=True is about one set of groups, and this question has several. Ask it of one: group_by(...)."
            )
        return planned(self.aggregates, self.neighbour, self._finds_groups, terms, list(self.query.keys))

    def _release(self, terms: Terms) -> TableRelease:
        plan = self._plan(terms)
        query = self.query
        if terms.key is not None:
            self._check_storable()
        drawing = Drawing(plan, list(query.keys), query.public_keys)
        if plan.looks:
            looking = Looking(drawing, self._bounded, fresh_salt)
            exact, draw, alike = looking.questions(), looking.draw, looking.in_bounds
        else:
            exact = questions({key: part.need for key, part in plan.parts.items()}, self._bounded, fresh_salt)
            draw, alike = drawing.draw, []
            drawing.rehearse(exact)
        release_path = query.origin.release_path

        made: list[TableRelease] = []

        def digest(parts: pa.Table, entry: Entry) -> str:
            made.append(self._answer_of(parts, plan, entry))
            return made[0].answer_digest

        with query.origin._source.engine.asking():
            parts, entry = release_path.release(
                plan.event, plan.cost, self.words, exact, draw, alike=alike, key=terms.key, digest=digest
            )
        return made[0] if made and terms.key is None else self._answer_of(parts, plan, entry)

    def _answer_of(self, parts: pa.Table, plan: Plan, entry: Entry) -> TableRelease:
        """The answer that noisy numbers make: a function of these and of public facts."""
        return TableRelease.of(parts, plan, entry)

    def _check_storable(self) -> None:
        """An answer under an idempotency key is stored; with public keys its size is known before anything is charged.

        (That of values that `top` finds is not, and is what they reveal.)
        """
        keys = self.query.public_keys
        if keys is None:
            return
        each_group = sum(each.bytes_of_answer for each in self.aggregates.values())
        if keys.nbytes + keys.num_rows * each_group > LONGEST_ANSWER * 3 // 4:
            raise ParameterError(
                f"an answer under an idempotency key is stored, and may have {LONGEST_ANSWER} bytes: that of "
                f"{keys.num_rows} groups would be too long. Ask without a key, or for fewer groups."
            )

    @property
    def words(self) -> str:
        """The question and the privacy unit, as the ledger and the certificate record them."""
        return charged_text("; ".join((*self.query.words, aggregates_text(self.aggregates))), str(self.neighbour))

    @property
    def code(self) -> str:
        """The same question in Python, as the calls that make it of `data`."""
        return calls(self.query.calls, self.aggregates)

    @property
    def neighbour(self) -> Neighbour:
        """How far a neighbouring table may be: groups and rows."""
        return Neighbour.of(self._unit, grouped=bool(self.query.keys))

    @property
    def _unit(self) -> TableUnit:
        """The privacy unit; of public groups no more than there are. Contribution bounding and noise both follow it.

        It states the limits that the question depends on: those of rows matter unless only people are counted.
        """
        needs = [need for aggregate in self.aggregates.values() for need in aggregate.needs.values()]
        about_rows = not all(isinstance(need, Whole) and isinstance(need.measure, People) for need in needs)
        return self._among_keys.needing(groups=bool(self.query.keys), rows=about_rows)

    @property
    def _among_keys(self) -> TableUnit:
        unit, public = self.query.origin.unit, self.query.public_keys
        return unit if public is None else unit.among(public.num_rows)

    def check(self) -> None:
        """Refuse columns that do not exist or are of the wrong type; no data is read.

        Names and types of the rows decide, not which rows they are: questions that differ in a filter are checked once.
        A release builds everything again before its charge.
        """
        query = self.query
        needs: dict[str, Need] = {}
        for aggregate in self.aggregates.values():
            query._mentions(*(getattr(part, "of", None) for part in aggregate.made_of))
            needs |= aggregate.needs
        keys = None if query.public_keys is None else str(query.public_keys.schema)
        form = (query._table.schema(), keys, repr(query.keys), repr(self.aggregates), self._among_keys)
        checked, short = query.origin._source.engine.checked, hash(form)
        if short not in checked:
            questions(needs, self._column_types, int)
            if len(checked) >= _FORMS:
                checked.clear()
            checked.add(short)

    @once
    def _bounded(self) -> BoundedTable:
        return self._table_of(self._unit, self.query.levels)

    @once
    def _column_types(self) -> BoundedTable:
        """For checks of names and types; it is not asked, and nothing is brought to the engine for it."""
        return self._table_of(_EACH_ROW, kind=ColumnTypes)

    @once
    def _of_any_limits(self) -> BoundedTable:
        """Before limits are chosen; it is not asked."""
        return self._table_of(self._among_keys.needing(groups=False, rows=False))

    def _table_of(
        self, unit: TableUnit, levels: Levels | None = None, kind: type[BoundedTable] = BoundedTable
    ) -> BoundedTable:
        query, public = self.query, self.query.public_keys
        engine = query.origin._source.engine
        has_few_groups = (
            public is not None and set(query.keys) <= set(public.column_names) and public.num_rows < _MANY_GROUPS
        )
        return kind(
            engine,
            query._table,
            unit,
            query.keys,
            None if public is None else kind.keys_of(engine, public),
            has_many_groups=not has_few_groups,
            levels=levels,
            has_types=query.origin._source.has_types,
        )
