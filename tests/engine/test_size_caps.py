"""What multiplies is refused by its product, before it is built, with the cap in the sentence."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from tests.engine.conftest import Open

MANY = range(10**4)
NAMES = [f"c{at}" for at in range(4)]


def table_of(*columns: str) -> pa.Table:
    return pa.table({"user": [1], **{name: [1] for name in columns}})


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"a": MANY, "b": MANY}, r"10,000,000 public groups, and all .* are 100,000,000"),
        ({"a": list(MANY), "b": list(range(1001))}, r"10,000,000 public groups, and all .* are 10,010,000"),
        ({"a": range(10**15), "b": [1]}, r"10,000,000 public groups"),
        ({"a": ["x" * 10**4, "y"], "b": range(10**6)}, r"1,073,741,824 bytes in all, and these take 10,\d{3},\d{3},"),
        ({"a": [1, 1], "b": MANY}, "keys must be different"),
        ({"a": itertools.count(), "b": [1]}, r"keys\['a'\] must be a list of values, got the type count"),
        ({"a": (each for each in MANY), "b": [1]}, "got the type generator"),
        (itertools.repeat(("x", "y")), "keys must be a list of values, got the type repeat"),
        ([(1, 2), (1, 2)], "keys must be different"),
        ({"a": [], "b": [1]}, "keys must not be empty"),
        ({"a": [2**70], "b": [1]}, "all keys of one column must be of one type"),
    ],
    ids=[
        "square",
        "just above",
        "range",
        "long keys",
        "twice",
        "endless",
        "generator",
        "repeat",
        "rows",
        "none",
        "big",
    ],
)
def test_e66_public_keys_are_counted_before_they_are_built(keys: Any, said: str, opened: Open) -> None:
    with closing(opened(table_of("a", "b"))) as data, pytest.raises(ParameterError, match=said):
        data.group_by("a", "b", keys=keys)


def test_e66_bins_times_keys_are_counted_too(opened: Open) -> None:
    edges = list(range(151))
    with closing(opened(table_of(*NAMES, "k"))) as data:
        bins = [dp.bins(name, edges) for name in NAMES]
        with pytest.raises(ParameterError, match="are 506,250,000"):
            data.group_by(*bins)
        with pytest.raises(ParameterError, match="are 15,000,000"):
            data.group_by("k", bins[0], keys=range(10**5))


@pytest.mark.parametrize(
    ("aggregate", "width"),
    [
        (lambda: dp.histogram("a", list(range(151))), 150),
        (lambda: dp.top("a", 2, candidates=list(range(900))), 900),
        (lambda: dp.quantile("a", [f"{at}/1001" for at in range(1, 1001)], bounds=(0, 1)), 1000),
    ],
    ids=["histogram", "top", "quantile"],
)
def test_e66_groups_times_values_are_counted_before_anything_is_charged(
    aggregate: Callable[[], Any], width: int, opened: Open
) -> None:
    with closing(opened(table_of("a", "k"))) as data:
        query = data.group_by("k", keys=range(2 * 10**5))
        with pytest.raises(ParameterError, match=f"may hold 20,000,000 values.* are {2 * 10**5 * width:,}"):
            query.agg(v=aggregate())
        query.agg(n=dp.count())
        assert not any(entry.kind == "charge" for entry in data.origin.release_path.ledger.entries())


@pytest.mark.parametrize(
    "ask",
    [
        lambda: dp.top("a", 1, candidates=itertools.count()),  # type: ignore[arg-type]
        lambda: dp.top("a", 1, candidates=range(10**15)),
        lambda: dp.bins("a", range(10**15)),
        lambda: dp.bins("a", itertools.count()),
        lambda: dp.histogram("a", range(10**15)),
        lambda: dp.quantile("a", ["1/2"] * 1001, bounds=(0, 1)),
    ],
)
def test_endless_and_long_lists_are_refused_unread(ask: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError):
        ask()


def test_all_combinations_come_in_the_order_of_the_lists(opened: Open) -> None:
    with closing(opened(table_of("a", "b", "age"))) as data:
        query = data.group_by("b", dp.bins("age", [0, 1, 2]), "a", keys={"a": [2, 1], "b": ["y", None]})
        assert query.public_keys is not None
        rows = [tuple(row.values()) for row in query.public_keys.to_pylist()]
        assert sorted(rows, key=str) == sorted(itertools.product(["y", None], ["[0, 1)", "[1, 2]"], [2, 1]), key=str)
        assert len(set(rows)) == 8


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pa.array(["x" * 16_385]), "'t' of the public table has a value of more than 16384 bytes"),
        (pa.array(["x" * 16_385], pa.large_string()), "more than 16384 bytes"),
        (pa.array([b"x" * 8_193]), "more than 8192 bytes"),
        (pa.array([b"x" * 8_193], pa.binary(8_193)), "more than 8192 bytes"),
    ],
    ids=["text", "large text", "bytes", "bytes of one length"],
)
def test_e63_a_public_table_brings_no_long_texts(opened: Open, values: pa.Array, said: str) -> None:
    """A text of a gigabyte made the result too large exactly if a row had a partner in the public table."""
    with closing(opened(table_of("a"))) as data, pytest.raises(ParameterError, match=said):
        data.join(pa.table({"a": [1], "t": values}), on="a")


def test_e63_an_expression_brings_no_long_texts() -> None:
    assert str(dp.col("a") == "x" * 4096).count("x") == 4096
    with pytest.raises(ParameterError, match="texts in expressions have at most 4096 characters, got 4097"):
        dp.if_else(dp.col("a") == 1, "x" * 4097, "")


def test_an_answer_that_is_too_long_to_be_stored_is_refused_before_the_charge(tmp_path: Path) -> None:
    """Under an idempotency key; it was charged, failed each time, and stopped the account."""
    table = pa.table({"city": ["a"] * 10})
    keys = [f"{index:06}" + "x" * 14_000 for index in range(12_000)]
    with dp.Dataset(table, unit=dp.Rows(), budget=dp.PureDP(10), ledger=tmp_path / "ledger", identity="cities") as data:
        question = data.group_by("city", keys=keys).agg(rows=dp.count())
        with pytest.raises(ParameterError, match="under an idempotency key is stored"):
            question.release(epsilon=1, key="k")
        assert data.spent["epsilon"] == 0
