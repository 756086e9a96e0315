"""A table of private answers, with intervals, cost and certificate."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dither.engine.answer_file import answer_digest, written_answer
from dither.engine.empty_groups import about_empty_groups
from dither.engine.found_ranges import about_ranges, read_ranges
from dither.engine.group_sensitivity import Added
from dither.engine.left_out import SHARE, CutShare, in_a_sentence
from dither.engine.moment_aggregates import Count
from dither.engine.noisy_groups import sums_left_out
from dither.engine.plan import Plan
from dither.engine.tidy_rows import tidied
from dither.engine.written_question import question_and_unit
from dither.errors import MissingPackage, ParameterError
from dither.events import to_json
from dither.exact import Number, check, rational
from dither.ledger import Entry
from dither.mechanisms.certificate import NOT_PRIVATE, stated
from dither.mechanisms.released import Interval, Release
from dither.views import views

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
from dither.tables.plain_columns import column_of_numbers, numbers_of

__all__ = ["TableRelease", "charged_terms", "shown_column", "to_pandas_frame"]


@dataclass(frozen=True, slots=True, repr=False)
class TableRelease(Release):
    """Private answers as a table, one row per group; all of it may be published.

    `Question.release` returns it. The columns are the keys, each value, and its interval in `name_low` and `name_high`,
    which contains the exact value of the bounded table with probability `level` over the noise. Methods work on noisy
    numbers only, so they cost nothing.

    Parameters
    ----------
    value : pyarrow.Table
        The answers.
    event : Event
        What was done, in exact numbers.
    guarantee : PureDP, ApproxDP or ZCDP
        What was charged.
    mechanism : Any
        The noise of the first part.
    parts : pyarrow.Table
        The keys and the noisy numbers of which all answers are made.
    plan : Plan
        The plan that was carried out.
    entry : Entry
        The charge in the ledger.
    noise_removed : bool
        Whether these are exact answers, made in a test by `dither.testing`: then they are not private.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> release = data.group_by("city", keys=["Lyon", "Paris"]).agg(visits=dp.count()).release(epsilon=0.5)
    >>> release.to_arrow().column_names
    ['city', 'visits', 'visits_low', 'visits_high']
    >>> release.guarantee
    PureDP(epsilon=0.5, adjacency='add or remove one record')
    >>> dp.check_certificate(release.certificate()).guarantee == release.guarantee
    True
    """

    parts: pa.Table = field(repr=False)
    plan: Plan = field(repr=False)
    entry: Entry = field(repr=False)

    @classmethod
    def of(cls, parts: pa.Table, plan: Plan, entry: Entry) -> TableRelease:
        """Compute the answers from noisy parts.

        Parameters
        ----------
        parts : pyarrow.Table
            The keys and the noisy numbers.
        plan : Plan
            The plan by which they were drawn.
        entry : Entry
            The charge in the ledger.

        Returns
        -------
        TableRelease
            The answers.
        """
        noise: Any = next(iter(plan.parts.values())).noise
        made = cls(None, plan.event, plan.cost, noise, parts, plan, entry, noise_removed=entry.noise_removed)
        return replace(made, value=made._table(plan.level))

    @property
    def found(self) -> dict[str, dict[str, Any]]:
        """What was found before the answers, by column: the range `clip`, and how many values seem to lie `outside`.

        `clip` is the range to which values were clamped before they were added up, None if none was found; there is no
        `outside` where the bounds were kept.
        """
        ranges, found = read_ranges(self.parts), {}
        for name, aggregate in self.plan.aggregates.items():
            for each in (ranges[key] for key in aggregate.needs if key in ranges):
                outside = {} if each.outside is None else {"outside": round(each.outside, 1)}
                found[name] = {"clip": each.limits, **outside}
        return found

    def _table(self, level: Fraction) -> pa.Table:
        columns = {name: self.parts.column(name) for name in self.plan.keys}
        values = {key: _numbers(self.parts.column(column)) for key, column in self.plan.columns.items()}
        plan = self.plan.narrowed(read_ranges(self.parts)) if self.plan.looks else self.plan
        for name, aggregate in plan.aggregates.items():
            answer = plan.answer(aggregate, values, level)
            columns[name] = shown_column(answer.value)
            if answer.low is not None:
                columns |= {f"{name}_low": shown_column(answer.low), f"{name}_high": shown_column(answer.high)}
        return pa.table(columns)

    def interval(self, level: Number = 0.95) -> Interval:
        """Compute the ends of all intervals at any level.

        Parameters
        ----------
        level : Number, default 0.95
            The confidence level, strictly between 0 and 1. Quantiles keep the level that they were asked with.

        Returns
        -------
        tuple of pyarrow.Table
            The lower and the upper ends, each a table with the keys and the columns of the answer.

        Raises
        ------
        ParameterError
            If a column has no interval, as a selected value has none unless `interval_level` was given.
        """
        exact = rational(level, "level")
        check.between(0, 1, level=exact)
        table = self._table(exact)
        keys, names = self._shown
        bare = [name for name in names if f"{name}_low" not in table.column_names]
        if bare:
            raise ParameterError(
                f"{bare[0]} has no interval: it was chosen, not computed. Ask for one: interval_level=0.95."
            )
        ends = [table.select([*keys, *(f"{name}_{end}" for name in names)]) for end in ("low", "high")]
        low, high = (each.rename_columns([*keys, *names]) for each in ends)
        return low, high

    @property
    def _shown(self) -> tuple[list[str], list[str]]:
        """The columns that the table shows: keys, and answers."""
        return list(self.plan.keys), list(self.plan.aggregates)

    @property
    def left_out(self) -> list[CutShare]:
        """How much limits and bounds left out of rows, people and values, where `left_out=True` paid for it.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> trips = pa.table({"driver": [each // 20 for each in range(400_000)]})
        >>> unit = dp.Person("driver", max_rows_per_group=5)
        >>> data = dp.Dataset(trips, unit=unit, budget=dp.PureDP(9), ledger="trips.ledger", identity="trips")
        >>> people, rows = data.count(epsilon=9, left_out=True).left_out
        >>> rows.of, 0.7 < rows.low <= rows.share <= rows.high < 0.8
        ('rows', True)
        """
        if self.plan.cuts is None:
            return []
        need, noise = self.plan.cuts
        return need.shares(sums_left_out(self.parts), noise, self.plan.level)

    @property
    def _about_left_out(self) -> tuple[str, bool] | None:
        """How much was left out in a sentence, and whether it is much: then it stands first."""
        found = self.left_out
        return (in_a_sentence(found, SHARE), any(each.is_much for each in found)) if found else None

    def non_negative(self) -> TableRelease:
        """Raise counts and sums that cannot be negative to 0, and their intervals too; this costs nothing.

        Returns
        -------
        TableRelease
            The same release with other values.
        """
        table = self.value
        for name, aggregate in self.plan.aggregates.items():
            for column in (name, f"{name}_low", f"{name}_high") if aggregate.is_count else ():
                at = table.schema.get_field_index(column)
                table = table.set_column(at, column, shown_column(np.maximum(_numbers(table.column(at)), 0)))
        return replace(self, value=table)

    def consistent(self, name: str, total: Release) -> TableRelease:
        """Adjust the counts of groups towards a released total, by least squares; this costs nothing.

        Parameters
        ----------
        name : str
            The column of counts.
        total : Release
            The count of all these groups together, from another release such as `data.count(epsilon=0.1)`.

        Returns
        -------
        TableRelease
            The same release with other counts; intervals stay, as they contain the exact values.

        Raises
        ------
        ParameterError
            If the column or the total is not a count.

        Notes
        -----
        With the k counts x of variance v and the total T of variance w, each x moves by (T − Σx)·v/(k·v + w), so that
        both move as far as they are noisy. Whole numbers stay whole: the remainder goes to the first groups.
        """
        counts, sums = self._noise_of(name), getattr(total, "_noise_of", None)
        if sums is None or not isinstance(total.value, int):
            raise ParameterError("total must be the count of all rows: data.count(...).")
        values = _numbers(self.value.column(name))
        missing = total.value - int(values.sum())
        variance, of_total = counts.variance, sums("value").variance
        moved = round(missing * len(values) * variance / (len(values) * variance + of_total))
        each, rest = divmod(moved, len(values))
        better = values + each + (np.arange(len(values)) < rest)
        at = self.value.schema.get_field_index(name)
        return replace(self, value=self.value.set_column(at, name, shown_column(better)))

    def _noise_of(self, name: str) -> Added:
        aggregate = self.plan.aggregates.get(name)
        if not isinstance(aggregate, Count):
            raise ParameterError(f"only counts are made consistent, and {name!r} is none.")
        (key,) = aggregate.needs
        noise = self.plan.parts[key].noise
        assert isinstance(noise, Added)
        return noise

    def to_arrow(self) -> pa.Table:
        """Convert to an Arrow table, with a list for each histogram; see `tidy` for one without lists.

        Returns
        -------
        pyarrow.Table
            The keys, the values and the ends of their intervals.
        """
        return self.value

    def tidy(self) -> pa.Table:
        """Convert to an Arrow table without lists: each bin of a histogram, and each of several quantiles, has a row.

        Returns
        -------
        pyarrow.Table
            The keys, the values and the ends of their intervals. Before a histogram `name` stand `name_from` and
            `name_to`, before quantiles `name_probability`, and before the most common values `name_place`. What is one
            number for a group is repeated in its rows; of several histograms or lists of quantiles the rows stand below
            each other.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"spend": [20.0, 50.0] * 500})
        >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> release = data.agg(spend=dp.histogram("spend", [0, 25, 50, 100])).release(epsilon=0.5)
        >>> release.tidy().select(["spend_from", "spend_to"]).to_pylist()[0]
        {'spend_from': 0, 'spend_to': 25}
        """
        return tidied(self.value, self.plan.aggregates)

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a pandas frame, as `tidy` shapes it.

        Returns
        -------
        pandas.DataFrame
            The keys, the values and the ends of their intervals.

        Raises
        ------
        MissingPackage
            If pandas is not installed.
        """
        return to_pandas_frame(self.tidy())

    def to_polars(self) -> pl.DataFrame:
        """Convert to a Polars frame, as `tidy` shapes it.

        Returns
        -------
        polars.DataFrame
            The keys, the values and the ends of their intervals.

        Raises
        ------
        MissingPackage
            If Polars is not installed.
        """
        try:
            import polars  # an extra
        except ModuleNotFoundError:
            raise MissingPackage("frames of Polars need polars. Install it: pip install 'dither[polars]'.") from None
        frame = polars.from_arrow(self.tidy())
        assert isinstance(frame, polars.DataFrame), "of a table"
        return frame

    def __repr__(self) -> str:
        """The answers with their intervals, of long ones the first lines, and the cost: all of it is released."""
        table: str = views.html.release_text(self)
        return "\n".join([*self._warned(), table, *self._notes()])

    def _repr_html_(self) -> str:
        """For notebooks: the same."""
        paragraph = views.html.paragraph
        table = Release._repr_html_(self)
        return "".join(map(paragraph, self._warned())) + table + "".join(map(paragraph, self._notes()))

    def _warned(self) -> list[str]:
        """What stands before the answers: that much was left out."""
        about = self._about_left_out
        return [about[0]] if about is not None and about[1] else []

    def _notes(self) -> list[str]:
        """What a reader needs beside the answers; it follows from them and from the plan, and reveals nothing more."""
        notes = [*about_ranges(self.found), f"costs {self.plan.cost}"]
        if self.plan.left_out is not None:
            notes.insert(0, self.plan.left_out)
        if (about := self._about_left_out) is not None and not about[1]:
            notes.insert(1, about[0])
        if (empty := self._about_empty_groups()) is not None:
            notes.insert(0, empty)
        if self.plan.discovery is not None and not self.parts.num_rows:
            least = self.plan.discovery.threshold
            notes.insert(0, f"No group had enough people: one is shown from {least} people on, noise included.")
        return [NOT_PRIVATE, *notes] if self.noise_removed else notes

    def _about_empty_groups(self) -> str | None:
        """Which public groups seem to have no rows, from the released counts."""
        return about_empty_groups(self.value, list(self.plan.keys), self.plan)

    @property
    def answer_digest(self) -> str:
        """The digest of the answer as `dither release --out` writes it: certificate and ledger hold it.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500})
        >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> release = data.count(epsilon=0.5)
        >>> release.answer_digest == release.certificate()["answer"]
        True
        """
        return answer_digest(written_answer(self.tidy()))

    def _terms(self) -> dict[str, Any]:
        """What anyone needs to recompute the cost, to find it in the ledger and to know the answer again by its digest.

        No data, and nothing that the answer does not tell.
        """
        return charged_terms(self, self.entry, self.tidy())


def charged_terms(release: Release, entry: Entry, answer: pa.Table) -> dict[str, Any]:
    """The terms of a release that an entry of the ledger pays for, of which this is the answer."""
    question, unit = question_and_unit(entry.content["question"])
    return {
        "mechanism": "table",
        "question": question,
        "unit": unit,
        "event": json.loads(to_json(release.event)),
        "guarantee": stated(release.guarantee),
        "answer": answer_digest(written_answer(answer)),
        "account": entry.account,
        "ledger_entry": {"number": entry.number, "hash": entry.hash},
        **({} if entry.is_durable else {"ledger": "in memory"}),
    }


def to_pandas_frame(table: pa.Table) -> pd.DataFrame:
    """The table as a frame, if pandas is installed."""
    try:
        frame: pd.DataFrame = table.to_pandas()
        return frame
    except ModuleNotFoundError:
        raise MissingPackage("frames of pandas need pandas. Install it: pip install pandas.") from None


def _numbers(column: Any) -> Any:
    """A column as an array, of two dimensions for lists of one length; other lists stay as they are."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_fixed_size_list(whole.type):
        inner = whole.flatten()
        if pa.types.is_integer(inner.type) or pa.types.is_floating(inner.type):
            return numbers_of(inner).reshape(len(whole), whole.type.list_size)
        return whole
    return whole if pa.types.is_list(whole.type) else numbers_of(whole)


def shown_column(values: Any) -> pa.Array:
    """As it is shown: NULL where there is no answer, which is NaN among noisy numbers."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(shown_column(values.ravel()), values.shape[1])
    return values if isinstance(values, pa.Array) else column_of_numbers(values, nan_is_null=True)
