"""Test and answer by enumeration: every outcome of the noise on both sides, in exact sums of balls at 600 bits.

Shares no code with dither: the laws are normalised sums of their weights, cut where what is left is below 2^-500.
"""

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from tests.oracle.finite import at_full_precision, real

Weight = Callable[[int], arb]


def laplace(scale: Fraction) -> Weight:
    """e^{−|x|/t}."""
    return lambda x: (-real(abs(x) / scale)).exp()


def gaussian(variance: Fraction) -> Weight:
    """e^{−x²/2σ²}."""
    return lambda x: (-real(Fraction(x * x) / (2 * variance))).exp()


def masses(weight: Weight, reach: int) -> dict[int, arb]:
    """The law with these weights, on −reach, …, reach."""
    weights = {x: weight(x) for x in range(-reach, reach + 1)}
    total = sum(weights.values(), arb(0))
    return {x: w / total for x, w in weights.items()}


@at_full_precision
def delta(
    epsilon: Fraction, test: Weight, threshold: int, answer: Weight, shift: int, reach: int, farthest: int
) -> arb:
    """The largest Σ (P − e^ε Q)₊ over neighbours at distances 0, …, `farthest`, each outcome looked at.

    Two at distance 0 answer with values that never coincide; all others with values `shift` apart, in either direction.
    """
    noise, odds = masses(test, reach), real(epsilon).exp()
    shown = masses(answer, reach)
    chances = {d: sum((p for x, p in noise.items() if d + x > threshold), arb(0)) for d in range(farthest + 1)}
    best = _stick([1 - chances[0], chances[0], arb(0)], [1 - chances[0], arb(0), chances[0]], odds)
    for d in range(farthest + 1):
        for other in (d - 1, d, d + 1):
            if other in chances and (d or other):
                here, there = chances[d], chances[other]
                ys = range(-reach, reach + shift + 1)
                p = [1 - here, *(here * shown.get(y, arb(0)) for y in ys)]
                q = [1 - there, *(there * shown.get(y - shift, arb(0)) for y in ys)]
                best = best.max(_stick(p, q, odds))
    return best


def _stick(p: list[arb], q: list[arb], odds: arb) -> arb:
    return sum(((a - odds * b).max(arb(0)) for a, b in zip(p, q, strict=True)), arb(0))
