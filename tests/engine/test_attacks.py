"""Attacks on the query engine: thresholds, public keys, clamps, and what a release may depend on."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from tests.engine.conftest import Open


def test_c30_thresholds_count_people_not_rows(opened: Open) -> None:
    """A thousand rows of one person do not show their group; a hundred persons show theirs."""
    rows = [{"user": 0, "word": "secret"}] * 1000 + [{"user": user, "word": "hello"} for user in range(1, 101)]
    data = opened(pa.Table.from_pylist(rows), dp.Person("user", max_groups=1, max_rows_per_group=1000))
    found = data.group_by("word").agg(n=dp.count()).release(epsilon=5, delta="1e-9")
    assert found.value["word"].to_pylist() == ["hello"]


@pytest.mark.parametrize("rows", [0, 3])
def test_c31_public_keys_are_all_there_with_noise(rows: int, opened: Open) -> None:
    table = pa.table({"user": pa.array(range(rows), pa.int64()), "city": pa.array(["x"] * rows, pa.string()),
                      "age": pa.array([5] * rows, pa.int64())})  # fmt: skip
    data, keys = opened(table), [str(key) for key in range(60)]
    asked: Any = {
        "n": dp.count(), "m": dp.mean("age", (0, 9)), "q": dp.quantile("age", ["0.5", "0.9"], (0, 9)),
        "h": dp.histogram("age", [0, 5, 9]), "t": dp.top("age", 1, candidates=[1, 5]), "d": dp.count_distinct("age"),
    }  # fmt: skip
    release = data.group_by("city", keys=keys).agg(**asked).release(epsilon=1).value
    assert release["city"].to_pylist() == keys
    assert all(release[name].null_count == 0 for name in release.column_names)
    assert len(set(release["n"].to_pylist())) > 5  # noise everywhere: at scale 24, misses with probability below 1e-9
    everyone = data.agg(**asked).release(epsilon=1).value
    assert everyone.num_rows == 1


def test_c33_the_clamp_comes_after_the_expression(opened: Open) -> None:
    rows = [{"user": user, "name": "x" if user == 7 else "y"} for user in range(50)]
    data = opened(pa.Table.from_pylist(rows), dp.Rows(), dp.PureDP(10**6))
    huge = dp.if_else(dp.col("name") == "x", 1e9, 0.0)
    assert data.sum(huge, (0, 10), epsilon=10_000).value == pytest.approx(10, abs=0.1)


def test_c34_a_column_that_is_redefined_is_clamped_as_it_then_is(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, dp.Rows(), dp.PureDP(10**6)).with_columns(age=dp.col("age") * 1e6)
    positive = sum(age > 0 for age in visits["age"].to_pylist())
    assert data.sum("age", (0, 1), epsilon=10_000).value == pytest.approx(positive, abs=0.1)


def test_c38_one_person_with_many_rows_is_bounded(opened: Open) -> None:
    rows = pa.table({"user": [0] * 100_000 + [1, 2], "city": ["a"] * 100_002, "age": [3] * 100_002})
    data = opened(rows, dp.Person("user", max_groups=1, max_rows_per_group=2), dp.PureDP(10**6))
    for ask in (dp.count(), dp.sum("age", (0, 1)), dp.histogram("age", [0, 2, 9])):
        value = data.group_by("city", keys=["a"]).agg(x=ask).release(epsilon=10_000).value["x"][0].as_py()
        assert (sum(value) if isinstance(value, list) else value) == pytest.approx(4, abs=0.1)


def test_c46_found_groups_come_in_the_order_of_their_keys(opened: Open) -> None:
    words = ["b", "c", "a", "ä", "B"]
    rows = [{"user": 100 * at + user, "word": word} for at, word in enumerate(words) for user in range(80)]
    for name, order in {"forwards": rows, "backwards": rows[::-1]}.items():
        data = opened(pa.Table.from_pylist(order), name=name)
        found = data.group_by("word").agg(n=dp.count()).release(epsilon=5, delta="1e-6").value
        assert found["word"].to_pylist() == sorted(words, key=str.encode)


def test_nothing_is_found_in_an_empty_table(opened: Open) -> None:
    table = pa.table(
        {"user": pa.array([], pa.int64()), "word": pa.array([], pa.string()), "x": pa.array([], pa.int64())}
    )
    asked: Any = {
        "n": dp.count(), "t": dp.top("x", 2), "b": dp.top("x", 1, candidates=[1, 2]), "q": dp.median("x", (0, 9)),
        "h": dp.histogram("x", [0, 1, 2]),
    }  # fmt: skip
    release = opened(table).group_by("word").agg(**asked).release(epsilon=1, delta="1e-6")
    assert release.value.num_rows == 0
    assert str(release.value["t"].type) == "list<item: int64>"
    assert release.value.column_names == ["word", "n", "n_low", "n_high", "t", "b", "q", "h", "h_low", "h_high"]


def test_rows_of_other_groups_take_no_place_of_found_values(opened: Open) -> None:
    """Everybody has fifty values in a group that was not asked for, and one in the group that was."""
    rows = [{"user": user, "city": "other", "word": f"w{at}"} for user in range(60) for at in range(50)]
    rows += [{"user": user, "city": "asked", "word": "hello"} for user in range(60)]
    data = opened(pa.Table.from_pylist(rows), dp.Person("user", 1, 1))
    release = data.group_by("city", keys=["asked"]).agg(t=dp.top("word", 3)).release(epsilon=5, delta="1e-6")
    assert release.value["t"].to_pylist() == [["hello"]]


def test_a_dataset_closes_what_it_opened(visits: pa.Table, opened: Open) -> None:
    with opened(visits) as data:
        assert data.count(epsilon=1).value != 0
    data.close()  # a second time does nothing


def test_d55_the_cost_is_fixed_before_data_is_read(visits: pa.Table, opened: Open) -> None:
    full, empty = opened(visits, name="full"), opened(visits.slice(0, 0), name="empty")
    plans = [
        data.group_by("city").agg(n=dp.count(), t=dp.top("age", 3)).release(epsilon=1, delta="1e-6")
        for data in (full, empty)
    ]
    assert plans[0].event == plans[1].event
    assert plans[0].guarantee == plans[1].guarantee


@pytest.mark.parametrize("verb", ["count", "sum", "mean", "variance", "std", "median", "histogram", "top"])
def test_found_groups_are_answered_where_there_are_no_rows(verb: str, visits: pa.Table, opened: Open) -> None:
    """If that failed, a failure would tell whether a condition holds for anybody."""
    asked: Any = {
        "count": dp.count(), "histogram": dp.histogram("age", [0, 5, 9]), "top": dp.top("age", 1),
        **{name: getattr(dp, name)("age", (0, 9)) for name in ("sum", "mean", "variance", "std", "median")},
    }[verb]  # fmt: skip
    nobody = opened(visits).where(dp.col("age") > 10**6)
    assert nobody.group_by("city").agg(asked=asked).release(epsilon=1, delta="1e-6").value.num_rows == 0
