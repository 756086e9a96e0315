"""C11: the exponential mechanism of a metric space, and its cases on ℤ, ℝ and ℝᵏ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, at_most, claim, equal, exceeds, implemented
from dither.exact import Ball, ball
from dither.mechanisms import KNorm, Laplace, MetricExponential
from dither.noise import DiscreteLaplace

__all__ = ["c11"]

_EPSILONS = tuple(Fraction(x) for x in ("0.1", "1", "3"))
_MANY = 10**12


@claim(
    "C11",
    "S1",
    "Density ∝ e^{−d(y, f(D))/α} is ε-DP for α ≥ 2Δ/ε, and for α ≥ Δ/ε where the normaliser does not depend on D; "
    "both are tight. The geometric and the Laplace mechanism are the cases of ℤ and ℝ, noise in ℓ₂ and ℓ∞ those of ℝᵏ.",
    "α = 2Δ/ε, or Δ/ε",
)
def c11(general: Fraction = Fraction(2), homogeneous: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """A star whose many leaves crowd around one centre needs the 2; circles, the integers and the line do not."""
    for epsilon in _EPSILONS:
        alpha = general / epsilon
        for leaves in (1, 1000, _MANY):
            yield at_most("ε", ball(epsilon), _star_loss(alpha, leaves), space="star", leaves=leaves, ε=epsilon)
        path = MetricExponential(points=range(6), distance=_along, sensitivity=1, scale=alpha)
        yield at_most("ε", ball(epsilon), _metric_loss(path, range(5)), space="path", ε=epsilon)
        # The normaliser of a path is smaller at its ends: the scale of a circle is too little for it.
        alpha = homogeneous / epsilon
        narrow = MetricExponential(points=range(6), distance=_along, sensitivity=1, scale=alpha)
        yield exceeds("ε of a path, α = Δ/ε", ball(epsilon), _metric_loss(narrow, range(5)), ε=epsilon)
        circle = MetricExponential(points=range(12), distance=_around(12), sensitivity=1, scale=alpha)
        yield equal("ε, constant normaliser", ball(epsilon), _metric_loss(circle, range(12)), space="circle", ε=epsilon)
        for space, distance, factor in (("circle", _around(6), homogeneous), ("path", _along, general)):
            built = MetricExponential(points=range(6), distance=distance, sensitivity=1, epsilon=epsilon)
            yield implemented("scale that the mechanism uses", factor / epsilon, built.scale, space=space, ε=epsilon)
    for epsilon, sensitivity in product(_EPSILONS, (1, 2)):
        yield from _geometric_instance(epsilon, sensitivity, homogeneous * sensitivity / epsilon)
        yield from _laplace_instance(epsilon, sensitivity, homogeneous * sensitivity / epsilon)
    for epsilon in _EPSILONS:
        yield from _in_many_dimensions(epsilon, homogeneous * 3 / epsilon)


def _geometric_instance(epsilon: Fraction, sensitivity: int, alpha: Fraction) -> Iterator[Evidence]:
    """The geometric mechanism is the metric one on ℤ, the limit of circles of 2h + 1 integers.

    No limit need be taken to see it. On both, Pr[x + k] ∝ e^{−|k|/α}, on the circle for |k| ≤ h only: that is the
    geometric noise, given that it is at most h. So Pr_circle[x + k]·Pr[|noise| ≤ h] = Pr[noise = k], for every x.
    """
    at: dict[str, object] = {"ε": epsilon, "Δ": sensitivity}
    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon)
    yield implemented("α that the geometric mechanism uses", alpha, mechanism.scale, **at)
    drawn = mechanism.for_integers
    assert drawn is not None
    law = DiscreteLaplace(alpha)
    circle = _circle(_HALF, sensitivity, scale=alpha)
    inside = 1 - 2 * law.tail(_HALF)
    for x, k in product((0, 7), (0, 1, -2, _HALF)):
        metric = circle.probabilities(x)[(x + k) % len(circle.points)] * inside
        yield equal("Pr[y] on ℤ", metric, drawn.law.pmf(k), f=x, y=x + k, **at)
    loss = grid.largest(abs((law.pmf(y) / law.pmf(y - sensitivity)).log()) for y in range(-_HALF, _HALF))
    yield equal("ε on ℤ", ball(epsilon), loss, **at)


def _laplace_instance(epsilon: Fraction, sensitivity: int, alpha: Fraction) -> Iterator[Evidence]:
    """The Laplace mechanism is the metric one on ℝ, whose normaliser is ∫ e^{−|y − x|/α} dy = 2α for every x.

    On multiples of α/t the metric mechanism has the density tanh(1/2t)·(t/α)·e^{−|y|/α}: since
    1 − u²/3 ≤ tanh(u)/u ≤ 1, that is 1 − 1/(12t²) to 1 times Laplace's. Real numbers get it with t ≥ 2^40.
    """
    at: dict[str, object] = {"ε": epsilon, "Δ": sensitivity}

    def density(y: Fraction) -> Ball:
        return ball(-abs(y) / alpha).exp() / ball(2 * alpha)

    for t in (1, 4):
        step = alpha / t
        circle = _circle(_HALF, sensitivity, scale=alpha, step=step)
        inside = 1 - 2 * DiscreteLaplace(t).tail(_HALF)
        for k in (0, 3):
            found = circle.probabilities(0)[k] * inside / ball(step)
            yield at_most("density on a grid of α/t", density(k * step), found, t=t, **at)
            least = density(k * step) * ball(1 - Fraction(1, 12 * t**2))
            yield at_most("least density on a grid of α/t", found, least, t=t, **at)
    drawn = Laplace(sensitivity=sensitivity, epsilon=epsilon).for_reals
    for y in (Fraction(0), Fraction(1), Fraction(5, 2)):
        found = drawn.law.pmf(int(y / drawn.step)) / ball(drawn.step)
        yield equal("density on ℝ", density(y), found, y=y, **at)


def _in_many_dimensions(epsilon: Fraction, alpha: Fraction) -> Iterator[Evidence]:
    """ℝ³ in ℓ₂ and ℓ∞ with Δ = 3: the loss at places on a line through f(D) = 0 and f(D′), and α as it is drawn."""
    there = {"l2": (2, -1, 2), "linf": (3, -3, 3)}
    for norm, other in there.items():
        length = {"l2": _euclidean, "linf": _largest_coordinate}[norm]
        places = [[Fraction(x * step, 2) for x in other] for step in range(-4, 7)]
        away = [length([x - y for x, y in zip(place, other, strict=True)]) for place in places]
        loss = grid.largest((far - length(place)) / ball(alpha) for far, place in zip(away, places, strict=True))
        yield equal("ε on ℝ³", ball(epsilon), loss, norm=norm, ε=epsilon)
        made = KNorm(sensitivity=3, dimension=3, norm=norm, epsilon=epsilon)
        at: dict[str, object] = {"norm": norm, "ε": epsilon}
        yield at_most("least α on ℝ³", ball(made.scale), ball(alpha), **at)
        yield at_most("α on ℝ³, hardly more", ball(alpha) * _ROUNDED, ball(made.scale), **at)
        yield implemented("ε that the mechanism states", ball(epsilon), made.guarantee.epsilon(0), **at)
        mean = ball(3 * alpha)  # a gamma radius
        yield at_most("mean length of the noise, as stated", made.expected_error, mean, **at)
        yield at_most("mean length of the noise, hardly more", mean * _ROUNDED, made.expected_error, **at)


_ROUNDED = 1 + Ball(10) ** -9
"""What rounding to the grid may cost."""


def _euclidean(move: Sequence[Fraction]) -> Ball:
    return grid.root(sum((x**2 for x in move), Fraction(0)))


def _largest_coordinate(move: Sequence[Fraction]) -> Ball:
    return ball(max(map(abs, move)))


_HALF = 20


def _circle(half: int, sensitivity: int, scale: Fraction, step: Fraction = Fraction(1)) -> MetricExponential:
    """Evenly spaced points around a circle, `half` of them on either side of each."""
    size = 2 * half + 1
    around = _around(size)
    distances = [[step * around(x, y) for y in range(size)] for x in range(size)]
    return MetricExponential(points=range(size), distance=distances, sensitivity=sensitivity, scale=scale)


def _along(x: int, y: int) -> int:
    return abs(x - y)


def _around(size: int) -> Callable[[int, int], int]:
    return lambda x, y: min((x - y) % size, (y - x) % size)


def _metric_loss(mechanism: MetricExponential, places: Sequence[int]) -> Ball:
    """The largest loss between two points at distance 1."""
    laws = [list(mechanism.probabilities(x).values()) for x in mechanism.points]
    return grid.largest(grid.largest_loss(laws[x], laws[(x + 1) % len(laws)]) for x in places)


def _star_loss(alpha: Fraction, leaves: int) -> Ball:
    """Points: a centre a, `leaves` at distance 1/1000 from it, and b at distance 1; f(D) = a and f(D′) = b."""
    short = Fraction(1, 1000)
    distances = [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0)), (short, 1 + short)]
    counts = (1, 1, leaves)
    from_a, from_b = ([ball(-d[i] / alpha).exp() for d in distances] for i in (0, 1))
    total_a, total_b = (sum((n * w for n, w in zip(counts, each, strict=True)), Ball(0)) for each in (from_a, from_b))
    return grid.largest_loss([w / total_a for w in from_a], [w / total_b for w in from_b])
