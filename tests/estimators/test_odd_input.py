"""dp.stats on bad input and odd input: refused, or answered with a stated meaning, alike on neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, person
from dither.errors import NotANumberError, ParameterError
from dither.estimators.records import paired, present

STATS = dp.stats
NUMERIC: dict[str, Callable[..., Any]] = {
    "sum": STATS.sum,
    "mean": STATS.mean,
    "variance": STATS.variance,
    "std": STATS.std,
    "median": STATS.median,
    "quantile": lambda x, **o: STATS.quantile(x, 0.3, **o),
    "quantiles": lambda x, **o: STATS.quantile(x, [0.1, 0.5, 0.9], **o),
    "min": STATS.min,
    "max": STATS.max,
    "covariance": lambda x, bounds=None, **o: STATS.covariance(x, x, bounds=(bounds, bounds), **o),
}


@pytest.fixture(params=NUMERIC)
def estimator(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return NUMERIC[request.param]


ODD: dict[str, Any] = {
    "empty": [],
    "one": [3.0],
    "equal": [5] * 50,
    "all missing": [None, math.nan, math.inf, -math.inf, "x"],
    "huge": [1.7e308, -1.7e308, 1e300, 5e-324],
}


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("bounds", [(0, 10), (-1e100, 1e-100), None], ids=str)
@pytest.mark.parametrize("name", ODD)
def test_odd_data_get_an_answer_inside_the_bounds(
    estimator: Callable[..., Any], name: str, bounds: Any, adjacency: Any, request: pytest.FixtureRequest
) -> None:
    """Quantiles of few records, and everything without bounds, may get none."""
    may_refuse = bounds is None or request.node.callspec.params["estimator"] in ("median", "quantile", "quantiles")
    if name == "empty" and adjacency == REPLACE_ONE:
        with pytest.raises(ParameterError, match="at least one record"):
            estimator(ODD[name], epsilon=1, bounds=bounds, adjacency=adjacency)
        return
    release = estimator(ODD[name], epsilon=1, bounds=bounds, adjacency=adjacency)
    values = release.value if isinstance(release.value, list) else [release.value]
    assert all(math.isfinite(v) for v in values if not (may_refuse and isinstance(v, dp.NoAnswer)))
    assert release.guarantee == dp.PureDP(1, adjacency=adjacency)
    assert sum(release.split.values()) == 1
    assert dp.compose([release]).epsilon(0) <= 1 + 1e-9
    assert release.certificate()["split"]


@pytest.mark.parametrize(
    "bad",
    [
        {"bounds": (10, 0)},
        {"bounds": (3, 3)},
        {"bounds": (0, math.nan)},
        {"bounds": (0, math.inf)},
        {"bounds": (0,)},
        {"bounds": 7},
        {"bounds": (0, 1e-200)},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": True},
        {"adjacency": person("user")},
        {"adjacency": "record"},
    ],
    ids=str,
)
def test_bad_parameters_are_refused(estimator: Callable[..., Any], bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        estimator([1, 2, 3], **{"epsilon": 1, "bounds": (0, 10), **bad})


@pytest.mark.parametrize("data", [np.ones((2, 2)), np.array(["a"]), np.array([1j]), 5, None, "abc", {1: 2}], ids=type)
def test_what_is_no_column_of_numbers_is_refused(estimator: Callable[..., Any], data: Any) -> None:
    with pytest.raises(ParameterError):
        estimator(data, epsilon=1, bounds=(0, 10))


@pytest.mark.parametrize("probability", [0, 1, -0.1, 1.5, math.nan, [], [0.5, 2], "1/1234567", None])
def test_bad_probabilities_are_refused(probability: Any) -> None:
    with pytest.raises(ParameterError):
        STATS.quantile([1, 2, 3], probability, epsilon=1, bounds=(0, 10))


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ParameterError, match="same number"):
        STATS.covariance([1, 2], [1], epsilon=1, bounds=((0, 1), (0, 1)))


# ----------------------------------------------------------------- cleaning


def test_every_container_gives_the_same_records() -> None:
    plain = [1.5, None, 3, float("nan"), -2, float("inf"), True]
    expected = [1.5, 3.0, -2.0, 1.0]
    assert present(plain, ADD_REMOVE, None).tolist() == expected
    assert present(tuple(plain), ADD_REMOVE, None).tolist() == expected
    assert present(np.array(plain, dtype=object), ADD_REMOVE, None).tolist() == expected
    floats = np.array([1.5, math.nan, 3, math.nan, -2, math.inf, 1])
    assert present(floats, ADD_REMOVE, None).tolist() == expected
    assert present(floats.astype(np.float32), ADD_REMOVE, None).tolist() == expected
    assert present(np.ma.masked_invalid(floats), ADD_REMOVE, None).tolist() == expected


@pytest.mark.parametrize(
    ("module", "build"),
    [
        ("pandas", lambda m: m.Series([1.5, None, 3])),
        ("pandas", lambda m: m.array([1, None, 3], dtype="Int64")),
        ("polars", lambda m: m.Series([1.5, None, 3.0])),
        ("polars", lambda m: m.Series([1, None, 3])),
        ("pyarrow", lambda m: m.array([1.5, None, 3.0])),
        ("pyarrow", lambda m: m.chunked_array([[1], [None, 3]])),
    ],
    ids=["pandas floats", "pandas integers", "polars floats", "polars integers", "arrow", "arrow chunks"],
)
def test_nulls_of_other_libraries_are_missing(module: str, build: Callable[[Any], Any]) -> None:
    library = pytest.importorskip(module)
    assert len(present(build(library), ADD_REMOVE, None)) == 2
    assert len(present(build(library), REPLACE_ONE, (0.0, 4.0))) == 3


def test_a_missing_entry_counts_as_the_middle_of_the_bounds_where_the_number_is_public() -> None:
    assert present([None, 9, math.nan], REPLACE_ONE, (0.0, 6.0)).tolist() == [3.0, 6.0, 3.0]
    assert present([None, 9], REPLACE_ONE, None).tolist() == [0.0, 9.0]


def test_numbers_of_every_type_are_read() -> None:
    entries = [Decimal("1.5"), Fraction(1, 4), 10**400, Decimal("sNaN"), np.float32(2), np.int8(3), 2**60 + 1]
    assert present(entries, ADD_REMOVE, None).tolist() == [1.5, 0.25, 2.0, 3.0, float(2**60)]


def test_a_pair_with_one_missing_entry_is_missing() -> None:
    x, y = paired([1, 2, None], [4, math.nan, 6], ADD_REMOVE, (None, None))
    assert (x.tolist(), y.tolist()) == ([1.0], [4.0])
    x, y = paired([1, 2, None], [4, math.nan, 6], REPLACE_ONE, ((0.0, 10.0), (0.0, 4.0)))
    assert (x.tolist(), y.tolist()) == ([1.0, 5.0, 5.0], [4.0, 2.0, 2.0])


# ------------------------------------------------------------------- counts


def test_counts_by_name() -> None:
    data = ["a", "b", None, "a", 3, 3.0, Decimal(3), math.nan, ["list"], True]
    exact = STATS.histogram(data, epsilon=10**6, categories=["a", 3, "c", 1]).value
    assert exact.tolist() == [2, 3, 0, 1]
    assert STATS.count(data, epsilon=10**6).value == 7
    assert STATS.count(np.array([1.0, math.nan]), epsilon=10**6, adjacency=REPLACE_ONE).value == 1


def test_bins_are_those_of_numpy() -> None:
    data, edges = [0, 0.5, 1, 2, 2.5, 3, 3.1, -1, math.nan], [0, 1, 2, 3]
    exact = STATS.histogram(data, epsilon=10**6, edges=edges).value
    assert exact.tolist() == np.histogram([x for x in data if x == x], bins=edges)[0].tolist()


def test_huge_records_are_in_their_own_bins() -> None:
    """Sums clamp records to ±2^380, about 2·10^114; counts leave them where they are."""
    data = [1e300, -1e300, 1e200, 5.0, math.inf, 2**2000]
    exact = STATS.histogram(data, epsilon=10**6, edges=[0, 1e150, 1e250, 1e301]).value
    assert exact.tolist() == [1, 1, 1]
    assert STATS.histogram([1e300], epsilon=10**6, edges=[0, 2.0**380]).value.tolist() == [0]


def test_the_interval_of_a_histogram_is_that_of_its_noise() -> None:
    release = STATS.histogram([1, 2], epsilon=1, edges=[0, 5])
    low, high = release.interval(0.95)
    assert (high - low == 6).all()


def test_common_names_first() -> None:
    data = ["a"] * 900 + ["b"] * 500 + ["c"] * 100
    ways: list[dict[str, Any]] = [{"categories": ["c", "b", "a", "d"]}, {"delta": 1e-6}]
    for options in ways:
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            assert STATS.top(data, 2, epsilon=2, adjacency=adjacency, **options).value == ["a", "b"]
            assert STATS.mode(data, epsilon=2, adjacency=adjacency, **options).value == "a"
    assert STATS.mode(["x"], epsilon=1, delta=1e-9).value is None
    assert STATS.mode(["x"], epsilon=1, delta=1e-9).guarantee == dp.ApproxDP(1, 1e-9, adjacency=ADD_REMOVE)


def test_no_time_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    times = pandas.Series([pandas.NaT, pandas.Timestamp("2026-01-01")])
    assert STATS.count(times.astype(object), epsilon=10**6).value == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda: STATS.histogram([1], epsilon=1),
        lambda: STATS.histogram([1], epsilon=1, edges=[0, 1], delta=0.1),
        lambda: STATS.histogram([1], epsilon=1, edges=[1, 0]),
        lambda: STATS.histogram([1], epsilon=1, edges=[1]),
        lambda: STATS.histogram([1], epsilon=1, categories=[]),
        lambda: STATS.histogram([1], epsilon=1, categories=[1, 1.0]),
        lambda: STATS.histogram([1], epsilon=1, categories=[None]),
        lambda: STATS.top([1], 3, epsilon=1, categories=[1, 2]),
        lambda: STATS.top([1], 0, epsilon=1, categories=[1, 2]),
        lambda: STATS.mode([1], epsilon=1),
        lambda: STATS.mode([1], epsilon=1, categories=[1]).interval(),
        lambda: STATS.median([1], epsilon=1, bounds=(0, 1)).interval(),
        lambda: STATS.median([1], epsilon=1, bounds=(0, 1), population=True),
        lambda: STATS.median([1], epsilon=1, bounds=(0, 1), interval_level=1),
        lambda: STATS.median([1], epsilon=1, bounds=(0, 1), interval_level=0.9).interval(0.95),
        lambda: STATS.count(7, epsilon=1),
        lambda: STATS.mean([1], epsilon=1, delta=math.nan),
        lambda: STATS.count(np.ones((2, 2)), epsilon=1),
    ],
    ids=range(18),
)
def test_bad_questions_are_refused(ask: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError):
        ask()


def test_types_are_refused_by_name() -> None:
    with pytest.raises(NotANumberError, match="dtype <U1"):
        STATS.mean(np.array(["a"]), epsilon=1, bounds=(0, 1))


def test_few_records_without_bounds_get_no_answer_that_says_how_many_do() -> None:
    """So few are answered with a probability of 2^-13: one of three is refused, but for one run in 10^11."""

    def refused(ask: Callable[..., Any], data: list[float]) -> Any:
        return next(
            each for each in (ask(data, epsilon="1/4") for _ in range(3)) if isinstance(each.value, dp.NoAnswer)
        )

    for ask in (STATS.median, STATS.max, STATS.min):
        release = refused(ask, [3.0, 4.0])
        assert "State bounds" in str(release.value)
        assert release.guarantee.epsilon(0) == 0.25
    assert "about 400 records" in str(refused(STATS.median, [3.0]).value)
    asked = (STATS.quantile([3.0, 4.0], [0.2, 0.8], epsilon=1, interval_level=0.9) for _ in range(3))
    several = next(each for each in asked if all(isinstance(value, dp.NoAnswer) for value in each.value))
    assert several.interval(0.9) == ([-math.inf] * 2, [math.inf] * 2)
    assert sum(several.split.values()) == 1


def test_whole_numbers_have_whole_quantiles() -> None:
    x = np.arange(1000) % 60
    for bounds in ((0, 100), (-3.5, 99.5), (0, 10**9)):
        release = STATS.quantile(x, [0.25, 0.5], epsilon=1, bounds=bounds, interval_level=0.9)
        assert all(value == round(value) for value in release.value)
        assert STATS.max(x, epsilon=1, bounds=bounds).value % 1 == 0
    assert STATS.median(x, epsilon=1, bounds=(0.25, 0.75)).value % 1 != 0  # no whole number lies between
    assert isinstance(STATS.median(x.astype(bool), epsilon=1, bounds=(0, 1)).value, float)


# -------------------------------------------------- with little noise: the truth


def test_with_a_huge_budget_everything_is_close_to_the_truth() -> None:
    """At ε = 10⁵ the noise of a sum of 1000 records is 10⁻⁵ of one record's range, and ranks are exact."""
    x = np.arange(1000.0)
    y = (x * 37) % 1000
    for adjacency in (ADD_REMOVE, REPLACE_ONE):
        options: dict[str, Any] = {"epsilon": 10**5, "bounds": (-500, 1500), "adjacency": adjacency, "clip": False}
        assert STATS.sum(x, **options).value == pytest.approx(x.sum(), rel=1e-3)
        assert STATS.mean(x, **options).value == pytest.approx(x.mean(), rel=1e-3)
        assert STATS.variance(x, **options).value == pytest.approx(x.var(), rel=1e-3)
        assert STATS.std(x, **options).value == pytest.approx(x.std(), rel=1e-3)
        both = {**options, "bounds": ((-500, 1500), (-500, 1500))}
        assert STATS.covariance(x, y, **both).value == pytest.approx(np.cov(x, y, ddof=0)[0, 1], abs=50)
        del options["clip"]
        asked = [0.01, 0.2, 0.5, 0.9, 0.999]
        assert STATS.quantile(x, asked, **options).value == pytest.approx(np.quantile(x, asked), abs=2)
        assert STATS.quantile(x, [0.9, 0.2], **options).value == pytest.approx([900, 200], abs=2)
        assert STATS.median(x, epsilon=10**5, adjacency=adjacency).value == pytest.approx(500, abs=2)
        assert STATS.mean(x, epsilon=10**5, adjacency=adjacency).value == pytest.approx(x.mean(), rel=1e-2)
        assert STATS.max(x, **options).value == pytest.approx(999, abs=3)
        assert STATS.min(x, **options).value == pytest.approx(0, abs=3)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize(("name", "truth"), [("sum", np.sum), ("mean", np.mean), ("variance", np.var), ("std", np.std)])
def test_intervals_have_room_for_the_rounding_of_records(name: str, truth: Any, adjacency: Any, clip: bool) -> None:
    """At ε = 10¹² the noise is less than a step of 2^-32, by which each of these records is off to the same side.

    The interval of a sum is that of the rounded records where their number is not public, and says so.
    """
    x = np.tile([0.1, 0.1, 0.7], 1000)
    for bounds in ((0, 1.3), (0.05, 1.3), (-1.3, 0.7), (0, 0.7), (-(10**6), 10**6)):
        release = getattr(STATS, name)(x, epsilon=10**12, bounds=bounds, adjacency=adjacency, clip=clip)
        low, high = release.interval(0.9)
        if name == "sum" and adjacency == ADD_REMOVE:
            assert release.covers.endswith("each rounded to 32 binary digits")
            low, high = low - len(x) * max(map(abs, bounds)) / 2**32, high + len(x) * max(map(abs, bounds)) / 2**32
        assert low <= truth(x) <= high
        width = bounds[1] - bounds[0]
        assert high - low < 1e-3 * width * {"sum": len(x), "variance": width}.get(name, 1)
