"""Certified sums Σ_{n ≥ first} f(n) of a smooth, decaying function over the integers.

The first terms are added one by one. As soon as f is smooth enough for it, the rest comes from the formula of Euler
and Maclaurin (Graham, Knuth, Patashnik 1994, section 9.5),

    Σ_{n ≥ a} f(n) = ∫_a^∞ f + f(a)/2 − Σ_{k=1}^{p} B_{2k}/(2k)! f^{(2k−1)}(a) + R,
    |R| ≤ 2ζ(2p)/(2π)^{2p} ∫_a^∞ |f^{(2p)}|,

where Cauchy's estimate |f^{(q)}(x)| ≤ q!/ρ^q · max_{|z−x| ≤ ρ} |f(z)| bounds the derivative. At its best the formula
leaves about e^{−2πρ} of the sum, so discs of radius ρ ≈ 0.11 · bits are wide enough.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import lru_cache
from typing import Protocol

from flint import arb, ctx

from dither.errors import PrecisionError
from dither.exact.balls import Ball, precision

__all__ = ["Decay", "tail_sum"]

_GUARD_BITS = 32  # for the roundings of a few hundred operations
_SLACK_BITS = 12  # what the maximum over a disc may exceed the function by, before more terms are added one by one
_FIRST_STRIDE = 8
_MOST_TERMS = 1 << 20


class Decay(Hashable, Protocol):
    """A positive function on [0, ∞) that never increases, with what is needed to sum it. Hashable: sums are kept."""

    def weight(self, i: int) -> Ball:
        """f(i)."""
        ...

    def tail_bound(self, i: int) -> Ball:
        """At least the sum of f(n) over n ≥ i."""
        ...

    def integral(self, i: int) -> Ball:
        """∫ f over [i, ∞)."""
        ...

    def taylor(self, i: int, length: int) -> list[Ball]:
        """f^{(j)}(i)/j! for j < length; `arb_series` may be used, with `length` terms."""
        ...

    def radius(self, i: int) -> int:
        """A good radius for discs around all x ≥ i: f should not be much larger on a disc than at its centre.

        Only speed depends on it.
        """
        ...

    def disc_integral(self, i: int, radius: int) -> Ball:
        """At least ∫ max_{|z−x| ≤ radius} |f(z)| dx over [i, ∞), for f analytic on all these discs."""
        ...


def tail_sum(decay: Decay, first: int) -> Ball:
    """Σ_{n ≥ first} f(n), with a relative error near the working precision."""
    with precision(64):
        return _tail_sum(decay, first, ctx.prec)


@lru_cache(maxsize=256)
def _tail_sum(decay: Decay, first: int, bits: int) -> Ball:
    with precision(bits + _GUARD_BITS):
        total, n, stride = arb(0), first, _FIRST_STRIDE
        while n - first < _MOST_TERMS:
            rest = _negligible(decay, n, total, bits)
            if rest is None:
                rest = _euler_maclaurin(decay, n, bits)
            if rest is not None:
                return total + rest
            total = sum((decay.weight(i) for i in range(n, n + stride)), total)
            n, stride = n + stride, 2 * stride
    raise PrecisionError("a sum over the integers needs more than 2^20 terms; use a smaller precision")


def _negligible(decay: Decay, n: int, total: Ball, bits: int) -> Ball | None:
    """The ball from 0 to all that is left, if that is too little to matter or too small to be distinguished from 0."""
    bound = decay.tail_bound(n)
    if bound <= total * arb(2) ** -bits or not decay.weight(n) > 0:
        return arb(0).union(bound)
    return None


def _euler_maclaurin(decay: Decay, n: int, bits: int) -> Ball | None:
    """Σ_{i ≥ n} f(i), or None if this would leave more than 2^-bits of it open."""
    radius = decay.radius(n)
    order = _order(radius, bits + _SLACK_BITS)
    if order is None:
        return None
    integral = decay.integral(n)
    # 2ζ(2p) < 4
    bound = 4 * arb.fac_ui(order) / (2 * arb.pi() * radius) ** order * decay.disc_integral(n, radius)
    if not bound <= integral * arb(2) ** -bits:
        return None
    ordinary_length, ctx.cap = ctx.cap, order
    try:
        terms = decay.taylor(n, order)
    finally:
        ctx.cap = ordinary_length
    corrections = sum((arb.bernoulli(j + 1) / (j + 1) * terms[j] for j in range(1, order, 2)), arb(0))
    return integral + terms[0] / 2 - corrections + arb(0, bound.upper())


def _order(radius: int, bits: int) -> int | None:
    """The smallest even q with q!/(2π · radius)^q < 2^-bits, if there is one."""
    if radius < 1:
        return None
    size = math.log(2 * math.pi) + math.log(radius)
    logarithm, q = 0.0, 0
    while logarithm > -bits * math.log(2):
        if math.log(q + 2) > size:
            return None  # from here on the terms grow again
        logarithm += math.log((q + 1) * (q + 2)) - 2 * size
        q += 2
    return q
