"""Values whose classes have a will of their own get the same noise as plain ones: replayed with the same bits, the
release of each is the same."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dither as dp
from dither.exact import rational
from dither.noise import DiscreteLaplace, entropy
from dither.noise.lattice import Grid, add_integers
from tests.mechanisms.mechanism_case import Case
from tests.mechanisms.mechanism_cases import CASES

ARITHMETIC = (
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "floordiv",
    "truediv",
    "rtruediv",
    "mod",
    "lshift",
    "neg",
    "abs",
)
CONVERSIONS = ("int", "index", "float", "trunc", "floor", "round", "str", "repr")


class Recorded:
    """The same bits each time."""

    word_bits = 64

    def __init__(self) -> None:
        self._random = random.Random(7)

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([self._random.getrandbits(64) for _ in range(count)], dtype=np.uint64)

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count) if count else 0


def replayed(draw: Callable[[], Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entropy, "_stand_in", Recorded())
        return draw()


def stubborn(base: type[Any]) -> type[Any]:
    """A subclass that gives itself back from every sum, and zero from every conversion."""
    answers: dict[str, Any] = {
        f"__{name}__": lambda self, *_: self for name in ARITHMETIC if hasattr(base, f"__{name}__")
    }
    zeros = {"str": "0", "repr": "0", "float": 0.0}
    for name in CONVERSIONS:
        if hasattr(base, f"__{name}__"):
            zero = zeros.get(name, 0)
            answers[f"__{name}__"] = lambda self, *_, zero=zero: zero
    for name in ("numerator", "denominator", "real"):
        answers[name] = property(lambda self: 1)
    for name in ("as_integer_ratio", "as_tuple", "item", "strip", "is_finite", "adjusted"):
        answers[name] = lambda self, *_: (0, 1)
    if base is Fraction:
        for name in ("numerator", "denominator"):  # Fraction builds itself by these
            del answers[name]
    return type(f"Evil{base.__name__}", (base,), answers)


EvilInt, EvilFloat, EvilFraction, EvilDecimal, EvilStr = map(stubborn, (int, float, Fraction, Decimal, str))


class EvilArray(np.ndarray[Any, np.dtype[Any]]):
    """An array that gives itself back from every function of NumPy."""

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return self

    def __array_function__(self, *_: Any, **__: Any) -> Any:
        return self

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.zeros(self.shape)

    def astype(self, *_: Any, **__: Any) -> Any:
        return self

    def ravel(self, *_: Any, **__: Any) -> Any:
        return self

    def tolist(self) -> Any:
        return [0] * self.size


class Wrapped:
    """Something that is an array only when it is asked."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        return self._array.view(EvilArray)


def evil(value: Any) -> Any:
    """The same value, of a class of its own, inside and out."""
    if isinstance(value, np.ndarray):
        return value.view(EvilArray)
    if isinstance(value, list | tuple):
        return type(value)(evil(each) for each in value)
    if isinstance(value, dict):
        return {key: evil(each) for key, each in value.items()}
    for base, other in ((int, EvilInt), (float, EvilFloat), (Fraction, EvilFraction), (Decimal, EvilDecimal)):
        if type(value) is base:
            return other(value)
    return value


def value_of(mechanism: Any, value: Any) -> Any:
    return mechanism.release(value).value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return type(other) is np.ndarray and one.dtype == other.dtype and bool((one == other).all())
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_mechanism_adds_its_noise_to_evil_values(case: Case) -> None:
    mechanism = case.make()
    plain = replayed(lambda: case.release(mechanism, case.value).value)
    other = replayed(lambda: case.release(mechanism, evil(case.value)).value)
    assert same(plain, other)


NUMBERS: list[Any] = [7, -(2**70), 2.5, -1e9, Fraction(1, 3), Decimal("1.25")]
ARRAYS: list[Any] = [
    np.arange(5),
    np.array([0.5, -2.0]),
    np.array([3, 200], dtype=np.uint8),
    np.array([2**70, 5], dtype=object),
    [1, 2**70],
    [0.5, 1.5],
    [Fraction(1, 3), Decimal("0.5"), 2, 0.25],
    [[1, 2], [3, 4]],
]
ADDITIVE: list[Any] = [
    dp.Laplace(sensitivity=2, epsilon=1, dimension=4),
    dp.Gaussian(sensitivity=2, epsilon=1, delta=1e-6, dimension=4),
    dp.Staircase(sensitivity=2, epsilon=1),
]


def forms(value: Any) -> Iterator[Any]:
    yield evil(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        yield Wrapped(value)
        yield [evil(each) for each in value.tolist()]


@pytest.mark.parametrize("value", [*NUMBERS, *ARRAYS], ids=str)
@pytest.mark.parametrize("mechanism", ADDITIVE, ids=lambda m: type(m).__name__)
def test_numbers_and_arrays_of_every_kind(mechanism: Any, value: Any) -> None:
    if isinstance(mechanism, dp.Staircase) and np.size(value) > 1:
        value = (
            value[:1] if isinstance(value, list) and not isinstance(value[0], list) else np.asarray(value).ravel()[:1]
        )
    plain = replayed(lambda: mechanism.release(value).value)
    assert not same(plain, value)
    for other in forms(value):
        found = replayed(functools.partial(value_of, mechanism, other))
        assert np.array_equal(np.asarray(plain), np.asarray(found))
        assert type(found) in (int, float, np.ndarray)


@pytest.mark.parametrize("value", NUMBERS, ids=str)
def test_the_places_where_noise_is_added_trust_nobody(value: Any) -> None:
    grid, law = Grid(-10), DiscreteLaplace(50)
    assert same(replayed(lambda: grid.add(value, law)), replayed(lambda: grid.add(evil(value), law)))
    assert np.array_equal(grid.round(value), grid.round(evil(value)))
    if isinstance(value, int):
        assert same(replayed(lambda: add_integers(value, law)), replayed(lambda: add_integers(evil(value), law)))
        listed = replayed(lambda: add_integers([evil(value)], law))
        assert np.array_equal(replayed(lambda: add_integers([value], law)), listed)


@pytest.mark.parametrize("value", [*NUMBERS, "0.25", "1/3"], ids=str)
def test_parameters_mean_what_they_hold(value: Any) -> None:
    assert rational(EvilStr(value) if isinstance(value, str) else evil(value)) == rational(value)
    hidden = Fraction(1, 2)
    object.__setattr__(hidden, "_numerator", EvilInt(1))
    assert type(rational(hidden).numerator) is int
    assert rational(hidden) + 1 == Fraction(3, 2)


@pytest.mark.parametrize(
    "ask",
    [
        functools.partial(dp.stats.mean, epsilon=1, bounds=(0, 10)),
        functools.partial(dp.stats.sum, epsilon=1, bounds=(0, 10)),
        functools.partial(dp.stats.median, epsilon=1, bounds=(0, 10)),
        functools.partial(dp.stats.variance, epsilon=1, bounds=(0, 10)),
        functools.partial(dp.stats.count, epsilon=1),
    ],
    ids=lambda ask: ask.func.__name__,
)
def test_estimators_read_evil_records_as_plain_ones(ask: Callable[[Any], Any]) -> None:
    data = [1, 2.5, Fraction(7, 2), Decimal("4.25"), 9] * 40
    plain = replayed(lambda: ask(data).value)
    assert same(plain, replayed(lambda: ask(evil(data)).value))
    array = np.array(data, dtype=object).astype(np.float64)
    assert same(replayed(lambda: ask(array).value), replayed(lambda: ask(array.view(EvilArray)).value))


class EvilStatistic:
    """A statistic of one's own whose numbers have a will of their own."""

    def __init__(self, wrap: Callable[[Any], Any]) -> None:
        self._wrap = wrap
        self.adjacency = dp.adjacency.REPLACE_ONE

    @property
    def global_sensitivity(self) -> Any:
        return self._wrap(1.0)

    def value(self, data: Any) -> Any:
        return self._wrap(float(len(data)))

    def sensitivity_within(self, data: Any, distance: int) -> Any:
        return self._wrap(min(1.0, 0.25 * (distance + 1)))


@pytest.mark.parametrize(
    "build",
    [
        lambda statistic: dp.SmoothSensitivity(statistic, epsilon=1),
        lambda statistic: dp.SmoothSensitivity(statistic, epsilon=1, delta=1e-6, noise="laplace"),
        lambda statistic: dp.ProposeTestRelease(statistic, limit="0.5", epsilon=20, delta="0.1"),
    ],
    ids=["smooth", "smooth laplace", "tested"],
)
def test_statistics_of_ones_own(build: Callable[[Any], Any]) -> None:
    plain, other = (
        replayed(functools.partial(value_of, build(EvilStatistic(wrap)), [0] * 9)) for wrap in (float, EvilFloat)
    )
    assert same(plain, other)


def test_masked_arrays_are_refused_by_every_kind_of_noise() -> None:
    masked = np.ma.MaskedArray([1, 2, 3], [False, True, False])
    for mechanism in ADDITIVE:
        with pytest.raises(dp.errors.NotANumberError, match="masked"):
            mechanism.release(masked)


def test_literals_of_questions_say_what_the_engine_gets() -> None:
    assert str(dp.col("city") == EvilStr("Paris")) == str(dp.col("city") == "Paris")
    assert str(dp.col("age") >= EvilInt(18)) == str(dp.col("age") >= 18)
