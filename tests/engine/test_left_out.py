"""What limits and bounds leave out: the sums move as promised, the intervals hold, and much is said first."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

import dither as dp
from dither.engine.left_out import LEFT_OUT, CutNeed, CutShare, in_a_sentence
from dither.engine.question import Question
from dither.errors import ParameterError
from dither.tables import ONE
from tests.engine.conftest import Open

PERSON = dp.Person("who", max_groups=3, max_rows_per_group=4)
ASKED = {
    "n": dp.count(),
    "total": dp.sum("x", bounds=(0, 20)),
    "signed": dp.sum("x", bounds=(-5, 20)),
    "mean": dp.mean("x", bounds=(5, 20)),
}


def _visits(seed: int, people: int) -> pa.Table:
    """Rows per person from 1 to some hundreds, in 10 groups, with values of several magnitudes and none."""
    rng = np.random.default_rng(seed)
    rows = rng.geometric(0.1, people) * rng.choice([1, 1, 1, 20], people)
    who = np.repeat(np.arange(people), rows)
    x: Any = rng.lognormal(2, 1.5, len(who)) * rng.choice([-1, 1, 1], len(who))
    return pa.table({"who": who, "g": rng.integers(0, 10, len(who)), "x": pa.array(x, mask=rng.random(len(who)) < 0.1)})


def _need(question: Question) -> CutNeed:
    plan = question.plan(epsilon=1, left_out=True)
    assert plan.cuts is not None
    return plan.cuts[0]


def _exact(question: Question) -> Any:
    """The sums without noise: what only a test may see."""
    need = _need(question)
    batches = need.ask(question._bounded, 0)._open()
    return need.collect(batches, None)[0]  # type: ignore[arg-type]  # groups do not matter


def _truth(table: pa.Table, times: dict[str, int | None]) -> dict[str, float]:
    """The shares as they are, of people who have at most so many times what the limits allow."""
    frame = table.to_pandas().assign(rows=1, x0=lambda each: each.x.fillna(0))
    lost: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    by = frame.groupby(["who", "g"])
    counting = np.minimum(by.size().groupby("who").size(), 3) / by.size().groupby("who").size()
    kept["rows"] = np.minimum(by.size(), 4).groupby("who").sum() * counting / 12
    lost["rows"] = by.size().groupby("who").sum() / 12 - kept["rows"]
    for name, (low, high), most in (("total", (0, 20), 20), ("signed", (-5, 20), 20)):
        near = frame.x0.clip(low, high)
        each = near.abs().groupby([frame.who, frame.g]).sum()
        moved = (frame.x0 - near).abs().groupby(frame.who).sum()
        kept[name] = np.minimum(each, 4 * most).groupby("who").sum() * counting / (12 * most)
        lost[name] = (moved + each.groupby("who").sum()) / (12 * most) - kept[name]
    known = frame.dropna()
    near = known.x.clip(5, 20)
    groups = [known.who, known.g]
    part = np.minimum(near.groupby(groups).size(), 4)
    for found, values in ((kept, near), (lost, (known.x - near).abs())):
        mean = (values.groupby(groups).mean() * part).groupby("who").sum()
        found["mean"] = (mean.reindex(counting.index, fill_value=0) * counting) / (12 * 20)
    shares = {}
    for name in kept:
        seen = kept[name] + lost[name] <= (times.get(name) or math.inf)
        shares[name] = float(lost[name][seen].sum() / (lost[name][seen].sum() + kept[name].sum()))
    is_cut = np.logical_or.reduce([each > 1e-9 for each in lost.values()])
    return shares | {"people": float(is_cut.mean())}


@pytest.mark.parametrize("unit", [PERSON, dp.Rows(), dp.Rows("replace")], ids=str)
def test_one_person_moves_the_sums_by_what_the_noise_is_for(opened: Open, unit: Any) -> None:
    """Each person of a small table is taken away in turn: ONE for each cut and once more is reached and not passed."""
    table = _visits(7, 9)
    frame = table.to_pandas()

    def sums(of: Any, name: str) -> Any:
        return _exact(
            opened(pa.Table.from_pandas(of), unit, name=name).group_by("g", keys=list(range(10))).agg(**ASKED)
        )

    everybody, largest = sums(frame, "all"), 0
    for who in range(9 if unit is PERSON else 4):
        of = frame[frame.who != who] if unit is PERSON else frame.drop(index=who)
        largest = max(largest, int(np.abs(everybody - sums(of, f"without {who}")).sum()))
    data = opened(table, unit, name="again").group_by("g", keys=list(range(10)))
    need = _need(data.agg(**ASKED))
    assert need.step == ONE * (1 + len(need.cuts))
    assert need.step // 4 < largest <= need.step
    assert (everybody >= 0).all()


def _coverage(opened: Open, runs: int, seed: int, epsilon: Fraction) -> dict[str, int]:
    """How often the interval of each share holds what it is about."""
    table = _visits(seed, 2000)
    question = opened(table, PERSON, name=f"coverage {seed}").group_by("g", keys=list(range(10))).agg(**ASKED)
    exact, need = _exact(question), _need(question)
    plan = question.plan(epsilon=epsilon, left_out=True)
    noise = plan.parts[LEFT_OUT].noise
    names = ["people", "rows", "total", "signed", "mean"]
    held, known = dict.fromkeys(names, 0), {}
    for _ in range(runs):
        noisy = noise.draw(exact[None, :]).flatten().to_pylist()
        for name, each in zip(names, need.shares(noisy, noise, Fraction("0.95")), strict=True):  # type: ignore[arg-type]
            if (name, each.times) not in known:
                known[name, each.times] = _truth(table, {name: each.times})[name]
            truth = known[name, each.times]
            held[name] += each.low - 1e-4 <= truth <= each.high + 1e-4
            assert each.low <= each.share <= each.high
    return held


def test_intervals_hold(opened: Open) -> None:
    """Of 40 runs, 95 % or more hold in expectation: so few that their probability is below 1e-9 would fail."""
    least = int(scipy.stats.binom.ppf(1e-9, 40, 0.95))
    held = _coverage(opened, 40, 4, Fraction(4))
    assert min(held.values()) >= least, held


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [1, 8, 64])
def test_intervals_hold_in_a_thousand_runs(opened: Open, epsilon: int) -> None:
    """At least 95 % of 1,000 runs, less what chance takes with probability 1e-8."""
    least = int(scipy.stats.binom.ppf(1e-8, 1000, 0.95))
    held = _coverage(opened, 1000, 100 + epsilon, Fraction(epsilon))
    print(epsilon, held)
    assert min(held.values()) >= least, held


def test_intervals_of_too_little_noise_would_not_hold(opened: Open) -> None:
    """The control: intervals for ten times as much ε miss."""
    table = _visits(5, 2000)
    question = opened(table, PERSON).agg(n=dp.count())
    exact, need = _exact(question), _need(question)
    small, large = (question.plan(epsilon=each, left_out=True).parts[LEFT_OUT].noise for each in (4, 400))
    people = float((table.to_pandas().groupby("who").size() > 4).mean())
    missed = 0
    for _ in range(30):
        first, _ = need.shares(small.draw(exact[None, :]).flatten().to_pylist(), large, Fraction("0.95"))  # type: ignore[arg-type]
        missed += not first.low <= people <= first.high
    assert missed > 15


def test_much_is_said_first_and_little_below(opened: Open) -> None:
    """2,000 people of whom 5 or all of 20 rows count: ε = 90/20 for two parts is noise of about a person.

    100 of them are 5 %: more by noise with a probability below e^-100.
    """
    trips = pa.table({"who": [each // 20 for each in range(40_000)]})
    careless = opened(trips, dp.Person("who", max_rows_per_group=5), dp.PureDP(100), name="careless")
    answer = careless.count(epsilon=90, left_out=True)
    assert str(answer).startswith("More than 5% is left out: ")
    assert "Estimated with 2% of the price." in answer._repr_html_().splitlines()[0]
    careful = opened(trips, dp.Person("who", max_rows_per_group=20), dp.PureDP(100), name="careful")
    answer = careful.count(epsilon=90, left_out=True)
    lines = str(answer).splitlines()
    assert not lines[0].startswith("More")
    assert any(line.startswith("Left out: ") for line in lines)
    assert "Left out" not in str(careful.count(epsilon=9))


def test_it_takes_a_fiftieth_and_one_charge(opened: Open) -> None:
    data = opened(_visits(1, 100), PERSON, dp.PureDP(3))
    question = data.group_by("g", keys=[1, 2]).agg(n=dp.count())
    plan = question.plan(epsilon=1, left_out=True)
    assert [share for _, _, share, _ in plan.lines()] == ["98.0%", "2.0%"]
    assert plan.error("n") == pytest.approx(question.plan(epsilon="0.98").error("n"))
    release = question.release(epsilon=1, left_out=True, key="monday")
    assert data.spent["epsilon"] == 1
    assert dp.check_certificate(release.certificate()).guarantee == dp.PureDP(1, adjacency=PERSON.adjacency)
    again = question.release(epsilon=1, left_out=True, key="monday")
    assert again.left_out == release.left_out, "kept with the answer"
    with pytest.raises(dp.errors.LedgerConflict):
        question.release(epsilon=1, key="monday")


def test_where_nothing_is_cut_nothing_is_paid(opened: Open) -> None:
    rows = opened(_visits(1, 100), dp.Rows(), name="rows")
    release = rows.count(epsilon=1, left_out=True)
    assert release.left_out == []
    assert [share for _, _, share, _ in release.plan.lines()] == ["100.0%"]
    clamped = rows.mean("x", bounds=(5, 20), epsilon=1, left_out=True).left_out
    assert [each.of for each in clamped] == ["rows with a clamped value", "the values of x"]
    people = opened(_visits(1, 100), dp.Person("who", max_groups=1), name="people")
    assert people.count_people(epsilon=1, left_out=True).left_out == []
    by_group = people.group_by("g", keys=list(range(10))).agg(n=dp.count_people())
    assert [each.of for each in by_group.release(epsilon=1, left_out=True).left_out] == ["people", "groups of people"]


def test_found_groups_and_other_prices(opened: Open) -> None:
    data = opened(_visits(1, 300), PERSON, dp.ApproxDP(50, "1e-3"))
    found = data.group_by("g").agg(n=dp.count(), x=dp.mean("x", bounds=(0, 9)))
    assert len(found.release(epsilon=9, delta="1e-4", left_out=True).left_out) == 3
    known = data.group_by("g", keys=[1, 2]).agg(n=dp.count(), x=dp.median("x", bounds=(0, 9)))
    assert len(known.release(epsilon=9, delta="1e-4", left_out=True).left_out) == 2
    concentrated = opened(_visits(1, 300), PERSON, dp.ZCDP(5), name="rho")
    assert len(concentrated.agg(n=dp.count()).release(rho=1, left_out=True).left_out) == 2


def test_words() -> None:
    assert str(CutShare("rows", 0.25, 0.2, 0.3, 8)) == (
        "25.0% of rows (20.0% to 30.0% among people with at most 8 times the limits)"
    )
    nothing = CutShare("rows", 0.0, 0.0, 1.0)
    assert str(nothing) == "an unknown part of rows", "and not 0 %"
    said = in_a_sentence([nothing, CutShare("people", 0.1, 0.0, 0.2), replace(nothing, of="fare")], Fraction(1, 50))
    assert said == (
        "Left out: 10.0% of people (0.0% to 20.0%). Epsilon is too small to tell how much of rows and of fare. "
        "Estimated with 2% of the price."
    )
    assert not CutShare("people", 0.9, 0.8, 1.0).is_much
    with pytest.raises(ParameterError):
        dp.Person("who").stated("max_groups")
