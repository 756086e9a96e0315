"""The profile of a law on the integers against its shift, term by term from the weights of `tests.oracle.laws`."""

from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from dither.noise import DiscreteStaircase, Geometric, Gumbel, Law, PowerLaw, StudentT
from tests.oracle.laws import BITS, tail, weight

__all__ = ["profile"]

_NEGLIGIBLE = arb(2) ** -150


def profile(law: Law, shift: int, epsilon: Fraction, *, is_swapped: bool = False) -> arb:
    """Σ (P[X = x] − e^ε P[X = x − shift])₊ for ε > 0, or with both exchanged, to within 2^-150."""
    with ctx.workprec(BITS):
        odds = arb(epsilon.numerator) / epsilon.denominator
        odds = odds.exp()
        total = arb(0)
        low, high = _reach(law, shift, epsilon)
        for x in range(low, high + 1):
            p, q = _weight(law, x), _weight(law, x - shift)
            p, q = (q, p) if is_swapped else (p, q)
            excess = p - odds * q
            if not excess <= 0:
                total += excess
        return total / _whole(law) + arb(0, _NEGLIGIBLE)


def _reach(law: Law, shift: int, epsilon: Fraction) -> tuple[int, int]:
    """Beyond, there is nothing to add: the loss is at most ε there, or the whole mass is below 2^-160."""
    match law:
        case PowerLaw() | StudentT():
            # (1 + ((y + Δ)/c)^α)/(1 + (y/c)^α) ≤ (1 + Δ/y)^α ≤ e^{αΔ/y}, to the power β.
            exponent = law.gamma if isinstance(law, PowerLaw) else law.degrees + 1
            return -int(exponent * shift / epsilon) - 1, int(exponent * shift / epsilon) + 1 + shift
        case DiscreteStaircase():
            far = int(law.sensitivity * (120 / law.epsilon + 2)) + shift
            return -far, far
        case Gumbel():
            return -int(5 * law.scale) - 2, int(120 * law.scale) + shift + 2  # exp(−e^5) < 2^-200
        case Geometric():
            return 0, int(120 * law.scale) + shift
    raise NotImplementedError(law)


@lru_cache(maxsize=1 << 17)
def _weight(law: Law, x: int) -> arb:
    return weight(law, x)


@lru_cache(maxsize=1 << 12)
def _whole(law: Law) -> arb:
    match law:
        case Gumbel():
            return arb(1)
        case Geometric():
            return weight(law, 0) + tail(law, 1)
    return weight(law, 0) + 2 * tail(law, 1)
