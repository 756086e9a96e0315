"""What is compared of results: everything that is shown, and nothing else. What cannot be compared is refused."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import matplotlib.figure
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither as dp
from dither.audit.replay import replay
from dither.audit.replay.portrait import input_portrait, portrait
from dither.errors import ParameterError
from dither.ledger import Entry
from dither.ledger.entry import canonical
from dither.mechanisms import Release
from dither.mechanisms.certificate import digest

ONE = dp.Laplace(sensitivity=1, epsilon=1)
MORE, LESS = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0]
SECRET = "Alice Smith, HIV+"

Opened = Callable[..., dp.Dataset]
Pipeline = Callable[[Any], Any]


# --------------------------------------------------------------- releases of tables


def released(
    opened: Opened, of_length: Callable[[int], tuple[Any, dict[str, Any]]] = lambda n: (0, {})
) -> Callable[[list[float]], Any]:
    """A count of what is at least so much, the bound and options of the release by the number of records."""

    def asked(x: list[float]) -> Any:
        least, options = of_length(len(x))
        with opened(pa.table({"a": x}), dp.Rows(), {}) as data:
            return data.where(dp.col("a") >= least).agg(n=dp.count()).release(epsilon=1, **options)

    return asked


def parts_of_release(release: Any) -> dict[str, Any]:
    """All that others see of it."""
    return {"release": release, "entry": release.entry, "certificate": release.certificate()}


TELLING: dict[str, Callable[[int], tuple[Any, dict[str, Any]]]] = {
    "the question": lambda n: (n, {}),
    "the key": lambda n: (0, {"key": f"key {n}"}),
}


@pytest.mark.parametrize("part", ["release", "entry", "certificate"])
@pytest.mark.parametrize("told", TELLING)
def test_what_the_ledger_says_is_shown(told: str, part: str, opened: Opened) -> None:
    asked = released(opened, TELLING[told])
    verdict = replay(lambda x: parts_of_release(asked(x))[part], MORE, LESS)
    assert verdict.passed == (part == "certificate" and told == "the key"), str(verdict)  # which has no place there
    assert verdict.passed or "something exact is shown" in str(verdict)


@pytest.mark.parametrize("part", ["release", "entry", "certificate"])
def test_the_time_and_the_number_of_an_entry_are_of_the_run(part: str, opened: Opened) -> None:
    asked = released(opened, lambda n: (0, {"key": "one"}))

    def late(x: list[float]) -> Any:
        time.sleep(0.002)  # the ledger tells milliseconds
        return parts_of_release(asked(x))[part]

    assert replay(late, MORE, LESS).passed


@pytest.mark.parametrize("part", ["release", "entry", "certificate"])
def test_one_ledger_for_both_runs_is_no_difference(part: str, tmp_path: Path) -> None:
    """The second run finds what the first has spent."""

    def asked(x: list[float]) -> Any:
        account: dict[str, Any] = {"budget": dp.PureDP(9), "ledger": tmp_path / "one.ledger", "identity": "data"}
        with dp.Dataset(pa.table({"a": x}), unit=dp.Rows(), **account) as data:
            return parts_of_release(data.agg(n=dp.count()).release(epsilon=1))[part]

    assert replay(asked, MORE, LESS).passed


@pytest.mark.parametrize("part", ["release", "certificate"])
def test_the_name_of_the_account_is_shown(part: str, tmp_path: Path) -> None:
    def asked(x: list[float]) -> Any:
        account: dict[str, Any] = {"budget": dp.PureDP(9), "ledger": tmp_path / "named", "identity": f"{len(x)} rows"}
        with dp.Dataset(pa.table({"a": x}), unit=dp.Rows(), **account) as data:
            return parts_of_release(data.agg(n=dp.count()).release(epsilon=1))[part]

    assert "accounts of other names" in str(replay(asked, MORE, LESS))


@pytest.mark.parametrize(
    ("name", "is_shown"),
    [("question", True), ("by", True), ("key", True), ("cost", True), ("event", True), ("new", True),
     ("at", False), ("spent", False), ("charges", False)],
)  # fmt: skip
def test_which_parts_of_an_entry_are_shown(name: str, is_shown: bool) -> None:
    def entry(x: list[float]) -> Entry:
        return Entry(len(x), f"hash {len(x)}", "charge", "data", canonical({"question": "?", name: f"{len(x)}"}))

    assert replay(entry, MORE, LESS).passed == (not is_shown)


def test_only_a_certificate_is_read_as_one() -> None:
    """A dictionary that looks like one, with exact numbers where hashes are."""

    def forged(x: list[float]) -> dict[str, Any]:
        return {"dither_certificate": 1, "ledger_entry": {"number": 1, "hash": ""}, "digest": str(len(x))}

    assert not replay(forged, MORE, LESS).passed
    assert portrait({"dither_certificate": 1, "digest": digest({"dither_certificate": 1})}) != portrait({})


def test_a_certificate_as_text_has_the_time_in_it_and_nobody_is_accused(opened: Opened) -> None:
    asked = released(opened)

    def text(x: list[float]) -> str:
        time.sleep(0.002)
        return json.dumps(asked(x).certificate())

    verdict = replay(text, MORE, LESS)
    assert not verdict.passed
    assert "even between two runs on the first input" in str(verdict)


# ------------------------------------------------------------ results that are used again

OUT: list[int] = [0]


def one_list(x: list[float]) -> list[int]:
    OUT[0] = len(x)
    return OUT


def around_one_list(x: list[float]) -> Any:
    held = one_list(x)
    return lambda: held


QUEUE: deque[int] = deque(maxlen=1)
FRAME = pd.DataFrame({"n": [0]})
ERROR = ValueError("always this one")


def one_queue(x: list[float]) -> Any:
    QUEUE.append(len(x))
    return QUEUE


def one_frame(x: list[float]) -> Any:
    FRAME["n"] = [len(x)]
    return FRAME


def one_error(x: list[float]) -> Any:
    vars(ERROR)["size"] = len(x)
    raise ERROR


class Holder:
    """Fills what it returned before, as an estimator with an attribute for its results does."""

    def __init__(self, out: Any) -> None:
        self.out = out

    def __call__(self, x: list[float]) -> Any:
        self.out[:] = [len(x)]
        return self.out


class Itself:
    exact = 0

    def __call__(self, x: list[float]) -> Itself:
        self.exact = len(x)
        return self


REUSED: dict[str, Pipeline] = {
    "a list": one_list,
    "a list within": lambda x: {"found": (one_list(x),)},
    "an array": Holder(np.zeros(1)),
    "an array of objects": Holder(np.zeros(1, dtype=object)),
    "an object": Itself(),
    "a queue": one_queue,
    "a frame": one_frame,
    "an error": one_error,
    "a function": around_one_list,
}


@pytest.mark.parametrize("name", REUSED)
def test_a_result_that_is_used_again_is_remembered_as_it_was(name: str) -> None:
    verdict = replay(REUSED[name], MORE, LESS)
    assert not verdict.passed
    assert "something exact" in str(verdict) or "another error" in str(verdict)


# -------------------------------------------------------------------- everyday results


class Color(Enum):
    RED = 1


class Bare:
    """An object without an equality of its own."""


class Slotted:
    __slots__ = ("exact",)

    def __init__(self, exact: int) -> None:
        self.exact = exact


class Lazy:
    """What it computes when it is asked for the first time is no part of it."""

    def __init__(self, x: Any) -> None:
        self.x = x

    @functools.cached_property
    def twice(self) -> Any:
        return self.x * 2


def with_fields(**values: Any) -> Bare:
    made = Bare()
    vars(made).update(values)
    return made


def of_a_class_made_here(value: Any, beside: Any = 0) -> Any:
    class Made:
        note = beside

        def __init__(self) -> None:
            self.value = value

        @property
        def twice(self) -> Any:
            return self.value * 2

    return Made()


def named(value: Any) -> Any:
    return namedtuple("Named", "value")(value)


def typed(value: Any) -> Any:
    class Typed(NamedTuple):
        value: Any

    return Typed(value)


def data_class(value: Any) -> Any:
    @dataclass(frozen=True, slots=True)
    class Data:
        value: Any
        more: list[int] = field(default_factory=list, metadata={"unit": 1})

    return Data(value)


def noted(value: Any) -> Any:
    def function() -> None:
        pass

    vars(function)["note"] = value
    return function


def itself_inside(value: Any) -> Any:
    whole: list[Any] = [value]
    whole.append(whole)
    return whole


def attributed(value: Any) -> Any:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["note"] = value
    return frame


DAY = datetime(2024, 1, 31, tzinfo=UTC)
RESULTS: dict[str, Callable[[Any], Any]] = {
    "a series of pandas": lambda v: pd.Series([v, 2.5]),
    "the name of a series": lambda v: pd.Series([1], name=f"n {v}"),
    "the index of a series": lambda v: pd.Series([1], index=[v]),
    "a row of a frame": lambda v: pd.DataFrame({"a": [v], "b": ["x"]}).iloc[0],
    "counts of values": lambda v: pd.Series(["a", "b", "a", "a"][:v]).value_counts(),
    "names that repeat": lambda v: pd.DataFrame([[1, v]], columns=["a", "a"]),
    "a column of anything": lambda v: pd.DataFrame({"a": [v, SECRET, None, [1], pd.NA]}),
    "groups of pandas": lambda v: pd.DataFrame({"a": list("xyx"), "b": [v, 1, 1]}).groupby("a").agg(["sum", "min"]),
    "several levels": lambda v: pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([("x", v)])),
    "levels that are not used": lambda v: pd.Series([1, 1], pd.MultiIndex.from_product([["x"], [v, -1]]))[1:],
    "categories that are not used": lambda v: pd.Series(["a"], dtype=pd.CategoricalDtype(["a", f"n {v}"])),
    "numbers that may be missing": lambda v: pd.Series([v, None], dtype="Int64"),
    "texts of pandas": lambda v: pd.Series([f"n {v}", None], dtype="string"),
    "days of pandas": lambda v: pd.Series(pd.date_range("2024-01-01", periods=2, freq=f"{v}D", tz="UTC")),
    "an index": lambda v: pd.RangeIndex(v),
    "notes of a frame": attributed,
    "a moment": lambda v: pd.Timestamp("2024-01-01") + pd.Timedelta(days=v),
    "a series of polars": lambda v: pl.Series("a", [v, None]),
    "the name of a series of polars": lambda v: pl.Series(f"n {v}", [1]),
    "a frame of polars": lambda v: pl.DataFrame({"a": [v], "b": ["x"]}),
    "objects in polars": lambda v: pl.DataFrame({"a": pl.Series([v, SECRET, {}], dtype=pl.Object)}),
    "a column of Arrow": lambda v: pa.chunked_array([[v], [2]]),
    "a scalar of Arrow": lambda v: pa.scalar(v),
    "a schema": lambda v: pa.schema({f"n {v}": pa.int64()}),
    "masked values": lambda v: np.ma.masked_array([v], mask=[True]),
    "an array of texts": lambda v: np.array([f"n {v}"]),
    "an array with names": lambda v: np.array([(v, "x")], dtype=[("a", "i8"), ("b", "U3")]),
    "moments of NumPy": lambda v: np.array([v], dtype="M8[D]"),
    "a plain object": lambda v: with_fields(value=v),
    "an object with slots": Slotted,
    "an object that keeps what it computed": lambda v: [(lazy := Lazy(v)).twice, lazy],
    "an object of a class made here": of_a_class_made_here,
    "a class made here that tells": lambda v: of_a_class_made_here(1, v),
    "a tuple with names": named,
    "a typed tuple with names": typed,
    "a dataclass made here": data_class,
    "a list in itself": itself_inside,
    "a partial function": lambda v: functools.partial(max, v),
    "a method": lambda v: Lazy(v).__init__,  # type: ignore[misc]
    "a note of a function": noted,
    "other containers": lambda v: [Counter({v: 1}), defaultdict(list, a=[v]), OrderedDict(a=v), deque([v])],
    "other numbers": lambda v: [Fraction(1, v), complex(v, 1), range(v), slice(v)],
    "other values": lambda v: [DAY.replace(year=v), PurePosixPath(f"/{v}"), Color.RED, DAY.tzinfo, np.dtype("i8"), int],
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_equal_results_are_equal_and_others_are_not(name: str) -> None:
    make = RESULTS[name]
    alike = replay(lambda x: make(3), MORE, LESS)
    assert alike.passed
    assert not isinstance(alike.result, Exception)
    assert "something exact is shown" in str(replay(lambda x: make(len(x)), MORE, LESS)), name


def test_objects_that_hold_nothing_are_alike() -> None:
    assert replay(lambda x: [Bare(), object(), Color.RED], MORE, LESS).passed


def test_a_figure_is_compared_or_refused_but_never_accused() -> None:
    def drawn(x: list[float]) -> Any:
        figure = matplotlib.figure.Figure()
        figure.subplots().plot([1, 2], [ONE.release(len(x)).value] * 2)
        return figure

    try:
        words = str(replay(drawn, MORE, LESS))
    except ParameterError as error:
        words = str(error)
    assert "something exact" not in words


REFUSED: dict[str, Pipeline] = {
    "a lock": lambda x: [threading.Lock()],
    "a generator": lambda x: (each for each in x),
    "a frame that is not read": lambda x: pl.LazyFrame({"a": [1]}),
    "a stream": lambda x: pa.table({"a": [1]}).to_reader(),
    "a dataset within an object": lambda x: with_fields(lock=threading.Lock()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compared_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="cannot be compared"):
        replay(REFUSED[name], MORE, LESS)


def test_a_refusal_names_what_was_returned_and_what_is_hidden_in_it() -> None:
    with pytest.raises(ParameterError, match="the type Bare cannot be compared: a lock in it cannot be looked into"):
        replay(lambda x: with_fields(lock=threading.Lock()), MORE, LESS)


def test_what_is_nested_too_deep_is_refused() -> None:
    def deep(x: list[float]) -> list[Any]:
        whole: list[Any] = []
        for _ in range(100_000):
            whole = [whole]
        return whole

    with pytest.raises(ParameterError, match="nested this deep"):
        replay(deep, MORE, LESS)


def test_calls_that_differ_are_told_of_before_a_result_is_refused() -> None:
    def wrong(x: list[float]) -> Any:
        return threading.Lock(), ONE.release(5 * len(x))

    assert "more than the sensitivity" in str(replay(wrong, MORE, LESS))


# ------------------------------------------------------------------- failing, and misuse


def test_a_pipeline_that_only_fails_says_so() -> None:
    verdict = replay(lambda x: undefined_name(x), [1], [2])  # type: ignore[name-defined]  # noqa: F821
    assert verdict.passed
    assert str(verdict) == "both inputs raise NameError with the same message, and there is no result; calls: 0"


@pytest.mark.parametrize("pipeline", [5, None, ONE])
def test_what_is_no_function_is_refused(pipeline: Any) -> None:
    with pytest.raises(ParameterError, match="pipeline must be a function of one input"):
        replay(pipeline, [1], [2])


@pytest.mark.parametrize("charged", [1, "1", Fraction(1)])
def test_a_charge_that_is_no_guarantee_is_refused(charged: Any) -> None:
    with pytest.raises(ParameterError, match="charged must be a guarantee"):
        replay(lambda x: ONE.release(len(x)), MORE, LESS, charged=charged)


def test_a_column_that_is_called_guarantee_is_none() -> None:
    verdict = replay(lambda x: pd.DataFrame({"guarantee": [ONE.release(len(x)).value]}), MORE, LESS)
    assert verdict.passed
    assert verdict.charged is None


# ------------------------------------------------------------------------------ inputs


def popped(x: Any) -> Release:
    x[0].pop()
    return ONE.release(0)


def emptied(x: Any) -> Release:
    x.clear()
    return ONE.release(0)


def overwritten(x: Any) -> Release:
    x.iloc[0, 0] = 9
    return ONE.release(0)


def widened(x: Any) -> Release:
    x["more"] = 1
    return ONE.release(0)


def renamed(x: Any) -> Release:
    x.columns = ["b"]
    return ONE.release(0)


def changed_object(x: Any) -> Release:
    x["a"][0].append(1)
    return ONE.release(0)


def filled(x: Any) -> Release:
    x[0, "a"] = 9
    return ONE.release(0)


CHANGED: dict[str, tuple[Pipeline, Callable[[], Any]]] = {
    "a list in a tuple": (popped, lambda: ([1, 2],)),
    "a set": (emptied, lambda: {1, 2}),
    "a set in a list": (popped, lambda: [{1, 2}]),
    "a queue": (emptied, lambda: deque([1, 2])),
    "bytes": (emptied, lambda: bytearray(b"ab")),
    "a value of a frame": (overwritten, lambda: pd.DataFrame({"a": [1, 2]})),
    "a column more": (widened, lambda: pd.DataFrame({"a": [1, 2]})),
    "the name of a column": (renamed, lambda: pd.DataFrame({"a": [1, 2]})),
    "an object in a frame": (changed_object, lambda: pd.DataFrame({"a": [[1], [2]]})),
    "a value of a series": (widened, lambda: pd.Series([1, 2])),
    "a value in polars": (filled, lambda: pl.DataFrame({"a": [1, 2]})),
}


@pytest.mark.parametrize("name", CHANGED)
def test_an_input_that_is_changed_is_noticed(name: str) -> None:
    pipeline, make = CHANGED[name]
    assert "changed its input" in str(replay(pipeline, make(), make()))
    assert replay(lambda x: ONE.release(0), make(), make()).passed


class Streaming:
    """A table of an engine that gives itself as Arrow, at a cost."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise NotImplementedError("no rows are read here")


@pytest.mark.parametrize("make", [threading.Lock, Streaming, lambda: pl.LazyFrame({"a": [1]})])
def test_an_input_that_cannot_be_looked_into_may_be_used(make: Callable[[], Any]) -> None:
    assert replay(lambda x: ONE.release(0), [make()], [make()]).passed


def test_an_input_that_is_in_itself_may_be_used() -> None:
    whole: list[Any] = []
    whole.append(whole)
    assert input_portrait(whole) == input_portrait(whole)
