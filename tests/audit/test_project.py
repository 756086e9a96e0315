"""Tables that are made up for a project: what they hold, that pairs are neighbours, and that runs are releases."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither.audit.project.examination import examine
from dither.audit.project.made_up_tables import Neighbours, Side
from dither.audit.project.mentioned_columns import pools
from dither.audit.project.staged_question import Stage, staged
from dither.cli.aggregates import aggregate
from dither.cli.conditions import condition
from dither.cli.description import Asked
from dither.engine import Bins
from dither.noise import entropy
from dither.unit import TableUnit

BOUNDS = {"cost": (0, 200)}


def asked(*aggregates: str, where: str | None = None, epsilon: Any = 1, **others: Any) -> Asked:
    return Asked(
        {f"a{n}": aggregate(text, BOUNDS) for n, text in enumerate(aggregates)},
        where=() if where is None else (condition(where),),
        price={"epsilon": epsilon},
        **others,
    )


# -------------------------------------------------------------------- columns


def kinds(question: Asked, person: str | None = None, **stated: str) -> dict[str, str]:
    return {name: pool.kind for name, pool in pools([question], stated, person, written=False).items()}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (asked("mean(cost)"), {"cost": "number"}),
        (asked("count", where="day >= date '2024-01-31'"), {"day": "date"}),
        (asked("count", where="year(day) = 2024 and not open"), {"day": "date", "open": "truth"}),
        (asked("count", where="city in ('a', 'b') and x is null"), {"city": "text", "x": "text"}),
        (asked("count", where="a + b > c"), {"a": "number", "b": "number", "c": "number"}),
        (asked("top(k, 1, [1, 2])", "count_distinct(z)"), {"k": "whole", "z": "text"}),
        (asked("histogram(day, [date '2024-01-01', date '2025-01-01', date '2026-01-01'])"), {"day": "date"}),
        (asked("count", group_by=("k",), keys=[3, 4]), {"k": "whole"}),
        (asked("count", group_by=(Bins(dp.col("x"), (0, 1, 2), "x"),)), {"x": "number"}),
        (asked("mean(y, 0, 1)", columns={"y": condition("if_else(m, cost, w)")}),
         {"m": "truth", "cost": "number", "w": "number"}),
    ],
)  # fmt: skip
def test_kinds_follow_from_the_use(question: Asked, expected: dict[str, str]) -> None:
    assert kinds(question) == expected


def test_what_is_stated_is_believed_but_people_are_no_real_numbers() -> None:
    assert kinds(asked("count", where="x is null"), x="date") == {"x": "date"}
    assert kinds(asked("count"), "user", user="number") == {"user": "whole"}
    assert kinds(asked("count"), "user") == {"user": "text"}


def test_pools_hold_what_a_question_is_cut_by_and_what_lies_beyond() -> None:
    (pool,) = pools([asked("mean(cost)", where="cost > 17")], {}, None, written=False).values()
    assert {0.0, 17.0, 200.0, 18.0} <= set(pool.usual)
    assert max(pool.high) > 200 > 0 > min(pool.low)
    assert None in pool.odd
    (text,) = pools([asked("mean(cost)")], {}, None, written=True).values()
    assert "200.0" in text.usual
    assert {"n/a", "inf", None} <= set(text.odd)


# ----------------------------------------------------------------- neighbours


def rows(side: Side) -> Counter[str]:
    return Counter(map(repr, side.table.to_pylist()))


@settings(max_examples=30)
@given(
    unit=st.one_of(
        st.builds(dp.Rows, st.sampled_from(["add or remove", "replace"])),
        st.builds(dp.Person, st.just("user"), st.integers(1, 4), st.integers(1, 4)),
    ),
    written=st.booleans(),
    shown_from=st.one_of(st.none(), st.integers(1, 40)),
    seed=st.integers(0, 1000),
)
def test_pairs_are_neighbours(unit: TableUnit, written: bool, shown_from: int | None, seed: int) -> None:
    """One person more or less, one row more or less, or one row that is another: by the definition, row by row."""
    question = asked("mean(cost)", where="user != 'x'", group_by=("city",), keys=["a", "b", "c"])
    columns = pools([question], {}, getattr(unit, "column", None), written=written)
    made = Neighbours(columns, unit, frozenset({"city"}), written, shown_from)
    for left, right in islice(made.pairs(seed), made.designed + 3):
        more, less = rows(right) - rows(left), rows(left) - rows(right)
        assert left.table.schema == right.table.schema == made.empty().schema
        if isinstance(unit, dp.Person):
            changed = [*(more or less)]
            assert not (more and less)
            names = [set(side.table.column("user").to_pylist()) for side in (left, right)]
            (newcomer,) = names[0] ^ names[1]
            assert all(repr(newcomer) in row for row in changed)
        elif unit.change == "replace":
            assert left.table.num_rows == right.table.num_rows
            assert more.total() == less.total() <= 1
        else:
            assert more.total() + less.total() == 1


def test_somebody_has_more_rows_than_may_count_and_is_in_groups_of_their_own() -> None:
    question = asked("count", group_by=("city",), keys=["a", "b", "c"])
    unit = dp.Person("user", max_groups=2, max_rows_per_group=3)
    made = Neighbours(pools([question], {}, "user", written=False), unit, frozenset({"city"}), False)
    sizes, alone = [], False
    for left, right in islice(made.pairs(1), made.designed):
        sizes.append(abs(left.table.num_rows - right.table.num_rows))
        cities = [set(side.table.column("city").to_pylist()) for side in (left, right)]
        alone |= cities[0] != cities[1] and bool(cities[0]) and bool(cities[1])
    assert max(sizes) > 3 * 3
    assert alone


# ----------------------------------------------------------------------- runs


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)


VISITS = pa.table(
    {"user": ["u", "u", "v", "w", None], "city": ["a", "b", "a", "b", "a"], "cost": [10.0, 500.0, None, 30.0, 7.0]}
)


def on_stage(question: Asked, folder: Path) -> tuple[Stage, Any]:
    """The runs of a question on the table above; ε is so large that noise is 0 but for a chance below e^-1000."""
    unit = dp.Person("user", max_groups=2, max_rows_per_group=1)
    with staged(question, unit, VISITS.slice(0, 0), folder, written=False) as stage:
        side = Side(VISITS, "visits")
        stage.release(side)
        assert stage.is_open(side)
        return stage, stage.many(side, 7)


def test_runs_have_the_exact_numbers_of_every_public_group(tmp_path: Path) -> None:
    asks = ("count", "sum(cost, 0, 200)", "histogram(cost, [0, 20, 200])")
    question = asked(*asks, epsilon=10**12, group_by=("city",), keys=["b", "a", "z"])
    stage, runs = on_stage(question, tmp_path)
    expected = [[2, 230, 0, 1], [2, 10, 1, 0], [0, 0, 0, 0]]  # 500 is clamped, and in no bin; nobody's row is out
    assert (runs.reshape(7, 3, 4) == expected).all()
    assert stage.labels[1] == "a1 (sum) of city 'b'"
    assert len(stage.labels) == 12


def test_runs_without_groups_and_of_choices(tmp_path: Path) -> None:
    _, runs = on_stage(asked("count_people", "top(city, 1, ['a', 'q'])", epsilon=10**4), tmp_path)
    assert runs.shape == (7, 3)
    assert (runs[:, 0] == 3).all()
    assert len(np.unique(runs[:, 2])) == 1


def test_runs_of_groups_that_are_found(tmp_path: Path) -> None:
    question = Asked({"n": dp.count()}, group_by=("city",), price={"epsilon": 10**4, "delta": "1e-6"})
    stage, runs = on_stage(question, tmp_path)
    assert (runs == [2, 2, 2, 2, 2]).all()  # two groups, in each two people and two rows
    assert stage.labels[0] == "the number of groups"


def test_draws_of_one_opening_are_different(tmp_path: Path) -> None:
    _, runs = on_stage(asked("count", epsilon="1e-3"), tmp_path)
    assert len(np.unique(runs)) > 1  # seven equal draws at this scale: a chance below 1e-18


@pytest.mark.usefixtures("door")
def test_a_question_without_columns_is_examined() -> None:
    (found,) = examine({"rows": asked("count")}, dp.Rows(), {}, written=True, pairs=2, samples=4000, alpha="1e-11")
    assert not found.violated
    assert found.replayed == 2
    assert 0 < found.lower_bound <= 1


@pytest.mark.usefixtures("door")
@pytest.mark.parametrize(
    ("last", "words"),
    [
        (Asked({"n": dp.count()}), "last: .*has no price"),
        (Asked({"n": dp.count()}, group_by=("city",), price={"epsilon": 1}), "last: .*delta"),
        (Asked({"n": dp.count()}, where=(dp.col("city") + 1 > 2,), columns={"city": dp.col("k").year() == ""},
               price={"epsilon": 1}), "last: "),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_planned_is_refused_before_any_is_tried(
    last: Asked, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(Stage, "release", lambda self, side: tried.append(side))
    with pytest.raises(dp.errors.ParameterError, match=words):
        examine({"first": asked("count"), "last": last}, dp.Rows(), {}, written=True, pairs=1, samples=4000)
    assert not tried


@pytest.mark.usefixtures("door")
@pytest.mark.parametrize("wrong", [{"alpha": 0}, {"alpha": float("nan")}, {"pairs": 0}, {"samples": 0}])
def test_bad_figures_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(dp.errors.ParameterError):
        examine({"rows": asked("count")}, dp.Rows(), {}, written=True, **{"pairs": 1, **wrong})


def test_the_door_must_be_open() -> None:
    with pytest.raises(dp.errors.EntropyError):
        examine({"rows": asked("count")}, dp.Rows(), {}, written=True, pairs=1)
