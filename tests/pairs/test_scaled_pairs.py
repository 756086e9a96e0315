"""Noise whose scale depends on data: bounds on loss and δ against a slow search; a tenth less noise is seen."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither import events
from dither.accounting import compose
from dither.errors import ParameterError
from dither.exact import ball, lower, precision, upper
from dither.mechanisms.smooth_calibration import Scaling, textbook, tight
from dither.noise import Steepest
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.rescaled import RescaledPair, largest_loss, rescaled_profile, worst_profile
from tests.oracle import rescaled as oracle

LOSSES = [
    ("steepest", 3, "1/20", "20"),
    ("steepest", 4, "1/3", "2.757"),
    ("steepest", 5, "1", "0.6"),
    ("steepest", 11, "1/10", "8"),
    ("polynomial", 4, "1/10", "10"),
    ("polynomial", 2, "1/60", "60"),
    ("polynomial", "3.5", "0.5", "2"),
]


@pytest.mark.parametrize(("noise", "exponent", "smoothness", "scale"), LOSSES)
def test_the_largest_loss_is_that_of_a_slow_search(noise: str, exponent: str, smoothness: str, scale: str) -> None:
    tail, beta, s = Fraction(exponent), Fraction(smoothness), Fraction(scale)
    slow = oracle.largest_loss(oracle.DENSITIES[noise](float(tail)), float(beta), float(s))
    with precision(128):
        found = largest_loss(noise, tail, beta, s)
        assert upper(found) >= slow * (1 - 1e-9)
        assert lower(found) <= slow * (1 + 1e-3)
        assert upper(found) <= lower(found) * (1 + 2.0**-11)


PROFILES = [
    ("laplace", 1, "0.05", "1.9"),
    ("laplace", "0.1", "0.0034", "14"),
    ("laplace", 2, "0.4", "0.5"),
    ("gaussian", 1, "0.02", "4"),
    ("gaussian", "0.5", "0.1", "2"),
]


@pytest.mark.parametrize(("noise", "epsilon", "smoothness", "scale"), PROFILES)
def test_the_largest_delta_is_that_of_a_slow_search(noise: str, epsilon: str, smoothness: str, scale: str) -> None:
    eps, beta, s = Fraction(epsilon), Fraction(smoothness), Fraction(scale)
    density = oracle.DENSITIES[noise](0)
    slow = oracle.largest_delta(density, float(eps), float(beta), float(s), 80 if noise == "laplace" else 14)
    with precision(128):
        found = worst_profile(noise, ball(eps), beta, s)
        assert upper(found) >= slow * (1 - 1e-4)
        assert lower(found) <= slow * (1 + 1e-2)
        assert upper(found) <= lower(found) * (1 + 2.0**-11)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["laplace", "gaussian"]),
    st.fractions(0, 3, max_denominator=50),
    st.fractions(-1, 1, max_denominator=30),
    st.fractions(Fraction(1, 2), 8, max_denominator=10),
)
def test_no_rescaling_within_the_limit_is_worse(
    noise: str, epsilon: Fraction, share: Fraction, scale: Fraction
) -> None:
    beta = Fraction(1, 5)
    with precision(128):
        one = rescaled_profile(noise, ball(epsilon), share * beta, scale)
        assert upper(one) <= upper(worst_profile(noise, ball(epsilon), beta, scale, Fraction(1, 8)))


def test_without_rescaling_it_is_the_plain_pair() -> None:
    with precision(128):
        for epsilon in (0, Fraction(1, 10), Fraction(1, 3)):
            near = Fraction(1, 10**20)
            for noise, plain in (("laplace", LaplacePair(Fraction(1, 2))), ("gaussian", GaussianPair(Fraction(1, 4)))):
                exact = plain.profile(ball(epsilon))
                for v in (near, -near):
                    assert abs(rescaled_profile(noise, ball(epsilon), v, Fraction(2)) - exact) < 1e-10


@pytest.mark.parametrize(("epsilon", "delta"), [("1", None), ("0.1", None), ("5", None), ("1", "0.1"), ("0.1", "0.1")])
def test_tight_noise_is_certain_and_a_tenth_less_is_not_private(epsilon: str, delta: str | None) -> None:
    eps, leak = Fraction(epsilon), None if delta is None else Fraction(delta)
    found = tight(eps, leak, None)
    assert found.keeps(eps, leak or Fraction(0))
    less = Scaling(found.noise, found.smoothness, found.scale * Fraction(9, 10), found.exponent)
    assert not less.keeps(eps, leak or Fraction(0))
    density = oracle.DENSITIES[found.noise](float(found.exponent or 0))
    for scaling, is_private in ((found, True), (less, False)):
        beta, s = float(scaling.smoothness), float(scaling.scale)
        if found.exponent is not None:
            assert (oracle.largest_loss(density, beta, s) <= float(eps)) is is_private
        else:
            worst = oracle.largest_delta(density, float(eps), beta, s, 80 if found.noise == "laplace" else 14)
            assert (worst <= float(leak or 0) * (1 + 1e-4)) is is_private


def test_how_loose_the_textbook_is() -> None:
    """Claim C19: (a) uses 21 to 47 % of ε, (b) 0.03 to 4 % of δ."""
    with precision(128):
        for gamma, epsilon in ((2, 1), (4, Fraction(1, 10))):
            a = largest_loss(
                "polynomial", Fraction(gamma), Fraction(epsilon) / (2 * gamma + 2), (2 * gamma + 2) / Fraction(epsilon)
            )
            assert 0.21 < float(a) / epsilon < 0.47
        for epsilon, delta, share in (
            (Fraction(1, 10), Fraction(1, 10**6), 0.0003),
            (Fraction(1), Fraction(2, 5), 0.04),
        ):
            beta = epsilon / (2 * Fraction(float(np.log(2 / float(delta)))))
            b = worst_profile("laplace", ball(epsilon), beta, 2 / epsilon)
            assert float(b) / float(delta) == pytest.approx(share, rel=0.15)


def test_the_textbook_is_refused_where_it_is_false() -> None:
    """At ε = 14 Laplace noise by the formula has δ(14) > 1e-6 for two neighbours of the slow search."""
    beta, s = 14 / (2 * np.log(2e6)), 2 / 14
    assert oracle.largest_delta(oracle.DENSITIES["laplace"](0), 14, beta, s, 60) > 1.05e-6
    with pytest.raises(ParameterError, match="tight"):
        textbook("laplace", Fraction(14), Fraction(1, 10**6), None)
    assert textbook("laplace", Fraction(10), Fraction(1, 10**6), None).keeps(Fraction(10), Fraction(1, 10**6))


@pytest.mark.parametrize("coarse", [40, 200])
def test_a_lattice_adds_no_more_than_it_says(coarse: int) -> None:
    """Neighbours on a lattice of few steps: their largest loss is within 2L/t of that on the line."""
    a, beta, s = 3, Fraction(1, 3), Fraction(3)
    t = coarse * s
    other = t * Fraction(4, 3)  # below e^{1/3}
    shift = coarse
    with precision(128):
        line = largest_loss("steepest", Fraction(a + 1), beta, s)
        one, two = Steepest(t, a), Steepest(other, a)
        losses = [
            abs(float((one.pmf(k) / two.pmf(k - shift)).log())) for k in range(-40 * coarse, 40 * coarse, coarse // 20)
        ]
    assert max(losses) <= float(line) + 2 * a / float(t)


def test_events_are_accounted_for() -> None:
    loss = Fraction(1, 10**9)
    pure = events.SmoothNoise("steepest", Fraction(1, 3), Fraction(3), Fraction(4), loss)
    with precision(128):
        largest = upper(largest_loss("steepest", Fraction(4), Fraction(1, 3), Fraction(3)))
    assert largest <= compose([pure]).epsilon(0) <= largest + 2e-9
    laplace = events.SmoothNoise("laplace", Fraction(1, 30), Fraction(2), None, loss)
    pair = RescaledPair("laplace", Fraction(1, 30), Fraction(2), loss)
    places = np.array([-0.5, 0.0, 0.1, 0.55, 0.9, 1.3])
    with precision(128):
        for place, dot in zip(places.tolist(), pair.dots(places).tolist(), strict=True):
            assert dot >= lower(pair.profile(ball(Fraction(place))))
        exact = worst_profile("laplace", ball(Fraction(1)), Fraction(1, 30), Fraction(2))
    assert upper(exact) * 0.99 <= compose([laplace]).delta(1) <= upper(exact) * 1.05
    assert (
        compose([laplace]).epsilon(1e-6) < compose([laplace] * 3).epsilon(1e-6) < 3 * compose([laplace]).epsilon(1e-7)
    )


@pytest.mark.parametrize("scale", ["1e14", "1e8", "1e-6"])
def test_bounds_hold_next_to_0_and_for_extreme_scales(scale: str) -> None:
    """Neighbours of equal S are a lower bound; where S hardly varies, there is nothing between the two to hide in."""
    pair, move = RescaledPair("laplace", Fraction(1, 10**15), Fraction(scale)), LaplacePair(1 / Fraction(scale))
    places = [-1e5, -1e-3, -1e-6, -1e-9, -1e-12, 0.0, 1e-12, 1e3, 1e5]
    dots = pair.dots(np.array(places)).tolist()
    with precision(300):
        for place, dot in zip(places, dots, strict=True):
            assert dot >= lower(move.profile(ball(Fraction(place))))


def test_bad_pairs_are_refused() -> None:
    for bad in (("cauchy", 1, 1, 0), ("laplace", 0, 1, 0), ("laplace", 1, -1, 0), ("laplace", 1, 1, -1)):
        with pytest.raises(ParameterError):
            RescaledPair(bad[0], Fraction(bad[1]), Fraction(bad[2]), Fraction(bad[3]))
