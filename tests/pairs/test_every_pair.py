"""Every pair at random points: floats within their stated error of the certified profile, brackets around the truth."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import erfcx

from dither.exact import Ball, ball, precision
from dither.pairs.bounded_range import BoundedRangePair
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.finite import FinitePair
from dither.pairs.gaussian import ERFCX_ERROR, GaussianPair
from dither.pairs.gaussian_mixture import GaussianMixturePair
from dither.pairs.groups import GroupPair
from dither.pairs.heavy_tailed import PowerLawPair, StudentTPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.moments import ConcentratedPair, RenyiPair
from dither.pairs.one_sided import GumbelPair
from dither.pairs.pair import Pair
from dither.pairs.poisson_replaced import ReplacedGaussianPair, poisson_replaced
from dither.pairs.selected import selected
from dither.pairs.shuffled import ShuffledPair
from dither.pairs.staircase import StaircasePair
from dither.pairs.subsampled import FixedSizePair, MixturePair, PoissonAddPair, PoissonRemovePair, WorstPair
from dither.pairs.truncated import truncated
from dither.pairs.two_point import TwoPointPair, approximate, pure
from dither.pairs.with_replacement import with_replacement
from tests.oracle import compositions as oracle
from tests.oracle.points import Points, stream

pytestmark = pytest.mark.property

Maker = Callable[[Points], Pair]


WRAPPERS: dict[str, Callable[[Pair, Fraction], Pair]] = {
    "removed": PoissonRemovePair,
    "added": PoissonAddPair,
    "fixed size": FixedSizePair,
    "mixed": lambda base, rate: MixturePair((rate, 1 - rate), (base, LaplacePair(Fraction(1)))),
    "worst": lambda base, rate: WorstPair(base, approximate(Fraction(1, 2), rate / 4)),
}


def _mixture(points: Points) -> Pair:
    share = points.probability(-3)
    return MixturePair((share, 1 - share), (LaplacePair(points.size(-2, 1)), GaussianPair(points.size(-3, 1))))


def _worst(points: Points) -> Pair:
    base = PoissonRemovePair(LaplacePair(points.size(-2, 1)), points.probability(-3))
    return WorstPair(base, base.swapped())


def _uneven_worst(points: Points) -> Pair:
    """The probability of an infinite loss differs."""
    pair = FinitePair(tuple(points.masses(4)), tuple(points.masses(4)))
    return WorstPair(pair, approximate(points.size(-2, 0.5), points.size(-6, -1)))


def _moments(base: str, points: Points) -> Pair:
    """A base of which only bounds are known: the tails are those of an example, the dots lie above all."""
    if base == "zCDP":
        return ConcentratedPair(points.size(-4, 1))
    return RenyiPair(tuple((order, points.size(-3, 1)) for order in (1 + points.size(-2, 1), 1 + points.size(0, 2))))


def _wrapped(base: str, wrapper: str) -> Maker:
    def make(points: Points) -> Pair:
        inside, rate = _moments(base, points), points.probability(-3)
        if wrapper == "mixed":
            return MixturePair((rate, 1 - rate), (inside, LaplacePair(points.size(-2, 1))))
        if wrapper == "worst":
            return WorstPair(inside, approximate(points.size(-2, 0.5), points.size(-6, -1)))
        return WRAPPERS[wrapper](inside, rate)

    return make


def _gaussian_mixture(points: Points, is_swapped: bool = False) -> Pair:
    """Three amounts, of which one may be none."""
    means = (points.size(-3, 1), points.size(-4, 0) if points.probability(-2) < Fraction(1, 2) else Fraction(0))
    third = points.size(-2, 1.5)
    share, rest = points.probability(-3), points.probability(-3)
    weights = (share / 2, (1 - share) * rest / 2, 1 - share / 2 - (1 - share) * rest / 2)
    return GaussianMixturePair((*means, third), weights, is_swapped)


MAKERS: dict[str, Maker] = {
    "mixture of Gaussians": _gaussian_mixture,
    "mixture of Gaussians, swapped": lambda points: _gaussian_mixture(points, is_swapped=True),
    "replaced Gaussian": lambda points: ReplacedGaussianPair(points.size(-3, 1.5), points.probability(-5)),
    "replaced Laplace": lambda points: poisson_replaced(LaplacePair(points.size(-3, 1)), points.probability(-5)),
    "shuffled": lambda points: ShuffledPair(points.size(-1, 0.7), int(points.size(0, 3))),
    "shuffled, with an example": lambda points: ShuffledPair(
        Fraction(2), int(points.size(0, 3)), test=(Fraction(3, 4), Fraction(1, 4) + points.probability(-2) / 4)
    ),
    "group": lambda points: GroupPair(StaircasePair(points.size(-3, 0.5), 2 * points.probability(-6)), 3),
    "selected": lambda points: selected(
        LaplacePair(points.size(-2, 0.5)), points.size(-1, 0.5), points.probability(-2), None
    ),
    "selected by Poisson": lambda points: selected(GaussianPair(points.size(-2, 0.5)), None, None, points.size(-1, 2)),
    "truncated": lambda points: truncated(
        points.size(-3, 0.5), points.probability(-2), int(points.size(0, 2)), int(points.size(1, 2.5))
    ),
    "with replacement": lambda points: with_replacement(GaussianPair(points.size(-3, 0.5)), int(points.size(0, 2)), 50),
    "zCDP with xi": lambda points: ConcentratedPair(points.size(-4, 1), points.size(-3, 0)),
    "Gaussian": lambda points: GaussianPair(points.size(-6, 2.5)),
    "Laplace": lambda points: LaplacePair(points.size(-5, 1.5)),
    "pure": lambda points: pure(points.size(-5, 1.5)),
    "response": lambda points: TwoPointPair(odds=1 + points.size(-6, 3)),
    "approximate": lambda points: approximate(points.size(-3, 1), points.size(-12, -0.1)),
    "bounded range": lambda points: BoundedRangePair(points.size(-4, 1.5)),
    "discrete Laplace": lambda points: DiscreteLaplacePair(points.size(-1, 3), int(points.size(0, 1.5))),
    "discrete Gaussian": lambda points: DiscreteGaussianPair(points.size(-1, 4), int(points.size(0, 1))),
    "wide discrete Gaussian": lambda points: DiscreteGaussianPair(points.size(8, 12), int(points.size(0, 3))),
    "staircase": lambda points: StaircasePair(points.size(-3, 1.3), 2 * points.probability(-6)),
    "power law": lambda points: PowerLawPair(points.size(-1, 2), 1 + points.size(-1, 1), int(points.size(0, 1.5))),
    "Student t": lambda points: StudentTPair(points.size(-1, 2), points.size(-1, 1), int(points.size(0, 1.5))),
    "wide Student t": lambda points: StudentTPair(points.size(6, 15), points.size(-1, 1), int(points.size(4, 15))),
    # (Below scale 1 a move of 30 costs more than e^30, where the bound may be the trivial one.)
    "Gumbel": lambda points: GumbelPair(points.size(0, 4), int(points.size(0, 1.5))),
    "Gumbel, swapped": lambda points: GumbelPair(points.size(-1, 12), int(points.size(0, 1.5)), is_swapped=True),
    "finite": lambda points: FinitePair(tuple(points.masses(4)), tuple(points.masses(4))),
    "sampled Gaussian": lambda points: PoissonRemovePair(GaussianPair(points.size(-3, 1.5)), points.probability(-5)),
    "sampled Gaussian, added": lambda points: PoissonAddPair(
        GaussianPair(points.size(-3, 1.5)), points.probability(-5)
    ),
    "sampled Laplace": lambda points: PoissonRemovePair(LaplacePair(points.size(-3, 1)), points.probability(-5)),
    "sampled Laplace, added": lambda points: PoissonAddPair(LaplacePair(points.size(-3, 1)), points.probability(-5)),
    "sampled leak": lambda points: PoissonAddPair(
        approximate(points.size(-2, 1), points.size(-6, -1)), points.probability(-3)
    ),
    "fixed size": lambda points: FixedSizePair(GaussianPair(points.size(-3, 1.5)), points.probability(-5)),
    "fixed size Laplace": lambda points: FixedSizePair(LaplacePair(points.size(-3, 1)), points.probability(-5)),
    "fixed size leak": lambda points: FixedSizePair(
        approximate(points.size(-2, 1), 1 - points.size(-14, -1)), 1 - points.size(-14, -1)
    ),
    "mixture": _mixture,
    "worst": _worst,
    "uneven worst": _uneven_worst,
    **{
        f"{wrapper}, {base}": _wrapped(base, wrapper)
        for base in ("zCDP", "Rényi")
        for wrapper in ("removed", "added", "fixed size", "mixed", "worst")
    },
}
FEW, MANY = 12, 5_500  # over all makers: about 10^3 losses here, and 10^5 points at night
SLOW = (
    "power law",
    "Student t",
    "wide Student t",
    "with replacement",
)  # sums over the integers in 400 bits: fewer points
LOSSES = 5


def losses_of(pair: Pair, points: Points) -> np.ndarray:
    """Losses where something happens: inside the support or a few deviations out, also at its ends."""
    low, high = (end if abs(end) < 1e300 else sign * 40.0 for end, sign in zip(pair.support, (-1, 1), strict=True))
    places = [float(points.probability(-6)) for _ in range(LOSSES - 1)]
    return np.sort([*(low + place * (high - low) for place in places), high])


def check_tails(pair: Pair, points: Points) -> None:
    """|p − e^ℓ q + P[L = ∞] − δ(ℓ)| ≤ error·(p + e^ℓ q), and the dots lie above.

    Where only bounds are known, the profile is a ball around all that is possible, and says less.
    """
    check_tails_at(pair, losses_of(pair, points))


def check_tails_at(pair: Pair, losses: np.ndarray) -> None:
    """At losses that increase."""
    p, q, error = pair.tails(losses)
    dots = pair.dots(losses)
    errors = np.broadcast_to(np.asarray(error), losses.shape)
    with precision(400):
        for loss, a, b, slack, dot in zip(losses, p, q, errors, dots, strict=True):
            truth = pair.profile(Ball(float(loss))) - ball(pair.infinity)
            gap = abs(Ball(float(a)) - Ball(float(b)) - truth)
            allowed = Ball(float(slack)) * (Ball(float(a)) + Ball(float(b))) + Ball(2) ** -900
            assert not gap > allowed, (pair, loss, float(gap), float(allowed))
            assert not Ball(float(dot)) + Ball(2) ** -900 < truth, (pair, loss)


def check_lines(pair: Pair, points: Points) -> None:
    """A test at one loss bounds δ at every other from below: P(A) − e^ε Q(A) ≤ δ(ε)."""
    losses = losses_of(pair, points)
    p, q, error = pair.tails(losses)
    errors = np.broadcast_to(np.asarray(error), losses.shape)
    with precision(400):
        for loss, a, b, slack in zip(losses, p, q, errors, strict=True):
            for other in losses:
                ratio = (Ball(float(other)) - Ball(float(loss))).exp()
                line = Ball(float(a)) * (1 - Ball(float(slack))) - ratio * Ball(float(b)) * (1 + Ball(float(slack)))
                truth = pair.profile(Ball(float(other))) - ball(pair.infinity)
                assert not line > truth + Ball(2) ** -900, (pair, loss, other)


def check_bracket(pair: Pair, points: Points) -> None:
    """δ at both ends of a bracket on ε, in more digits; and ends that nearly meet."""
    delta = points.size(-15, -0.2)
    low, high = pair.bracket(delta)
    if high == np.inf:
        assert pair.infinity > delta
        return
    with precision(400):
        assert high >= pair.support[1] or not pair.profile(Ball(high)) > ball(delta)
        assert low == 0 or not pair.profile(Ball(low)) < ball(delta)
    assert not pair.is_exact or high - low <= 1e-9 * high


@pytest.mark.parametrize("name", MAKERS)
def test_pairs_at_random_points(name: str) -> None:
    for points in stream(f"pair {name}", FEW // 3 if name in SLOW else FEW):
        pair = MAKERS[name](points)
        check_tails(pair, points)
        check_lines(pair, points)
        check_bracket(pair, points)


@pytest.mark.nightly
@pytest.mark.parametrize("name", MAKERS)
def test_pairs_at_many_random_points(name: str) -> None:
    for points in stream(f"nightly pair {name}", MANY // 20 if name in SLOW else MANY):
        pair = MAKERS[name](points)
        check_tails(pair, points)
        check_bracket(pair, points)


@pytest.mark.parametrize("add", [False, True])
def test_a_sampled_gaussian_is_what_its_threshold_says(add: bool) -> None:
    for points in stream(f"sampled {add}", 30):
        mu, rate, epsilon = points.size(-1, 0.5), points.probability(-3), points.size(-3, 0.5)
        pair = PoissonAddPair(GaussianPair(mu**2), rate) if add else PoissonRemovePair(GaussianPair(mu**2), rate)
        with ctx.workprec(300):
            truth = oracle.sampled_gaussian(mu, rate, add=add)(oracle.real(epsilon))
        low, high = pair.delta_bracket(epsilon)
        assert not truth < arb(low)
        assert not truth > arb(high)


@pytest.mark.parametrize("name", ["Laplace", "pure", "response", "discrete Laplace", "staircase"])
def test_a_shrunk_pair_is_dominated(name: str) -> None:
    for points in stream(f"shrunk {name}", 30):
        pair = MAKERS[name](points)
        smaller = pair.shrunk(float(points.size(-3, -1)) * pair.support[1])
        with precision(200):
            for loss in losses_of(pair, points):
                assert not smaller.profile(Ball(float(loss))) > pair.profile(Ball(float(loss))), (pair, smaller, loss)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("base", ["zCDP", "Rényi"])
def test_moments_bound_every_mechanism_that_keeps_them(base: str, wrapper: str) -> None:
    """ε-DP and Gaussian noise of μ = ε both have D_α ≤ αε²/2: the dots of what wraps the moments lie above both."""
    wrap = WRAPPERS[wrapper]
    for points in stream(f"kept moments {base} {wrapper}", 12):
        size, rate = points.size(-1.5, 0.7), points.probability(-3)
        orders = [1 + points.size(-1, 2) for _ in range(3)]
        rho = size**2 / 2
        moments = (
            ConcentratedPair(rho) if base == "zCDP" else RenyiPair(tuple((order, order * rho) for order in orders))
        )
        bound = wrap(moments, rate)
        assert not bound.is_exact
        for kept in (pure(size), GaussianPair(size**2)):
            truth = wrap(kept, rate)
            assert truth.is_exact
            losses = np.unique([*losses_of(truth, points), 0.0, 0.9 * min(truth.support[1], float(size))])
            with precision(300):
                for loss, dot in zip(losses, bound.dots(losses), strict=True):
                    least = truth.profile(Ball(float(loss))) - ball(bound.infinity)
                    assert not Ball(float(dot)) + Ball(2) ** -280 < least, (bound, kept, loss)
            epsilon = Fraction(float(losses[-2])) if losses[-2] > 0 else Fraction(1, 100)
            assert bound.delta_bracket(epsilon)[1] >= truth.delta_bracket(epsilon)[0]
            assert bound.epsilon(Fraction(1, 10**5)) >= truth.bracket(Fraction(1, 10**5))[0]


def test_swapping_mirrors_the_profile() -> None:
    """H_u(P‖Q) = 1 − u + u·H_{1/u}(Q‖P)."""
    for name, make in MAKERS.items():
        if (
            name in ("approximate", "sampled leak", "finite", "fixed size leak", "uneven worst")
            or not make(Points(name)).is_exact
        ):
            continue  # infinite losses break the mirror by their own mass
        for points in stream(f"swap {name}", 3):
            pair = make(points)
            epsilon = Ball(float(points.size(-2, 0.5)))
            with precision(300):
                here = pair.profile(epsilon)
                there = 1 - epsilon.exp() + epsilon.exp() * pair.swapped().profile(-epsilon)
                assert abs(here - there) < Ball(10) ** -20, (name, pair)


def test_the_zcdp_bound_contains_its_gaussian() -> None:
    for points in stream("zcdp", 20):
        pair = ConcentratedPair(points.size(-4, 1))
        losses = np.linspace(-5, 20, 40)
        assert np.all(
            pair.dots(losses)
            >= GaussianPair(2 * pair.rho).tails(losses).p - GaussianPair(2 * pair.rho).tails(losses).scaled_q
        )
        low, high = pair.bracket(points.size(-12, -1))
        assert low <= high


def test_erfcx_is_as_good_as_assumed() -> None:
    generator = np.random.default_rng(7)
    for z in [0.0, 40.0, *generator.uniform(0, 2, 1500), *generator.uniform(0, 40, 1500)]:
        with ctx.workprec(200):
            truth = (arb(float(z)) ** 2).exp() * arb(float(z)).erfc()
            assert abs(arb(float(erfcx(z))) / truth - 1) < ERFCX_ERROR / 4, z


def test_no_tail_is_zero_by_accident() -> None:
    """Underflow is not privacy: far out, the certified δ stays positive."""
    assert 0 < GaussianPair(Fraction(1)).delta(30.0) < 1e-150
    assert 0 < GaussianPair(Fraction(1, 10**6)).delta(10.0) <= 5e-324
