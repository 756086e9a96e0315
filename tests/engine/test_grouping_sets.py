"""Several sets of groups in one question: each level is the question that `group_by` asks, and what one person moves
adds up over the levels."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.noise import entropy
from dither.testing.exact_answers import exact_answers
from tests.engine.exact import exact_batches, needs_of

KEYS = {"region": ["north", "south"], "city": ["a", "b", "c"]}
SETS: tuple[list[str], ...] = (["region", "city"], ["region"], [])
TABLE = pa.table(
    {
        "who": [row // 6 for row in range(600)],
        "region": [("north", "south", None)[row % 3] for row in range(600)],
        "city": ["abcd"[row * 7 % 4] for row in range(600)],
        "x": [row % 11 for row in range(600)],
    }
)


def opened(groups: int = 9, rows: int = 9, table: pa.Table = TABLE) -> dp.Dataset:
    unit = dp.Person("who", max_groups=groups, max_rows_per_group=rows)
    return dp.Dataset(table, unit=unit, budget=dp.ApproxDP(10**9, "0.1"), ledger=":memory:", identity="visits")


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)
    with exact_answers():
        yield


def rows_of(question: Any, **price: Any) -> list[dict[str, Any]]:
    shown = question.release(epsilon=10**6, **price).to_arrow().to_pylist()
    return [{name: of for name, of in row.items() if not name.endswith(("_low", "_high"))} for row in shown]


ASKED: dict[str, Any] = {"n": dp.count(), "people": dp.count_people(), "x": dp.sum("x", (0, 10))}


@pytest.mark.usefixtures("exact")
def test_each_level_is_the_question_of_its_columns() -> None:
    with opened() as data:
        found = rows_of(data.grouping_sets(*SETS, keys=KEYS).agg(**ASKED))
        each = [
            *rows_of(data.group_by("region", "city", keys=KEYS).agg(**ASKED)),
            *rows_of(data.group_by("region", keys=KEYS["region"]).agg(**ASKED)),
            *rows_of(data.agg(**ASKED)),
        ]
    assert [row.pop("level") for row in found] == [0] * 6 + [1] * 2 + [2]
    assert found == [{"region": None, "city": None, **row} for row in each]


@pytest.mark.usefixtures("exact")
def test_a_total_is_told_from_a_group_whose_key_is_missing() -> None:
    with opened() as data:
        found = rows_of(data.grouping_sets(["region"], []).agg(n=dp.count()), delta="1e-3")
    assert [(row["level"], row["region"], row["n"]) for row in found] == [
        (0, "north", 200), (0, "south", 200), (0, None, 200), (1, None, 600)
    ]  # fmt: skip


@pytest.mark.parametrize(("limit", "groups"), [(1, 3), (2, 5), (4, 7), (99, 9)])
def test_what_a_person_moves_adds_up_over_the_levels(limit: int, groups: int) -> None:
    """min(limit, 6) pairs, min(limit, 2) regions and one total, and the noise of as many groups."""
    with opened(limit, 1) as data:
        question = data.grouping_sets(*SETS, keys=KEYS).agg(n=dp.count())
        assert question.neighbour.groups == groups
        assert f"at most {groups} groups" in question.words
        alone = data.group_by("region", keys=KEYS["region"]).agg(n=dp.count())
        plans = question.plan(epsilon=1), alone.plan(epsilon=1)
        noises = [next(iter(plan.parts.values())).noise.size for plan in plans]
        assert noises[0] / noises[1] == pytest.approx(groups / min(limit, 2), rel=1e-6)


def test_groups_that_are_found_move_as_many_as_the_limits_say() -> None:
    with opened(4, 2) as data:
        assert data.grouping_sets(*SETS).agg(n=dp.count()).neighbour.groups == 4 + 4 + 1


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_without_one_person_so_many_groups_change_at_most(limit: int) -> None:
    """On the exact answers of two neighbours, for each of some people: a few of their groups, by a few rows each."""
    rows = 2
    with opened(limit, rows) as data:
        whole = exact_groups(data)
        allowed = data.grouping_sets(*SETS, keys=KEYS).agg(n=dp.count()).neighbour
        assert sum(whole.values()) > 0
    changes = []
    for who in range(5):
        mask = pa.array([each != who for each in TABLE["who"].to_pylist()])
        with opened(limit, rows, TABLE.filter(mask)) as data:
            other = exact_groups(data)
        moved = [abs(whole[key] - other.get(key, 0)) for key in whole if whole[key] != other.get(key, 0)]
        assert len(moved) <= allowed.groups
        assert max(moved) <= allowed.rows
        changes.append(len(moved))
    assert max(changes) > limit  # a limit for each level, not for all of them together


def exact_groups(data: dp.Dataset) -> dict[Any, int]:
    question = data.grouping_sets(*SETS, keys=KEYS).agg(n=dp.count())
    (batches,) = exact_batches(question._bounded, needs_of(question.aggregates)).values()
    found = pa.Table.from_batches(batches).to_pylist()
    number = next(name for name in found[0] if name not in ("level", *KEYS))
    return {(row["level"], row["region"], row["city"]): row[number] for row in found}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda data: data.grouping_sets(), "up to 64 different lists"),
        (lambda data: data.grouping_sets([]), "needs a column"),
        (lambda data: data.grouping_sets("city"), "different lists"),
        (lambda data: data.grouping_sets(["city"], ["city"]), "different lists"),
        (lambda data: data.grouping_sets(["city", "city"]), "different lists"),
        (lambda data: data.grouping_sets(["region", "city"], ["city", "region"]), "different lists"),
        (lambda data: data.grouping_sets(["nowhere"]), "nowhere"),
        (lambda data: data.grouping_sets(["city"], [], level="x"), "column 'x' already"),
        (lambda data: data.grouping_sets(["city"], [], level="dither x"), "dither"),
        (lambda data: data.grouping_sets(["city"], [], keys=["a"]), "a list for each of city"),
        (lambda data: data.grouping_sets(["city"], [], keys={"region": ["a"]}), "a list for each of city"),
        (lambda data: data.grouping_sets(["city"], [], keys={"city": ["a", "a"]}), "different from each other"),
        (lambda data: data.grouping_sets(["city"], []).grouping_sets(["city"]), "groups already"),
        (lambda data: data.grouping_sets(["city"], []).where(dp.col("x") > 1), "groups already"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_sets_is_refused(ask: Any, said: str) -> None:
    with opened() as data, pytest.raises(ParameterError, match=said):
        ask(data)


def test_rows_are_in_one_group_only() -> None:
    data = dp.Dataset(TABLE, unit=dp.Rows(), budget=dp.PureDP(1), ledger=":memory:", identity="visits")
    with data, pytest.raises(ParameterError, match=r"unit=dp\.Person"):
        data.grouping_sets(["city"], [])


def test_rows_do_not_multiply_without_end() -> None:
    """Each set repeats what public tables have multiplied already."""
    sides = pa.table({"city": ["a"] * 500, "side": range(500)})
    with opened() as data, pytest.raises(ParameterError, match="1500 rows"):
        data.join(sides, on="city").grouping_sets(*SETS)


@pytest.mark.usefixtures("exact")
def test_groups_are_chosen_level_by_level() -> None:
    """Of someone who was in ten cities one counts, and in the total everybody does."""
    table = pa.table({"who": [row // 10 for row in range(500)], "city": list("abcdefghij") * 50})
    keys = {"city": list("abcdefghij")}
    with opened(1, 10, table) as data:
        for question in (data.grouping_sets(["city"], [], keys=keys), data.grouping_sets(["city"], [])):
            price = {} if question.public_keys is not None else {"delta": "1e-3"}
            found = rows_of(question.agg(people=dp.count_people()), **price)
            assert sum(row["people"] for row in found if row["level"] == 0) == 50
            assert [row["people"] for row in found if row["level"] == 1] == [50]


def test_what_is_about_one_set_of_groups_is_refused() -> None:
    with opened() as data:
        question = data.grouping_sets(*SETS, keys=KEYS).agg(n=dp.count())
        with pytest.raises(ParameterError, match="one set of groups"):
            question.release(epsilon=1, left_out=True)
        with pytest.raises(ParameterError, match="one set of groups"):
            data.suggest(question, epsilon=1)
        assert data.remaining["epsilon"] == 10**9


def test_no_column_is_taken_for_the_number_of_a_set() -> None:
    """DuckDB and Spark tell names apart by their letters alone; a text there would make a charged question fail."""
    table = pa.table({"who": range(60), "city": ["a", "b", "c"] * 20, "Level": ["0"] * 59 + ["secret"]})
    with opened(2, 2, table) as data:
        for level in ("level", "LEVEL", "CITY", "Who"):
            with pytest.raises(ParameterError, match="upper and lower case only"):
                data.grouping_sets(["city"], [], level=level)
        text = "SELECT city, COUNT(*) AS n FROM visits WHERE who = {} GROUP BY ROLLUP (city)"
        for who in (58, 59):
            data.sql(text.format(who)).release(epsilon=1, delta="1e-3")
