"""What may be one of two things: the upper end covers every mix of them, the lower end is what one of them costs."""

from fractions import Fraction
from typing import Any

import pytest

import dither as dp
from dither.accounting import Bracket, WideBracket, choices, compose, of_pairs
from dither.accounting.composed_brackets import forget
from dither.accounting.composition import RELATIVE_WIDTH
from dither.accounting.filters import RenyiFilter, ZCDPFilter, zcdp_cost
from dither.events import Either, Event, FixedSizeSampled, GaussianNoise, LaplaceNoise, PoissonSampled, Repeated, Stated
from dither.pairs import ProfileOf
from dither.pairs.choice import ChoicePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.subsampled import PoissonRemovePair, WorstPair
from dither.pairs.two_point import approximate, pure

DELTA = Fraction(1, 10**6)
GAUSSIAN, RESPONSE = GaussianPair(Fraction(1)), pure(Fraction(3, 2))
MECHANISMS = [
    dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-6),
    dp.Gaussian(sensitivity=1, epsilon="0.1", delta=1e-9),
    dp.Gaussian(sensitivity=3, epsilon=8, delta=1e-6),
    dp.Gaussian(sensitivity=1, epsilon=30, delta=1e-3),
    dp.Gaussian(sensitivity="0.5", epsilon=1, delta=1e-6),
    dp.Gaussian(sensitivity_squared=4, epsilon=1, delta=1e-6, dimension=3),
    dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-6, calibration="tail-bound"),
    dp.Gaussian(sensitivity=1, rho="0.1"),
    dp.Gaussian(sensitivity=1, rho=10),
    dp.Gaussian(sensitivity_squared=2, rho="0.01", dimension=2),
    dp.Gaussian(sensitivity_squared=4, rho=2, dimension=4),
    dp.Gaussian(sensitivity_squared=20, rho=1, dimension=20),
    dp.Gaussian(sensitivity_squared=4, sigma=2, dimension=4),
    dp.Gaussian(sensitivity=1, sigma=3),
    dp.Gaussian(sensitivity=2, sigma="0.7"),
]


@pytest.mark.parametrize("m", MECHANISMS, ids=repr)
@pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")  # zCDP is known by bounds only
def test_a_mechanism_costs_no_more_than_it_promises(m: Any) -> None:
    for delta in (m.delta or DELTA, Fraction(1, 10**4), Fraction(1, 10**12)):
        low, high = compose([m]).bracket(delta)
        # Of `sigma` the guarantee is the same profile: both are rounded up, the event before its profile is taken.
        assert low <= high <= m.guarantee.epsilon(delta) * (1 if m.epsilon or m.rho else 1 + 1e-13)
    if m.epsilon is not None and m.calibration == "exact":
        assert m.delta is not None
        assert compose([m]).delta(m.epsilon) <= m.delta
        assert compose([m]).epsilon(m.delta) == pytest.approx(float(m.epsilon), rel=1e-9), "and no less"


@pytest.mark.parametrize("m", MECHANISMS, ids=repr)
def test_the_event_comes_back_from_text(m: Any) -> None:
    assert dp.events.from_json(dp.events.to_json(m.event)) == m.event


@pytest.mark.parametrize(("sigma", "times"), [("0.5", 20), (1, 10), (1, 100), (3, 10), (20, 1000)])
@pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")
def test_many_releases_of_a_mechanism_cost_what_the_dearest_mix_does(sigma: Any, times: int) -> None:
    m: Any = dp.Gaussian(sensitivity=1, sigma=sigma)
    integer, real = m.event_for(1), m.event_for(0.5)
    found = compose([Repeated(m.event, times)]).bracket(DELTA)
    alike = [compose([Repeated(event, times)]).bracket(DELTA) for event in (integer, real)]
    low, high = max(each.lower for each in alike), max(each.upper for each in alike)
    assert low * (1 - RELATIVE_WIDTH) <= found.lower <= high, "that is what such releases cost"
    assert found.upper <= (1 + 2 * RELATIVE_WIDTH) * high
    least, most = compose([Repeated(m.event, times)]).delta_bracket(found.upper)
    assert least <= DELTA <= 1.2 * most
    for first in {1, times // 3, times // 2, times - 1}:
        mixed = compose([Repeated(integer, first), Repeated(real, times - first)])
        assert mixed.bracket(DELTA).lower <= found.upper
        assert mixed.delta_bracket(found.upper).lower <= most


def test_two_different_choices_cover_all_their_uses() -> None:
    first = ChoicePair(LaplacePair(Fraction(1)), GaussianPair(Fraction(1, 4)))
    second = ChoicePair(approximate(Fraction(1, 2), Fraction(1, 10**7)), GaussianPair(Fraction(1, 9)))
    whole = [(first, 3), (second, 2), (LaplacePair(Fraction(1, 2)), 1)]
    found = of_pairs(whole).bracket(DELTA)
    uses = [
        of_pairs(
            [
                *((pair, n) for pair, n in ((first.first, i), (first.second, 3 - i)) if n),
                *((pair, n) for pair, n in ((second.first, j), (second.second, 2 - j)) if n),
                (LaplacePair(Fraction(1, 2)), 1),
            ]
        ).bracket(DELTA)
        for i in range(4)
        for j in range(3)
    ]
    assert max(use.lower for use in uses) <= found.upper
    dearest = max(use.lower for use in uses)
    assert dearest * (1 - RELATIVE_WIDTH) <= found.lower <= max(use.upper for use in uses), "one of them costs that"
    assert found.upper <= max(use.upper for use in uses) * (1 + 2e-4), "of twelve mixes the dearest is found"


@pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")
def test_boxes_that_are_not_halved_still_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without halving, one box holds all mixes, of things that differ much: its bound is wide."""
    whole = of_pairs([(ChoicePair(GAUSSIAN, RESPONSE), 12)])
    narrow = whole.bracket("1e-5")
    monkeypatch.setattr(choices, "_MOST_BOXES", 0)
    monkeypatch.setattr(choices, "_FEWEST_BOXES", 0)
    forget()
    wide = whole.bracket("1e-5")
    forget()
    assert narrow.lower < narrow.upper < wide.upper < 2 * narrow.upper


def test_what_is_too_much_to_look_at_is_said() -> None:
    m: Any = dp.Gaussian(sensitivity=1, sigma=1)
    with pytest.warns(WideBracket, match=r"Say what each value will be, event_for\(value\) of its mechanism"):
        compose([m] * 100, relative_width=1e-14).bracket(DELTA)


def test_a_choice_of_the_same_is_no_choice() -> None:
    noise = LaplaceNoise(Fraction(2))
    assert compose([Either(noise, noise)] * 5) == compose([noise] * 5)


@pytest.mark.parametrize(
    "sampled",
    [lambda event: PoissonSampled(event, Fraction(1, 10)), lambda event: FixedSizeSampled(event, 10, 100)],
    ids=["Poisson", "fixed size"],
)
@pytest.mark.filterwarnings("ignore::dither.accounting.WideBracket")
def test_on_a_sample_it_is_one_of_two_sampled(sampled: Any) -> None:
    one, other = GaussianNoise.of(2), LaplaceNoise(Fraction(3))
    found = compose([sampled(Either(one, other))]).bracket(DELTA)
    alone = [compose([sampled(event)]).bracket(DELTA) for event in (one, other)]
    assert found == Bracket(max(each.lower for each in alone), max(each.upper for each in alone))
    several = compose([sampled(Either(one, other))] * 6).bracket(DELTA)
    for mix in range(7):
        assert compose([sampled(one)] * mix + [sampled(other)] * (6 - mix)).bracket(DELTA).lower <= several.upper


def test_the_guarantee_of_a_mechanism_costs_what_its_event_costs() -> None:
    """A promise of one of two is composed as that; one of the larger profile may be kept by what is neither."""
    choice = ChoicePair(GAUSSIAN, RESPONSE)
    one_of_two, larger = (compose([ProfileOf(pair)] * 4) for pair in (choice, WorstPair(GAUSSIAN, RESPONSE)))
    assert one_of_two == of_pairs([(choice, 4)])
    assert larger.upper_epsilon("1e-5") > one_of_two.upper_epsilon("1e-5") * 1.01
    m: Any = dp.Gaussian(sensitivity=1, sigma=20)
    assert compose([m.guarantee] * 1000).bracket(DELTA) == pytest.approx(compose([m.event] * 1000).bracket(DELTA))


def test_one_of_two_with_lopsided_orders_is_its_worst_pair() -> None:
    """Each release may have its worst neighbours in its own order, so that both orders must be dominated."""
    lopsided = PoissonRemovePair(GAUSSIAN, Fraction(1, 10))
    (group,) = compose([ProfileOf(ChoicePair(lopsided, GAUSSIAN))]).groups
    assert not isinstance(group.pair, ChoicePair)
    assert group.pair.is_symmetric


def test_a_filter_charges_the_dearer_one() -> None:
    m: Any = dp.Gaussian(sensitivity=1, sigma=10)
    costs = [zcdp_cost(event) for event in (m.event, m.event_for(1), m.event_for(0.5))]
    assert costs[0] == max(costs[1:]) > min(costs[1:])
    assert ZCDPFilter(1).charge(m).used == costs[0]
    assert RenyiFilter(2, 1).charge(m).used == 2 * costs[0]
    either: Event = Either(Stated("ZCDP", (Fraction(1, 2),)), Stated("PureDP", (Fraction(1),)))
    assert zcdp_cost(either) == Fraction(1, 2)
