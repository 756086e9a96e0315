"""A stream that was started: it releases one period after the other, and keeps what it must to go on.

The state is a sealed file: a header, the entry of the charge, then a record for each period with the exact numbers,
those decoded from noisy ones, who took part, and groups that were found. A record is written before the ledger has the
period, and that before the answer is given:

* a crash before the record is written: nothing left, and the period is drawn anew;
* a crash before the ledger has it: the record is there and is recorded when the stream is resumed; nothing is drawn
  again;
* afterwards the period has one answer for ever.

The ledger has the digest of the last record, so a state that is behind it, or another one, is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from threading import RLock
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dither.continual.attendance import Attendance
from dither.continual.encoders import Wide, widened
from dither.continual.encrypted_file import EncryptedFile
from dither.continual.track import FRACTION_BITS, Step, Track
from dither.engine.aggregate import Aggregate, Noisy
from dither.engine.groups import ROOM, Groups, with_plain_texts
from dither.engine.kept_period import KeptPeriod
from dither.engine.keys_over_time import FOUND, with_found
from dither.engine.noisy_groups import exact_numbers, questions
from dither.engine.period_release import PeriodRelease
from dither.engine.plan import noisy_columns
from dither.engine.stream_definition import Header, StreamDefinition
from dither.engine.table_release import shown_column
from dither.errors import LedgerConflict, LedgerError, ParameterError
from dither.estimators.noise_tails import NoiseLaw
from dither.events import to_json
from dither.ledger import Charge, Entry
from dither.ledger.budget import Budget, read_budget
from dither.release import fresh_salt
from dither.tables import PERSON, BoundedTable, ExactAggregate
from dither.views import views

__all__ = ["RunningStream"]

Batches = Iterator[pa.RecordBatch]
_BEFORE: Final = 2
"""The records before those of periods: the header, and the entry of the charge."""
_SAVED_EVERY: Final = 64
"""So many periods lie between two that hold the memory of an encoder, where that is of fixed size."""
_OTHER_STATE: Final = (
    "the state of the stream is not the one that was used last: the ledger has {ledger} periods, and the state "
    "{state}. No answer was given. Use the file that was written last; a copy of an earlier one, or one that another "
    "copy went on from, would give noise to the same period twice."
)


class RunningStream:
    """A stream that was started: `step` releases the next period, and nothing more is charged.

    `StreamQuestion.start` and `StreamQuestion.resume` make it. One process at a time may have it; `close` it when done,
    or use it in a `with` block.

    Parameters
    ----------
    definition : StreamDefinition
        What is asked, and the noise.
    file : EncryptedFile
        The state.
    """

    def __init__(self, definition: StreamDefinition, file: EncryptedFile) -> None:
        self._definition, self._file, self._lock = definition, file, RLock()
        query = definition.rows_of(0).query
        self._engine, self._release_path = query.origin._source.engine, query.origin.release_path
        self._attendance = None if definition.participation is None else Attendance(definition.participation)
        self._last: KeptPeriod | None = None
        self._found: Groups | None = None
        """The groups that were found so far, where they are not public; None before the first period."""
        records = file.records()
        Header.read(next(records, b""))
        paid = next(records, None)
        self._tracks = self._tracks_of(map(KeptPeriod.read, records))
        self._charge = self._charged() if paid is None else self._charged_before(Entry(*json.loads(paid)))
        self._check_ledger()

    def _rehearse(self) -> None:
        """Refuse, before the horizon is charged, questions that cannot be run or read: no period could be released."""
        people, asked = self._questions(self._definition.rows_of(0)._bounded)
        with self._engine.asking():
            for each in (*people, *asked):
                each._rehearse()
        exact_numbers(self._definition.needs, self._known(asked), [iter([each._without_rows()]) for each in asked])

    def _known(self, asked: Sequence[ExactAggregate]) -> Groups:
        """The groups before this period. Where they are found, their keys are of the types that they always had."""
        if self._definition.key_noise is None:
            return self._definition.groups
        types = pa.Table.from_batches([asked[0]._without_rows()]).select(self._definition.key_names)
        if self._found is None:
            return Groups(types)
        if self._found.keys.schema.types != types.schema.types:
            raise LedgerConflict(
                "a column that groups are made of has another type than in earlier periods of this stream. No answer "
                "was given. Give it the type that it had."
            )
        return self._found

    def _charged(self) -> Charge:
        """Charge the whole horizon, and keep the entry: under its key it is charged once, whatever happens between.

        From then on the state belongs to this charge: in another ledger or over another dataset it would give the exact
        numbers of its first periods a second noise, which nobody paid for.
        """
        self._rehearse()
        definition, release_path = self._definition, self._release_path
        charge = release_path.ledger.charge(
            release_path.account,
            definition.plan.event,
            definition.plan.cost,
            definition.words,
            key=f"stream {definition.header.name}",
            by=release_path.by,
            share=release_path.share,
            periods=definition.horizon.periods,
        )
        entry = charge.entry
        self._file.append(json.dumps([entry.number, entry.previous, entry.kind, entry.account, entry.body]).encode())
        return charge

    def _charged_before(self, entry: Entry) -> Charge:
        """The charge that the state belongs to; that it is in this ledger is checked with its periods."""
        plan = self._definition.plan
        if entry.account != self._release_path.account:
            raise LedgerConflict("the state is that of a stream over another dataset. No answer was given.")
        if entry.content["event"] != to_json(plan.event) or read_budget(entry.content["cost"]) != plan.cost:
            raise LedgerConflict(
                "the noise of this stream is not what was charged for it. No answer was given. Go on with the version "
                "of dither that it was started with."
            )
        return Charge(entry)

    def _tracks_of(self, periods: Iterator[KeptPeriod]) -> dict[str, Track]:
        """The memories of all periods: from the last one that holds them, and those after it."""
        since: list[KeptPeriod] = []
        saved: KeptPeriod | None = None
        for each in periods:
            self._remember(each)
            if len(each.saved) == len(self._definition.noises):
                saved, since = each, []
            else:
                since.append(each)
        tracks = {}
        for key, noise in self._definition.noises.items():
            memory = (None, 0) if saved is None else (saved.saved[key], saved.number + 1)
            tracks[key] = Track(noise, self._coordinates(key), *memory)
            for each in since:
                tracks[key].add(each.steps[key])
        return tracks

    def _coordinates(self, key: str) -> int:
        """At the start; where groups are found there is none yet."""
        if self._definition.key_noise is not None:
            return 0
        return len(self._definition.groups) * max(self._definition.width(key), 1)

    def _remember(self, period: KeptPeriod) -> None:
        """Who took part, which groups were found, and that it is the last one."""
        if self._attendance is not None and period.people is not None:
            self._attendance.add(period.people, period.number)
        if period.found is not None:
            before = [] if self._found is None else [self._found.keys]
            self._found = Groups(pa.concat_tables([*before, period.found]).combine_chunks())
        self._last = period

    def _check_ledger(self) -> None:
        """The ledger and the state are about the same periods; one that a crash left unrecorded is recorded now."""
        newest = self._release_path.ledger.last_period(self._charge)
        recorded, kept = 0 if newest is None else newest[0] + 1, self.released
        fits = recorded <= kept <= recorded + 1
        if not fits or (newest is not None and self._file.digest_after(_BEFORE + recorded) != newest[1]):
            raise LedgerConflict(_OTHER_STATE.format(ledger=recorded, state=kept))
        if kept > recorded:
            self._release_path.ledger.record_period(self._charge, kept - 1, self._file.digest)

    @property
    def released(self) -> int:
        """How many periods were released so far."""
        return 0 if self._last is None else self._last.number + 1

    @property
    def periods(self) -> int:
        """How many periods the stream has."""
        return self._definition.horizon.periods

    @property
    def entry(self) -> Entry:
        """The charge of the whole horizon in the ledger."""
        return self._charge.entry

    @property
    def cost(self) -> Budget:
        """What the whole horizon was charged."""
        return self._definition.plan.cost

    @property
    def aggregates(self) -> Mapping[str, Aggregate]:
        """What each column of the answers is, by its name."""
        return self._definition.columns

    @property
    def level(self) -> Fraction:
        """The confidence level of the intervals."""
        return self._definition.plan.level

    @property
    def shown_from(self) -> int | None:
        """With how many people in one period, noise and all, a group is shown; None if groups are public."""
        noise = self._definition.key_noise
        return None if noise is None else noise.selection.threshold

    def step(self, period: int | date | None = None) -> PeriodRelease:
        """Release the next period; or give the answer of an earlier one again, which is the same for ever.

        Rows of a period are read once, in its step. Those that arrive later are in no period; those of days after it
        wait for theirs. Which period comes next is decided by the state and the ledger, never by a clock.

        Parameters
        ----------
        period : int or datetime.date, optional
            The number of the period, from 0 on, or a day in it: the next one, or one that was released before. With it
            a step may be asked twice, as by a job that runs again; without it each step is another period.

        Returns
        -------
        PeriodRelease
            The answers after this period, which may be published.

        Raises
        ------
        ParameterError
            If the period is not the next one and was not released, or the stream has ended.
        LedgerConflict
            If another process went on with a copy of the state.
        EngineError
            If the rows could not be read; nothing was released, and the period may be tried again.
        TooManyFailures
            If too many questions of the dataset failed; the owner has to resume it.
        """
        with self._lock:
            if self._file.is_closed:
                raise LedgerError("the stream was closed, or its last step could not be kept. Resume it.")
            at = self._definition.horizon.period_of(period) if type(period) is date else period
            at = self.released if at is None else at
            if type(at) is not int or not 0 <= at <= self.released:
                asked = str(period) if type(period) is date else repr(period)
                raise ParameterError(
                    f"periods are released in their order, and the next one is {self.released}, got period={asked}."
                )
            if at < self.released:
                return self._release(KeptPeriod.read(self._file.record(_BEFORE + at)))
            if at == self.periods:
                raise ParameterError(f"the stream has ended: all {self.periods} periods are released. Start another.")
            return self._release(self._next(at))

    def _next(self, period: int) -> KeptPeriod:
        bounded = self._definition.rows_of(period)._bounded
        people, rehearsed = self._questions(bounded)
        known = self._known(rehearsed)
        present: list[pa.Array] = []

        def asked(there: Sequence[Iterator[pa.RecordBatch]]) -> list[ExactAggregate]:
            """Questions about those who may take part; who they are is kept before anything is released."""
            if self._attendance is None:
                return rehearsed
            found = pa.Table.from_batches(there[0]).column(PERSON).combine_chunks()
            present.append(self._attendance.admitted(found, period))
            return self._asked(bounded.only(self._engine.upload(pa.table({PERSON: present[0]}))))

        def draw(answers: Sequence[Iterator[pa.RecordBatch]]) -> KeptPeriod:
            groups, answers = self._with_found(known, answers)
            exact = exact_numbers(self._definition.needs, groups, answers)
            steps = {key: track.draw(exact[key].ravel()) for key, track in self._tracks.items()}
            new = groups.keys.slice(len(known)) if self._definition.key_noise is not None else None
            return self._drawn(period, steps, present[0] if present else None, new)

        try:
            with self._engine.asking():
                return self._release_path.step(self._charge, period, rehearsed, people, asked, draw, self._keep)
        except BaseException:
            if any(track.period != period for track in self._tracks.values()):
                self.close()  # it may be kept and not recorded, or remembered and not kept: resuming finds out
            raise

    def _questions(self, bounded: BoundedTable) -> tuple[list[ExactAggregate], list[ExactAggregate]]:
        """Who is there, where people are told apart; and what is asked of those who may take part: here of nobody."""
        if self._attendance is None:
            return [], self._asked(bounded)
        people = bounded.people()
        nobody = pa.Table.from_batches([people._without_rows()])
        self._attendance.check_type(nobody.schema.field(PERSON).type)
        return [people], self._asked(bounded.only(self._engine.upload(nobody)))

    def _asked(self, bounded: BoundedTable) -> list[ExactAggregate]:
        return questions(self._definition.needs, bounded, fresh_salt)

    def _with_found(self, known: Groups, answers: Sequence[Batches]) -> tuple[Groups, Sequence[Batches]]:
        """The groups that are known from this period on, and the answers to read their numbers from."""
        noise = self._definition.key_noise
        if noise is None:
            return known, answers
        first, *rest = answers
        batches = list(first)
        people = noisy_columns(self._definition.needs)[FOUND]
        return with_found(known, noise, people, batches), [iter(batches), *rest]

    def _drawn(
        self, period: int, steps: Mapping[str, Step], people: pa.Array | None, new: pa.Table | None
    ) -> KeptPeriod:
        before = {} if self._last is None else self._last.totals
        totals = {
            key: step.decoded + (widened(before[key], len(step.decoded)) if key in before else 0)
            for key, step in steps.items()
        }
        is_kept = new is not None and (period == 0 or new.num_rows > 0)  # of the first one for the types of the keys
        return KeptPeriod(period, steps, totals, people, new if is_kept else None)

    def _keep(self, period: KeptPeriod) -> str:
        """Write the period down; from here on it has this answer."""
        for key, track in self._tracks.items():
            track.add(period.steps[key])
        if period.number % _SAVED_EVERY == _SAVED_EVERY - 1:
            memories = {key: track.saved() for key, track in self._tracks.items()}
            if None not in memories.values():
                period = replace(period, saved=memories)
        self._file.append(period.written())
        self._remember(period)
        return self._file.digest

    def _release(self, period: KeptPeriod) -> PeriodRelease:
        plan, horizon = self._definition.plan, self._definition.horizon
        noise: Any = next(iter(plan.parts.values())).noise
        first, end = horizon.first_day(period.number), horizon.first_day(period.number + 1)
        entry, columns = self._charge.entry, self._definition.columns
        answers = self._table(period)
        removed = entry.noise_removed
        return PeriodRelease(
            answers, plan.event, plan.cost, noise, period.number, first, end, entry, columns, noise_removed=removed
        )

    def _table(self, period: KeptPeriod) -> pa.Table:
        """The keys, and for each column and question its value and interval: all from the same noisy numbers."""
        keys = self._keys(period)
        columns = {name: keys.column(name) for name in keys.column_names}
        for name, aggregate in self._definition.plan.aggregates.items():
            miss = (1 - self._definition.plan.level) / len(aggregate.needs)
            for question in self._definition.show:
                window = self._definition.horizon.window(question, period.number)
                answer = aggregate.answer({key: self._noisy(key, period, window, miss) for key in aggregate.needs})
                said = f"{name}_{question}"
                columns[said] = shown_column(answer.value)
                if answer.low is not None:
                    columns |= {f"{said}_low": shown_column(answer.low), f"{said}_high": shown_column(answer.high)}
        return pa.table(columns)

    def _keys(self, period: KeptPeriod) -> pa.Table:
        """The groups that were known after this period."""
        if self._found is None:
            return self._definition.groups.keys
        key, totals = next(iter(period.totals.items()))
        return with_plain_texts(self._found.keys.slice(0, len(totals) // max(self._definition.width(key), 1)))

    def _noisy(self, key: str, period: KeptPeriod, window: int | None, miss: Fraction) -> Noisy:
        """A sum over periods in whole steps: differences of rounded totals, which is why all answers agree."""
        values = _whole(period.totals[key])
        if window is not None and window <= period.number:
            before = KeptPeriod.read(self._file.record(_BEFORE + period.number - window))
            values = values - widened(_whole(before.totals[key]), len(values))
        noise, width = self._definition.noises[key], self._definition.width(key)
        shaped = np.clip(values, -ROOM, ROOM).astype(np.int64)
        shaped = shaped.reshape(-1, width) if width else shaped
        reach = math.ceil(noise.reach(window, period.number, miss)) + 1  # two totals were rounded, by half a step each
        return Noisy(
            shaped, lambda: reach, NoiseLaw(noise.deviation(window, period.number), is_normal=True), float(miss)
        )

    def show(self) -> pa.Table:
        """Show all periods that were released, one below the other.

        Returns
        -------
        pyarrow.Table
            The first day of each period in `period`, then the keys and the answers.
        """
        with self._lock:
            tables = []
            for number in range(self.released):
                table = self.step(number).to_arrow()
                days = pa.array([self._definition.horizon.first_day(number)] * table.num_rows, pa.date32())
                tables.append(table.add_column(0, "period", days))
        if not tables:
            raise ParameterError("no period was released yet. Call step() first.")
        return pa.concat_tables(tables)

    def plot(self, column: str) -> Any:
        """Draw a column over time, with its intervals as a band.

        Parameters
        ----------
        column : str
            The column of the answers, such as "visits_total".

        Returns
        -------
        matplotlib.figure.Figure
            The figure, with a line for each group.
        """
        return views.plots.over_time(self.show(), column, self._definition.key_names)

    def close(self) -> None:
        """Give the state back, so that another process can go on."""
        self._file.close()

    def __enter__(self) -> RunningStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """How far it is, and what it is about."""
        return f"RunningStream({self.released} of {self.periods} periods released; {self._definition.words})"


def _whole(totals: Wide) -> Wide:
    """Rounded to whole steps."""
    rounded: Wide = (totals + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS
    return rounded
