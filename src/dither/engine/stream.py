"""Rows of a dataset over time, and questions about them that are answered period by period."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.continual.encoders import Encoder
from dither.continual.encrypted_file import EncryptedFile, new_key
from dither.continual.participation import ONCE, Participation
from dither.continual.periods import Horizon, Length
from dither.engine.aggregate import Aggregate
from dither.engine.binning import Bins
from dither.engine.group_sensitivity import Need
from dither.engine.keys_over_time import FOUND, KeysOverTime
from dither.engine.over_time import OverTime, windows_in_words
from dither.engine.plan import planned
from dither.engine.price import Price, Terms
from dither.engine.question import Question
from dither.engine.running_stream import RunningStream
from dither.engine.stream_definition import Header, StreamDefinition
from dither.engine.stream_plan import StreamPlan
from dither.engine.written_question import aggregates_text, charged_text, in_quotes
from dither.errors import OverBudget, ParameterError
from dither.exact import Number
from dither.tables import col, filtered, missing_column, shown
from dither.unit import Person

if TYPE_CHECKING:
    from dither.engine.query import Query  # it makes streams

__all__ = ["Stream", "StreamQuestion", "stream_of"]


@dataclass(frozen=True)
class Stream:
    """Rows of a dataset with a time column and a public horizon: released period by period, for one price.

    `data.over("day", start=..., periods=365)` makes it. Group it with `group_by`, state with `agg` what to ask of each
    period, and `start` it: the whole horizon is charged at once, and `step` releases the next period. Running totals,
    the last period and sliding windows come from the same noise, so that they agree with each other.

    Parameters
    ----------
    query : Query
        The rows, and their groups if there are any.
    column : str
        The column with the day or time of each row.
    horizon : Horizon
        The periods.
    participation : Participation
        In how many periods one person may take part, and how far apart.

    Examples
    --------
    >>> import datetime
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> days = [datetime.date(2026, 1, 1 + place % 7) for place in range(700)]
    >>> visits = pa.table({"day": days, "city": ["Paris", "Lyon"] * 350})
    >>> data = dp.Dataset(
    ...     visits, unit=dp.Rows(), budget=dp.ApproxDP(1, 1e-6), ledger="visits.ledger", identity="visits"
    ... )
    >>> stream = data.over("day", start=datetime.date(2026, 1, 1), periods=365)
    >>> question = stream.group_by("city", keys=["Lyon", "Paris"]).agg(visits=dp.count())
    >>> key = dp.Stream.new_key()  # keep it apart from the state
    >>> running = question.start("visits.stream", key=key, epsilon=1, delta=1e-6, show=["total", "last", 7])
    >>> running.step().to_arrow().column_names[:4]
    ['city', 'visits_total', 'visits_total_low', 'visits_total_high']
    >>> running.close()
    """

    query: Query = field(repr=False)
    column: str
    horizon: Horizon
    participation: Participation

    @staticmethod
    def new_key() -> bytes:
        """Draw a key that encrypts the state of streams; keep it apart from the state.

        Returns
        -------
        bytes
            32 bytes. Without them a stream cannot go on.
        """
        return new_key()

    def group_by(self, *columns: str | Bins | Sequence[str | Bins], keys: Any = None) -> Stream:
        """Group the rows of each period by the values of columns.

        Groups that are not public are found as they come: one is shown from the period on in which enough people have
        it (partition selection), and counts from then on. That needs `delta` for the whole horizon.

        Parameters
        ----------
        *columns : str or Bins
            Names of columns, or public bins such as `dp.bins("age", [0, 18, 65, 120])`.
        keys : list, dict or table, optional
            The key set, as in `Query.group_by`. Bins are public already. By default groups are found in the data.

        Returns
        -------
        Stream
            The same stream with groups.

        Raises
        ------
        ParameterError
            If keys do not fit the columns.
        """
        return replace(self, query=self.query.group_by(*columns, keys=keys))

    def agg(self, **aggregates: Aggregate) -> StreamQuestion:
        """State what to ask of each period.

        Parameters
        ----------
        **aggregates : Aggregate
            The columns of the answer by name: counts, sums, means, shares, variances and histograms.

        Returns
        -------
        StreamQuestion
            The question: `.plan(...)` shows its expected error, `.start(...)` charges it and begins.

        Raises
        ------
        ParameterError
            If an aggregate cannot be released over time.
        """
        return StreamQuestion(self, self.query.agg(**aggregates))

    def __str__(self) -> str:
        """As the ledger records it."""
        often = ""
        if isinstance(self.query.origin.unit, Person):
            often = f", {self.participation.max_periods} of them per person"
            often += f" {self.participation.min_separation} apart" if self.participation.min_separation > 1 else ""
        return f"over {in_quotes(self.column)} in {self.horizon}{often}"


@dataclass(frozen=True)
class StreamQuestion:
    """A stream with what is asked of each period; `Stream.agg` makes it.

    Parameters
    ----------
    stream : Stream
        The rows and their periods.
    question : Question
        What is asked of one period.
    """

    stream: Stream
    question: Question

    def plan(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        show: Sequence[str | int] = ("total",),
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
    ) -> StreamPlan:
        """Show what the stream would cost and how large its errors would be; no data is read.

        Parameters
        ----------
        epsilon : Number, optional
            The privacy loss ε > 0 that the whole horizon costs, together with `delta`.
        delta : Number, optional
            The δ that goes with ε.
        rho : Number, optional
            The cost ρ in zero-concentrated differential privacy, instead of `epsilon` and `delta`.
        show : sequence of str or int, default ("total",)
            What is shown after each period: "total" (since the start), "last" (that period), "month" (the calendar
            month so far), and sliding windows by their number of periods, such as 7. The noise is chosen for these.
        weights : mapping of str to Number, optional
            How the columns of the answer share the price, by their names; 1 each unless given.
        level : Number, default 0.95
            The confidence level of the intervals.

        Returns
        -------
        StreamPlan
            The cost, the factorisation of each column and its error in each period.

        Raises
        ------
        ParameterError
            If the price or a question is not valid, or an aggregate cannot be released over time.
        """
        return self._planned(Terms(epsilon, delta, rho, "gaussian", weights, level, population=False), tuple(show), {})

    def _planned(self, terms: Terms, asked: tuple[str | int, ...], kept: Mapping[int, Encoder]) -> StreamPlan:
        """The plan, with the encoders that were kept where the stream was started before."""
        if not asked or len(set(asked)) != len(asked):
            raise ParameterError("show takes one or more different questions, such as ['total', 'last', 7].")
        stream, question = self.stream, self.question
        windows = tuple(dict.fromkeys(map(stream.horizon.typical_window, asked)))

        periods, participation = stream.horizon.periods, stream.participation
        found: dict[str, Need] = {}
        if question._finds_groups:
            found[FOUND] = KeysOverTime(periods, participation, _part_for_keys(terms))

        def over(needs: Mapping[str, Need]) -> dict[str, Need]:
            asked_of = {key: OverTime(need, periods, windows, participation, kept) for key, need in needs.items()}
            return {**found, **asked_of}

        keys = list(question.query.keys)
        plan = planned(question.aggregates, question.neighbour, False, terms, keys, over)
        return StreamPlan(plan, asked, stream.horizon)

    def start(
        self,
        path: str | os.PathLike[str],
        *,
        key: bytes,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        show: Sequence[str | int] = ("total",),
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
    ) -> RunningStream:
        """Charge the whole horizon, and begin: no row is read before the first `step`.

        Parameters
        ----------
        path : str or os.PathLike
            Where the state is kept: a new file, encrypted with `key`.
        key : bytes
            The owner's key, of 32 bytes, such as `dp.Stream.new_key()` gives.
        epsilon : Number, optional
            The privacy loss ε > 0 that the whole horizon costs, together with `delta`.
        delta : Number, optional
            The δ that goes with ε.
        rho : Number, optional
            The cost ρ in zero-concentrated differential privacy, instead of `epsilon` and `delta`.
        show : sequence of str or int, default ("total",)
            What is shown after each period: "total", "last", "month", and sliding windows by their number of periods.
        weights : mapping of str to Number, optional
            How the columns of the answer share the price, by their names; 1 each unless given.
        level : Number, default 0.95
            The confidence level of the intervals.

        Returns
        -------
        RunningStream
            The stream: `step` releases the next period. Another process goes on with `resume`.

        Raises
        ------
        ParameterError
            If there is a file at `path`, or the price or a question is not valid.
        OverBudget
            If less is left of the budget; nothing is charged, and no file is left.
        """
        plan = self.plan(epsilon=epsilon, delta=delta, rho=rho, show=show, weights=weights, level=level)
        header = Header.new(self.words(plan), plan.plan, plan.show)
        file = EncryptedFile(path, key, create=True)
        try:
            file.append(header.written())
            return RunningStream(self._definition(plan, header), file)
        except BaseException as error:
            file.close()
            if isinstance(error, OverBudget | ParameterError):  # else the charge may be there, and resuming finds it
                os.unlink(path)
            raise

    def resume(self, path: str | os.PathLike[str], *, key: bytes) -> RunningStream:
        """Go on with a stream that was started; nothing is charged.

        Parameters
        ----------
        path : str or os.PathLike
            Where the state is kept.
        key : bytes
            The owner's key.

        Returns
        -------
        RunningStream
            The stream, after the last period that was released.

        Raises
        ------
        LedgerError
            If the key is another one, or the state was changed.
        LedgerConflict
            If the state is that of another question, a copy of an earlier one, or in use by another process.
        """
        file = EncryptedFile(path, key, create=False)
        try:
            header = Header.read(next(file.records(), b""))
            plan = self._planned(header.terms, header.show, header.encoders)
            return RunningStream(self._definition(plan, header), file)
        except BaseException:
            file.close()
            raise

    def words(self, plan: StreamPlan) -> str:
        """State the question as the ledger and certificates record it.

        Parameters
        ----------
        plan : StreamPlan
            The plan, which says what is shown.

        Returns
        -------
        str
            The rows, the periods, what is asked and shown, and the privacy unit.
        """
        question = self.question
        said = [*question.query.words, str(self.stream), aggregates_text(question.aggregates)]
        said.append(f"show {windows_in_words(plan.show)}")
        return charged_text("; ".join(said), str(question.neighbour))

    def _definition(self, plan: StreamPlan, header: Header) -> StreamDefinition:
        words = self.words(plan)
        header.check(words)
        people = self.stream.participation if isinstance(self.question.query.origin.unit, Person) else None
        return StreamDefinition(header, words, plan.plan, plan.show, self.stream.horizon, people, self._rows_of)

    def _rows_of(self, period: int) -> Question:
        """The question about the rows of one period."""
        horizon, of = self.stream.horizon, col(self.stream.column)
        within = (of >= horizon.first_day(period)) & (of < horizon.first_day(period + 1))
        query = self.question.query
        query.origin._source.engine.check_days()
        return Question(query._with(call="", _table=filtered(query._table, within)), self.question.aggregates)


def _part_for_keys(terms: Terms) -> Fraction:
    """Half of δ is for groups that one person alone has."""
    if terms.delta is None:
        raise ParameterError("groups that are found over time need epsilon=... and delta=..., or give keys=[...].")
    price = Price.of(terms.epsilon, terms.delta, terms.rho)
    assert price.delta is not None
    return price.delta / 2


def stream_of(
    query: Query,
    column: str,
    start: date,
    periods: int,
    every: Length,
    max_periods: int | None,
    min_separation: int,
) -> Stream:
    """Check what `Query.over` was given, and make the stream.

    Parameters
    ----------
    query : Query
        The rows.
    column : str
        The column with the day or time of each row.
    start : datetime.date
        The first day of the first period.
    periods : int
        How many periods there are.
    every : {"day", "week", "month"}
        How long a period is.
    max_periods : int or None
        In how many periods one person may take part.
    min_separation : int
        How many periods lie between two of them at least.

    Returns
    -------
    Stream
        The stream.
    """
    query._mentions(column)
    if column not in query._table.columns:
        raise missing_column(column, shown(query._table))
    unit = query.origin.unit
    horizon = Horizon(start, periods, every)
    if unit.adjacency.change == "replace":
        raise ParameterError(
            "a row that is replaced could move from one period to another. Open the dataset with dp.Rows() or "
            "dp.Person."
        )
    if not isinstance(unit, Person):
        if max_periods not in (None, 1) or min_separation != 1:
            raise ParameterError("a row is in one period: max_periods and min_separation are for dp.Person.")
        return Stream(query, column, horizon, ONCE)
    if max_periods is None:
        raise ParameterError(
            "a person may be in many periods: say in how many of them they may take part, as in max_periods=30. More "
            "keeps more data and needs more noise; who has used up their share is left out."
        )
    return Stream(query, column, horizon, Participation(max_periods, min_separation))
