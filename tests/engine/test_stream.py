"""Streams over tables: what they answer, who takes part, what a neighbour moves, what is charged and refused."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pytest

import dither as dp
from dither.engine.dataset import for_analyst
from dither.engine.running_stream import RunningStream
from dither.engine.stream import StreamQuestion
from dither.errors import CertificateError, LedgerConflict, OverBudget, ParameterError
from dither.events import Composed, GaussianNoise
from dither.ledger import Ledger
from dither.mechanisms.additive import Noising
from dither.mechanisms.certificate import digest
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.database_engines.engine import builtin

START, PERIODS = datetime.date(2026, 1, 1), 6
KEY = b"k" * 32
CITIES = ["Lyon", "Paris"]


def visits(seed: int = 0, rows: int = 400, people: int = 60) -> pa.Table:
    random = np.random.default_rng(seed)
    days = [START + datetime.timedelta(int(day)) for day in random.integers(-1, PERIODS + 1, rows)]
    columns = {"user": random.integers(0, people, rows), "day": days, "city": random.choice([*CITIES, "Nice"], rows)}
    return pa.table({**columns, "spend": random.integers(0, 100, rows).astype(float)})


@pytest.fixture
def unnoised(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every number that would get noise, in its order; it gets none, and the same groups are kept each time."""
    seen: list[Any] = []

    def add(noising: Noising, value: Any) -> Any:
        seen.append(np.array(value, dtype=object))
        return value

    monkeypatch.setattr(Noising, "add", add)
    monkeypatch.setattr("dither.engine.running_stream.fresh_salt", lambda: 7)
    return seen


def opened(source: Any, place: Path, unit: Any = None, name: str = "visits") -> dp.Dataset:
    unit = unit or dp.Person("user", max_groups=2, max_rows_per_group=3)
    return dp.Dataset(
        source, unit=unit, budget=dp.ApproxDP(1, 1e-5), ledger=place / f"{name}.ledger", identity="visits"
    )


def asked(data: dp.Dataset, max_periods: int | None = 3, gap: int = 1, whole: bool = False) -> StreamQuestion:
    stream = data.over("day", start=START, periods=PERIODS, max_periods=max_periods, min_separation=gap)
    groups = stream.group_by("city", keys=CITIES)
    if not whole:
        return groups.agg(visits=dp.count())
    return groups.agg(
        visits=dp.count(), spend=dp.sum("spend", bounds=(0, 100)), mean=dp.mean("spend", bounds=(0, 100)),
        shape=dp.histogram("spend", [0, 50, 100]),
    )  # fmt: skip


def started(question: StreamQuestion, place: Path, name: str = "visits") -> RunningStream:
    return question.start(place / f"{name}.stream", key=KEY, epsilon=1, delta=1e-6, show=["total", "last", 3])


def by_hand(table: pa.Table, period: int, window: int | None, admitted: Callable[[int, int], bool]) -> dict[str, Any]:
    """Rows of each city in the last `window` periods, with the limits of each person, in plain Python."""
    first = 0 if window is None else max(period - window + 1, 0)
    counts = dict.fromkeys(CITIES, 0)
    for at in range(first, period + 1):
        day = START + datetime.timedelta(at)
        rows = [row for row in table.to_pylist() if row["day"] == day and row["city"] in CITIES]
        for user in {row["user"] for row in rows if admitted(row["user"], at)}:
            for city in CITIES:
                counts[city] += min(sum(row["user"] == user and row["city"] == city for row in rows), 3)
    return counts


def attendance(table: pa.Table, most: int, gap: int) -> Callable[[int, int], bool]:
    """Who may take part when, in plain Python: the first periods in which they are there."""
    taken: dict[int, list[int]] = {}
    for at in range(PERIODS):
        day = START + datetime.timedelta(at)
        for user in {row["user"] for row in table.to_pylist() if row["day"] == day and row["city"] in CITIES}:
            own = taken.setdefault(user, [])
            if len(own) < most and (not own or at - own[-1] >= gap):
                own.append(at)
    return lambda user, at: at in taken.get(user, [])


@pytest.mark.usefixtures("unnoised")
@pytest.mark.parametrize(("most", "gap"), [(2, 1), (3, 2)])
def test_h86_answers_are_those_of_the_rows_that_may_count(tmp_path: Path, most: int, gap: int) -> None:
    """Without noise, beside plain Python; resumed in the middle, so that the state alone knows who took part."""
    table = visits()
    admitted = attendance(table, most, gap)
    question = asked(opened(table, tmp_path), most, gap, whole=True)
    stream = started(question, tmp_path)
    for period in range(PERIODS):
        if period == 3:
            stream.close()
            stream = question.resume(tmp_path / "visits.stream", key=KEY)
        answer = stream.step().to_arrow().to_pydict()
        for said, window in (("total", None), ("last", 1), ("3", 3)):
            wanted = by_hand(table, period, window, admitted)
            assert dict(zip(answer["city"], answer[f"visits_{said}"], strict=True)) == wanted
            assert [sum(each) for each in answer[f"shape_{said}"]] == list(wanted.values())
    shown = stream.show()
    assert shown.num_rows == 2 * PERIODS
    stream.close()


@pytest.mark.usefixtures("unnoised")
def test_h86_who_takes_part_is_decided_without_values(tmp_path: Path) -> None:
    """Other values in the same rows, and the same people are admitted in the same periods."""
    counts = []
    for name in ("one", "other"):
        table = visits()
        if name == "other":
            table = table.set_column(3, "spend", pa.array(np.zeros(table.num_rows)))
        stream = started(asked(opened(table, tmp_path, name=name), 2), tmp_path, name)
        counts.append([stream.step().to_arrow().column("visits_last").to_pylist() for _ in range(PERIODS)])
        stream.close()
    assert counts[0] == counts[1]


@pytest.mark.parametrize(("most", "gap"), [(3, 1), (2, 3)])
def test_h86_a_person_on_many_days_moves_no_more_than_is_charged(
    tmp_path: Path, unnoised: list[Any], most: int, gap: int, record_property: Callable[[str, object], None]
) -> None:
    """Replay over neighbouring streams: a person is added on every day, beyond all limits, and Σ‖Δy‖² is compared.

    Counts move by all that is charged for, so that a bound that is too small would show.
    """
    table = visits(1)
    extra = [
        {"user": 999, "day": START + datetime.timedelta(day), "city": city, "spend": 100.0}
        for day in range(PERIODS) for city in CITIES for _ in range(5)
    ]  # fmt: skip
    larger = pa.concat_tables([table, pa.Table.from_pylist(extra, schema=table.schema)])
    measured, event, parts = [], None, 0
    for name, rows in (("less", table), ("more", larger)):
        unnoised.clear()
        question = asked(opened(rows, tmp_path, name=name), most, gap, whole=True)
        plan = question.plan(epsilon=1, delta=1e-6, show=["total", "last", 3])
        event, parts = plan.event, len(plan.plan.parts)
        stream = started(question, tmp_path, name)
        for _ in range(PERIODS):
            stream.step()
        stream.close()
        measured.append(list(unnoised))
    assert isinstance(event, Composed)
    moved = [0] * parts
    for place, (one, other) in enumerate(zip(*measured, strict=True)):
        moved[place % parts] += int(((one - other) ** 2).sum())
    charged = [each for each in event.events if isinstance(each, GaussianNoise)]
    assert len(charged) == parts
    for did, may in zip(moved, charged, strict=True):
        assert 0 < did <= may.sensitivity_squared
    assert gap > 1 or moved[0] > 0.99 * charged[0].sensitivity_squared
    record_property("replayed pairs", PERIODS)


def test_the_horizon_is_charged_once_and_periods_refer_to_it(tmp_path: Path) -> None:
    data = opened(visits(), tmp_path)
    with started(asked(data), tmp_path) as stream:
        certificates = [stream.step().certificate() for _ in range(PERIODS)]
    assert data.spent == {"epsilon": 1, "delta": dp.ApproxDP(1, 1e-6).stated_delta}
    ledger = Ledger(tmp_path / "visits.ledger")
    entries = {dp.check_certificate(each, ledger).entry for each in certificates}
    assert len(entries) == 1
    assert [each["period"] for each in certificates] == list(range(PERIODS))
    for period, word in ((PERIODS, "no record of period 6"), (None, "must be the number"), ("0", "must be the number")):
        terms = {**certificates[0], "period": period}
        terms["digest"] = digest({name: value for name, value in terms.items() if name != "digest"})
        with pytest.raises(CertificateError, match=word):
            dp.check_certificate(terms, ledger)
    kinds = [entry.kind for entry in ledger.entries()]
    assert (kinds.count("charge"), kinds.count("period")) == (1, PERIODS)
    with pytest.raises(OverBudget):
        started(asked(data), tmp_path, "another")
    assert not (tmp_path / "another.stream").exists()


def test_totals_last_and_windows_agree(tmp_path: Path) -> None:
    """With noise: the last period is the difference of two totals, a window that of two others; exactly."""
    with started(asked(opened(visits(), tmp_path)), tmp_path) as stream:
        answers = [stream.step().to_arrow().to_pydict() for _ in range(PERIODS)]
    for group in range(2):
        totals = [0, *(each["visits_total"][group] for each in answers)]
        assert [each["visits_last"][group] for each in answers] == np.diff(totals).tolist()
        assert [each["visits_3"][group] for each in answers[2:]] == [
            totals[place] - totals[place - 3] for place in range(3, PERIODS + 1)
        ]
        for each in answers:
            assert each["visits_total_low"][group] < each["visits_total"][group] < each["visits_total_high"][group]


@pytest.mark.usefixtures("unnoised")
@pytest.mark.parametrize(("column", "wanted"), [("day", [2, 0, 0]), ("arrived", [2, 0, 1])])
def test_late_rows_are_refused_or_count_when_they_arrive(tmp_path: Path, column: str, wanted: list[int]) -> None:
    """A row about the first day comes on the third. By its day it is in no period, by its arrival in the third.

    What was told stays told: the first two periods are asked again after it came.
    """
    arrived = [START, START, START + datetime.timedelta(2)]
    rows = pa.table({"day": [START] * 3, "arrived": arrived})
    told: list[Any] = []
    for there, steps in ((rows.slice(0, 2), 2), (rows, 3)):
        with opened(there, tmp_path, dp.Rows()) as data:
            question = data.over(column, start=START, periods=3).agg(n=dp.count())
            if not told:
                question.start(tmp_path / "state", key=KEY, epsilon=1, delta=1e-6, show=["last"]).close()
            with question.resume(tmp_path / "state", key=KEY) as stream:
                answers = [stream.step(period).to_arrow() for period in range(steps)]
        assert answers[: len(told)] == told
        told = answers
    assert [each["n_last"][0].as_py() for each in told] == wanted


@pytest.mark.parametrize("kind", ["text", "time"])
@pytest.mark.usefixtures("unnoised")
def test_people_named_by_texts_and_times_of_rows(tmp_path: Path, kind: str) -> None:
    table = visits(3)
    if kind == "text":
        table = table.set_column(0, "user", pa.array([f"é{each}" for each in table["user"].to_pylist()]))
    else:
        times = [datetime.datetime(day.year, day.month, day.day, 23, 59) for day in table["day"].to_pylist()]
        table = table.set_column(1, "day", pa.array(times, pa.timestamp("us")))
    with started(asked(opened(table, tmp_path), 2), tmp_path) as stream:
        told = [stream.step().to_arrow()["visits_last"].to_pylist() for _ in range(3)]
    admitted = attendance(visits(3), 2, 1)
    assert told == [list(by_hand(visits(3), at, 1, admitted).values()) for at in range(3)]


def test_what_cannot_be_a_stream_is_refused(tmp_path: Path) -> None:
    data = opened(visits(), tmp_path)
    over: dict[str, Any] = {"start": START, "periods": PERIODS, "max_periods": 2}
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: data.over("day", start=START, periods=PERIODS), "max_periods"),
        (lambda: data.over("week", **over), "week"),
        (lambda: data.over("day", **{**over, "periods": 0}), "periods"),
        (lambda: data.over("day", **{**over, "start": "2026-01-01"}), "start"),
        (lambda: data.over("day", **{**over, "every": "hour"}), "every"),
        (lambda: data.over("day", **over, min_separation=0), "min_separation"),
        (lambda: data.over("day", **{**over, "periods": 10**7}), "9999"),
        (lambda: data.over("day", **over).agg(n=dp.median("spend", bounds=(0, 9))).plan(rho=1), "releases counts"),
        (lambda: data.over("day", **over).agg(n=dp.count()).plan(epsilon=1), "delta"),
        (lambda: data.over("day", **over).agg(n=dp.count()).plan(rho=1, show=[]), "one or more"),
        (lambda: data.over("day", **over).agg(n=dp.count()).plan(rho=1, show=["week"]), "sliding window"),
        (lambda: data.over("day", **over).agg(n=dp.count()).plan(rho=1).error("m"), "no column"),
        (lambda: data.over("day", **over).agg(n=dp.count()).plan(rho=1).error("n", "last", 9), "period must"),
    ]
    for ask, word in refused:
        with pytest.raises(ParameterError, match=word):
            ask()
    rows = opened(visits(), tmp_path, dp.Rows("replace"), "replace")
    with pytest.raises(ParameterError, match="replaced"):
        rows.over("day", start=START, periods=3)
    assert not any(data.spent.values())


def test_another_question_cannot_go_on(tmp_path: Path) -> None:
    data = opened(visits(), tmp_path)
    started(asked(data), tmp_path).close()
    with pytest.raises(LedgerConflict, match="another question"):
        asked(data, 4).resume(tmp_path / "visits.stream", key=KEY)
    asked(data).resume(tmp_path / "visits.stream", key=KEY).close()


@pytest.mark.usefixtures("unnoised")
def test_the_month_so_far_is_a_question(tmp_path: Path) -> None:
    """Of days: from the first of the month on, or from the start of the stream; it agrees with the totals."""
    first = datetime.date(2026, 1, 29)
    days = [first + datetime.timedelta(day) for day in range(6) for _ in range(day + 1)]
    data = opened(pa.table({"day": days}), tmp_path, dp.Rows())
    question = data.over("day", start=first, periods=6).agg(n=dp.count())
    with question.start(tmp_path / "months", key=KEY, epsilon=1, delta=1e-6, show=["month", "total"]) as stream:
        told = [stream.step().to_arrow() for _ in range(6)]
    assert [each["n_month"][0].as_py() for each in told] == [1, 3, 6, 4, 9, 15]
    assert [each["n_total"][0].as_py() for each in told] == [1, 3, 6, 10, 15, 21]
    plan = question.plan(rho=1, show=["month"])
    assert plan.error("n", "month", 3) == plan.error("n", "last", 3)
    weeks = data.over("day", start=first, periods=9, every="week").horizon
    assert [weeks.window("month", period) for period in range(9)] == [1, 1, 2, 3, 4, 1, 2, 3, 4]


def test_h86_persons_of_another_type_are_refused(tmp_path: Path) -> None:
    """A number in one period and a text in the next may be the same person, who would count twice as often."""
    question = asked(opened(visits(), tmp_path))
    with started(question, tmp_path) as stream:
        stream.step()
    texts = visits().set_column(0, "user", visits()["user"].cast(pa.string()))
    other = asked(opened(texts, tmp_path))
    with (
        other.resume(tmp_path / "visits.stream", key=KEY) as stream,
        pytest.raises(LedgerConflict, match="another type"),
    ):
        stream.step()


def test_a_share_of_an_analyst_pays_for_no_stream(tmp_path: Path) -> None:
    """Its whole horizon would be taken from the budget of the owner, past the share."""
    data = opened(visits(), tmp_path)
    query = for_analyst(data, "ada", "share of ada")
    question = query.over("day", start=START, periods=3, max_periods=1).agg(n=dp.count())
    with pytest.raises(ParameterError, match="not to a share"):
        started(question, tmp_path)
    assert not any(data.spent.values())
    assert not (tmp_path / "visits.stream").exists()


@pytest.mark.usefixtures("unnoised")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_moment_is_in_one_period_whatever_the_zone(tmp_path: Path, zone: str) -> None:
    """Nobody remembers rows that are persons of their own, so a session of another zone must not count one again."""
    connection = ibis.duckdb.connect(tmp_path / "own.duckdb")
    connection.raw_sql("CREATE TABLE visits AS SELECT TIMESTAMPTZ '2026-01-01 23:30:00+00' AS moment")
    connection.raw_sql(f"SET TimeZone='{zone}'")
    question = opened(connection.table("visits"), tmp_path, dp.Rows()).over("moment", start=START, periods=2)
    with question.agg(n=dp.count()).start(tmp_path / "own", key=KEY, epsilon=1, delta=1e-6) as stream:
        assert [stream.step().to_arrow()["n_total"][0].as_py() for _ in range(2)] == [1, 1]
    connection.disconnect()


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("unnoised")
def test_a_spark_session_of_another_zone_steps_no_stream(tmp_path: Path, spark: Any) -> None:
    """A row at 23:30 of UTC is in the first period; in a session of Tokyo it would be in the second one as well."""
    spark.sql("SELECT TIMESTAMP '2026-01-01 23:30:00+00' AS moment").createOrReplaceTempView("moments")
    table = ibis.pyspark.connect(spark).table("moments")
    question = opened(table, tmp_path, dp.Rows()).over("moment", start=START, periods=2).agg(n=dp.count())
    zone = "spark.sql.session.timeZone"
    with question.start(tmp_path / "own", key=KEY, epsilon=1, delta=1e-6) as stream:
        assert stream.step().to_arrow()["n_total"][0].as_py() == 1
        try:
            spark.conf.set(zone, "Asia/Tokyo")
            with pytest.raises(ParameterError, match="time zone of this Spark session"):
                stream.step()
        finally:
            spark.conf.set(zone, "UTC")
        assert stream.step().to_arrow()["n_total"][0].as_py() == 1


@pytest.mark.xdist_group("postgres")
@pytest.mark.usefixtures("unnoised")
def test_a_table_and_a_ledger_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    """The same answers as from DuckDB, by a ledger on a server; a copy of the state that is behind is refused."""
    database = f"streams_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {database}")
    url, table = f"{postgres_url.rpartition('/')[0]}/{database}", visits(5)
    with psycopg.connect(url) as server:
        server.execute('CREATE TABLE visits ("user" bigint, day date, city text, spend double precision)')
        rows = [tuple(row.values()) for row in table.to_pylist()]
        server.cursor().executemany("INSERT INTO visits VALUES (%s, %s, %s, %s)", rows)
    unit = dp.Person("user", max_groups=2, max_rows_per_group=3)
    data = dp.Dataset(url, table="visits", unit=unit, budget=dp.ApproxDP(1, 1e-5), ledger=url)
    with started(asked(data, 2), tmp_path) as stream:
        told = [stream.step().to_arrow() for _ in range(2)]
    shutil.copy(tmp_path / "visits.stream", tmp_path / "earlier")
    with asked(data, 2).resume(tmp_path / "visits.stream", key=KEY) as stream:
        told.append(stream.step().to_arrow())
    admitted = attendance(table, 2, 1)
    assert [each["visits_last"].to_pylist() for each in told] == [
        list(by_hand(table, at, 1, admitted).values()) for at in range(3)
    ]
    with pytest.raises(LedgerConflict, match="the ledger has 3 periods, and the state 2"):
        asked(data, 2).resume(tmp_path / "earlier", key=KEY)
    data.close()


def test_months_follow_the_calendar(tmp_path: Path) -> None:
    data = opened(visits(), tmp_path)
    stream = data.over("day", start=datetime.date(2025, 12, 1), periods=3, every="month", max_periods=1)
    days = [stream.horizon.first_day(period) for period in range(4)]
    assert [(day.year, day.month, day.day) for day in days] == [(2025, 12, 1), (2026, 1, 1), (2026, 2, 1), (2026, 3, 1)]
    assert stream.horizon.period_of(datetime.date(2026, 1, 31)) == 1
    with pytest.raises(ParameterError, match="no period"):
        stream.horizon.period_of(datetime.date(2026, 3, 1))


def test_a_picture_has_a_line_for_each_group(tmp_path: Path) -> None:
    with started(asked(opened(visits(), tmp_path), whole=True), tmp_path) as stream:
        with pytest.raises(ParameterError, match="step"):
            stream.show()
        stream.step()
        stream.step()
        figure = stream.plot("visits_total")
        assert len(figure.axes[0].lines) == 2
        assert "2 periods" in dp.plots.alt_text(figure)
        bins = len(stream.show().column("shape_total")[0].as_py())
        assert len(stream.plot("shape_total").axes[0].lines) == min(2 * bins, 7)
        for column in ("period", "nowhere"):
            with pytest.raises(ParameterError, match="column of numbers"):
                stream.plot(column)


@pytest.mark.parametrize("unit", [dp.Rows(), dp.Person("user", 1, 1)], ids=["rows", "persons"])
def test_a_stream_that_cannot_run_is_refused_before_its_charge(
    unit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No period of it could be released, and the whole horizon would have been charged."""
    monkeypatch.setattr(DuckDB, "total", lambda engine, value: builtin("no_function", "int64", value.sum()))
    with opened(visits(), tmp_path, unit) as data:
        question = asked(data, 1 if isinstance(unit, dp.Person) else None)
        with pytest.raises(ParameterError, match="cannot run this question, not even on a table without rows"):
            question.start(tmp_path / "state", key=KEY, epsilon="0.5", delta="1e-6")
        assert data.spent["epsilon"] == 0
        assert not (tmp_path / "state").exists()
