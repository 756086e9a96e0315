"""Hundreds of different events: an exact sum on one lattice, and two ways through the Fourier transform."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from dither.accounting import compose, of_pairs, tilted
from dither.accounting.bracket_search import Group, plan_for_delta
from dither.accounting.composed_brackets import forget
from dither.accounting.loss_law import from_above, from_below
from dither.events import Event, LaplaceNoise
from dither.guarantees import PureDP
from dither.pairs.laplace import LaplacePair
from dither.pairs.pair import Pair

pytestmark = pytest.mark.property

UNIT = Fraction(1, 10_000)


def exact_delta(losses: list[int], epsilon: float) -> float:
    """δ(ε) of randomized responses with these losses, in units: every sum of ± losses, in extended precision."""
    law = np.ones(1, dtype=np.longdouble)
    for loss in losses:
        true = 1 / (1 + np.exp(np.longdouble(-loss) / 10_000))
        wider = np.zeros(len(law) + 2 * loss, dtype=np.longdouble)
        wider[2 * loss :] += true * law
        wider[: len(law)] += (1 - true) * law
        law = wider
    places = np.arange(-sum(losses), sum(losses) + 1, dtype=np.longdouble) / 10_000
    above = places > epsilon
    return float(np.sum(law[above] * -np.expm1(np.longdouble(epsilon) - places[above])))


@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_the_truth_is_inside_for_hundreds_of_different_responses(delta: float) -> None:
    losses = [20 + i for i in range(200)]
    lower, upper = compose([PureDP(UNIT * loss) for loss in losses], relative_width=1e-3).bracket(delta)
    assert 0 < upper - lower <= 1e-3 * upper
    assert exact_delta(losses, lower * (1 - 1e-12)) > delta
    assert exact_delta(losses, upper * (1 + 1e-12)) < delta


def different(count: int) -> list[Event]:
    return [LaplaceNoise(scale=Fraction(50) + Fraction(i, 7)) for i in range(count)]


def test_hundreds_of_different_events_are_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    done = different(300)
    lower, upper = compose(done, relative_width=1e-3).bracket(1e-6)
    assert 0 < upper - lower <= 1e-3 * upper
    finer = compose(done, relative_width=2e-4).bracket(1e-6)
    assert finer.upper - finer.lower <= 2e-4 * finer.upper
    assert max(lower, finer.lower) <= min(upper, finer.upper)
    monkeypatch.setattr(tilted, "_MANY", math.inf)
    forget()
    plain = compose(done, relative_width=1e-3).bracket(1e-6)
    assert (lower, upper) == pytest.approx(plain, rel=1e-8)


def test_different_events_of_different_kinds() -> None:
    done = [LaplacePair(Fraction(1, 50 + i)) for i in range(60)]
    responses = compose([*different(60), *(PureDP(Fraction(1, 60 + i)) for i in range(60))], relative_width=1e-3)
    lower, upper = responses.bracket(1e-8)
    assert 0 < upper - lower <= 1e-3 * upper
    low, high = of_pairs([(pair, 1 + i % 3) for i, pair in enumerate(done)], relative_width=1e-3).delta_bracket(0.7)
    assert 0 < low <= high <= low * 1.02


def laws(count: int) -> list[tuple[Pair, int]]:
    return [(LaplacePair(Fraction(1, 20) + Fraction(i, 4000)), 1 + i % 2) for i in range(count)]


@pytest.mark.parametrize("above", [True, False])
def test_frequencies_left_out_are_within_the_bound(monkeypatch: pytest.MonkeyPatch, above: bool) -> None:
    plan = plan_for_delta(tuple(Group(*each) for each in laws(150)), 1e-6)
    build = from_above if above else from_below
    built = [(build(one.pair, 1e-4, one.low, one.high), one.count) for one in plan.sketches]
    seen: list[int] = []
    honest = tilted._product_at

    def watched(places: NDArray[np.intp], *rest: Any) -> tuple[NDArray[np.intp], NDArray[np.complex128]]:
        seen.append(len(places))
        return honest(places, *rest)

    monkeypatch.setattr(tilted, "_product_at", watched)
    quick = tilted.compose_laws(built, plan.saddle)
    assert 0 < seen[0] < len(quick.masses) // 20, "the quick way was not taken"
    monkeypatch.setattr(tilted, "_MANY", math.inf)
    plain = tilted.compose_laws(built, plan.saddle)
    apart = math.sqrt(float(np.sum((quick.masses - plain.masses) ** 2)))
    assert apart <= quick.spread + plain.spread
    assert quick.spread <= 3 * plain.spread


@pytest.mark.parametrize("negligible", [1e-3, 1e-12])
def test_screening_keeps_every_frequency_that_counts(negligible: float) -> None:
    plan = plan_for_delta(tuple(Group(*each) for each in laws(150)), 1e-6)
    size = 60_000
    factors = [
        tilted.tilted(from_above(one.pair, 2e-4, one.low, one.high), one.count, plan.saddle.tilt)
        for one in plan.sketches
    ]
    places = tilted._screened(factors, size, negligible)
    assert places is not None
    product = np.prod([np.abs(scipy.fft.rfft(one.weights, size)) ** one.count for one in factors], axis=0)
    counts = np.flatnonzero(product >= negligible)
    assert set(counts) <= set(places)
    assert len(places) < size // 20


def test_matrix_products_agree_with_the_transform() -> None:
    generator = np.random.default_rng(5)
    weights = [generator.exponential(size=length) for length in (90, 40, 7)]
    weights = [each / each.sum() for each in weights]
    places = np.array([0, 1, 5, 77, 2048])
    found = tilted._Waves.at(places, 90, 4096).spectra(weights)
    for row, each in zip(found, weights, strict=True):
        assert np.abs(row - scipy.fft.rfft(each, 4096)[places]).max() < 40 * 2.0**-53
