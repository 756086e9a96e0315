"""Pairs of the laws of `dither.noise` against sums over the integers: never below, and within 1e−9 of the truth."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dither import noise
from dither.accounting import compose
from dither.errors import ParameterError
from dither.events import Repeated, StaircaseNoise
from dither.exact import Ball, ball, precision
from dither.exact.sums import tail_sum
from dither.guarantees import PureDP
from dither.mechanisms import Staircase
from dither.pairs import ProfileOf
from dither.pairs.heavy_tailed import BETAINC_ERROR, HeavyTailedPair, PowerLawPair, StudentTPair, _peak
from dither.pairs.one_sided import GeometricPair, GumbelPair
from dither.pairs.pair import Pair
from dither.pairs.staircase import StaircasePair
from dither.pairs.two_point import pure
from tests.oracle import laws as oracle
from tests.oracle import shifted
from tests.oracle.points import stream

pytestmark = pytest.mark.property

CLOSE = 1e-9
POINTS = settings(max_examples=20, deadline=None, derandomize=True)


def decimals(low: str, high: str) -> st.SearchStrategy[Fraction]:
    return st.fractions(Fraction(low), Fraction(high), max_denominator=1000)


def check(pair: Pair, law: noise.Law, shift: int, epsilon: Fraction) -> None:
    """The profile in both directions, the guarantee, and the way back to ε."""
    truths = [shifted.profile(law, shift, epsilon, is_swapped=swapped) for swapped in (False, True)]
    for each, truth in zip((pair, pair.swapped()), truths, strict=True):
        low, high = each.delta_bracket(epsilon)
        with ctx.workprec(256):
            assert not truth < arb(low), (each, epsilon)
            assert not truth > arb(high), (each, epsilon)
            assert high <= float(truth.mid()) * (1 + CLOSE) + 1e-40, (each, epsilon)
    answer = ProfileOf(pair).delta(epsilon)
    assert not max(float(truth.mid()) for truth in truths) > answer * (1 + CLOSE)
    if 1e-30 < answer < 1:
        found = ProfileOf(pair).epsilon(answer)
        assert found <= epsilon * (1 + Fraction(1, 10**9)) or pair.infinity


@POINTS
@given(st.integers(1, 6), st.data())
def test_staircase(width: int, data: st.DataObject) -> None:
    step, epsilon = data.draw(st.integers(1, width)), data.draw(decimals("0.4", "8"))
    pair = StaircasePair(epsilon, Fraction(2 * step - 1, width))
    check(pair, noise.DiscreteStaircase(width, epsilon, step), width, epsilon * data.draw(decimals("0.01", "1.1")))


@POINTS
@given(st.integers(2, 6), st.data())
def test_a_smaller_change_costs_less(width: int, data: st.DataObject) -> None:
    """Of all changes up to the sensitivity the whole of it is the worst, also for noise that is not log-concave."""
    step, shift = data.draw(st.integers(1, width)), data.draw(st.integers(1, width))
    largest = data.draw(decimals("0.4", "4"))
    epsilon = largest * data.draw(decimals("0.01", "0.99"))
    less = shifted.profile(noise.DiscreteStaircase(width, largest, step), shift, epsilon)
    assert not less > arb(StaircasePair(largest, Fraction(2 * step - 1, width)).delta(epsilon))


@POINTS
@given(decimals("0.1", "30"), decimals("1.1", "9"), st.integers(1, 9), decimals("0.01", "1.05"))
def test_power_law(scale: Fraction, gamma: Fraction, shift: int, share: Fraction) -> None:
    pair = PowerLawPair(scale, gamma, shift)
    check(pair, noise.PowerLaw(scale, gamma), shift, share * Fraction(pair.support[1]).limit_denominator(10**6))


@POINTS
@given(decimals("0.1", "30"), decimals("0.1", "9"), st.integers(1, 9), decimals("0.01", "1.05"))
def test_student_t(scale: Fraction, degrees: Fraction, shift: int, share: Fraction) -> None:
    pair = StudentTPair(scale, degrees, shift)
    check(pair, noise.StudentT(scale, degrees), shift, share * Fraction(pair.support[1]).limit_denominator(10**6))


@POINTS
@given(decimals("0.2", "4"), st.integers(1, 4), decimals("0.001", "5"))
def test_gumbel(scale: Fraction, shift: int, epsilon: Fraction) -> None:
    check(GumbelPair(scale, shift), noise.Gumbel(scale), shift, epsilon)


@POINTS
@given(decimals("0.2", "8"), st.integers(1, 4), decimals("0.001", "5"))
def test_geometric(scale: Fraction, shift: int, epsilon: Fraction) -> None:
    check(GeometricPair(shift / scale), noise.Geometric(scale), shift, epsilon)


def test_geometric_noise_gives_something_away() -> None:
    pair = GeometricPair(Fraction(1, 2))
    leak = -math.expm1(-0.5)
    assert float(pair.infinity) == pytest.approx(leak, rel=1e-15)
    assert Fraction(leak) * (1 + Fraction(1, 2**50)) > pair.infinity
    with precision(300):
        assert Ball(1) - Ball(-0.5).exp() <= Ball(pair.infinity.numerator) / pair.infinity.denominator
    assert pair.bracket(0.39) == (math.inf, math.inf)
    assert pair.bracket(0.4) == (0.0, 0.0)
    assert pair.swapped().bracket(0) == pytest.approx((0.5, 0.5), rel=1e-15)
    assert ProfileOf(pair).epsilon(0.39) == math.inf
    losses = np.array([-0.6, -0.5, 0.0, 0.4, 0.6])
    assert pair.tails(losses).p == pytest.approx([math.exp(-0.5), 0, 0, 0, 0])
    assert pair.swapped().tails(losses).p == pytest.approx([1, 1, 1, 1, 0])


def test_geometric_losses_add_up() -> None:
    """Two releases leak 1 − b², whatever else is released; and in the other direction their losses are added."""
    half, third = GeometricPair(Fraction(1, 2)), GeometricPair(Fraction(1, 3))
    both = compose([half, third, half])
    assert both.delta(0) == pytest.approx(-math.expm1(-4 / 3), rel=1e-15)
    assert both.groups[0].pair == GeometricPair(Fraction(4, 3))
    response = pure(Fraction(1, 10))
    low, high = compose([half, half, response], relative_width=1e-2).delta_bracket(1)
    assert low <= -math.expm1(-1) <= high <= low * 1.1


HEAVY: list[tuple[HeavyTailedPair, noise.Law]] = [
    (PowerLawPair(Fraction(10), Fraction(4), 3), noise.PowerLaw(10, 4)),
    (PowerLawPair(Fraction(1, 8), Fraction(7, 5)), noise.PowerLaw("0.125", "1.4")),
    (StudentTPair(Fraction(50), Fraction(5, 2), 7), noise.StudentT(50, "2.5")),
    (StudentTPair(Fraction(100), Fraction(60)), noise.StudentT(100, 60)),
    (StudentTPair(Fraction(10**7), Fraction(3), 10**6), noise.StudentT(10**7, 3)),
    (PowerLawPair(Fraction(10**8), Fraction(9, 4), 10**8), noise.PowerLaw(10**8, "2.25")),
]
NARROW = (
    PowerLawPair(Fraction(1, 10), Fraction(9), 30),
    noise.PowerLaw("0.1", 9),
)  # 10^-19 of it is beyond half the shift


@pytest.mark.parametrize(("pair", "law"), HEAVY, ids=str)
def test_total_variation_is_the_middle_of_the_law(pair: HeavyTailedPair, law: noise.Law) -> None:
    half = pair.sensitivity // 2
    with precision(128):
        truth = law.tail(-half - 1) - law.tail(pair.sensitivity - half - 1)
    assert pair.delta(0) == pytest.approx(float(truth), rel=1e-14)
    assert not truth > arb(ProfileOf(pair).tv())


@pytest.mark.parametrize("pair", [pair for pair, _ in HEAVY], ids=str)
def test_float_sums_are_as_good_as_assumed(pair: HeavyTailedPair) -> None:
    """From 1 to 10^15 times the scale, against Euler and Maclaurin in balls; the midpoint rule adds next to nothing."""
    table, stated = pair._table
    assert stated < 1.5 * BETAINC_ERROR * float(1 + pair._alpha * pair._beta)
    scale = pair._shape[2]
    places = np.unique(np.maximum(1.0, np.rint(scale * np.geomspace(1e-2, 1e15, 50))))
    for n in [1.0, 2.0, 3.0, len(table) - 1.0, float(len(table)), len(table) + 1.0, *places]:
        found = float(pair._sums(np.array([n]))[0])
        with precision(128):
            truth = tail_sum(pair, int(n))
            assert truth < 1e-290 or abs(Ball(found) / truth - 1) < stated / 2, (n, found)


@pytest.mark.parametrize(("pair", "law"), [*HEAVY[:3], NARROW], ids=str)
def test_tails_are_two_masses_of_one_test(pair: HeavyTailedPair, law: noise.Law) -> None:
    """P and Q of {L > ℓ}, each within the stated error of its sum over the integers; if ℓ < 0 both tails are inside."""
    top, shift = pair.support[1], pair.sensitivity
    losses = top * np.array([-0.9, -0.5, -0.11, 0.11, 0.4, 0.7, 0.97])
    p, scaled_q, error = pair.tails(losses)
    reach = int(float(pair._alpha * pair._beta) * shift / (0.1 * top)) + 2 * shift
    with ctx.workprec(256):
        weights = {x: oracle.weight(law, x) for x in range(-reach - shift, reach + 1)}
        beyond = (oracle.tail(law, reach + 1), oracle.tail(law, reach - shift + 1), oracle.tail(law, reach + shift + 1))
        whole = oracle.weight(law, 0) + 2 * oracle.tail(law, 1)
        for loss, a, b, slack in zip(losses, p, scaled_q, np.broadcast_to(error, losses.shape), strict=True):
            inside = [x for x in range(-reach, reach + 1) if weights[x] > arb(loss).exp() * weights[x - shift]]
            p_mass, q_mass = (
                sum((weights[x] for x in inside), arb(0)),
                sum((weights[x - shift] for x in inside), arb(0)),
            )
            if loss < 0:
                p_mass, q_mass = p_mass + 2 * beyond[0], q_mass + beyond[1] + beyond[2]
            assert abs(arb(a) - p_mass / whole) <= arb(slack) * arb(a), (loss, a)
            assert abs(arb(b) - arb(loss).exp() * q_mass / whole) <= arb(slack) * arb(b), (loss, b)
            assert slack < 1e-10 or a < 1e-3 or b < 1e-3


def test_the_largest_loss_is_never_lost() -> None:
    """Just below the largest loss there is an atom left, however the floats round."""
    for points in stream("largest loss", 12):
        pair = PowerLawPair(points.size(-1, 6), 1 + points.size(-1, 1), int(points.size(0, 3)))
        top = pair.support[1]
        losses = top * (1 - 2.0 ** -np.arange(49.0, 53.0))
        with precision(300):
            for loss, dot in zip(losses, pair.dots(losses), strict=True):
                assert Ball(dot) >= pair.profile(Ball(loss)), (pair, loss)
        assert np.all(pair.tails(losses).p > 0)
        assert pair.tails(np.array([top])).p[0] == 0


def test_profiles_around_zero_and_at_undecidable_points() -> None:
    pair = PowerLawPair(Fraction(10), Fraction(4), 4)
    with precision(200):
        blurred = pair.profile(Ball(0, 1e-20))
        assert blurred.rad() < 1e-19
        for near in (Ball(-1e-20), Ball(0), Ball(1e-20)):
            assert blurred.contains(pair.profile(near))
        edge = Ball(999_999) / 10**18  # so near to the end of the ball that nothing else makes up for a lost atom
        for y in (-1, 0, 3, 8, 40):  # an atom: which side it falls on cannot be told
            at = pair.loss(y)
            here, wide = pair.profile(at), pair.profile(at + Ball(0, 1e-12))
            assert here.rad() < 1e-50
            assert wide.rad() < 1e-11
            for other in (at - edge, at, at + edge):
                assert wide.contains(pair.profile(other))
        before = pair.profile(pair.loss(3) + Ball(10) ** -30)
        assert abs(before - pair.profile(pair.loss(3))) < 1e-29


def top_of(pair: HeavyTailedPair) -> Fraction:
    """The largest loss, to 60 digits, rounded down."""
    with precision(400):
        before, after = _peak(pair, 400)
        largest = pair.loss(before).max(pair.loss(after))
        return Fraction(int((largest * Ball(10) ** 60).floor().unique_fmpz() or 0), 10**60)


def test_a_flat_top_is_still_bracketed() -> None:
    """y(y + 1) = c² has the whole solution 1 for c² = 2: no ball can say on which side of it the peak lies."""
    pair = StudentTPair(Fraction(1), Fraction(2))
    law = noise.StudentT(1, 2)
    top = Fraction(pair.support[1])
    for share in (Fraction(1, 2), Fraction(99, 100), 1 - Fraction(1, 10**9)):
        check(pair, law, 1, top * share)
    assert pair.delta(top) == 0.0
    wide = StudentTPair(Fraction(2) ** 70, Fraction(3), 2**69)
    for share in (Fraction(k, 10**24) for k in (1, 3, 10, 10**3, 10**5, 10**7)):
        with precision(400):
            truth = wide.profile(ball(top_of(wide) * (1 - share)))
        with precision(64):
            assert wide.profile(ball(top_of(wide) * (1 - share))).contains(truth)
    wide = StudentTPair(Fraction(2) ** 150, Fraction(3), 2**149)
    narrow = StudentTPair(Fraction(2) ** 30, Fraction(3), 2**29)
    for share in (Fraction(0), Fraction(1, 2), Fraction(99, 100)):
        epsilon = share * Fraction(narrow.support[1])
        low, high = wide.delta_bracket(epsilon)
        assert low <= high <= low * (1 + 1e-12)
        assert high == pytest.approx(narrow.delta(epsilon), rel=1e-7)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PowerLawPair(Fraction(1), Fraction(1)), "gamma must be greater than 1"),
        (lambda: PowerLawPair(Fraction(1), Fraction(1001, 1000)), "gamma must be greater than 1 by"),
        (lambda: PowerLawPair(Fraction(0), Fraction(2)), "scale must be greater than 0"),
        (lambda: PowerLawPair(Fraction(2) ** 201, Fraction(2)), "scale must lie between"),
        (lambda: StudentTPair(Fraction(1), Fraction(0)), "degrees must be greater than 0"),
        (lambda: StudentTPair(Fraction(1), Fraction(1), 0), "sensitivity must be at least 1"),
        (lambda: GumbelPair(Fraction(1, 501)), "sensitivity/scale must be at most 500"),
        (lambda: GeometricPair(Fraction(-1)), "largest must be greater than 0"),
        (lambda: StaircasePair(Fraction(1), Fraction(3)), "top must be at most 2"),
        (lambda: StaircasePair(Fraction(0), Fraction(1)), "largest must be greater than 0"),
    ],
    ids=[
        "no sum",
        "hardly a sum",
        "no scale",
        "too wide",
        "no tail",
        "no change",
        "huge",
        "negative",
        "top",
        "no loss",
    ],
)
def test_what_has_no_pair_is_refused(build: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build()  # type: ignore[operator]


# ------------------------------------------------------------------ staircase noise in accounting


def test_a_staircase_costs_less_than_its_epsilon_says() -> None:
    event = StaircaseNoise(Fraction(1), Fraction(1, 4))
    one, worst = compose([event]), PureDP(1)
    assert one.epsilon(0) == 1.0
    assert one.delta("0.5") < 0.9 * worst.delta("0.5")
    many = compose([Repeated(event, 50)])
    low, high = many.bracket("1e-6")
    assert high <= low * (1 + 1e-4)
    assert high < 0.97 * compose([Repeated(StaircaseNoise(Fraction(1), Fraction(1, 2)), 50)]).epsilon("1e-6")
    assert compose([Repeated(StaircaseNoise(Fraction(1), Fraction(1, 2)), 50)]).epsilon("1e-6") == pytest.approx(
        compose([PureDP(1)] * 50).epsilon("1e-6"), rel=1e-4
    )


def test_composed_staircases_are_sums_of_three_losses() -> None:
    """Multinomial sums in 200 bits: k = 6 releases, losses −ε, 0, ε with the masses of the definition."""
    for points in stream("composed staircases", 12):
        epsilon, top = points.size(-1, 0.5), 2 * points.probability(-2)
        target = epsilon * 6 * points.probability(-1)
        with ctx.workprec(200):
            b = (-arb(epsilon.numerator) / epsilon.denominator).exp()
            t, n = (arb(x.numerator) / x.denominator for x in (top, min(top, Fraction(1))))
            up = (n + b * (1 - n)) / (t + b * (2 - t))
            truth = arb(0)
            for ups in range(7):
                for downs in range(7 - ups):
                    ways = math.comb(6, ups) * math.comb(6 - ups, downs)
                    mass = ways * up**ups * (b * up) ** downs * (1 - up - b * up) ** (6 - ups - downs)
                    gap = (
                        arb(target.numerator) / target.denominator
                        - (ups - downs) * arb(epsilon.numerator) / epsilon.denominator
                    )
                    if gap < 0:
                        truth += mass * -gap.expm1()
        low, high = compose([(StaircasePair(epsilon, top))] * 6).delta_bracket(target)
        assert low <= float(truth) * (1 + 1e-12) + 1e-300
        assert float(truth) <= high * (1 + 1e-12)
        assert high - low <= 2e-3 * high


@pytest.mark.parametrize(
    ("sensitivity", "epsilon"), [(1, 1), (3, "0.2"), (10, 3), ("5/2", 6), ("1/3", "0.7"), (200, 1)]
)
def test_the_event_of_a_mechanism_covers_all_its_releases(sensitivity: object, epsilon: object) -> None:
    """At every ε: the pair of the law that is drawn, from its own probabilities, is below what the event says."""
    mechanism = Staircase(sensitivity=sensitivity, epsilon=epsilon)  # type: ignore[arg-type]
    whole = compose([mechanism.event])
    for noising in mechanism._noisings:
        law = noising.law
        assert isinstance(law, noise.DiscreteStaircase)
        half = law.sensitivity // 2
        with precision(200):
            distance = law.tail(-half - 1) - law.tail(law.sensitivity - half - 1)
            likely = distance / (1 - (-Ball(law.epsilon.numerator) / law.epsilon.denominator).exp())
        own = compose([noising.event])
        for share in (Fraction(0), Fraction(1, 3), Fraction(9, 10)):
            with precision(200):
                gap = Ball((law.epsilon * (share - 1)).numerator) / (law.epsilon * (share - 1)).denominator
                truth = likely * -gap.expm1()
            low, high = own.delta_bracket(law.epsilon * share)
            assert not truth > Ball(high)
            assert not truth < Ball(low)
            assert whole.delta(law.epsilon * share) >= low


def test_randomized_response_is_the_worst_staircase() -> None:
    for points in stream("worst staircase", 40):
        epsilon, top = points.size(-3, 1), 2 * points.probability(-3)
        at = epsilon * points.probability(-2)
        assert StaircasePair(epsilon, top).delta_bracket(at)[0] <= pure(epsilon).delta_bracket(at)[1]
        nearer = 1 + (top - 1) * points.probability(-2)
        assert StaircasePair(epsilon, top).delta_bracket(at)[0] <= StaircasePair(epsilon, nearer).delta_bracket(at)[1]
    assert StaircasePair(Fraction(2), Fraction(1)).delta_bracket(1) == pure(Fraction(2)).delta_bracket(1)
