"""Laws that are given in odd ways: heavy tails, rough floats, masks, one wrong argument. No mass is lost silently."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from dither.errors import ParameterError
from dither.guarantees import frozen_laws, loss_of, normalised
from dither.guarantees.finite import PrivacyLoss
from dither.noise import DiscreteGaussian, DiscreteLaplace

# ------------------------------------------------------- discrete distributions of SciPy


def _zipf_distance(a: float, b: float) -> float:
    """Total variation of zipf(a) and zipf(b), a < b: all of the first few whole numbers are likelier under b."""
    k = np.arange(1, 1000)
    more = k**-b / special.zeta(b) - k**-a / special.zeta(a)
    return float(more[more > 0].sum())


@pytest.fixture
def few_outcomes(monkeypatch: pytest.MonkeyPatch) -> int:
    """Windows of 4,096 outcomes instead of 65,536."""
    monkeypatch.setattr(frozen_laws, "MOST_OUTCOMES", 1 << 12)
    return 1 << 12


@pytest.mark.parametrize(("a", "b", "wide"), [(2.0, 2.1, 1e-3), (3.0, 3.5, 1e-6)])
def test_heavy_tails_count_as_error(few_outcomes: int, a: float, b: float, wide: float) -> None:
    """What lies beyond the window is added, and no memory is asked for in proportion to it."""
    loss = loss_of(stats.zipf(a), stats.zipf(b))
    assert len(loss.outcomes) == few_outcomes  # type: ignore[attr-defined]
    low, high = loss.delta_bracket(0)
    assert low <= _zipf_distance(a, b) <= high < low + wide
    assert loss.epsilon(0) == math.inf
    beyond = 1 - float(sum(loss.p, Fraction(0)))  # type: ignore[attr-defined]
    assert loss.tail(600) >= beyond > 0


@pytest.mark.usefixtures("few_outcomes")
def test_a_law_without_moments_is_looked_at_from_its_end() -> None:
    """Pr[k] = a·B(k, a + 1), 1/(k(k + 1)) for a = 1: SciPy warns of its moments, and answers with NaN."""
    loss = loss_of(stats.yulesimon(1), stats.yulesimon(2))
    low, high = loss.delta_bracket(0)
    k = np.arange(1, 4000)
    apart = 1 / (k * (k + 1.0)) - 4 / (k * (k + 1.0) * (k + 2))
    truth = -float(apart[apart < 0].sum())
    assert low <= truth <= high < low + 1e-3


def test_windows_are_as_wide_as_they_are_said_to_be() -> None:
    assert len(loss_of(stats.zipf(2), stats.zipf(2.1)).outcomes) == 65_536  # type: ignore[attr-defined]


@pytest.mark.usefixtures("few_outcomes")
def test_laws_far_from_each_other_and_from_zero_have_windows_of_their_own() -> None:
    low, high = loss_of(stats.poisson(3), stats.poisson(1e5)).delta_bracket(1)
    assert 1 - 1e-6 < low <= high == 1
    near = loss_of(stats.poisson(1e5), stats.poisson(1e5 + 316)).delta_bracket(0)  # about N(0, 1) and N(1, 1)
    assert near[0] - 1e-3 < 0.38292492 < near[1] + 1e-3
    moved = loss_of(DiscreteLaplace(2), DiscreteLaplace(2), shift=10**9)
    assert (moved.delta(1), moved.epsilon(0)) == (1, 5e8)


def test_all_outcomes_of_a_finite_support_tell_the_largest_loss() -> None:
    loss = loss_of(stats.binom(10, 0.5), stats.binom(10, 0.6))
    assert loss.epsilon(0) == pytest.approx(10 * math.log(0.5 / 0.4), rel=1e-6)
    assert loss.epsilon(0) >= 10 * math.log(0.5 / 0.4)
    assert loss.swapped().epsilon(0) == pytest.approx(10 * math.log(0.6 / 0.5), rel=1e-6)
    assert loss.delta(loss.largest) == 0
    assert loss_of(stats.randint(0, 10), stats.randint(1, 11)).largest == math.inf
    newer = loss_of(stats.Binomial(n=10, p=0.5), stats.Binomial(n=10, p=0.6))
    assert newer.epsilon(0) == pytest.approx(loss.epsilon(0))


@pytest.mark.parametrize(("p", "q", "truth"), [
    (stats.binom(64, 1e-7), stats.binom(64, 0.99e-7), 64 * -math.log(0.99)),
    (stats.binom(60, 1e-6), stats.binom(60, 0.9999e-6), 60 * -math.log(0.9999)),
    (stats.hypergeom(10**7, 3 * 10**6, 50), stats.hypergeom(10**7, 3 * 10**6 + 1000, 50), 0.00714327),
])  # fmt: skip
def test_probabilities_too_small_for_a_float_are_not_passed_over(p: Any, q: Any, truth: float) -> None:
    """The largest loss is where `pmf` is 0 under both laws, or is off by the rounding of large logarithms."""
    assert loss_of(p, q).largest >= truth


class _Short(stats.rv_discrete):  # type: ignore[misc]
    """0.9 of a geometric law: SciPy's own quantiles never end."""

    def _pmf(self, k: Any) -> Any:
        return 0.9 * 0.5 ** (k + 1)


@pytest.mark.parametrize(("p", "q", "message"), [
    (stats.zipf(1.1), stats.zipf(1.2), "must sum to 1, and miss it by 0.3"),
    (_Short(), _Short(), "must sum to 1, and miss it by 0.1"),
    (stats.rv_discrete(values=([0, 0.5, 5], [0.2, 0.3, 0.5])), stats.poisson(3), "must sum to 1, and miss it by 0.3"),
    (stats.randint(0, 10**9), stats.randint(1, 10**9), "Give a table, or two densities"),
    (stats.poisson(1e17), stats.poisson(1e17), "below 2\\^53"),
    (stats.poisson, stats.poisson, "with its parameters"),
    (stats.poisson([1, 2]), stats.poisson(3), "with its parameters"),
    (stats.poisson(-1), stats.poisson(3), "no support"),
    (stats.norm([0, 1], 1), stats.norm(0, 1), "with its parameters"),
    (DiscreteLaplace, DiscreteLaplace, "Call it with them"),
    (DiscreteLaplace(10**6), DiscreteLaplace(10**6), "reach farther"),
])  # fmt: skip
def test_laws_that_cannot_be_compared_are_refused(p: Any, q: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        loss_of(p, q)


# ------------------------------------------------------------------ the largest loss


def _laplace(at: float) -> Any:
    return lambda y: np.exp(-np.abs(y - at)) / 2


@pytest.mark.parametrize(("p", "q", "options", "truth"), [
    (_laplace(0), _laplace(1), {}, 1.0),
    (stats.laplace(0, 1), stats.laplace(1, 1), {}, 1.0),
    (stats.laplace(1e9, 1), stats.laplace(1e9 + 1, 1), {}, 1.0),
    (stats.laplace(0, 1e-9), stats.laplace(1e-9, 1e-9), {}, 1.0),
    (stats.logistic(0, 1), stats.logistic(1, 1), {}, 1.0),  # approached, never reached
    (stats.cauchy(0, 1), stats.cauchy(1, 1), {}, 2 * math.log((1 + math.sqrt(5)) / 2)),
    (stats.t(3, 0, 1), stats.t(3, 0, 2), {}, math.log(2)),
    (stats.expon(0, 1), stats.expon(0, 2), {}, math.log(2)),  # at the end of the support
    (lambda y: np.where((y > 0.3) & (y < 0.7), 2.5, 0.0), np.ones_like, {"interval": (0, 1)}, math.log(2.5)),
    (DiscreteLaplace(2), DiscreteLaplace(2), {"shift": -3}, 1.5),
])  # fmt: skip
def test_epsilon_at_delta_zero_is_the_largest_loss(p: Any, q: Any, options: dict[str, Any], truth: float) -> None:
    loss = loss_of(p, q, **options)
    assert truth - 1e-15 <= loss.largest <= truth + 1e-10
    assert loss.epsilon(0) == loss.largest
    assert loss.epsilon(1e-3) < loss.largest


def _bell(at: float) -> Any:
    return lambda y: np.exp(-((y - at) ** 2) / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(("p", "q"), [
    (stats.norm(0, 1), stats.norm(1, 1)),
    (_bell(0), _bell(1)),
    (stats.expon(0, 2), stats.expon(0, 1)),
    (stats.pareto(1), stats.pareto(1.5)),  # grows like a logarithm
    (stats.beta(0.5, 0.5), stats.uniform(0, 1)),  # grows at the ends of the support
    (stats.uniform(0, 1), stats.uniform(0.25, 1)),
    (stats.laplace(0, 2), stats.laplace(0, 1)),
    (stats.dgamma(0.5, loc=0.3), stats.laplace()),  # P is infinite at one point
    (stats.dgamma(0.9, loc=-1.7), stats.laplace()),
    (stats.norm(0, 1), stats.dweibull(2, loc=0.3)),  # Q is 0 at one
    (stats.levy(0, 1), stats.levy(0, 1.2)),  # P falls from e^-375 to e^-750 where the next place is half as far
    (stats.gennorm(100), stats.gennorm(100, loc=1e-4)),
])  # fmt: skip
def test_a_loss_without_a_largest_one_has_none(p: Any, q: Any) -> None:
    assert loss_of(p, q).epsilon(0) == math.inf


@pytest.mark.parametrize(("q", "interval"), [
    (lambda y: 12 * (y - 0.5) ** 2, (0, 1)),
    (lambda y: 2 * np.abs(y - 1 / 3) / (5 / 9), (0, 1)),
    (lambda y: (1 + np.cos(y - 1)) / (2 * math.pi), (0, 2 * math.pi)),  # cut off by rounding
])  # fmt: skip
def test_a_loss_that_grows_inside_has_no_largest(q: Any, interval: tuple[float, float]) -> None:
    flat = 1 / (interval[1] - interval[0])
    assert loss_of(lambda y: np.full_like(y, flat), q, interval=interval).epsilon(0) == math.inf


def test_corners_are_no_poles() -> None:
    for at, width in ((0.1, 3.7), (-2.9, 0.02), (1 / 3, 40)):
        loss = loss_of(stats.laplace(at, width), stats.laplace(at + width / 4, width))
        assert 0.25 - 1e-15 <= loss.largest <= 0.25 + 1e-10


def test_the_bad_set_of_two_laplace_laws_at_their_largest_loss_is_empty() -> None:
    loss = loss_of(stats.laplace(0, 1), stats.laplace(1, 1))
    assert (loss.bad_set(1).outcomes, loss.bad_set(1).p) == ((), 0)
    assert len(loss.bad_set("0.99").outcomes) == 1


def test_where_p_falls_steeply_a_bounded_loss_stays_bounded() -> None:
    """e^{-c/2y}: ln p/q = ln(c/d)/2 + (d − c)/2y is largest far out if c > d."""
    loss = loss_of(stats.levy(0, 1.2), stats.levy(0, 1))
    assert math.log(1.2) / 2 <= loss.epsilon(0) <= math.log(1.2) / 2 + 1e-10


def test_scipy_does_not_warn_of_what_overflows_far_out() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss = loss_of(stats.gumbel_r(), stats.gumbel_r(loc=0.5))
    assert loss.loss(0) == pytest.approx(math.exp(0.5) - 1.5)


def test_gaussian_and_wider_laws_on_the_integers_have_no_largest_loss() -> None:
    for p, q, shift in ((DiscreteGaussian(2), DiscreteGaussian(2), 1), (DiscreteLaplace(3), DiscreteLaplace(2), 1)):
        assert loss_of(p, q, shift=shift).largest == math.inf
    same = loss_of(DiscreteGaussian(2), DiscreteGaussian(2))
    assert (same.largest, same.epsilon(0)) == (0, 0)


# ------------------------------------------------------------------ the law of the loss


def test_the_law_of_the_loss_of_densities() -> None:
    """Of N(0, 1) against N(1, 1) it is N(1/2, 1)."""
    law = loss_of(stats.norm(0, 1), stats.norm(1, 1)).law
    truth = stats.norm(0.5, 1)
    for level in (-2, "-0.5", 0, 0.5, 3):
        exact = float(truth.sf(float(level)))
        assert exact - 1e-15 <= law.tail(level) <= exact + 1e-9
    for share in (0.01, 0.5, "0.999"):
        assert law.quantile(share) == pytest.approx(float(truth.ppf(float(share))), abs=1e-6)
    assert law.quantile(1) == math.inf
    assert law.delta(1) == pytest.approx(0.12693673750664638, abs=1e-9)
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ParameterError):
            law.quantile(wrong)


def test_the_law_of_the_loss_on_the_integers() -> None:
    loss = loss_of(DiscreteLaplace(2), DiscreteLaplace(2), shift=1)
    mass = 1 / (1 + math.exp(-0.5))
    assert loss.law.tail("-0.6") == pytest.approx(1)
    assert loss.law.tail("0.4") == pytest.approx(mass)
    assert loss.law.quantile("0.3") == pytest.approx(-0.5, abs=1e-12)
    assert isinstance(loss_of(["1/2", "1/2"], ["1/4", "3/4"]).law, PrivacyLoss)


def test_the_law_of_an_exact_loss_answers_what_other_laws_do() -> None:
    """Levels below 0, and quantiles, by its atoms: −ln 2, 0, ln 2 and ∞ with probability 1/8, 1/4, 1/2 and 1/8."""
    law = loss_of(["1/8", "1/4", "1/2", "1/8"], ["1/4", "1/4", "1/4", 0, "1/4"]).law
    assert isinstance(law, PrivacyLoss)
    assert [law.tail(level) for level in (-1, "-0.6", 0, "0.6", 1)] == [
        1, Fraction(7, 8), Fraction(5, 8), Fraction(5, 8), Fraction(1, 8)
    ]  # fmt: skip
    for share, value in ((0, -math.log(2)), ("1/8", -math.log(2)), ("1/4", 0), ("3/8", 0), ("0.4", math.log(2))):
        assert law.quantile(share) == pytest.approx(value, abs=1e-15)
    assert law.quantile("7/8") >= math.log(2)
    assert law.quantile(1) == math.inf
    for wrong in (-1, 2, "x", math.nan):
        with pytest.raises(ParameterError):
            law.quantile(wrong)


# ------------------------------------------------------------------------ odd floats


@pytest.mark.parametrize(("p", "options", "message"), [
    (np.ma.masked_array([0.5, 0.25, 0.5], mask=[False, True, False]), {}, "MaskedConstant"),
    (np.ma.masked_array([0.5, 0.25, 0.5], mask=[False, True, False]), {"normalise": True}, "MaskedConstant"),
    (np.array([None, 0.5, 0.5], dtype=object), {"normalise": True}, "NoneType"),
    (np.array([0.5 + 0j, 0.5, 0.0]), {"normalise": True}, "complex"),
    (np.array([True, False, False]), {}, "boolean"),
    (np.array([0.5, 0.5, 0.0])[None], {}, "a mapping or a list"),
    (np.array([0.5, 0.5, 0.0])[None], {"normalise": True}, "2 dimensions"),
    ([1e-320, 0.5, 0.5], {}, "1e-308"),
    ([0.25, 0.25, 0.5 + 2**-52], {}, "normalised"),
    ([0.25, 0.25, 0.5 - 2**-53], {}, "normalised"),
    (np.array([1, 1, 1], dtype=np.longdouble) / 3, {}, "normalised"),
    ([1e308, 1e308, 0], {"normalise": True}, "but for rounding, got more than 1000"),
    (pd.Series([0.5, 0.25, 0.25]), {}, "to_numpy"),
    (pd.Series([0.5, 0.5], index=["a", "a"]), {"normalise": True}, "to_numpy"),
    (pd.DataFrame({"a": [0.5, 0.5]}), {}, "DataFrame"),
    ((x for x in (0.5, 0.5)), {}, "generator"),
    (b"\x01", {}, "bytes"),
])  # fmt: skip
def test_odd_vectors_are_refused(p: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        loss_of(p, [0.5, 0.25, 0.25], **options)


@pytest.mark.parametrize("weights", [
    [1e-320, 1.0],
    [-0.0, 1.0],
    [0.5, 0.5 + 2**-52],
    [0.5, 0.5 - 2**-53],
    np.array([0.1, 0.9], dtype=np.float32),
    np.array([1, 1, 1], dtype=np.longdouble) / 3,
    np.full(3, 1 / 3, dtype=np.float16),
    np.array([Fraction(1, 3)] * 3, dtype=object),
    [np.float16(1 / 3), 1 / 3, np.float32(1 / 3)],
    np.array([1, 0], dtype=np.uint8),
    np.array(["0.5", "0.5"]),
    pd.Series([0.5, 0.5], index=["a", "b"]).to_dict(),
])  # fmt: skip
def test_odd_weights_keep_every_mass(weights: Any) -> None:
    exact = normalised(weights)
    assert sum(exact.values()) == 1
    given = list(weights.values() if isinstance(weights, dict) else weights)
    for mine, theirs in zip(exact.values(), given, strict=True):
        assert (mine > 0) == (float(theirs) > 0)
        assert float(mine) == pytest.approx(float(theirs), rel=4e-3)


def test_a_mass_of_1e_320_is_a_witness() -> None:
    loss = loss_of([1e-320, 1.0], [0, 1.0], normalise=True)
    assert (loss.delta(0), loss.largest) == (1e-320, math.inf)
    assert loss.witness(5).outcomes == (0,)  # type: ignore[union-attr]


def _in_single(y: Any) -> Any:
    return np.exp(-(np.asarray(y, dtype=np.float32) ** 2) / 2) / np.float32(math.sqrt(2 * math.pi))


def test_a_density_in_float32_states_its_rounding() -> None:
    low, high = loss_of(_in_single, stats.norm(0, 1).pdf).delta_bracket(0)
    assert low == 0
    assert 1e-9 < high < 1e-6


@pytest.mark.parametrize(("p", "options", "message"), [
    (lambda y: np.ma.masked_array(np.ones_like(y), mask=np.asarray(y) > 0.5), {"interval": (0, 1)}, "masked"),
    (lambda y: [1], {"interval": (0, 1)}, "gives one number"),
    (lambda y: "a", {"interval": (0, 1)}, "gives one number"),
    (lambda y: None, {"interval": (0, 1)}, "gives one number"),
    (lambda y: math.exp(y) / (1 + math.exp(y)) ** 2, {}, "fails at [0-9.e+]+ .OverflowError.. Write it so"),
    (lambda y: 1 / 0, {"interval": (0, 1)}, "fails at [0-9.e-]+ .ZeroDivisionError"),
    (lambda y: math.log(y - 0.5), {"interval": (0, 1)}, "gives one number; it fails at [0-9.e-]+"),
    (lambda: 1, {"interval": (0, 1)}, "a function of one value"),
    (lambda y, z: 1, {"interval": (0, 1)}, "a function of one value"),
    (np.ones_like, {"interval": 5}, "a pair"),
    (np.ones_like, {"interval": None}, "a pair"),
    (np.ones_like, {"interval": (1, 2, 3)}, "a pair"),
    (np.ones_like, {"interval": ("a", 1)}, "an end of the interval"),
    (np.ones_like, {"interval": (0, 1), "shift": "x"}, "shift must be a whole number"),
    (np.ones_like, {"interval": (0, 1), "shift": 1.5}, "shift must be a whole number"),
    (np.ones_like, {"interval": (0, 1), "shift": True}, "shift must be a whole number"),
    (np.ones_like, {"interval": (0, 1), "shift": 1}, "shift is for laws"),
    (["1/2", "1/2"], {"interval": (0, 1)}, "interval is for densities"),
    (DiscreteLaplace(2), {"normalise": True}, "normalise is for tables"),
])  # fmt: skip
def test_wrong_arguments_are_refused_by_name(p: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        loss_of(p, p, **options)
