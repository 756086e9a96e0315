"""What is done to rows before groups: bins, joins with public tables, one row per person. Each against plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from dither.engine.groups import Groups, public_keys
from dither.errors import ParameterError
from tests.engine.conftest import Open

MANY = 10_000
EDGES = [0, 18, 50, 60]


def test_bins_are_groups(visits: pa.Table, opened: Open) -> None:
    ages = Counter(visits["age"].to_pylist())
    naive = [
        sum(n for age, n in ages.items() if low <= age < high or age == high == EDGES[-1])
        for low, high in pairwise(EDGES)
    ]
    data = opened(visits, dp.Rows(), dp.PureDP(10**6))
    binned = data.group_by(dp.bins("age", EDGES)).agg(n=dp.count()).release(epsilon=MANY).value
    assert binned["age"].to_pylist() == ["[0, 18)", "[18, 50)", "[50, 60]"]
    assert binned["n"].to_pylist() == naive == data.histogram("age", EDGES, epsilon=MANY).value


def test_bins_go_with_keys_and_with_found_groups(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, dp.Rows(), dp.ApproxDP(10**6, "1e-3"))
    by = dp.bins(dp.col("age") * 2, [0, 60, 200], name="double")
    public = data.group_by("city", by, keys=["Paris", "Rome"]).agg(n=dp.count()).release(epsilon=MANY).value
    assert public.select(["city", "double"]).to_pylist() == [
        {"city": city, "double": label} for city in ("Paris", "Rome") for label in ("[0, 60)", "[60, 200]")
    ]
    naive = Counter(
        (city, "[0, 60)" if 2 * age < 60 else "[60, 200]")
        for city, age in zip(visits["city"].to_pylist(), visits["age"].to_pylist(), strict=True)
    )
    assert {(row["city"], row["double"]): row["n"] for row in public.to_pylist() if row["n"]} == {
        key: count for key, count in naive.items() if key[0] == "Paris"
    }
    found = data.group_by(by, "city").agg(n=dp.count()).release(epsilon=MANY, delta="1e-6").value
    assert {(row["city"], row["double"]): row["n"] for row in found.to_pylist()} == dict(naive)


def test_bins_of_days(opened: Open) -> None:
    days = [date(2024, 1, 1), date(2024, 2, 29), date(2024, 12, 31), date(2025, 1, 1), None]
    data = opened(pa.table({"day": days}), dp.Rows(), dp.PureDP(10**6))
    edges = [date(2024, 1, 1), date(2024, 3, 1), date(2024, 12, 31)]
    release = data.group_by(dp.bins("day", edges)).agg(n=dp.count()).release(epsilon=MANY)
    assert release.value["day"].to_pylist() == ["[2024-01-01, 2024-03-01)", "[2024-03-01, 2024-12-31]"]
    assert release.value["n"].to_pylist() == [2, 1]


@pytest.mark.parametrize(
    ("edges", "rule"),
    [
        ([0], "2 to 151"),
        ([0, 1], "one bin is a condition"),
        ([1, 0, 2], "increasing"),
        ([0, date(2024, 1, 1), 2], "all numbers or all days"),
        ([0, 1, float("nan")], "edges"),
        ("abc", "2 to 151"),
        (list(range(200)), "2 to 151"),
    ],
)
def test_wrong_edges_are_refused(edges: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        dp.bins("age", edges)
    with pytest.raises(ParameterError, match=rule):
        dp.histogram("age", edges)


def test_a_join_keeps_rows_and_persons(visits: pa.Table, opened: Open) -> None:
    data = opened(visits, dp.Rows(), dp.PureDP(10**6))
    public = pa.table({"city": ["Paris", "Lyon", "Oslo"], "north": [True, False, True], "people": [2.0, 0.5, 0.7]})
    joined = data.join(public, on="city")
    assert joined.count(epsilon=MANY).value == 180
    cities = Counter(visits["city"].to_pylist())
    assert joined.where(dp.col("north")).count(epsilon=MANY).value == cities["Paris"]
    assert joined.where(dp.col("north").is_null()).count(epsilon=MANY).value == cities["Nice"]
    assert joined.where(dp.col("people") < 1).count(epsilon=MANY).value == cities["Lyon"]


@pytest.mark.parametrize(
    ("public", "rule"),
    [
        ({"city": ["Paris", "Paris"], "x": [1, 2]}, "different values"),
        ({"city": ["Paris", None], "x": [1, 2]}, "no NULL"),
        ({"town": ["Paris"], "x": [1]}, "no column 'city'. It has town, x"),
        ({"city": ["Paris"]}, "no column besides"),
        ({"city": ["Paris"], "age": [1]}, "both tables have a column 'age'"),
        ({"city": ["Paris"], "AGE": [1]}, "upper and lower case"),
        ({"city": [True], "x": [1]}, "kind"),
        ({"city": ["Paris"], "dither x": [1]}, "starts with 'dither '"),
    ],
)
def test_a_join_that_could_multiply_rows_is_refused(
    visits: pa.Table, opened: Open, public: dict[str, Any], rule: str
) -> None:
    with pytest.raises(ParameterError, match=rule):
        opened(visits, dp.Rows()).join(pa.table(public), on="city")


def test_one_row_per_person(visits: pa.Table, opened: Open) -> None:
    naive: dict[int, list[float]] = defaultdict(list)
    for user, spend in zip(visits["user"].to_pylist(), visits["spend"].to_pylist(), strict=True):
        naive[user].append(min(spend, 100))
    data = opened(visits, budget=dp.PureDP(10**6)).per_person(
        total=dp.sum("spend", bounds=(0, 100)), visits=dp.count(), average=dp.mean("spend", bounds=(0, 100)),
        least=dp.min("spend", bounds=(0, 100)), most=dp.max("spend", bounds=(0, 100)),
    )  # fmt: skip
    assert data.count(epsilon=MANY).value == len(naive)
    assert data.mean("visits", (0, 10), epsilon=MANY).value == pytest.approx(3, abs=0.01)
    verbs: dict[str, Callable[[list[float]], float]] = {
        "total": sum, "average": lambda x: sum(x) / len(x), "least": min, "most": max,
    }  # fmt: skip
    for name, of in verbs.items():
        expected = sum(of(values) for values in naive.values())
        assert data.sum(name, (0, 300), epsilon=MANY).value == pytest.approx(expected, abs=2)
    rich = data.where(dp.col("total") > 150).count(epsilon=MANY).value
    assert rich == sum(sum(values) > 150 for values in naive.values())


def test_per_person_needs_persons_and_known_verbs(visits: pa.Table, opened: Open) -> None:
    with pytest.raises(ParameterError, match="needs persons"):
        opened(visits, dp.Rows()).per_person(n=dp.count())
    with pytest.raises(ParameterError, match="count, sum, mean, min and max; 'm' is none"):
        opened(visits, name="b").per_person(m=dp.median("spend", (0, 1)))
    with pytest.raises(ParameterError, match="one or more"):
        opened(visits, name="b").per_person()


KEYS = st.tuples(st.none() | st.sampled_from(["", "a", "b", "ä"]), st.none() | st.integers(-2, 2), st.booleans())


@given(known=st.lists(KEYS, min_size=1, max_size=12, unique=True), asked=st.lists(KEYS, max_size=12))
def test_places_are_those_of_a_dictionary(known: list[Any], asked: list[Any]) -> None:
    types = {"a": pa.string(), "b": pa.int64(), "c": pa.bool_()}
    keys, batch = (
        pa.table({name: pa.array([row[at] for row in rows], of) for at, (name, of) in enumerate(types.items())})
        for rows in (known, asked)
    )
    naive = {key: at for at, key in enumerate(known)}
    assert Groups(keys).places(batch.combine_chunks()).tolist() == [naive.get(key, -1) for key in asked]


def test_keys_come_in_three_forms() -> None:
    listed = public_keys(["a", "b"], [("x", 1), ("x", 2), ("y", 1), ("y", 2)])
    assert listed == public_keys(["a", "b"], {"b": [1, 2], "a": ["x", "y"]})
    assert listed == public_keys(["a", "b"], listed.append_column("more", [[1, 2, 3, 4]]))
    assert public_keys(["a"], range(2)).to_pydict() == {"a": [0, 1]}


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ([], "must not be empty"),
        (["x", "x"], "different"),
        ([None, None], "different"),
        (["x", 1], "one type"),
        ({"b": [1]}, "a list for each of a"),
        (pa.table({"b": [1]}), "no column 'a'. It has b"),
        (3, "keys must be a list of values, got the type int"),
    ],
)
def test_wrong_keys_are_refused(keys: Any, rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        public_keys(["a"], keys)
    if keys == []:
        with pytest.raises(ParameterError, match="tuples of 2"):
            public_keys(["a", "b"], ["x"])


def test_a_table_about_persons_is_not_public(visits: pa.Table, opened: Open) -> None:
    """By whatever column it is joined; a file of rows has nobody to tell apart."""
    ages = pa.table({"user": [1, 2], "city": ["Paris", "Lyon"], "income": [3, 4]})
    for on in ("user", "city"):
        with pytest.raises(ParameterError, match="has the column 'user', which tells persons apart"):
            opened(visits).join(ages, on=on)
    assert "income" in opened(visits, unit=dp.Rows(), name="rows").join(ages.drop_columns("city"), on="user").columns
