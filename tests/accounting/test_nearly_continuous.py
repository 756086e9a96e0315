"""Gaussian noise on the integers or on the line: a little larger continuous noise covers both, and all mixes."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dither as dp
from dither.accounting import Bracket, compose, of_pairs
from dither.accounting import nearly_continuous as nearly
from dither.accounting.bracket_search import Group
from dither.accounting.composed_brackets import forget, merged
from dither.accounting.loss_law import from_below
from dither.adjacency import ADD_REMOVE
from dither.events import FixedSizeSampled, PoissonSampled, Repeated
from dither.pairs.between import BetweenPair
from dither.pairs.choice import ChoicePair
from dither.pairs.discrete_noise import DiscreteGaussianPair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.pair import Pair
from dither.pairs.subsampled import PoissonRemovePair

DELTA = Fraction(1, 10**6)
EPSILONS = [Fraction(n, 16) for n in range(100)]


def choice(variance: Fraction, sensitivity: int = 1) -> ChoicePair:
    on_line = GaussianPair(sensitivity**2 / variance)
    return ChoicePair(DiscreteGaussianPair(variance, sensitivity), on_line)


@pytest.mark.parametrize(("variance", "sensitivity"), [(1, 1), (1, 7), (2, 1), (Fraction(7, 2), 2), (9, 1), (100, 30)])
def test_continuous_noise_dominates_what_is_on_the_integers(variance: Fraction, sensitivity: int) -> None:
    found = nearly._dominating(Fraction(variance), sensitivity)
    assert found is not None
    squared_mu, factor, leak = found
    assert (factor, leak < 1e-60) == (0, True)
    discrete, above = DiscreteGaussianPair(Fraction(variance), sensitivity), GaussianPair(squared_mu)
    for epsilon in EPSILONS:
        assert discrete.delta_bracket(epsilon)[0] <= above.delta_bracket(epsilon)[1] + leak
    assert float(squared_mu * variance / sensitivity**2) - 1 == pytest.approx(1 / (12 * variance), rel=0.2)


@pytest.mark.parametrize("variance", [1, 2, 9, 100])
def test_it_has_to_be_larger_by_nearly_that_much(variance: int) -> None:
    """With the μ of the same variance, or half of what is added, a test of the discrete law is left uncovered."""
    found = nearly._dominating(Fraction(variance), 1)
    assert found is not None
    half = GaussianPair((found[0] + Fraction(1, variance)) / 2)
    discrete = DiscreteGaussianPair(Fraction(variance))
    between = [Fraction(2 * n, 2 * variance) for n in range(-2, 3)]  # where the tests {X > n} are the best
    assert any(discrete.delta_bracket(abs(e))[0] > half.delta_bracket(abs(e))[1] for e in between)


def test_wide_noise_needs_no_table() -> None:
    found = nearly._dominating(Fraction(10**8), 10**3)
    assert found is not None
    squared_mu, factor, leak = found
    assert 0 < float(squared_mu * 100) - 1 < 1e-6
    assert 0 < factor < 1e-60
    assert leak == 0
    assert nearly._dominating(Fraction(4), 100) is None, "a sensitivity of 50 standard deviations is not on the table"


@pytest.mark.parametrize(("variance", "times"), [(4, 2), (4, 3), (9, 5), (Fraction(25, 4), 40)])
def test_every_mix_is_covered(variance: Fraction, times: int) -> None:
    variance = Fraction(variance)
    both = choice(variance)
    whole = of_pairs([(both, times)], relative_width=0.2)
    covered = nearly.nearly_continuous(whole.groups, merged, float(DELTA), 0.2)
    assert covered is not None
    ((pair, count),) = covered.groups
    assert (isinstance(pair, BetweenPair), count) == (True, 1)
    found = whole.bracket(DELTA)
    uses = [
        of_pairs([(p, n) for p, n in ((both.first, j), (both.second, times - j)) if n]).bracket(DELTA)
        for j in range(times + 1)
    ]
    assert found.lower <= max(use.upper for use in uses)
    assert max(use.lower for use in uses) <= found.upper
    assert found.upper / found.lower - 1 < 1 / (6 * times * variance), "the copies cost what one discrete law does"


@pytest.mark.parametrize(
    "sampled", [lambda event: PoissonSampled(event, Fraction(1, 10)), lambda event: FixedSizeSampled(event, 10, 100)]
)
def test_on_samples_every_mix_is_covered(sampled: object) -> None:
    assert callable(sampled)
    m = dp.Gaussian(sensitivity=1, sigma=12)
    found = compose([Repeated(sampled(m.event), 30)], relative_width=1e-3).bracket(DELTA)
    assert found.is_within(1e-3)
    for first in (0, 1, 15, 30):
        uses = [(m.event_for(1), first), (m.event_for(0.5), 30 - first)]
        use = compose([Repeated(sampled(event), n) for event, n in uses if n], relative_width=1e-2).bracket(DELTA)
        assert use.lower <= found.upper
        assert use.upper >= found.lower * (1 - 1e-3)


def test_factors_and_leaks_are_paid_for() -> None:
    """The upper end is read at what the leaks leave of δ; where they are not far below it, there is no cover."""
    groups = of_pairs([(choice(Fraction(400)), 10)]).groups
    covered = nearly.nearly_continuous(groups, merged, 1e-6, 1e-3)
    assert covered is not None
    assert 0 < covered.leak < DELTA / 2**40
    assert nearly.nearly_continuous(groups, merged, 1e-250, 1e-3) is None
    forget()
    found = of_pairs([(choice(Fraction(400)), 10)], relative_width=1e-3).bracket(DELTA)
    ((pair, _),) = covered.groups
    assert isinstance(pair, BetweenPair)
    assert found.upper >= pair.above.bracket(DELTA)[1]
    assert found == pytest.approx(Bracket(*pair.bracket(DELTA)), rel=1e-9)


def test_what_would_widen_the_bracket_too_much_stays_a_choice() -> None:
    fine, coarse = choice(Fraction(10**4)), choice(Fraction(1))
    groups = of_pairs([(fine, 3), (coarse, 3)]).groups
    covered = nearly.nearly_continuous(groups, merged, 1e-6, 1e-3)
    assert covered is not None
    kept: Counter[Pair] = Counter(dict(covered.groups))
    assert kept[coarse] == 3
    assert fine not in kept


@pytest.mark.parametrize("step", [1e-3, 0.00842, 0.05])
@pytest.mark.parametrize("sigma", ["0.573", 2, 300])
def test_a_law_from_below_of_a_narrow_loss_keeps_its_mean(step: float, sigma: object) -> None:
    """On a sample most mass lies within a step: E[e^{−L}] stays near 1, and the profile below that of the pair."""
    pair = PoissonRemovePair(GaussianPair(1 / Fraction(str(sigma)) ** 2), Fraction(787, 10**5))
    law = from_below(pair, step, pair.support[0], 12.0)
    assert float(np.sum(law.weights * np.exp(-law.losses))) < 1 + 0.05 * step
    for epsilon in (0.0, 1e-4, 0.003, 0.01, 0.1, 1.0):
        gains = law.weights * np.maximum(-np.expm1(epsilon - law.losses), 0.0)
        assert math.fsum(gains.tolist()) <= pair.delta_bracket(epsilon)[1]


def test_where_nothing_is_lost_in_one_direction_the_other_is_looked_at() -> None:
    """ε = 0 is enough for a δ above δ(0): not the sum of the largest losses of the other."""
    sampled = PoissonSampled(dp.events.LaplaceNoise(Fraction(189), adjacency=ADD_REMOVE), Fraction(299, 10**5))
    assert compose([Repeated(sampled, 203)]).bracket("0.000142") == (0, 0)


def test_the_cover_of_a_sample_is_above_the_sampled_discrete_law() -> None:
    both, rate = choice(Fraction(2)), Fraction(1, 4)
    discrete, line = (PoissonRemovePair(pair, rate) for pair in (both.first, both.second))
    cover = nearly._cover(Group(ChoicePair(discrete, line), 3))
    assert cover is not None
    assert cover.pair.below == line
    lows = [(discrete.delta_bracket(epsilon)[0], epsilon) for epsilon in EPSILONS]
    assert all(low <= cover.pair.above.delta_bracket(epsilon)[1] + cover.leak for low, epsilon in lows)
    assert any(low > line.delta_bracket(epsilon)[1] for low, epsilon in lows), "continuous noise of its size is not"
