"""Rounding to a dyadic grid is exact, moves neighbours no further than promised, and never wraps."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import NotANumberError, ParameterError
from dither.exact import Ball, ball
from dither.noise import DiscreteLaplace, Grid, Law, UniformBelow, add_integers
from dither.noise.entropy import BitSource
from dither.noise.lattice import Values
from dither.noise.law import Integers, integer_array
from tests.noise.fit import ALARM, p_value

_LARGEST = sys.float_info.max
_SMALLEST = math.ulp(0.0)
_NOTHING = UniformBelow(1)
"""Noise that is always 0."""


def nearest(value: int | float | Fraction | Decimal, grid: Grid) -> int:
    """⌊value/step + ½⌋, from exact fractions."""
    return math.floor(Fraction(value) / grid.step + Fraction(1, 2))


_HARD_FLOATS = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.5,
    -2.5,
    0.49999999999999994,
    -0.49999999999999994,
    0.5000000000000001,
    -0.5000000000000001,
    1 / 3,
    -1 / 3,
    2.0**52 + 1,
    -(2.0**52) - 1,
    2.0**52 + 0.5,
    2.0**53 - 1,
    2.0**61 - 256,
    2.0**61,
    -(2.0**61),
    2.0**63,
    -(2.0**63),
    1e300,
    _LARGEST,
    -_LARGEST,
    _SMALLEST,
    -_SMALLEST,
    sys.float_info.min,
    -sys.float_info.min,
]
_EXPONENTS = [-900, -60, -40, -1, 0, 1, 3, 40, 61, 900]


@pytest.mark.parametrize("exponent", _EXPONENTS)
def test_hard_floats_are_rounded_exactly(exponent: int) -> None:
    grid = Grid(exponent)
    expected = [nearest(x, grid) for x in _HARD_FLOATS]
    assert grid.round(np.array(_HARD_FLOATS)).tolist() == expected
    assert [int(grid.round(x)) for x in _HARD_FLOATS] == expected


@pytest.mark.parametrize("exponent", _EXPONENTS)
@pytest.mark.parametrize(
    "values",
    [
        np.array([2**63 - 1, -(2**63), 2**53 + 1, 0]),
        np.array([2**64 - 1, 2**63, 0], dtype=np.uint64),
        np.array([-128, 127], dtype=np.int8),
        np.array([0.1, 65504, 6e-8, -0.5], dtype=np.float16),
        np.array([0.1, 3.4e38, 1e-45, -2.5], dtype=np.float32),
        np.array([0.5, -2.25], dtype=">f8"),
        np.array([3, -3], dtype=">i4"),
        np.array([2**100, -(2**100) - 1], dtype=object),
        np.array([Fraction(1, 3), Fraction(-5, 2), 7, 0.5], dtype=object),
        np.array([Decimal("0.1"), Decimal("-2.5"), Decimal("1e300")], dtype=object),
    ],
    ids=lambda values: str(values.dtype),
)
def test_every_type_is_rounded_exactly(values: Any, exponent: int) -> None:
    grid = Grid(exponent)
    assert grid.round(values).tolist() == [nearest(x, grid) for x in values.tolist()]


def test_booleans_are_counted_as_numbers() -> None:
    assert Grid(0).round(np.array([True, False])).tolist() == [1, 0]
    assert Grid(-2).round(np.array([True, False])).tolist() == [4, 0]


@pytest.mark.parametrize(
    "values",
    [[2**53 + 1, 0.5], [2**63 + 1, -1], [2**63 + 1, 1.0], (1, 2**64 + 1)],
    ids=["int and float", "past int64", "past int64 and float", "past uint64"],
)
def test_a_list_of_mixed_numbers_loses_nothing(values: list[int | float]) -> None:
    """NumPy would store the whole list as float64, which is another value than the one given."""
    grid = Grid(0)
    assert grid.round(values).tolist() == [nearest(x, grid) for x in values]


def test_a_list_of_numpy_numbers_loses_nothing_or_is_refused() -> None:
    grid = Grid(0)
    assert grid.round([np.float32(2.5), np.float32(-1)]).tolist() == [3, -1]
    assert grid.round([np.int64(2**53 + 1), np.int64(1)]).tolist() == [2**53 + 1, 1]
    try:
        assert grid.round([np.int64(2**53 + 1), np.float64(0.5)]).tolist() == [2**53 + 1, 1]
    except NotANumberError as refusal:
        assert "values must be" in str(refusal)  # noqa: PT017


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (0, 3), (2, 3), (2, 1, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint64, np.bool_, np.object_])
def test_shapes_are_kept(shape: tuple[int, ...], dtype: type) -> None:
    values: Any = np.ones(shape, dtype=dtype)
    assert np.shape(Grid(-3).round(values)) == shape
    assert np.shape(Grid(-3).add(values, DiscreteLaplace(1))) == shape
    assert np.shape(add_integers(np.ones(shape, dtype=np.int64), DiscreteLaplace(1))) == shape


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2],
        lambda a: a[::-1],
        lambda a: a.reshape(10, 10).T,
        lambda a: np.asfortranarray(a.reshape(10, 10)),
        lambda a: np.broadcast_to(a[:3], (4, 3)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_arrays_that_are_not_contiguous(view: Callable[[Any], Any], dtype: type) -> None:
    values = view(np.arange(100, dtype=dtype) - 50)
    grid = Grid(2)
    expected = [[nearest(x, grid) for x in row] for row in np.atleast_2d(values).tolist()]
    assert np.atleast_2d(grid.round(values)).tolist() == expected
    shown = np.asarray(grid.add(values, _NOTHING))
    assert np.array_equal(shown, grid.round(values) * 4.0)


_REFUSED: dict[str, object] = {
    "nan": math.nan,
    "inf": math.inf,
    "array with nan": np.array([1.0, np.nan]),
    "array with -inf": np.array([1.0, -np.inf]),
    "float32 nan": np.array([np.nan], dtype=np.float32),
    "signalling nan": np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64),
    "object nan": np.array([1, math.nan], dtype=object),
    "Decimal NaN": Decimal("NaN"),
    "Decimal sNaN": Decimal("sNaN"),
    "Decimals with sNaN": [Decimal("sNaN"), Decimal(1)],
    "Decimal Infinity": Decimal("Infinity"),
    "text": "98765",
    "list of text": ["98765", "4"],
    "number and text": [98765, "4"],
    "bytes": b"98765",
    "complex": 98765 + 1j,
    "complex array": np.array([98765j]),
    "longdouble": np.longdouble(98765),
    "date": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "duration": np.array([98765], dtype="timedelta64[s]"),
    "None": None,
    "list with None": [98765, None],
    "ragged": [[98765], [1, 2]],
    "structured": np.zeros(2, dtype=[("a", "f8")]),
    "mapping": {98765: 1},
    "masked": np.ma.masked_array([1.0, 98765.0], mask=[False, True]),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_what_is_not_a_finite_number_is_refused_without_showing_it(name: str) -> None:
    values: Any = _REFUSED[name]
    for attempt in (
        lambda: Grid(-40).round(values),
        lambda: Grid(-40).add(values, DiscreteLaplace(1)),
        lambda: add_integers(values, DiscreteLaplace(1)),
    ):
        with pytest.raises(NotANumberError, match=r"^values must be") as refusal:
            attempt()
        assert "98765" not in str(refusal.value)
        assert "U5" not in str(refusal.value), "the length of a text is data too"
        assert "S5" not in str(refusal.value), "the length of a text is data too"


@pytest.mark.parametrize("values", [0.5, [1, 2.5], np.array([1.0]), Fraction(1, 2), [Decimal("0.1")]])
def test_integer_noise_refuses_what_is_not_whole(values: Values) -> None:
    with pytest.raises(NotANumberError, match=r"^values must be integers\. Use Grid\.add"):
        add_integers(values, DiscreteLaplace(1))


@pytest.mark.parametrize("exponent", [901, -901, 10**9])
def test_a_grid_has_a_reasonable_step(exponent: int) -> None:
    with pytest.raises(ParameterError, match="exponent must be at"):
        Grid(exponent)


@pytest.mark.parametrize("exponent", [True, 1.0, math.nan, "1", None])
def test_a_grid_has_a_whole_exponent(exponent: Any) -> None:
    with pytest.raises(ParameterError, match="exponent must be a whole number"):
        Grid(exponent)


@pytest.mark.parametrize("scale", ["1e-200", "0.1", 0.75, 1, 1.0, "1.999", 2, 1000, 2**40, 10**100])
def test_the_grid_for_a_scale_has_2_to_the_40_steps(scale: Any) -> None:
    exact = Fraction(scale) if not isinstance(scale, float) else Fraction(str(scale))
    assert 2**40 <= exact / Grid.for_scale(scale).step < 2**41


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, None, True])
def test_a_grid_needs_a_positive_scale(scale: Any) -> None:
    with pytest.raises(ParameterError, match="scale must be"):
        Grid.for_scale(scale)


@pytest.mark.parametrize("sensitivity", [0, -1, math.nan, math.inf, None, True, "1e999"])
def test_a_sensitivity_of_nothing_is_refused(sensitivity: Any) -> None:
    for steps in (Grid(0).l1_steps, Grid(0).l2_steps):
        with pytest.raises(ParameterError, match="sensitivity must be"):
            steps(sensitivity)


@pytest.mark.parametrize("coordinates", [0, -1, True, 1.0, math.nan])
def test_the_number_of_coordinates_is_a_count(coordinates: Any) -> None:
    for steps in (Grid(0).l1_steps, Grid(0).l2_steps):
        with pytest.raises(ParameterError, match="coordinates must be"):
            steps(1, coordinates)


def test_the_sensitivity_in_steps() -> None:
    grid = Grid(-2)
    assert (grid.l1_steps(1), grid.l1_steps("0.1"), grid.l1_steps("1.1")) == (4, 1, 5)
    assert (grid.l1_steps(1, 3), grid.l1_steps("1.1", 3)) == (6, 7)
    assert [grid.l2_steps(1), grid.l2_steps("1.1")] == [Fraction(4), Fraction(5)]
    assert 4 + math.sqrt(3) < grid.l2_steps(1, 3) < 4 + math.sqrt(3) + 1e-9


# ----------------------------------------------- roundings that would be wrong


def _half_even(value: float) -> int:
    return round(value)


def _add_half(value: float) -> int:
    return math.floor(value + 0.5)


def _exactly(value: float) -> int:
    return int(Grid(0).round(value))


_PAIRS_ONE_APART = [(0.5, 1.5), (-0.5, 0.5), (2.0**52, 2.0**52 + 1), (0.49999999999999994, -0.5)]


def _largest_distance(rounding: Callable[[float], int]) -> int:
    return max(abs(rounding(a) - rounding(b)) for a, b in _PAIRS_ONE_APART)


def test_values_one_apart_stay_one_apart() -> None:
    assert all(abs(Fraction(a) - Fraction(b)) <= 1 for a, b in _PAIRS_ONE_APART)
    assert _largest_distance(_exactly) <= Grid(0).l1_steps(1) == 1


@pytest.mark.parametrize("rounding", [_half_even, _add_half])
def test_common_roundings_would_double_the_sensitivity(rounding: Callable[[float], int]) -> None:
    assert _largest_distance(rounding) == 2


def test_adding_a_half_would_miss_the_nearest_point() -> None:
    assert (_exactly(0.49999999999999994), _add_half(0.49999999999999994)) == (0, 1)


# ------------------------------------------------------------------ releases


@pytest.mark.parametrize("value", [0, 1, -3, 0.1, 1 / 3, -1e9, 2**45, Fraction(1, 7), Decimal("2.5")])
@pytest.mark.parametrize("exponent", [-40, -3, 0, 5])
def test_every_release_lies_on_the_grid(value: Any, exponent: int) -> None:
    """As a number and in an array, whatever the value."""
    grid, noise = Grid(exponent), DiscreteLaplace(2**40)
    array = np.array([value] * 50, dtype=object if isinstance(value, Fraction | Decimal) else None)
    shown = [*np.asarray(grid.add(array, noise)).tolist(), *(grid.add(value, noise) for _ in range(20))]
    assert all(isinstance(x, float) for x in shown)
    assert all((Fraction(x) / grid.step).denominator == 1 for x in shown)
    assert len(set(shown)) > 30


@pytest.mark.parametrize("value", [0.0, 0.3, -7.125])
def test_a_release_is_the_rounded_value_plus_the_noise(value: float) -> None:
    """The same law from numbers and from arrays of every kind."""
    grid, noise = Grid(-3), DiscreteLaplace(5)
    arrays = np.asarray(grid.add(np.full(200_000, value), noise))
    objects = np.asarray(grid.add(np.array([Fraction(value)] * 20_000, dtype=object), noise))
    numbers = np.array([grid.add(value, noise) for _ in range(20_000)])
    for shown in (arrays, objects, numbers):
        steps = (shown * 8).astype(np.int64) - int(grid.round(value))
        assert p_value(steps, noise) > ALARM
        assert p_value(steps + 1, noise) < ALARM


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2**53 + 1, 2.0**53),
        (2**53 + 3, 2.0**53 + 4),
        (_LARGEST, _LARGEST),
        (-_LARGEST, -_LARGEST),
        (10**400, _LARGEST),
        (-(10**400), -_LARGEST),
        (Fraction(10) ** 400, _LARGEST),
    ],
    ids=lambda value: f"{type(value).__name__} {str(value)[:20]}",
)
@pytest.mark.parametrize("exponent", [-40, 0])
def test_a_sum_too_large_for_a_float_is_shown_as_the_nearest(value: Any, shown: float, exponent: int) -> None:
    grid = Grid(exponent)
    assert grid.add(value, _NOTHING) == shown
    assert np.asarray(grid.add(np.array([value, 1], dtype=object), _NOTHING)).tolist() == [shown, 1.0]


def test_long_arrays_are_released_in_order() -> None:
    values = np.arange(100_000) / 8
    assert np.array_equal(np.asarray(Grid(-3).add(values, _NOTHING)), values)


class _Given(Law):
    """Noise that is known."""

    def __init__(self, noise: list[int]) -> None:
        self._noise = noise

    def _draw_many(self, source: BitSource, count: int) -> Integers:
        return integer_array(self._noise[:count])

    def _draw(self, source: BitSource) -> int:
        return self._noise[0]

    def _pmf(self, x: int) -> Ball:
        return ball(0)

    _tail = _cdf = _pmf


@pytest.mark.parametrize("exponent", [-900, -60, -40, -1, 0, 7])
@pytest.mark.parametrize("bits", [3, 52, 53, 54, 61, 70])
@pytest.mark.parametrize("size", [0, 30, 100, 1000])
def test_sums_in_arrays_are_rounded_once(exponent: int, bits: int, size: int) -> None:
    """In doubles where these hold both terms, in integers elsewhere: the same floats as from exact fractions."""
    rng, grid = np.random.default_rng([bits, size, exponent + 900]), Grid(exponent)
    values = np.ldexp(rng.normal(size=200), rng.integers(-size - 60, size, 200).clip(-1070, 1020))
    values[:6] = [0.0, -0.0, 0.5 * 2.0**exponent, -0.5 * 2.0**exponent, np.nextafter(0.5, 0) * 2.0**exponent, -5e-324]
    noise = [int(x) << (bits - 3) for x in rng.integers(-8, 9, 200)]
    noise = [x + int(y) for x, y in zip(noise, rng.integers(-1, 2, 200), strict=True)]
    shown = np.asarray(grid.add(values, _Given(noise)))
    for value, x, found in zip(values.tolist(), noise, shown.tolist(), strict=True):
        steps = math.floor(Fraction(value) / grid.step + Fraction(1, 2)) + x
        assert found == grid.to_float(steps)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("exponent", [-60, -40, -14, -3, -1])
@pytest.mark.parametrize("bits", [3, 26, 40, 53])
def test_a09_sums_of_narrow_floats_are_those_of_the_same_doubles(kind: Any, exponent: int, bits: int) -> None:
    """Also where the noise, or the value in steps, is beyond the largest of them: what is shown must not tell."""
    rng, grid, largest = np.random.default_rng([bits, -exponent]), Grid(exponent), float(np.finfo(kind).max)
    plain = [*rng.normal(size=50), largest, -largest, largest / 4, 8000, 9000, 1.8, 2.2]
    values = np.array(plain, dtype=np.float64).astype(kind)
    noise = [int(x) << (bits - 3) for x in rng.integers(-8, 9, len(values))]
    narrow, wide = (np.asarray(grid.add(each, _Given(noise))) for each in (values, values.astype(np.float64)))
    assert narrow.dtype == np.float64
    assert narrow.tolist() == wide.tolist()


# ------------------------------------------------------------ A8: integer sums

_EDGES = [0, 2**31 - 1, -(2**31), 2**53 + 1, 2**61, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]


@pytest.mark.parametrize("value", _EDGES)
def test_integer_sums_never_wrap(value: int) -> None:
    noise = DiscreteLaplace(2**50)
    for total in (add_integers(np.full(300, value), noise), add_integers(np.full(300, value, dtype=object), noise)):
        assert isinstance(total, np.ndarray)
        distances = [abs(int(x) - value) for x in total.tolist()]
        assert max(distances) < 2**57, "e^-128"
        assert {int(x) > value for x in total.tolist()} == {True, False}, "both sides are reached"
    one = add_integers(value, noise)
    assert type(one) is int
    assert abs(one - value) < 2**57


def test_wide_noise_on_small_integers_never_wraps() -> None:
    for scale in (2**60, 2**62, 2**70):
        total = add_integers(np.zeros(2000, dtype=np.int8), DiscreteLaplace(scale))
        assert isinstance(total, np.ndarray)
        largest = max(abs(int(x)) for x in total.tolist())
        assert scale < largest < 64 * scale, "e^-56"


@pytest.mark.parametrize(
    "values",
    [
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([True, False]),
        np.array([-128, 127], dtype=np.int8),
        np.array([2**31 - 1], dtype=np.int32),
        np.array([2**100, -(2**100)], dtype=object),
        [2**63 + 1, -1],
        np.array([[1, 2], [3, 4]], dtype=">i2"),
    ],
    ids=lambda values: str(getattr(values, "dtype", "list")),
)
def test_integers_of_every_type_are_kept(values: Any) -> None:
    total = add_integers(values, _NOTHING)
    assert isinstance(total, np.ndarray)
    assert total.tolist() == (values if isinstance(values, list) else values.tolist())
    assert total.dtype in (np.int64, np.object_)


@pytest.mark.parametrize("value", [5, np.int64(5), np.array(5)])
def test_one_integer_in_one_integer_out(value: Any) -> None:
    total = add_integers(value, _NOTHING)
    assert (type(total), total) == (int, 5)


@pytest.mark.parametrize("values", [[1.0, 2], [Fraction(4, 2)], Fraction(10, 2), Decimal("5.0"), 5.0, np.array([5.0])])
def test_whole_numbers_of_other_types_are_no_integers(values: Any) -> None:
    """Whether a value is refused must not depend on whether it happens to be whole."""
    with pytest.raises(NotANumberError, match="must be integers"):
        add_integers(values, _NOTHING)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_numpy_integers_do_not_wrap_in_parameters(kind: type[np.integer[Any]]) -> None:
    assert Grid(0).l2_steps(1, kind(100)) == Grid(0).l2_steps(1, 100) == 11
    assert Grid(0).l1_steps(1, kind(100)) == 100
    assert Grid(kind(3)) == Grid(3)  # type: ignore[arg-type]
    assert Grid(np.int8(-100)).step == Fraction(1, 2**100)  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [2.0, True, None, "3", np.array([3]), np.array(3)])
def test_the_exponent_is_a_whole_number(exponent: Any) -> None:
    with pytest.raises(NotANumberError, match="exponent must be a whole number"):
        Grid(exponent)


def test_a_scale_without_a_grid_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="scale must lie between"):
        Grid.for_scale("1e-300")


@pytest.mark.parametrize("value", [Decimal("1e9999999"), Decimal("-1e-9999999")])
def test_endless_decimals_are_refused_at_once(value: Decimal) -> None:
    with pytest.raises(NotANumberError, match="must be finite"):
        Grid(0).round(value)
