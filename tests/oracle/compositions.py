"""Composed profiles by brute force: all outcomes of finite products, binomials, and certified integrals.

Slow and naive on purpose. Shares no code with dither: exact fractions and python-flint.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb

from flint import acb, arb, ctx

from tests.oracle.finite import Masses, real

__all__ = [
    "BITS",
    "Profile",
    "finite_product",
    "gaussian",
    "is_bracket",
    "laplace_then",
    "normal_tail",
    "real",
    "responses",
    "sampled_gaussian",
    "sampled_gaussian_then",
]

BITS = 160
Profile = Callable[[arb], arb]


def finite_product(pairs: Sequence[tuple[Masses, Masses, int]]) -> Profile:
    """δ(ε) of a product of finite pairs, each a number of times: outcomes with equal odds are added up, exactly."""
    joint: dict[Fraction | None, tuple[Fraction, Fraction]] = {Fraction(1): (Fraction(1), Fraction(1))}
    for p, q, times in pairs:
        for _ in range(times):
            joint = _times(joint, p, q)

    def delta(epsilon: arb) -> arb:
        odds = epsilon.exp()
        total = arb(0)
        for a, b in joint.values():
            excess = real(a) - odds * real(b)
            if not excess <= 0:
                total += excess
        return total

    return delta


def _times(
    joint: dict[Fraction | None, tuple[Fraction, Fraction]], p: Masses, q: Masses
) -> dict[Fraction | None, tuple[Fraction, Fraction]]:
    grown: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for ratio, (a, b) in joint.items():
        for x, y in zip(p, q, strict=True):
            if not a * x:
                continue
            key = None if ratio is None or not b * y else ratio * x / y
            old = grown.get(key, (Fraction(0), Fraction(0)))
            grown[key] = (old[0] + a * x, old[1] + b * y)
    return grown


def responses(odds: Fraction, times: int) -> Profile:
    """δ(ε) of `times` randomized responses: Σ_j C(k, j)(o^j − e^ε o^{k−j})₊/(1+o)^k."""

    def delta(epsilon: arb) -> arb:
        u, o = epsilon.exp(), real(odds)
        total = arb(0)
        for j in range(times + 1):
            term = o**j - u * o ** (times - j)
            if not term <= 0:
                total += comb(times, j) * term
        return total / (1 + o) ** times

    return delta


def normal_tail(z: acb) -> acb:
    """P[N(0, 1) > z]."""
    return (z / acb(2).sqrt()).erfc() / 2


def gaussian(mu: Fraction) -> Callable[[acb], acb]:
    """δ(ε) of N(μ, 1) against N(0, 1), as an analytic function."""
    m = acb(real(mu))

    def delta(epsilon: acb) -> acb:
        return normal_tail(epsilon / m - m / 2) - epsilon.exp() * normal_tail(epsilon / m + m / 2)

    return delta


def laplace_then(largest: Fraction, rest: Callable[[acb], acb]) -> Profile:
    """δ(ε) of Laplace noise with Δ/b = `largest` and something else: E_P[δ_rest(ε − L)].

    L is ±ε₀ with probability ½ and ½e^{−ε₀}, and ε₀ − 2ε₀x with density ½ε₀e^{−ε₀x} for x in (0, 1).
    """
    top = acb(real(largest))

    def delta(epsilon: arb) -> arb:
        e = acb(epsilon)

        def inside(x: acb, _: bool) -> acb:
            return top / 2 * (-top * x).exp() * rest(e - top + 2 * top * x)

        total = rest(e - top) / 2 + (-top).exp() / 2 * rest(e + top)
        return (total + acb.integral(inside, 0, 1)).real

    return delta


def sampled_gaussian_then(mu: Fraction, rate: Fraction, rest: Callable[[acb], acb], *, add: bool) -> Profile:
    """δ(ε) of Gaussian noise on a Poisson sample and something else; `add` is the direction (Q, mixture).

    With x ~ N(0, 1) or N(μ, 1), the mixture has the odds 1 − γ + γe^{μx − μ²/2} against N(0, 1).
    """
    m, gamma = acb(real(mu)), acb(real(rate))
    reach = 14

    def delta(epsilon: arb) -> arb:
        e = acb(epsilon)

        def inside(x: acb, _: bool) -> acb:
            odds = 1 - gamma + gamma * (m * x - m * m / 2).exp()
            density = (-x * x / 2).exp() / (2 * acb.pi()).sqrt()
            return density * rest(e + odds.log()) if add else density * odds * rest(e - odds.log())

        far = int(mu) + reach
        found = acb.integral(inside, -reach, far).real
        return found + arb(0, "1e-40")  # what lies farther out

    return delta


def sampled_gaussian(mu: Fraction, rate: Fraction, *, add: bool) -> Profile:
    """δ(ε) of one release of Gaussian noise on a Poisson sample, ε > 0, by its threshold."""
    m, gamma = real(mu), real(rate)

    def delta(epsilon: arb) -> arb:
        u = epsilon.exp()
        odds = (u - 1 + gamma) / gamma if not add else (1 / u - 1 + gamma) / gamma
        if not odds > 0:
            return arb(0)
        x = odds.log() / m + m / 2
        root = arb(2).sqrt()
        above_0, above_m = (x / root).erfc() / 2, ((x - m) / root).erfc() / 2
        if add:  # N(0, 1) against the mixture; the loss falls with x
            below_0, below_m = 1 - above_0, 1 - above_m
            return below_0 - u * ((1 - gamma) * below_0 + gamma * below_m)
        return (1 - gamma) * above_0 + gamma * above_m - u * above_0

    return delta


def is_bracket(profile: Profile, delta: Fraction, lower: float, upper: float) -> bool:
    """Whether the smallest ε ≥ 0 with profile(ε) ≤ delta lies in [lower, upper], in certified arithmetic."""
    with ctx.workprec(BITS):
        goal = real(delta)
        below = lower == 0 or not profile(arb(lower)) < goal
        above = not profile(arb(upper)) > goal
        return bool(below and above)
