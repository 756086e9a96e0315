"""Groups of streams that are found over time: when they are shown, what counts, what is kept, and what is refused."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import dither as dp
from dither.adjacency import ADD_REMOVE
from dither.continual.discovery_threshold import KeySelection
from dither.continual.participation import Participation
from dither.engine.groups import Groups
from dither.engine.keys_over_time import KeyNoise, KeysOverTime, with_found
from dither.engine.stream import StreamQuestion
from dither.errors import EngineError, LedgerConflict, LedgerError, ParameterError
from dither.events import Composed, GaussianNoise, Stated
from dither.ledger import Ledger
from dither.mechanisms.additive import Noising
from dither.noise import DiscreteGaussian
from dither.unit import Neighbour

START, PERIODS = datetime.date(2026, 1, 1), 5
KEY = b"k" * 32
EPSILON, DELTA = 8, "1e-7"


@pytest.fixture
def unnoised(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, and the same groups are kept each time."""
    monkeypatch.setattr(Noising, "add", lambda noising, value: value)
    monkeypatch.setattr("dither.engine.running_stream.fresh_salt", lambda: 7)


def visits(sizes: dict[str | None, list[int]]) -> pa.Table:
    """So many people in each city on each day; everybody is there once."""
    rows = [
        {"user": f"{city} {day} {place}", "day": START + datetime.timedelta(day), "city": city, "spend": 10.0}
        for city, each in sizes.items() for day, size in enumerate(each) for place in range(size)
    ]  # fmt: skip
    schema = pa.schema({"user": pa.string(), "day": pa.date32(), "city": pa.string(), "spend": pa.float64()})
    return pa.Table.from_pylist(rows, schema=schema)


def asked(table: pa.Table, place: Path, name: str = "visits", **limits: int) -> StreamQuestion:
    unit = dp.Person("user", max_groups=2, max_rows_per_group=1)
    data = dp.Dataset(
        table, unit=unit, budget=dp.ApproxDP(20, "1e-5"), ledger=place / f"{name}.ledger", identity="visits"
    )
    stream = data.over("day", start=START, periods=PERIODS, **({"max_periods": 2} | limits))  # type: ignore[arg-type]
    return stream.group_by("city").agg(
        visits=dp.count(), mean=dp.mean("spend", bounds=(0, 100)), shape=dp.histogram("spend", [0, 50, 100])
    )


def started(question: StreamQuestion, path: Path) -> Any:
    return question.start(path, key=KEY, epsilon=EPSILON, delta=DELTA, show=["total", "last", 2])


@pytest.mark.usefixtures("unnoised")
def test_a_group_is_shown_from_the_period_on_in_which_enough_people_have_it(tmp_path: Path) -> None:
    """Without noise, to the person; it counts from then on, and stays. Resumed after each period."""
    question = asked(visits({}), tmp_path)
    least = question.plan(epsilon=EPSILON, delta=DELTA).shown_from
    assert least is not None
    sizes = {
        "Paris": [least, least + 1, 1, 0, 2], "Lyon": [least - 1, least - 1, least, 3, 0],
        None: [0, 0, least - 1, least + 5, 1], "Nice": [least - 1] * PERIODS,
    }  # fmt: skip
    question = asked(visits(sizes), tmp_path, "filled")
    started(question, tmp_path / "s").close()
    answers = []
    for _ in range(PERIODS):
        with question.resume(tmp_path / "s", key=KEY) as stream:
            answers.append(stream.step().to_arrow())
            assert stream.step(0).to_arrow() == answers[0]
            assert stream.show().num_rows == sum(each.num_rows for each in answers)
    cities = ["Paris", "Lyon", None]
    first = dict(zip(cities, [0, 2, 3], strict=True))
    for period, answer in enumerate(answers):
        known = [city for city in cities if first[city] <= period]
        assert answer["city"].to_pylist() == known
        counted = [[0] * first[city] + sizes[city][first[city] : period + 1] for city in known]
        assert answer["visits_total"].to_pylist() == [sum(each) for each in counted]
        assert answer["visits_last"].to_pylist() == [each[-1] for each in counted]
        assert answer["visits_2"].to_pylist() == [sum(each[-2:]) for each in counted]
        assert [sum(each) for each in answer["shape_total"].to_pylist()] == answer["visits_total"].to_pylist()


def test_with_noise_no_small_group_is_shown_and_answers_agree(tmp_path: Path) -> None:
    """Five counts of one pass with probability 7·10^-8 in all; those of 500 stay hidden with less than 10^-100."""
    sizes: dict[str | None, list[int]] = {"Paris": [500] * PERIODS, "Lyon": [0, 0, 500, 0, 0]}
    sizes |= {"own": [1] * PERIODS}
    question = asked(visits(sizes), tmp_path)
    with started(question, tmp_path / "s") as stream:
        answers = [stream.step().to_arrow() for _ in range(PERIODS)]
        assert [each["city"].to_pylist() for each in answers] == [["Paris"]] * 2 + [["Paris", "Lyon"]] * 3
        assert len(stream.plot("visits_total").axes[0].lines) == 2
        certificate = stream.step(PERIODS - 1).certificate()
    assert dp.check_certificate(certificate).guarantee == stream.cost
    for group in range(2):
        totals = [each["visits_total"][group].as_py() if each.num_rows > group else 0 for each in answers]
        last = [each["visits_last"][group].as_py() if each.num_rows > group else 0 for each in answers]
        assert last == np.diff([0, *totals]).tolist()


def test_nothing_may_be_found(tmp_path: Path) -> None:
    """A stream of empty answers goes on, with and without rows; a count of one passes with probability 7·10^-8."""
    for name, sizes in (("empty", {}), ("few", {"Paris": [1] * PERIODS})):
        question = asked(visits(sizes), tmp_path, name)  # type: ignore[arg-type]
        with started(question, tmp_path / name) as stream:
            stream.step()
        with question.resume(tmp_path / name, key=KEY) as stream:
            answers = [stream.step(period) for period in range(PERIODS)]
            assert [each.to_arrow().num_rows for each in answers] == [0] * PERIODS
            assert answers[0].to_arrow().column_names[:2] == ["city", "visits_total"]
            assert answers[0].to_pandas().empty


def noise_of(delta: str, groups: int = 2, periods: int = 3, rho: str = "0.5") -> KeyNoise:
    need = KeysOverTime(10, Participation(periods), Fraction(delta))
    return need.concentrated(Neighbour(groups, 1, ADD_REMOVE), Fraction(rho))


@pytest.mark.parametrize(
    ("delta", "groups", "periods"), [("1e-6", 1, 1), ("1e-6", 2, 3), ("0.01", 3, 30), ("1e-12", 1, 7)]
)
def test_the_threshold_is_the_smallest(delta: str, groups: int, periods: int) -> None:
    """Beside a sum in floats: every count of a person is alone in its group."""
    selection = noise_of(delta, groups, periods).selection
    law = selection.noising.law
    assert isinstance(law, DiscreteGaussian)
    assert selection.max_bins == groups * min(periods, 10)
    variance = float(law.variance)
    places = np.arange(-int(40 * variance**0.5) - 9, int(40 * variance**0.5) + 9)
    weights = np.exp(-(places**2) / (2 * variance))

    def shown(threshold: int) -> float:
        alone = weights[places >= threshold - 1].sum() / weights.sum()
        return float(-np.expm1(selection.max_bins * np.log1p(-alone)))

    assert shown(selection.threshold) <= float(delta) * (1 + 1e-9)
    assert shown(selection.threshold - 1) > float(delta)


def found_of(noise: KeyNoise, counts: list[int]) -> int:
    known = Groups(pa.table({"city": pa.array([], pa.large_string())}))
    names = pa.array([f"c{place}" for place in range(len(counts))], pa.large_string())
    return len(with_found(known, noise, "people", [pa.record_batch({"city": names, "people": counts})]))


@pytest.mark.usefixtures("unnoised")
@pytest.mark.parametrize(
    "keys",
    [
        pa.array([3, 1, None, -(2**63)], pa.int64()),
        pa.array([True, None, False], pa.bool_()),
        pa.array([datetime.date(2026, 1, 2), datetime.date(1, 1, 1), None], pa.date32()),
        pa.array(["é", "", None, "z", "\u0000"], pa.large_string()),
    ],
    ids=["whole", "truth", "date", "text"],
)
def test_keys_of_every_kind_are_found_once(keys: pa.Array) -> None:
    """In two batches and two periods; NULL is a key, and what is known is not found again."""
    noise = noise_of("0.3", 1, 1)
    schema = pa.schema({"key": keys.type})
    batches = [pa.record_batch({"key": part, "people": [999] * len(part)}) for part in (keys[:1], keys[1:])]
    first = with_found(Groups(schema.empty_table()), noise, "people", batches[:1])
    both = with_found(first, noise, "people", [*batches, *batches[:0]])
    assert both.keys["key"].to_pylist()[:1] == keys[:1].to_pylist()
    assert sorted(map(repr, both.keys["key"].to_pylist())) == sorted(map(repr, keys.to_pylist()))
    assert with_found(both, noise, "people", batches).keys == both.keys
    assert len(with_found(both, noise, "people", [])) == len(keys)


@pytest.mark.statistical
def test_groups_of_one_person_are_shown_as_rarely_as_is_charged() -> None:
    """Of 20,000 alone, so many as the law says: outside with probability 10^-8; twice or half the noise is noticed."""
    noise, alone = noise_of("0.3", 1, 1), 20_000
    law = noise.selection.noising.law
    chance = float(law.tail(noise.selection.threshold - 2).mid())
    assert chance <= 0.3
    low, high = stats.binom.interval(1 - 1e-8, alone, chance)
    assert low <= found_of(noise, [1] * alone) <= high
    for rho in ("0.05", "5"):
        wrong = noise_of("0.3", 1, 1, rho)
        selection = KeySelection(wrong.selection.noising, noise.selection.delta, 1, ADD_REMOVE)
        object.__setattr__(selection, "threshold", noise.selection.threshold)
        found = found_of(KeyNoise(wrong.added, selection), [1] * alone)
        assert not low <= found <= high


def test_the_price_is_that_of_all_parts(tmp_path: Path) -> None:
    """One event for each column, and for the keys the noise and half of δ; composed, they cost no more than asked."""
    plan = asked(visits({}), tmp_path).plan(epsilon=1, delta="1e-6")
    assert isinstance(plan.event, Composed)
    keys, *others = plan.event.events
    assert isinstance(keys, Composed)
    noise, leak = keys.events
    assert isinstance(leak, Stated)
    assert leak.values == (Fraction(0), Fraction("0.5e-6"))
    assert isinstance(noise, GaussianNoise)
    assert noise.sensitivity_squared == 4  # two groups in each of two periods
    assert len(others) == 3
    assert Fraction("0.7e-6") <= Fraction(dp.compose([plan.event]).delta(1)) <= Fraction("1e-6")
    more = asked(visits({}), tmp_path, "more", max_periods=5).plan(epsilon=1, delta="1e-6")
    assert more.shown_from is not None
    assert plan.shown_from is not None
    assert more.shown_from > plan.shown_from
    assert "groups are found" in str(plan)


def test_what_is_refused(tmp_path: Path) -> None:
    question = asked(visits({}), tmp_path)
    for price in ({"rho": 1}, {"epsilon": 1}):
        with pytest.raises(ParameterError, match=r"epsilon=\.\.\. and delta=\.\.\."):
            question.plan(**price)  # type: ignore[arg-type]


@pytest.mark.usefixtures("unnoised")
def test_h84_keys_of_another_type_are_refused(tmp_path: Path) -> None:
    """A text in one period and a number in the next are not the same group."""
    sizes: dict[str | None, list[int]] = {str(number): [300] * PERIODS for number in (1, 2)}
    with started(asked(visits(sizes), tmp_path), tmp_path / "s") as stream:
        assert stream.step().to_arrow().num_rows == 2
    table = visits(sizes)
    numbers = table.set_column(2, "city", table["city"].cast(pa.int64()))
    other = asked(numbers, tmp_path)
    with other.resume(tmp_path / "s", key=KEY) as stream, pytest.raises(LedgerConflict, match="another type"):
        stream.step()


@pytest.mark.usefixtures("unnoised")
def test_h87_a_step_that_fails_after_groups_were_found_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise of the period was drawn and its groups found, and then it could not be kept: it is drawn anew."""
    sizes: dict[str | None, list[int]] = {"Paris": [300] * PERIODS, "Lyon": [0, 300, 0, 0, 0]}
    question = asked(visits(sizes), tmp_path)
    with started(question, tmp_path / "s") as stream:
        stream.step()
        with monkeypatch.context() as patch:
            patch.setattr(type(stream), "_drawn", lambda *_: 1 // 0)
            with pytest.raises(EngineError):
                stream.step()
        assert stream.released == 1
        assert stream.step(0).to_arrow()["city"].to_pylist() == ["Paris"]
        assert stream.step().to_arrow()["city"].to_pylist() == ["Paris", "Lyon"]
        assert stream.step(1).to_arrow()["visits_total"].to_pylist() == [600, 300]


@pytest.mark.usefixtures("unnoised")
def test_h87_a_crash_before_the_ledger_has_the_period_keeps_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is there, with its groups, and is recorded when the stream is resumed, on other data too."""
    question = asked(visits({"Paris": [300] * PERIODS}), tmp_path)
    stream = started(question, tmp_path / "s")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record_period", lambda *_: (_ for _ in ()).throw(LedgerError("a disk that is full")))
        with pytest.raises(LedgerError, match="full"):
            stream.step()
    with pytest.raises(LedgerError, match="Resume it"):
        stream.step()
    other = asked(visits({"Lyon": [300] * PERIODS}), tmp_path)
    with other.resume(tmp_path / "s", key=KEY) as stream:
        assert stream.released == 1
        assert stream.step(0).to_arrow()["city"].to_pylist() == ["Paris"]
        assert stream.step().to_arrow()["city"].to_pylist() == ["Paris", "Lyon"]
