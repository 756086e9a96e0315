"""The stated errors of the tails of pairs where they are largest: far out, near the ends, with the worst erfcx."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
import scipy
from scipy.special import erfcx

from dither.accounting.composition import WideBracket, of_pairs
from dither.exact import Ball, ball, precision
from dither.pairs import discrete_noise as discrete_pairs
from dither.pairs import moments as moment_pairs
from dither.pairs.bounded_range import BoundedRangePair
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.finite import FinitePair
from dither.pairs.gaussian import ERFCX_ERROR, GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.pair import FloatArray, Pair, Tails
from dither.pairs.subsampled import FixedSizePair, MixturePair, PoissonAddPair, PoissonRemovePair, WorstPair
from dither.pairs.two_point import TwoPointPair, approximate, pure
from tests.oracle.points import Points, stream

BITS = 2400
TINY = Ball(2) ** -1000


def check_at(pair: Pair, losses: FloatArray) -> None:
    """|p − e^ℓ q + P[L = ∞] − δ(ℓ)| ≤ error·(p + e^ℓ q), and the dots lie above δ."""
    p, q, error = pair.tails(losses)
    errors, dots = np.broadcast_to(np.asarray(error), losses.shape), pair.dots(losses)
    with precision(BITS):
        for loss, a, b, slack, dot in zip(losses, p, q, errors, dots, strict=True):
            truth = pair.profile(Ball(float(loss))) - ball(pair.infinity)
            gap = abs(Ball(float(a)) - Ball(float(b)) - truth)
            assert not gap > Ball(float(slack)) * (Ball(float(a)) + Ball(float(b))) + TINY, (pair, loss)
            assert not Ball(float(dot)) + TINY < truth, (pair, loss)


@pytest.mark.parametrize(
    ("variance", "shift"), [("1", 48), ("1", 20), ("1/4", 25), ("100", 450), ("10000", 3000), ("100000000", 490_000)]
)
def test_a_neighbour_far_away_has_tails_too(variance: str, shift: int) -> None:
    """e^ℓ·Q needs Q as far out as Δ/σ and the tails of P together."""
    pair = DiscreteGaussianPair(Fraction(variance), shift)
    mu = shift / math.sqrt(pair.variance)
    check_at(pair, mu * np.array([-30.0, -8.0, -2.0, -0.4, 0.0, 0.3, 2.0, 7.9, 20.0, 30.0]) + mu * mu / 2)


def test_beyond_what_floats_hold_only_the_trivial_is_said() -> None:
    """Two of them have the loss 100·y + 10⁴ for a sum y of noise, and P[y ≥ 7] is above 10⁻⁶."""
    both = of_pairs([(DiscreteGaussianPair(Fraction(1), 100), 2)])
    assert both.epsilon(1e-6) > 10_690
    with pytest.warns(WideBracket):
        assert both.delta(9000) == 1


LARGE: dict[str, Callable[[Points], tuple[Pair, float, float]]] = {
    "Gaussian, far out": lambda points: (GaussianPair(Fraction(1)), 20.0, 35.0),
    "Gaussian of large mu": lambda points: (
        GaussianPair(size := points.size(4, 8)),
        float(size) / 2,
        float(size) ** 0.5,
    ),
    "Laplace": lambda points: (LaplacePair(size := points.size(2, 6)), float(size) - 2, 2.0),
    "pure": lambda points: (pure(size := points.size(2, 6)), float(size) - 2, 2.0),
    "bounded range": lambda points: (BoundedRangePair(size := points.size(2, 6)), float(size) - 2, 2.0),
    "discrete Laplace": lambda points: (DiscreteLaplacePair(size := points.size(-5, -2)), float(1 / size) - 2, 2.0),
    "discrete Gaussian": lambda points: (DiscreteGaussianPair(points.size(0, 3)), 0.0, 20.0),
    "finite": lambda points: (pair := _uneven(points), pair.support[1] - 2, 2.0),
}


def _uneven(points: Points) -> FinitePair:
    small = points.size(-200, -150)
    return FinitePair((Fraction(2, 3), Fraction(1, 3)), (small, 1 - small))


@pytest.mark.parametrize("name", LARGE)
def test_large_losses_are_within_their_error(name: str) -> None:
    for points in stream(f"large {name}", 12):
        pair, start, width = LARGE[name](points)
        check_at(pair, start + width * np.sort([float(points.probability(-1)) for _ in range(8)]))


def test_each_far_tail_is_within_its_error() -> None:
    """Not only their difference: e^{−z²/2} has lost the digits of z²."""
    losses = np.linspace(3.2, 3.5, 60)  # z from 32 to 35
    p, q, error = GaussianPair(Fraction(1, 100)).tails(losses)
    with precision(300):
        mu, root = Ball(1) / 10, Ball(2).sqrt()
        for loss, a, b, slack in zip(losses, p, q, np.asarray(error), strict=True):
            centre = Ball(float(loss)) / mu
            for found, exact in (
                (a, ((centre - mu / 2) / root).erfc() / 2),
                (b, Ball(float(loss)).exp() * ((centre + mu / 2) / root).erfc() / 2),
            ):
                assert abs(Ball(float(found)) / exact - 1) <= Ball(float(slack)), loss


@pytest.mark.parametrize("sign", [-1, 1])
def test_errors_of_erfcx_are_counted(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As large as assumed, in opposite directions for P and Q."""
    turn = [sign]

    def wrong(z: FloatArray) -> FloatArray:
        turn[0] = -turn[0]
        return np.asarray(erfcx(z) * (1 + 0.9 * turn[0] * ERFCX_ERROR))

    monkeypatch.setattr(scipy.special, "erfcx", wrong)
    check_at(GaussianPair(Fraction(1)), np.linspace(0.6, 1.5, 6))
    turn[0] = sign
    check_at(DiscreteGaussianPair(Fraction(10**12), 10**6), np.linspace(0.6, 1.5, 6))


@dataclass(frozen=True)
class Worse(Pair):
    """A pair whose tails are wrong by as much as they say, up to rounding."""

    base: Pair
    error: float
    sign: int

    def profile(self, epsilon: Ball) -> Ball:
        return self.base.profile(epsilon)

    def tails(self, losses: FloatArray) -> Tails:
        p, q, _ = self.base.tails(losses)
        wrong = self.sign * self.error * (1 - 1e-9)
        return Tails(p / (1 + wrong), q / (1 - wrong), self.error)

    def swapped(self) -> Pair:
        return self

    @property
    def is_symmetric(self) -> bool:
        return True

    @property
    def infinity(self) -> Fraction:
        return self.base.infinity

    @property
    def support(self) -> tuple[float, float]:
        return self.base.support


WRAPPED: dict[str, Callable[[Pair], Pair]] = {
    "removed": lambda base: PoissonRemovePair(base, Fraction(1, 3)),
    "added": lambda base: PoissonAddPair(base, Fraction(1, 3)),
    "mixed first": lambda base: MixturePair((Fraction(9, 10), Fraction(1, 10)), (base, LaplacePair(Fraction(1)))),
    "mixed last": lambda base: MixturePair((Fraction(1, 10), Fraction(9, 10)), (LaplacePair(Fraction(1)), base)),
    "worst first": lambda base: WorstPair(base, LaplacePair(Fraction(1, 10))),
    "worst last": lambda base: WorstPair(LaplacePair(Fraction(1, 10)), base),
    "worst beside a leak": lambda base: WorstPair(base, approximate(Fraction(1, 100), Fraction(1, 20))),
}


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("name", WRAPPED)
def test_errors_of_the_base_are_passed_on(name: str, sign: int) -> None:
    pair = WRAPPED[name](Worse(GaussianPair(Fraction(1)), 1e-3, sign))
    check_at(pair, np.linspace(-0.3, 0.3, 13))


def test_dots_leave_room_for_the_rounding_of_their_places() -> None:
    """Lattice points are floats: each may lie an ulp right of where it should."""
    losses = np.array([-3.0, 0.01, 1.0, 30.0])
    exact = Worse(TwoPointPair(loss=Fraction(40)), 0.5, 1)
    found = exact.dots(losses)
    with precision(BITS):
        for loss, dot in zip(losses, found, strict=True):
            p, q, _ = exact.tails(np.array([loss]))
            plain = Ball(float(p[0])) * Ball(1.5) - Ball(float(q[0])) * Ball(0.5)
            room = (Ball(float(p[0])) + Ball(float(q[0]))) * Ball(2.0**-51 * (1 + abs(loss)))
            assert Ball(float(dot)) >= plain + room


def test_samples_leave_room_for_the_rounding_of_their_losses() -> None:
    """The inner loss ln(1 + (e^ℓ − 1)/γ) is rounded relative to its size, which grows with −ln γ."""
    gamma = Fraction(1, 10**200)
    base = Worse(LaplacePair(Fraction(600)), 0.0, 1)
    remove, add = PoissonRemovePair(base, gamma), PoissonAddPair(base, gamma)
    inside = np.array([1.0, 100.0])
    assert np.all(np.asarray(remove.tails(inside).error) >= 2.0**-50 * (16 + 4 * inside + 450))
    below = -inside[::-1]
    assert np.all(np.asarray(add.tails(below).error) >= 2.0**-50 * (16 + 4 * np.abs(below) + 450))


ENDS: list[tuple[Pair, Fraction | None, Fraction | None]] = [
    (LaplacePair(Fraction(1, 3)), Fraction(1, 3), None),
    (pure(Fraction(1, 3)), Fraction(1, 3), None),
    (BoundedRangePair(Fraction(1, 3)), Fraction(1, 3), None),
    (DiscreteLaplacePair(Fraction(3)), Fraction(1, 3), None),
    (TwoPointPair(odds=Fraction(3)), None, Fraction(3)),
    (TwoPointPair(odds=Fraction(5)), None, Fraction(5)),
    (FinitePair((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))), None, Fraction(3)),
    (FinitePair((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6))), None, Fraction(5)),
]


@pytest.mark.parametrize(("pair", "loss", "odds"), ENDS, ids=lambda x: type(x).__name__)
def test_supports_are_rounded_outwards(pair: Pair, loss: Fraction | None, odds: Fraction | None) -> None:
    low, high = pair.support
    with precision(BITS):
        largest = ball(loss) if loss is not None else ball(odds or 1).log()
        assert Ball(low) <= -largest
        assert Ball(high) >= largest


@pytest.mark.parametrize("odds", [3, 5, 7, 11])
def test_an_atom_counts_up_to_its_very_loss(odds: int) -> None:
    """At the float just below ln(odds) the profile is positive: the atom must be in the test."""
    true = Fraction(odds, odds + 1)
    near = math.log(odds)
    losses = np.array([math.nextafter(near, 0), near, math.nextafter(near, 9)])
    check_at(FinitePair((true, 1 - true), (1 - true, true)), losses)


def test_whole_steps_do_not_enlarge_a_pair() -> None:
    """Where the step divides the distance of the atoms up to rounding, the shrunk pair is not the larger one."""
    for odds in (Fraction(3), Fraction(7, 2), Fraction(101, 100)):
        pair = TwoPointPair(odds=odds)
        for steps in range(1, 60):
            smaller = pair.shrunk(2 * math.log(odds) / steps)
            with precision(BITS):
                assert not smaller.largest > pair.largest, (odds, steps)


@pytest.mark.parametrize("n", [0, 3, 150, 400])
def test_the_midpoint_rule_holds_the_sum(n: int) -> None:
    variance = Fraction(10**4)
    with precision(400):
        total = discrete_pairs._ball_sum(variance, n + 1) / (1 + 2 * discrete_pairs._ball_sum(variance, 1))
        assert discrete_pairs._midpoint_tail(variance, n).overlaps(total)


def test_what_is_not_summed_is_in_the_ball() -> None:
    with precision(400):
        square, naive = ball(Fraction(1, 2 * 9)), Ball(0)
        for x in range(2, 200):
            naive += (-square * x * x).exp()
        assert discrete_pairs._ball_sum(Fraction(9), 2).overlaps(naive)


def test_moments_of_huge_orders_are_rounded_up() -> None:
    """Exponents of 10¹² that nearly cancel have lost all but a few digits."""
    sizes = np.linspace(1000.0, 1003.0, 40)
    orders = np.full(40, 1e9 + 0.37)
    found = moment_pairs._bounds(sizes, orders, sizes * (1 - 3e-11))
    with precision(300):
        for size, order, bound in zip(sizes, orders, found, strict=True):
            value = Ball(float(size * (1 - 3e-11)))
            assert moment_pairs._ball_bound(Ball(float(size)), value, Fraction(float(order))) <= Ball(float(bound))


def test_moments_at_small_negative_losses_are_rounded_up() -> None:
    """1 − e^ε(1 − δ) with ε and δ near 0: nothing may cancel."""
    for points in stream("unfolded", 60):
        loss, bound = -float(points.size(-14, 1)), float(points.size(-14, -1))
        found = float(moment_pairs.unfolded(np.array([loss]), np.array([bound]))[0])
        with precision(300):
            exact = 1 - Ball(loss).exp() * (1 - Ball(bound))
            assert exact <= Ball(found)
            assert Ball(found) <= exact * Ball(1 + 1e-9)


@pytest.mark.parametrize("wrap", [PoissonRemovePair, PoissonAddPair])
def test_samples_of_an_exact_base_have_errors_of_their_own(wrap: Callable[[Pair, Fraction], Pair]) -> None:
    """A dozen roundings in any case, and those of e^ℓ; also where the test is everything or nothing."""
    pair = wrap(Worse(GaussianPair(Fraction(1)), 0.0, 1), Fraction(1, 3))
    losses = np.array([-40.0, -20.0, -0.2, 0.2, 20.0, 40.0])
    assert np.all(np.asarray(pair.tails(losses).error) >= 2.0**-50 * (16 + 4 * np.abs(losses)))


def test_dots_of_a_sample_far_to_the_left_are_rounded_up() -> None:
    """There only δ(ℓ) ≤ max(γ, 1 − e^ℓ) is known of moments, which is 1 − e^ℓ."""
    losses = np.linspace(-25.0, -5.0, 80)
    dots = PoissonRemovePair(moment_pairs.RenyiPair(((Fraction(2), Fraction(1)),)), Fraction(1, 3)).dots(losses)
    with precision(200):
        for loss, dot in zip(losses, dots, strict=True):
            assert Ball(float(dot)) >= 1 - Ball(float(loss)).exp()


@dataclass(frozen=True)
class Known(Pair):
    """A pair of which one upper bound is known; it remembers at which losses it was asked."""

    dot: float
    leak: Fraction = Fraction(0)
    asked: list[float] = field(default_factory=list, compare=False)

    def profile(self, epsilon: Ball) -> Ball:
        raise NotImplementedError

    def tails(self, losses: FloatArray) -> Tails:
        raise NotImplementedError

    def dots(self, losses: FloatArray) -> FloatArray:
        self.asked.extend(losses.tolist())
        return np.full(len(losses), self.dot)

    def swapped(self) -> Pair:
        return self

    @property
    def infinity(self) -> Fraction:
        return self.leak

    @property
    def is_exact(self) -> bool:
        return False

    @property
    def is_symmetric(self) -> bool:
        return True


def test_dots_of_what_wraps_a_bound_are_rounded_up() -> None:
    """Against exact sums and products of the very bound that is wrapped."""
    for points in stream("wrapped bounds", 60):
        rate, leak = points.probability(-2), points.size(-4, -1)
        base = Known(float(points.size(-4, -1)), leak)
        dot = Fraction(base.dot)
        assert Fraction(float(PoissonRemovePair(Known(base.dot), rate).dots(np.array([0.1]))[0])) >= rate * dot
        far = Fraction(float(PoissonAddPair(base, rate).dots(np.array([-40.0]))[0]))
        assert far >= (1 - Fraction(1, 10**17)) * (dot + leak)
        mixed = MixturePair((rate, 1 - rate), (base, Known(base.dot / 3)))
        wanted = rate * dot + (1 - rate) * Fraction(base.dot / 3)
        assert Fraction(float(mixed.dots(np.array([0.1]))[0])) >= wanted
        for worst in (WorstPair(base, Known(1.0)), WorstPair(Known(1.0), base)):
            assert Fraction(float(worst.dots(np.array([0.1]))[0])) >= 1 - leak


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 10**150), 1 - Fraction(1, 10**9)], ids=str)
def test_bounds_are_asked_a_little_to_the_left(rate: Fraction) -> None:
    """δ falls, so at a loss that is not too large it is not too small."""
    for wrap, sign in ((PoissonRemovePair, 1), (PoissonAddPair, -1)):
        losses = np.sort(sign * np.geomspace(1e-3, 300.0, 60))
        base = Known(0.5)
        wrap(base, rate).dots(losses)
        with precision(BITS):
            for loss, asked in zip(losses[::-1], base.asked[::-1], strict=False):
                odds = 1 + (sign * Ball(float(loss))).expm1() / ball(rate)
                if odds > 0 and abs(asked) < 700:
                    assert Ball(asked) <= sign * odds.log(), loss


def test_an_underflow_of_a_sample_is_not_privacy() -> None:
    exact = PoissonAddPair(GaussianPair(Fraction(1, 100)), Fraction(1, 2))
    near = np.array([math.nextafter(math.log(2), 0)])
    assert exact.dots(near)[0] > 0
    assert PoissonAddPair(Known(0.0), Fraction(1, 2)).dots(near)[0] > 0


def test_mixtures_of_exact_tails_have_errors_of_their_own() -> None:
    exact = Worse(GaussianPair(Fraction(1)), 0.0, 1)
    mixed = MixturePair((Fraction(1, 3), Fraction(2, 3)), (exact, exact))
    beside = WorstPair(exact, approximate(Fraction(1, 100), Fraction(1, 20)))
    for pair in (mixed, beside):
        assert np.all(np.asarray(pair.tails(np.array([0.1])).error) >= 2.0**-50)


def test_supports_of_samples_are_rounded_outwards() -> None:
    for points in stream("supports of samples", 80):
        rate, top = points.probability(-3), points.size(-2, 1)
        remove, add = (wrap(LaplacePair(top), rate).support for wrap in (PoissonRemovePair, PoissonAddPair))
        with precision(300):
            high, low = ((1 + ball(rate) * (sign * ball(top)).expm1()).log() for sign in (1, -1))
            assert Ball(remove[0]) <= low
            assert high <= Ball(remove[1])
            assert Ball(add[0]) <= -high
            assert -low <= Ball(add[1])


@pytest.mark.parametrize("wrap", [PoissonRemovePair, PoissonAddPair, FixedSizePair])
def test_a_profile_of_a_range_holds_all_of_it(wrap: Callable[[Pair, Fraction], Pair]) -> None:
    """Where the range of ε holds a bend: the loss at which a sample has no base left, and 0."""
    pair = wrap(GaussianPair(Fraction(9)), Fraction(1, 3))
    with precision(200):
        for middle in (-ball(Fraction(3, 2)).log(), ball(Fraction(3, 2)).log(), Ball(0)):
            for radius in (1e-2, 1e-6):
                whole = pair.profile(middle + Ball(0, radius))
                for part in np.linspace(-0.99, 0.99, 9):
                    assert whole.overlaps(pair.profile(middle + Ball(float(part) * radius)))


@pytest.mark.parametrize(
    "pair",
    [moment_pairs.ConcentratedPair(Fraction(1, 8)), moment_pairs.RenyiPair(((Fraction(2), Fraction(1, 4)),))],
    ids=str,
)
def test_profiles_of_moments_reach_up_to_their_bound(pair: Pair) -> None:
    """Also over a range that holds 0, where the bound is another on each side."""
    losses = np.array([-0.4, -0.1, 0.1, 0.4])
    with precision(200):
        whole = pair.profile(Ball(0, 0.5))
        for loss, dot in zip(losses, pair.dots(losses), strict=True):
            assert pair.profile(Ball(float(loss))).upper() >= Ball(float(dot) * 0.99)
            assert whole.upper() >= Ball(float(dot) * 0.999)
