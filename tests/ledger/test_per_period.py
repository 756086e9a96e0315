"""A budget that is renewed: what a period has, what all of them have, clocks that are wrong, and entries that lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import dither as dp
from dither.cli.app import app
from dither.errors import LedgerConflict, LedgerError, OverBudget, ParameterError
from dither.events import LaplaceNoise
from dither.ledger import Entry, Ledger
from dither.ledger import ledger as module
from dither.ledger.entry import BEGINNING, canonical
from dither.ledger.verification import Verification

MONTHLY = dp.PerPeriod(dp.PureDP("0.2"), every="month", start=date(2026, 1, 1), periods=3)
EVENT, COST = LaplaceNoise(10), dp.PureDP("0.1")


class Clock:
    """The time at which the ledger believes to be."""

    now = "2026-01-05T00:00:00.000+00:00"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    its = Clock()
    monkeypatch.setattr(module, "_now", lambda: its.now)
    return its


@pytest.fixture
def ledger(clock: Clock) -> Iterator[Ledger]:
    found = Ledger(":memory:")
    found.open_account("visits", MONTHLY)
    yield found
    found.close()


def _charge(ledger: Ledger) -> None:
    ledger.charge("visits", EVENT, COST, "how many?")


def _left(ledger: Ledger) -> Fraction:
    return ledger.account("visits").remaining["epsilon"]


def test_a_period_pays_for_its_own_questions_alone(ledger: Ledger, clock: Clock) -> None:
    _charge(ledger)
    _charge(ledger)
    with pytest.raises(OverBudget, match=r"Of this month, .* 0 \(delta 0\) of 0.2 .* next one begins on 2026-02-01"):
        _charge(ledger)
    clock.now = "2026-01-31T23:59:59.999+00:00"
    assert _left(ledger) == 0
    clock.now = "2026-02-01T00:00:00.000+00:00"
    assert _left(ledger) == Fraction(1, 5)
    _charge(ledger)
    clock.now = "2026-03-31T23:00:00.000+00:00"
    _charge(ledger)
    _charge(ledger)
    with pytest.raises(OverBudget, match="It is the last one, and ends on 2026-04-01"):
        _charge(ledger)
    clock.now = "2026-04-01T00:00:00.000+00:00"
    assert _left(ledger) == 0, "what is left of February lapsed"
    with pytest.raises(OverBudget, match="The last of the 3 periods of this budget ended on 2026-04-01"):
        _charge(ledger)
    assert ledger.account("visits").spent["epsilon"] == Fraction(1, 2)
    assert ledger.verify() == 6


def test_nothing_is_paid_before_the_first_period(ledger: Ledger, clock: Clock) -> None:
    clock.now = "2025-12-31T23:59:59.999+00:00"
    assert _left(ledger) == 0
    with pytest.raises(OverBudget, match="begins on 2026-01-01"):
        _charge(ledger)


def test_a_clock_that_is_put_back_renews_nothing(ledger: Ledger, clock: Clock) -> None:
    for month in (1, 2, 1, 1):
        clock.now = f"2026-{month:02}-10T00:00:00.000+00:00"
        if _left(ledger):
            _charge(ledger)
            if month == 1 and _left(ledger) == Fraction(1, 10) and ledger.account("visits").charges == 1:
                _charge(ledger)
    assert ledger.account("visits").spent["epsilon"] == Fraction(2, 5), "two in January, and two in February"
    assert _left(ledger) == 0
    assert ledger.verify() == 5


def test_whatever_the_clock_does_the_sum_is_that_of_all_periods(ledger: Ledger, clock: Clock) -> None:
    for month in (3, 1, 2, 12, 1, 3, 2):
        clock.now = f"2026-{month:02}-10T00:00:00.000+00:00"
        for _ in range(10):
            if _left(ledger):
                _charge(ledger)
    assert ledger.account("visits").spent["epsilon"] <= Fraction(3, 5)
    assert ledger.account("visits").budget == dp.PureDP("0.6")


def test_it_is_given_once(ledger: Ledger) -> None:
    ledger.open_account("visits", MONTHLY)
    others = (MONTHLY.total, MONTHLY.each, dp.PerPeriod(MONTHLY.each, every="week", start=date(2026, 1, 1), periods=3))
    for other in others:
        with pytest.raises(LedgerConflict, match="a budget is given once"):
            ledger.open_account("visits", other)
    ledger.open_account("plain", dp.PureDP("0.6"))
    with pytest.raises(LedgerConflict):
        ledger.open_account("plain", MONTHLY)


@pytest.mark.parametrize(
    ("every", "start", "moment", "number", "begins"),
    [
        ("day", date(2026, 1, 1), datetime(2026, 12, 31, 23, 59, tzinfo=UTC), 364, date(2026, 12, 31)),
        ("week", date(2026, 1, 5), datetime(2026, 1, 11, 23, 59, tzinfo=UTC), 0, date(2026, 1, 5)),
        ("week", date(2026, 1, 5), datetime(2026, 1, 4, 23, 59, tzinfo=UTC), -1, date(2025, 12, 29)),
        ("month", date(2024, 1, 28), datetime(2024, 3, 27, tzinfo=UTC), 1, date(2024, 2, 28)),
        ("month", date(2025, 11, 15), datetime(2026, 1, 15, tzinfo=UTC), 2, date(2026, 1, 15)),
        ("quarter", date(2026, 2, 1), datetime(2027, 1, 31, tzinfo=UTC), 3, date(2026, 11, 1)),
        ("year", date(2024, 2, 28), datetime(2026, 2, 27, tzinfo=UTC), 1, date(2025, 2, 28)),
    ],
    ids=str,
)
def test_when_periods_begin(every: Any, start: date, moment: datetime, number: int, begins: date) -> None:
    budget = dp.PerPeriod(dp.ZCDP("0.01"), every=every, start=start, periods=5)
    assert budget.number(moment) == number
    assert budget.begins(number) == begins


def test_sums_of_all_and_of_a_year() -> None:
    of_days = dp.PerPeriod(dp.ApproxDP("0.01", "1e-9"), every="day", start=date(2026, 1, 1), periods=1000)
    assert of_days.total == dp.ApproxDP(10, "1e-6")
    assert of_days.in_a_year == dp.ApproxDP("3.66", "3.66e-7")
    assert str(dp.PerPeriod(dp.ZCDP("0.01"), every="year", start=date(2026, 1, 1), periods=2)) == (
        "rho 0.01 in each year: rho 0.02 in all 2 from 2026-01-01 on"
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"each": dp.PureDP(0)}, "greater than 0"),
        ({"each": dp.ApproxDP(1, "0.01"), "periods": 100}, "promises nothing"),
        ({"every": "fortnight"}, "day, week, month, quarter, year"),
        ({"start": date(2026, 1, 29)}, "28th"),
        ({"start": "2026-01-01"}, "date"),
        ({"start": datetime(2026, 1, 1, tzinfo=UTC)}, "date"),
        ({"periods": 0}, "periods"),
        ({"periods": True}, "periods"),
        ({"periods": 2.0}, "periods"),
        ({"periods": float("nan")}, "periods"),
        ({"periods": 10**9}, "year 10000"),
        ({"periods": 10**30}, "year 10000"),
    ],
    ids=str,
)
def test_refusals(wrong: dict[str, Any], said: str) -> None:
    right = {"each": dp.PureDP("0.2"), "every": "month", "start": date(2026, 1, 1), "periods": 3}
    with pytest.raises(ParameterError, match=said):
        dp.PerPeriod(**{**right, **wrong})


@pytest.mark.parametrize(
    "lie",
    [
        {"in_period": {"number": 1, "spent": {"epsilon": "1/10", "delta": "0"}, "charges": 1}},
        {"in_period": {"number": 0, "spent": {"epsilon": "0", "delta": "0"}, "charges": 1}},
        {"in_period": {"number": False, "spent": {"epsilon": "1/10", "delta": "0"}, "charges": 1}},
        {"in_period": {"number": 0, "spent": {"epsilon": "1/10", "delta": "0"}}},
        {"in_period": None},
        {"at": "2026-02-10T00:00:00.000+00:00"},
        {"at": "2027-02-10T00:00:00.000+00:00"},
        {"at": "once"},
        {},
    ],
    ids=str,
)
def test_verify_reads_the_periods_anew(ledger: Ledger, lie: dict[str, Any]) -> None:
    _charge(ledger)
    opening, charge = ledger.entries()
    body = canonical({**charge.content, **lie})
    forged = Entry(2, opening.hash, "charge", "visits", body) if lie else charge
    seen = Verification()
    seen.add(opening, None)
    if not lie:
        seen.add(forged, None)
        return
    with pytest.raises(LedgerError, match="entry 2 does not hold"):
        seen.add(forged, None)


def test_a_cap_that_is_not_the_sum_of_its_periods_is_noticed(ledger: Ledger) -> None:
    (opening,) = ledger.entries()
    lie = {**opening.content, "per_period": {**opening.content["per_period"], "periods": 4}}
    with pytest.raises(LedgerError, match="entry 1 does not hold"):
        Verification().add(Entry(1, BEGINNING, "budget", "visits", canonical(lie)), None)


def test_a_dataset_has_it(clock: Clock, tmp_path: Path) -> None:
    rows = pa.table({"who": list(range(100))})
    place = tmp_path / "visits.ledger"
    with dp.Dataset(rows, unit=dp.Person("who"), budget=MONTHLY, ledger=place, identity="v") as data:
        assert data.count_people(epsilon="0.2").value is not None
        assert data.remaining["epsilon"] == 0
        plan = data.agg(n=dp.count_people()).plan(epsilon="0.1")
        assert plan.shortage is not None
        with pytest.raises(OverBudget):
            data.count_people(epsilon="0.1")
    with dp.Dataset(rows, unit=dp.Person("who"), ledger=place, identity="v") as data:
        assert data.per_period is not None
        assert str(data.per_period).startswith("epsilon 0.2 in each month: epsilon 0.6 in a year")
        assert str(data.per_period.each.adjacency) == str(data.budget.adjacency) != "None"
        clock.now = "2026-02-05T00:00:00.000+00:00"
        assert data.remaining["epsilon"] == Fraction(1, 5)


def test_a_description_states_it(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("who\n" + "\n".join(map(str, range(100))))
    text = """[dataset]
source = "visits.csv"
[unit]
person = "who"
[budget]
epsilon = 0.2
every = "month"
start = 2026-01-01
periods = 36
ledger = "visits.ledger"
[questions.people]
agg = { people = "count_people" }
epsilon = 0.15
"""
    Path("dither.toml").write_text(text)
    run = CliRunner().invoke
    first = run(app, ["release", "dither.toml"])
    assert "left epsilon 0.05 of epsilon 0.2 in this month." in first.output
    assert run(app, ["release", "dither.toml"]).exit_code != 0
    shown = run(app, ["ledger", "visits.ledger"]).output
    assert "epsilon 0.2 in each month: epsilon 2.4 in a year, epsilon 7.2 in all 36" in shown
    (account,) = json.loads(run(app, ["ledger", "visits.ledger", "--json"]).output)["accounts"]
    assert account["remaining"]["epsilon"] == "0.05"
    clock.now = "2026-02-05T00:00:00.000+00:00"
    assert run(app, ["release", "dither.toml"]).exit_code == 0
    for gone in ('every = "month"\n', "start = 2026-01-01\n", "periods = 36\n", "epsilon = 0.2\n"):
        Path("dither.toml").write_text(text.replace(gone, ""))
        said = run(app, ["plan", "dither.toml"])
        assert said.exit_code != 0
        assert "a budget that is renewed has" in said.output
