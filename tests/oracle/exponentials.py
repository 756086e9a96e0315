"""Integrals over the line of products of Laplace densities, distribution functions and survival functions.

Between two centres each factor is a sum of exponentials, so a product is one too, and its integral is written down term
by term: no quadrature, no cut-off. Slow and naive on purpose. Shares no code with dither: fractions and python-flint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from tests.oracle.finite import at_full_precision, real

__all__ = ["Factor", "cdf", "density", "line_integral", "survival"]

Terms = dict[Fraction, arb]
"""Σ coefficient · e^{rate · x}, by rate."""


@dataclass(frozen=True)
class Factor:
    """Of X = centre + Laplace noise of `scale`: its density at x, P[X ≤ x] or P[X ≥ x]."""

    kind: str
    centre: Fraction
    scale: Fraction

    def terms(self, *, left: bool) -> Terms:
        """On the left of the centre, or on the right of it."""
        rate = 1 / self.scale if left else -1 / self.scale
        wing = real(-rate * self.centre).exp() / 2
        if self.kind == "density":
            return {rate: wing / real(self.scale)}
        if (self.kind == "cdf") == left:
            return {rate: wing}
        return {Fraction(0): arb(1), rate: -wing}


def density(centre: Fraction, scale: Fraction) -> Factor:
    """The density at x."""
    return Factor("density", centre, scale)


def cdf(centre: Fraction, scale: Fraction) -> Factor:
    """P[centre + noise ≤ x]."""
    return Factor("cdf", centre, scale)


def survival(centre: Fraction, scale: Fraction) -> Factor:
    """P[centre + noise ≥ x]."""
    return Factor("survival", centre, scale)


@at_full_precision
def line_integral(factors: Sequence[Factor]) -> arb:
    """∫ Π factors dx over the whole line; at least one of them must be a density."""
    centres = sorted({factor.centre for factor in factors})
    total = arb(0)
    for low, high in pairwise([None, *centres, None]):
        product: Terms = {Fraction(0): arb(1)}
        for factor in factors:
            product = _times(product, factor.terms(left=high is not None and factor.centre >= high))
        total += sum((c * _between(rate, low, high) for rate, c in product.items()), arb(0))
    return total


def _times(left: Terms, right: Terms) -> Terms:
    out: Terms = {}
    for a, x in left.items():
        for b, y in right.items():
            out[a + b] = out.get(a + b, arb(0)) + x * y
    return out


def _between(rate: Fraction, low: Fraction | None, high: Fraction | None) -> arb:
    """∫ e^{rate · x} dx; an end that is None is infinite, and there the exponential vanishes."""
    if not rate:
        assert low is not None
        assert high is not None
        return real(high - low)
    assert low is not None or rate > 0
    assert high is not None or rate < 0
    ends = [arb(0) if end is None else real(rate * end).exp() for end in (low, high)]
    return (ends[1] - ends[0]) / real(rate)
