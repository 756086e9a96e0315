"""Known answers, bad input, filters, calibration and textbook bounds of the accountant."""

import math
from fractions import Fraction

import pytest

from dither import events
from dither.accounting import Bracket, WideBracket, compose, of_pairs
from dither.accounting.filters import BasicFilter, BasicOdometer, RenyiFilter, ZCDPFilter
from dither.accounting.noise_calibration import (
    epsilon_for_error,
    gaussian_scale,
    laplace_scale,
    most_repetitions,
    smallest_scale,
)
from dither.accounting.textbook import advanced, basic, optimal_homogeneous
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.errors import AdjacencyMismatch, NotANumberError, OverBudget, ParameterError
from dither.exact import Ball, ball, precision, rational
from dither.exact.inverse import root_bracket
from dither.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, TVStable
from dither.pairs.finite import FinitePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.subsampled import poisson
from dither.pairs.two_point import pure, response

GAUSSIAN, LAPLACE = events.GaussianNoise.of(20), events.LaplaceNoise(Fraction(50))
RESPONSE = events.RandomizedAnswer(keep=Fraction(1, 2))
SAMPLED = events.PoissonSampled(events.GaussianNoise.of(1), Fraction(1, 100))
KNOWN = [
    ([events.Repeated(GAUSSIAN, 1000)], "1e-6", 8.306225050, 8.306225050),
    ([events.Repeated(RESPONSE, 100)], "1e-6", 94.289867892, 94.289867894),
    ([events.Repeated(LAPLACE, 1000)], "1e-6", 2.90491, 2.9054),
    (
        [events.Repeated(LAPLACE, 200), events.Repeated(GAUSSIAN, 200), events.Repeated(RESPONSE, 100)],
        "1e-6",
        94.80,
        94.83,
    ),
    ([events.Repeated(SAMPLED, 10_000)], "1e-5", 6.1864, 6.187745),
]


@pytest.mark.parametrize(("done", "delta", "low", "high"), KNOWN)
def test_the_truth_is_inside(done: list[events.Event], delta: str, low: float, high: float) -> None:
    found = compose(done).bracket(delta)
    assert found.lower <= high * (1 + 1e-9)
    assert low * (1 - 1e-9) <= found.upper
    assert found.upper - found.lower <= 1e-3 * found.upper


@pytest.mark.parametrize("exponent", [9, 12, 15])
def test_tiny_deltas_through_the_lattice(exponent: int) -> None:
    """Gaussians split into a mixture with nothing in it, so that they are not added up in closed form."""
    delta = Fraction(1, 10**exponent)
    truth = GaussianPair(Fraction(5, 2)).bracket(delta)
    almost = poisson(GaussianPair(Fraction(1, 400)), 1 - Fraction(1, 10**12))
    found = of_pairs([(almost, 1000)]).bracket(delta)
    assert found.lower <= truth[1] * (1 + 1e-6)
    assert found.upper >= truth[0] * (1 - 1e-6)
    assert found.upper - found.lower <= 1e-4 * found.upper


def test_homogeneous_composition_agrees_with_the_theorem() -> None:
    for epsilon, releases, target in (("0.1", 50, "1e-6"), ("1.5", 7, "1e-3"), ("0.01", 300, "1e-9")):
        truth = optimal_homogeneous(epsilon, releases, target)
        assert compose([PureDP(epsilon)] * releases).bracket(target).upper == pytest.approx(truth, rel=1e-7)
        assert truth <= basic(epsilon, releases)[0]
        assert truth <= advanced(epsilon, releases, target)[0]


def test_a_leak_is_composed() -> None:
    found = compose([ApproxDP("0.1", "1e-9")] * 50).bracket("1e-6")
    assert found.upper == pytest.approx(optimal_homogeneous("0.1", 50, "1e-6", "1e-9"), rel=1e-7)
    assert compose([ApproxDP("0.1", "1e-8")] * 200).bracket("1e-6") == (math.inf, math.inf)


def test_answers_at_the_borders() -> None:
    whole = compose([LAPLACE, LAPLACE])
    assert whole.bracket(1) == (0, 0)
    assert whole.bracket(0).upper == pytest.approx(0.04)
    assert compose([GAUSSIAN]).epsilon(0) == math.inf
    assert compose([PureDP(0)]).bracket("1e-6") == (0, 0)
    assert compose([PureDP(0)]).delta(0) == 0
    assert 0 < compose([GAUSSIAN] * 2).delta(300)
    assert compose([PureDP(1)] * 2).delta(3) == 0
    assert compose([TVStable("0.25"), TVStable("0.25")]).tv() == pytest.approx(7 / 16, rel=1e-9)


def test_what_adds_up_exactly_is_answered_without_dust() -> None:
    """0.1 + 0.1 + 0.1 is 0.3, and a stated δ does not exceed itself; what has no short name is rounded up."""
    for epsilon in (0.1, 0.3, 0.7, 2.3):
        laplace = events.LaplaceNoise(1 / rational(epsilon))
        for thing in (
            PureDP(epsilon),
            laplace,
            events.Selection(2 / rational(epsilon)),
            LaplacePair(rational(epsilon)),
        ):
            low, high = compose([thing]).bracket(0)
            assert low <= high == epsilon
    assert compose([PureDP(0.1)] * 3).bracket(0).upper == compose([PureDP(0.1)] * 3).upper_epsilon(0) == 0.3
    assert Fraction(compose([PureDP("1/7")] * 3).epsilon(0)) > Fraction(3, 7)
    for delta in (1e-5, 1e-6, 1e-7, 0.3):
        one = compose([ApproxDP(0.3, delta)])
        assert (one.delta(0.3), one.epsilon(delta), compose([TVStable(delta)]).tv()) == (delta, 0.3, delta)
        assert one.delta_bracket(0.3).lower <= delta
        assert one.delta(Fraction(3, 10) - Fraction(1, 10**6)) > delta


@pytest.mark.parametrize("step", [None, Fraction(1)], ids=["on the line", "on the integers"])
@pytest.mark.parametrize("times", [1, 2])
def test_without_a_delta_no_epsilon_covers_gaussian_noise(step: Fraction | None, times: int) -> None:
    assert compose([events.GaussianNoise.of(3, step=step)] * times).bracket(0) == (math.inf, math.inf)


def test_every_kind_of_guarantee_is_composed() -> None:
    things = [PureDP("0.1"), ApproxDP("0.1", "1e-9"), ZCDP("0.01"), GaussianDP("0.1"), TVStable("1e-9")]
    with pytest.warns(WideBracket, match="Part of it is known by bounds only"):
        found = compose(things).bracket("1e-6")
    assert 0.5 < found.lower < found.upper < 1.5
    assert compose(things).epsilon("1e-6") == found.upper, "and that end alone is given without a warning"
    assert compose([RenyiDP({2: 1, 8: 2})] * 2).epsilon("1e-6") == RenyiDP({2: 2, 8: 4}).epsilon("1e-6")
    assert compose([ZCDP("0.1")] * 3).epsilon("1e-6") == ZCDP("0.3").epsilon("1e-6")


@pytest.mark.parametrize("bounded", [ZCDP(1), RenyiDP({2: 1})], ids=str)
@pytest.mark.parametrize("others", [[], [PureDP(1)]], ids=len)
def test_a_bracket_of_bounds_says_that_it_is_wide(bounded: Guarantee, others: list[Guarantee]) -> None:
    whole = compose([*others, bounded])
    with pytest.warns(WideBracket, match="epsilon at delta=1e-05 is between .* Part of it is known by bounds only"):
        low, high = whole.bracket(1e-5)
    with pytest.warns(WideBracket, match="delta at epsilon=2.0 is between .* Part of it is known by bounds only"):
        least, most = whole.delta_bracket(2)
    assert low < 0.95 * high
    assert least < 0.95 * most
    assert (whole.epsilon(1e-5), whole.delta(2)) == (high, most)


def test_the_tradeoff_curve_is_that_of_the_gaussian() -> None:
    almost = poisson(GaussianPair(Fraction(1, 100)), 1 - Fraction(1, 10**12))
    for alpha in (0.01, 0.1, 0.5):
        truth = GaussianDP(1).beta(alpha)
        assert truth * (1 - 1e-3) <= of_pairs([(almost, 100)]).beta(alpha) <= truth + 1e-9


@pytest.mark.parametrize("delta", [-1, "1.5", math.nan, math.inf, True, "x"])
def test_a_bad_delta_is_refused(delta: object) -> None:
    with pytest.raises(ParameterError, match="delta"):
        compose([LAPLACE]).bracket(delta)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [-1, math.nan, -math.inf, False])
def test_a_bad_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        compose([LAPLACE]).delta(epsilon)


def test_bad_lists_are_refused() -> None:
    with pytest.raises(ParameterError, match="empty"):
        compose([])
    with pytest.raises(ParameterError, match="empty"):
        of_pairs([])
    with pytest.raises(ParameterError, match="int"):
        compose([3])  # type: ignore[list-item]
    for count in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="count"):
            of_pairs([(pure(Fraction(1)), count)])  # type: ignore[list-item]
    for width in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError, match="relative_width"):
            compose([LAPLACE], relative_width=width)


@pytest.mark.parametrize("rate", [Fraction(-1, 2), Fraction(3, 2)])
def test_bad_sampling_rates_are_refused(rate: Fraction) -> None:
    with pytest.raises(ParameterError, match="rate"):
        poisson(GaussianPair(Fraction(1)), rate)
    with pytest.raises(ParameterError, match="rate"):
        gaussian_scale(epsilon=1, delta="1e-6", sampling_rate=rate)


def test_two_adjacencies_are_refused() -> None:
    with pytest.raises(AdjacencyMismatch):
        compose([PureDP(1, adjacency=ADD_REMOVE), PureDP(1, adjacency=REPLACE_ONE)])
    assert compose([SAMPLED]).adjacency == ADD_REMOVE


def test_a_bracket_that_stays_wide_is_not_silent() -> None:
    odd = FinitePair(
        (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)), (Fraction(3, 10), Fraction(1, 3), Fraction(11, 30))
    )
    with pytest.warns(WideBracket):
        found = of_pairs([(odd, 30)], relative_width=1e-12).bracket("1e-3")
    assert found.lower < found.upper


def test_calibrated_noise_is_just_enough() -> None:
    """The budget is kept at the scale, and certainly not at a scale that is 1e-6 smaller."""
    found = gaussian_scale(epsilon=1, delta="1e-6", releases=1000)
    assert found == pytest.approx(133.59607673, rel=1e-9)
    sampled = gaussian_scale(epsilon=1, delta="1e-5", releases=1000, sampling_rate="0.01")

    def cost(scale: float) -> Bracket:
        event = events.PoissonSampled(events.GaussianNoise.of(Fraction(str(scale))), Fraction(1, 100))
        return compose([events.Repeated(event, 1000)], relative_width=4e-7).bracket("1e-5")

    assert cost(sampled).upper <= 1
    assert cost(sampled * (1 - 1e-6)).lower > 1
    assert laplace_scale(epsilon=1, releases=10) == pytest.approx(10, rel=1e-9)
    assert laplace_scale(epsilon=1, releases=10) >= 10


def test_calibrated_laplace_noise_counts_the_sensitivity_the_sample_and_delta() -> None:
    """On a sample of one half, ε₀ at each round costs ln(1 + (e^{ε₀} − 1)/2); with a δ there is a closed form too."""
    assert laplace_scale(epsilon=1, sensitivity=3) == pytest.approx(3, rel=1e-9)
    on_half = laplace_scale(epsilon=1, sampling_rate="0.5")
    assert on_half == pytest.approx(1 / math.log1p(2 * math.expm1(1)), rel=1e-6)
    with_delta = laplace_scale(epsilon=1, delta="0.1")
    assert with_delta == pytest.approx(1 / (1 - 2 * math.log(1 - 0.1)), rel=1e-6), "1 − e^{(ε−1/b)/2} = δ"


def test_calibration_of_a_mixed_list() -> None:
    def done(scale: Fraction) -> list[events.Event]:
        return [events.LaplaceNoise(scale), events.GaussianNoise.of(2 * scale)]

    found = smallest_scale(done, epsilon=1, delta="1e-6")
    assert compose(done(Fraction(str(found))), relative_width=3e-6).upper_epsilon("1e-6") <= 1
    assert compose(done(Fraction(str(found * 0.999)))).bracket("1e-6").lower > 1


def test_repetitions_fill_the_budget() -> None:
    times = most_repetitions(LAPLACE, epsilon=1, delta="1e-6")
    assert compose([events.Repeated(LAPLACE, times)]).epsilon("1e-6") <= 1
    assert compose([events.Repeated(LAPLACE, times + 1)]).bracket("1e-6").lower > 1
    assert most_repetitions(PureDP(2), epsilon=1) == 0


def test_an_error_says_its_epsilon() -> None:
    scale, epsilon = epsilon_for_error(10, confidence="0.95")
    assert math.exp(-10 / scale) <= 0.05 * (1 + 1e-12)
    assert epsilon == pytest.approx(math.log(20) / 10)
    assert epsilon_for_error(10, delta="1e-6", releases=4).epsilon > epsilon


def test_filters_refuse_and_say_both_figures() -> None:
    used = BasicFilter(1).charge(PureDP("0.7")).charge(PureDP("0.3"))
    assert used.spent == (Fraction(1), Fraction(0))
    with pytest.raises(OverBudget, match=r"costs epsilon 0\.1 .*only 0 .*of 1"):
        used.charge(PureDP("0.1"))
    concentrated = ZCDPFilter("0.1").charge(GAUSSIAN)
    assert concentrated.used == Fraction(1, 800)
    with pytest.raises(OverBudget, match="rho"):
        concentrated.charge(ZCDP("0.1"))
    renyi = RenyiFilter(8, "0.4").charge(ZCDP("0.05"))
    with pytest.raises(OverBudget, match="order"):
        renyi.charge(ZCDP("0.01"))
    assert BasicOdometer().charge(PureDP(3)).charge(LAPLACE).epsilon == Fraction(151, 50)


def test_only_a_promise_is_a_guarantee() -> None:
    """What was spent depends on the answers: it is a number, and nothing that could be composed or converted."""
    basic_filter, odometer = BasicFilter(1).charge(PureDP("0.5")), BasicOdometer().charge(PureDP("0.5"))
    concentrated = ZCDPFilter(1).charge(GAUSSIAN)
    assert basic_filter.spent == odometer.spent == (Fraction(1, 2), Fraction(0))
    assert concentrated.spent == Fraction(1, 800)
    found: list[object] = [basic_filter.spent, odometer.spent, concentrated.spent]
    assert not any(isinstance(spent, Guarantee) for spent in found)
    assert (basic_filter.promise, concentrated.promise) == (ApproxDP(1, 0), ZCDP(1))


def test_a_renyi_filter_charges_whatever_has_a_divergence() -> None:
    stated = events.Stated("RenyiDP", (Fraction(2), Fraction(1, 4)))
    costs: list[tuple[Guarantee | events.Event, Fraction]] = [
        (GaussianDP(1), Fraction(1)),
        (events.GaussianNoise(variance=Fraction(1)), Fraction(1)),
        (events.Repeated(events.GaussianNoise(variance=Fraction(4)), 3), Fraction(3, 4)),
        (stated, Fraction(1, 4)),
        (RenyiDP({2: "0.25"}), Fraction(1, 4)),
    ]
    for thing, cost in costs:
        assert RenyiFilter(2, 10).charge(thing).used == cost
    used = RenyiFilter(2, 10).charge(PureDP(1)).used
    assert 0 < Fraction(PureDP(1).renyi(2)) <= used <= 1
    unknowns: list[Guarantee] = [ApproxDP(1, "1e-6"), TVStable("0.1")]
    for unknown in unknowns:
        with pytest.raises(OverBudget, match=type(unknown).__name__):
            RenyiFilter(2, 10).charge(unknown)


def test_nothing_starts_below_zero() -> None:
    """Less than nothing spent would be a larger budget."""
    for start in (
        lambda: BasicOdometer(epsilon=Fraction(-1)),
        lambda: BasicOdometer(delta=Fraction(-1)),
        lambda: ZCDPFilter(1, used=Fraction(-1)),
        lambda: RenyiFilter(2, 1, used=Fraction(-1)),
    ):
        with pytest.raises(ParameterError, match="-1"):
            start()


def test_what_a_filter_cannot_charge_is_refused() -> None:
    with pytest.raises(OverBudget, match="no bound"):
        BasicFilter(1, "1e-6").charge(GAUSSIAN)
    with pytest.raises(OverBudget, match="delta"):
        ZCDPFilter(1).charge(ApproxDP(1, "1e-6"))
    with pytest.raises(AdjacencyMismatch):
        BasicFilter(3).charge(PureDP(1, adjacency=ADD_REMOVE)).charge(PureDP(1, adjacency=REPLACE_ONE))


def test_textbook_bounds_count_the_delta_of_every_release() -> None:
    assert basic("0.1", 10, "1e-6") == (Fraction(1), Fraction(1, 10**5))
    assert advanced("0.1", 10, "1e-6", delta="1e-6")[1] == Fraction(11, 10**6)


def test_textbook_bounds_refuse_bad_input() -> None:
    for call in (lambda: basic(-1, 2), lambda: basic(1, 0), lambda: advanced(1, 2, 0)):
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(NotANumberError):
        basic(math.nan, 2)


@pytest.mark.parametrize("mu_squared", ["1e-14", "1e-9", "1/900", "1/9", "1", "400", "1e9"])
@pytest.mark.parametrize("delta", ["1e-40", "1e-6", "0.01", "0.4"])
def test_gaussian_answers_are_proved_to_the_last_digits(mu_squared: str, delta: str) -> None:
    pair, goal = GaussianPair(Fraction(mu_squared)), Fraction(delta)
    low, high = pair.bracket(goal)
    assert high - low <= 1e-15 * high
    with precision(512):
        assert pair.profile(Ball(high)) <= ball(goal)
        assert low == 0 or pair.profile(Ball(low)) > ball(goal)


@pytest.mark.parametrize("near", [None, 1e-9, 0.3, 1.4479880214, 7.0, math.inf, math.nan])
def test_a_guess_does_not_change_the_answer(near: float | None) -> None:
    pair = GaussianPair(Fraction(1, 9))
    with precision(128):
        low, high = root_bracket(pair.profile, Fraction(1, 10**6), math.inf, near)
    assert low <= 1.4479880214201537 <= high <= low * (1 + 1e-14)


def test_the_response_of_two_answers_is_a_pair() -> None:
    assert compose([RESPONSE]).bracket(0).upper == pytest.approx(math.log(3))
    assert response(Fraction(3, 4)) == response(Fraction(75, 100))
    assert LaplacePair(Fraction(1, 50)).epsilon(0) == pytest.approx(0.02)
