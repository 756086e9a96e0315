"""The loss of any two laws: exact for tables, certified for laws of dither, within its stated error for densities."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

import dither as dp
from dither.errors import ParameterError
from dither.guarantees import hockey_stick, loss_of, normalised, privacy_loss
from dither.guarantees.finite_loss import FiniteLoss
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.plots.curves import loss_masses

EPSILONS = (0, "0.1", 1, 3)


def table(weights: list[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


tables = st.integers(2, 5).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any).map(table)] * 2)
)


@pytest.mark.property
@given(tables, st.sampled_from(EPSILONS), st.fractions(0, 1, max_denominator=30))
def test_tables_are_compared_exactly(
    both: tuple[list[Fraction], list[Fraction]], epsilon: Any, alpha: Fraction
) -> None:
    """Against what is computed otherwise: the hockey-stick, the law of the loss, and every test there is."""
    p, q = both
    loss = loss_of(p, q)
    assert loss.is_certified
    assert loss.delta(epsilon) == pytest.approx(hockey_stick(p, q, epsilon), rel=1e-14, abs=1e-300)
    assert loss.tail(epsilon) == pytest.approx(float(privacy_loss(p, q).tail(epsilon)))
    bad = loss.bad_set(epsilon)
    assert bad.p == sum((p[y] for y in bad.outcomes), Fraction(0))
    assert bad.excess == pytest.approx(float(bad.p) - math.exp(float(Fraction(epsilon))) * float(bad.q), abs=1e-15)
    assert loss.beta(alpha) == pytest.approx(_best_test(p, q, alpha), abs=1e-15)
    found = loss.epsilon("0.01")
    assert found == math.inf or loss.delta(found) <= 0.01
    assert found in (0.0, math.inf) or loss.delta(found * (1 - 1e-9)) > 0.01


def _best_test(p: list[Fraction], q: list[Fraction], alpha: Fraction) -> float:
    """Reject a set, and one more outcome with some probability: the best of all of them."""
    outcomes, best = range(len(p)), Fraction(1)
    for size in range(len(p) + 1):
        for rejected in combinations(outcomes, size):
            left = alpha - sum(p[y] for y in rejected)
            if left < 0:
                continue
            kept = [y for y in outcomes if y not in rejected]
            missed = Fraction(sum(q[y] for y in kept))
            gain = max((q[y] * (min(Fraction(1), left / p[y]) if p[y] else 1) for y in kept), default=Fraction(0))
            best = min(best, missed - gain)
    return float(best)


def test_the_witness_breaks_it_and_nothing_does_beyond() -> None:
    loss = loss_of({"a": "1/2", "b": "1/2"}, {"a": "1/2", "c": "1/2"})
    witness = loss.witness(5)
    assert witness is not None
    assert witness.outcomes == ("b",)
    assert loss.loss("b") == math.inf == -loss.loss("c")
    assert loss.witness(5, "1/2") is None
    asymmetric = loss_of(["0.9", "0.1"], ["0.99", "0.01"])
    assert asymmetric.witness(0, "0.08").outcomes == (1,)  # type: ignore[union-attr]
    back = loss_of(["0.99", "0.01"], ["0.9", "0.1"]).witness(1)
    assert back is not None
    assert back.is_swapped
    assert (back.p, back.q) == (Fraction(1, 10), Fraction(1, 100))


@pytest.mark.parametrize(("law", "pair"), [
    (DiscreteLaplace(2), DiscreteLaplacePair(Fraction(2), 3)),
    (DiscreteGaussian(2), DiscreteGaussianPair(Fraction(2), 3)),
])  # fmt: skip
def test_laws_of_dither_are_certified(law: Any, pair: Any) -> None:
    loss = loss_of(law, law, shift=3)
    assert loss.is_certified
    for epsilon in (0, 0.3, 1, 2):
        low, high = loss.delta_bracket(epsilon)
        assert low <= pair.delta_bracket(epsilon)[1]
        assert pair.delta_bracket(epsilon)[0] <= high <= low + 1e-15
    assert loss.loss(-4) == pytest.approx(-loss.loss(7))


def test_an_atom_near_epsilon_counts_in_the_tail_and_not_in_the_bad_set() -> None:
    """L = 1/2 exactly at all y ≤ 0, which have 0.6225 together; balls do not tell it from a number 1e-45 apart."""
    loss = loss_of(DiscreteLaplace(2), DiscreteLaplace(2), shift=1)
    mass = 1 / (1 + math.exp(-0.5))
    near = Fraction(1, 2) - Fraction(1, 10**45)
    assert mass - 1e-15 <= loss.tail(near) <= mass + 1e-12
    for epsilon in (near, Fraction(1, 2)):
        assert loss.bad_set(epsilon).p < 1e-20
        assert loss.witness(epsilon) is None
    thirds = loss_of(DiscreteLaplace(3), DiscreteLaplace(3), shift=1)  # whose 1/3 is no float
    assert thirds.tail(Fraction(1, 3)) == pytest.approx(1 / (1 + math.exp(-1 / 3)))
    assert float(loss.bad_set("0.499999").p) == pytest.approx(mass)
    far = loss_of(DiscreteLaplace(1), DiscreteLaplace(1), shift=100)
    assert far.tail(101) < 1e-20
    assert far.tail(99) > 0.5


def test_no_loss_of_laplace_noise_exceeds_the_largest_one() -> None:
    """Laplace noise is ε-DP: Pr[L > ε] = 0, not the probability of L = ε."""
    loss = loss_of(DiscreteLaplace(2), DiscreteLaplace(2), shift=1)
    assert (loss.tail("1/2"), loss.swapped().tail("0.5"), loss.tail("0.500001"), loss.tail(3)) == (0, 0, 0, 0)
    assert loss_of(DiscreteGaussian(2), DiscreteGaussian(2), shift=1).tail("1/2") > 0.1


def test_what_is_zero_is_not_minus_zero() -> None:
    bracket = loss_of(["1/2", "1/2"], ["1/4", "3/4"]).delta_bracket(1)
    assert [str(end) for end in bracket] == ["0.0", "0.0"]


def test_without_radii_each_outcome_may_be_off_by_the_whole_error() -> None:
    p, q = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    loss = FiniteLoss(("a", "b"), p, q, Fraction(1, 50), Fraction(1, 100))
    assert [loss.tail("1.1"), loss.tail("1.3")] == pytest.approx([0.77, 0.02])
    assert (loss.bad_set("1").outcomes, loss.bad_set("1.09").outcomes) == (("a",), ())
    assert loss.swapped().tail("1.1") == pytest.approx(0.76)
    sure = FiniteLoss(
        ("a", "b"), p, q, Fraction(1, 50), Fraction(1, 100), p_radii=(Fraction(0),) * 2, q_radii=(Fraction(0),) * 2
    )
    assert sure.bad_set("1.09").outcomes == ("a",)


def test_the_errors_of_laws_widen_the_bracket() -> None:
    """δ may be off by the error of P and e^ε times that of Q, on both sides."""
    p, q = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    low, high = FiniteLoss(("a", "b"), p, q, Fraction(1, 50), Fraction(1, 100)).delta_bracket("0.5")
    middle, reach = 0.75 - math.exp(0.5) / 4, 0.02 + math.exp(0.5) / 100
    assert [low, high] == pytest.approx([middle - reach, middle + reach])


def laplace(at: float) -> Any:
    return lambda y: np.exp(-np.abs(y - at) / 2) / 4


class _Cosine:
    """1 + cos(θ)/2 against 1, by hand: p > e^ε where |θ| < a, and P[|θ| < a] = (a + sin(a)/2)/π."""

    def angle(self, epsilon: float) -> float:
        return math.acos(min(1.0, 2 * math.expm1(epsilon)))

    def tail(self, epsilon: float) -> float:
        a = self.angle(epsilon)
        return (a + math.sin(a) / 2) / math.pi

    def delta(self, epsilon: float) -> float:
        return self.tail(epsilon) - math.exp(epsilon) * self.angle(epsilon) / math.pi

    def beta(self, alpha: float) -> float:
        """Reject where p is small, |θ| > a, with P = 1 − (a + sin(a)/2)/π = α; then Q accepts a/π."""
        return float(brentq(lambda a: 1 - (a + math.sin(a) / 2) / math.pi - alpha, 0, math.pi, xtol=1e-15)) / math.pi


DENSITIES: list[tuple[Any, Any, dict[str, Any], Any]] = [
    (stats.norm(0, 1), stats.norm(1, 1), {}, dp.GaussianDP(1)),
    (stats.norm(5e6, 300), stats.norm(5e6 + 300, 300), {}, dp.GaussianDP(1)),
    (lambda y: math.exp(-y * y / 2), lambda y: math.exp(-((y - 1) ** 2) / 2), {"normalise": True}, dp.GaussianDP(1)),
    (stats.uniform(0, 1), stats.uniform(0.25, 1), {}, dp.TVStable("0.25")),
    (lambda y: 1.5 if y < 0.5 else 0.5, lambda y: 0.5 if y < 0.5 else 1.5, {"interval": (0, 1)},
     dp.pairs.ProfileOf(dp.pairs.two_point.TwoPointPair(odds=Fraction(3)))),
    (lambda y: 1 + np.cos(256 * np.pi * (y - 1 / 512)) / 2, np.ones_like, {"interval": (0, 1)}, _Cosine()),
]  # fmt: skip


@pytest.mark.parametrize(("p", "q", "options", "truth"), DENSITIES)
def test_densities_state_an_error_that_holds(p: Any, q: Any, options: dict[str, Any], truth: Any) -> None:
    loss = loss_of(p, q, **options)
    assert not loss.is_certified
    for epsilon in (0, 0.5, 1, 2.5):
        low, high = loss.delta_bracket(epsilon)
        assert low - 1e-16 <= truth.delta(epsilon) <= high + 1e-16
        assert high - low < 1e-9
        bad = loss.bad_set(epsilon)
        assert float(bad.p) - math.exp(epsilon) * float(bad.q) == pytest.approx(truth.delta(epsilon), abs=1e-9)
    for alpha in (0.01, 0.3):
        assert truth.beta(alpha) - 1e-8 <= loss.beta(alpha) <= truth.beta(alpha) + 1e-15


@pytest.mark.parametrize("epsilon", [0.1, 0.3703, 0.4054])
def test_narrow_peaks_of_the_loss_are_found(epsilon: float) -> None:
    """128 of them, each in the middle of a panel; at 0.4054 they are 5e-5 wide."""
    truth, loss = _Cosine(), loss_of(*DENSITIES[-1][:2], interval=(0, 1))
    low, high = loss.delta_bracket(epsilon)
    assert low <= truth.delta(epsilon) <= high <= low + 1e-9
    assert truth.tail(epsilon) <= loss.tail(epsilon) <= truth.tail(epsilon) + 1e-9
    bad = loss.bad_set(epsilon)
    assert len(bad.outcomes) == 128
    assert float(bad.p) == pytest.approx(truth.tail(epsilon), abs=1e-9)
    assert loss.epsilon(truth.delta(epsilon)) == pytest.approx(epsilon, abs=1e-6)


def test_a_laplace_density_has_its_bad_tail() -> None:
    loss = loss_of(laplace(0), laplace(1))
    assert loss.loss(-10) == pytest.approx(0.5)
    assert loss.bad_set(0.2).outcomes == ((-math.inf, pytest.approx(0.3)),)
    assert loss.epsilon(1e-9) == pytest.approx(0.5, abs=1e-8)
    heavy = loss_of(stats.cauchy(0, 1), stats.cauchy(1, 1))
    assert heavy.delta(0) == pytest.approx(2 / math.pi * math.atan(0.5))
    counts = loss_of(stats.poisson(3), stats.poisson(4))
    assert counts.delta(0) == pytest.approx(
        sum(max(0, stats.poisson(3).pmf(y) - stats.poisson(4).pmf(y)) for y in range(50))
    )


def test_singular_densities_state_a_larger_error() -> None:
    loss = loss_of(stats.beta(0.5, 0.5), stats.uniform(0, 1))
    low, high = loss.delta_bracket(0.1)
    assert low <= 0.1890250678 <= high
    assert 1e-12 < high - low < 1e-6


@pytest.mark.parametrize(("p", "q", "options", "message"), [
    ([1 / 3, 1 / 3, 1 / 3], [0.2, 0.3, 0.5], {}, "normalised"),
    ([0.5, 0.4], [0.5, 0.5], {"normalise": True}, "but for rounding"),
    (np.where(np.arange(300) < 150, 0, 1 / 300).astype(np.float16), np.full(300, 1 / 300), {"normalise": True},
     "but for rounding"),
    (np.full(10**4, 0.998e-4, dtype=np.float32), np.full(10**4, 1e-4), {"normalise": True}, "but for rounding"),
    (np.zeros(300, dtype=np.float16), np.full(300, 1 / 300), {"normalise": True}, "but for rounding"),
    ([math.nan, 1.0], [0.5, 0.5], {"normalise": True}, "a number, 0 or more"),
    ([-0.5, 1.5], [0.5, 0.5], {"normalise": True}, "a number, 0 or more"),
    (np.eye(2), [0.5, 0.5], {"normalise": True}, "a vector"),
    ([], [1], {}, "empty"),
    (laplace(0), lambda y: 1.00001 * laplace(1)(y), {}, "q must integrate to 1"),
    (laplace(0), stats.norm(1e7, 1e-5).pdf, {}, "q must integrate to 1"),
    (lambda y: -laplace(0)(y), laplace(1), {}, "0 or positive"),
    (lambda y: y * math.nan, laplace(1), {}, "0 or positive"),
    (laplace(0), laplace(1), {"interval": (1, 1)}, "low end below"),
    (laplace(0), laplace(1), {"interval": (math.nan, 1)}, "low end below"),
    (laplace(0), [1], {}, "same kind"),
    (laplace(0), laplace(0), {"shift": 1}, "shift"),
    ("3/4", "1/4", {}, "a law must be"),
])  # fmt: skip
def test_mass_is_never_lost_silently(p: Any, q: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        loss_of(p, q, **options)


def test_softmax_of_any_width_is_made_exact() -> None:
    scores = np.linspace(-3, 3, 1000)
    for width in (np.float16, np.float32, np.float64):
        weights = np.exp(scores).astype(width)
        exact = normalised(weights / weights.sum())
        assert sum(exact.values()) == 1
        assert loss_of(weights / weights.sum(), np.full(1000, 0.001, dtype=width), normalise=True).is_certified
    for bad in (-1, "nan", 2):
        with pytest.raises(ParameterError):
            loss_of([1], [1]).tail(bad) if bad != 2 else loss_of([1], [1]).beta(bad)


def test_pictures_take_mechanisms_pairs_and_losses() -> None:
    loss = loss_of(["3/4", "1/4"], ["1/4", "3/4"])
    pair = DiscreteLaplacePair(Fraction(2), 1)
    for draw in (dp.plots.loss, dp.plots.profile, dp.plots.tradeoff):
        assert len(draw(dp.Laplace(sensitivity=1, epsilon=1), pair, loss).axes[0].get_lines()) >= 3
    chosen = dp.ScoredSelection("ab", lambda y, data: data.count(y), 1, epsilon=1)
    assert dp.plots.profile(chosen).axes[0].get_lines()
    shaded = loss_of(laplace(0), laplace(1)).plot("outcomes", epsilon=0.2)
    assert [len(axes.patches) for axes in shaded.axes] == [1, 1]
    with pytest.raises(ParameterError, match="expected a guarantee"):
        dp.plots.loss("everything")  # type: ignore[arg-type]


def test_the_loss_picture_of_an_unfair_pair_has_the_law_of_the_loss() -> None:
    """All of the mass at L = ln 9 and L = ln(1/11), in this order and not mirrored."""
    loss = loss_of(["0.9", "0.1"], ["0.1", "0.9"])
    losses, masses = loss_masses(loss, np.linspace(0, 2 * math.log(9), 3))
    assert dict(zip(losses.round(6).tolist(), masses.round(9).tolist(), strict=True))[round(math.log(9), 6)] == 0.9
    lopsided = loss_of(["1/2", "1/2"], ["1/4", "3/4"])
    grid = np.array([0.0, math.log(1.5), math.log(2)])
    losses, masses = loss_masses(lopsided, grid)
    assert masses[losses > 0.6].sum() == pytest.approx(0.5)
    assert masses[np.abs(losses + math.log(1.5)) < 1e-9].sum() == pytest.approx(0.5)


def test_the_sources_do_without_scipy_stats() -> None:
    script = (
        "import sys, dither as dp; dp.guarantees.loss_of([1], [1]).delta(0); assert 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
