"""Tails of the normal and exponential laws, and the lemmas that bound them: against SciPy, from the safe side."""

import math
from typing import Any

import pytest
from scipy import stats

from dither.errors import DitherError
from dither.mechanisms import exponential_tail, largest_exponential_tail, normal_tail, normal_tail_bound

PLACES = [0, 0.1, 0.5, 1, 2, 3.5, 10, 30]


@pytest.mark.parametrize("t", PLACES)
def test_tails_are_those_of_scipy(t: float) -> None:
    assert normal_tail(t) == pytest.approx(2 * stats.norm.sf(t), rel=1e-12)
    assert normal_tail(t, sides=1) == pytest.approx(stats.norm.sf(t), rel=1e-12)
    assert exponential_tail(t) == pytest.approx(stats.expon.sf(t), rel=1e-12)


@pytest.mark.parametrize("t", PLACES[1:])
def test_bounds_are_bounds(t: float) -> None:
    for sides in (1, 2):
        assert normal_tail_bound(t, sides=sides) >= normal_tail(t, sides=sides)
        assert normal_tail_bound(t, sides=sides, form="chernoff") >= normal_tail(t, sides=sides)
    assert normal_tail_bound(t) == pytest.approx(2 / (t * math.sqrt(2 * math.pi)) * math.exp(-t * t / 2), rel=1e-12)
    assert normal_tail_bound(t, form="chernoff") == pytest.approx(2 * math.exp(-t * t / 2), rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 1000, 10**12])
@pytest.mark.parametrize("t", [0, 1, 10, 40])
def test_the_largest_of_many(count: int, t: int) -> None:
    exact = largest_exponential_tail(count, t)
    naive = 1.0 if count == 1 and t == 0 else -math.expm1(count * math.log1p(-math.exp(-t) / count))
    assert exact == pytest.approx(naive, rel=1e-9)
    assert exact <= exponential_tail(t)


@pytest.mark.parametrize("t", [-1, math.nan, math.inf, "x", None, True])
@pytest.mark.parametrize(
    "ask", [normal_tail, normal_tail_bound, exponential_tail, lambda t: largest_exponential_tail(3, t)]
)
def test_what_is_no_distance_is_refused(ask: Any, t: Any) -> None:
    with pytest.raises(DitherError):
        ask(t)


def test_other_options_are_refused() -> None:
    asks: list[Any] = [
        lambda: normal_tail_bound(0),
        lambda: normal_tail(1, sides=3),  # type: ignore[arg-type]
        lambda: normal_tail_bound(1, form="markov"),  # type: ignore[arg-type]
        lambda: largest_exponential_tail(0, 1),
    ]
    for ask in asks:
        with pytest.raises(DitherError):
            ask()
