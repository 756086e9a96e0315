"""Profiles and curves that are known in closed form, at 600 bits; nothing of dither is used."""

from fractions import Fraction

from flint import arb

from tests.oracle.finite import at_full_precision, real

__all__ = [
    "approximate_beta",
    "approximate_delta",
    "gaussian_beta_at",
    "gaussian_delta",
    "laplace_delta",
    "response_delta",
    "response_renyi",
    "zcdp_delta_of_proposition_12",
]


def phi(x: arb) -> arb:
    """Φ(x) by the error function."""
    return (1 + (x / arb(2).sqrt()).erf()) / 2 if abs(x) < 1 else _far(x)


def _far(x: arb) -> arb:
    """Φ(x) = Γ(½, x²/2)/(2√π) to the left of 0, by symmetry to the right."""
    tail = (x * x / 2).gamma_upper(arb(1) / 2) / (2 * arb.pi().sqrt())
    return tail if x < 0 else 1 - tail


@at_full_precision
def gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> arb:
    """N(μ, 1) against N(0, 1): the mass of x > ε/μ + μ/2 under both."""
    mu, loss = real(mu_squared).sqrt(), real(epsilon)
    cut = loss / mu + mu / 2
    return phi(mu - cut) - loss.exp() * phi(-cut)


@at_full_precision
def gaussian_beta_at(mu_squared: Fraction, cut: Fraction) -> tuple[arb, arb]:
    """The errors (α, β) of the test x > cut."""
    return phi(-real(cut)), phi(real(cut) - real(mu_squared).sqrt())


@at_full_precision
def response_delta(epsilon0: Fraction, epsilon: Fraction) -> arb:
    """Randomized response: two answers with odds e^{ε₀}."""
    true = 1 / (1 + (-real(epsilon0)).exp())
    return (true - real(epsilon).exp() * (1 - true)).max(arb(0))


@at_full_precision
def approximate_delta(epsilon0: Fraction, delta0: Fraction, epsilon: Fraction) -> arb:
    """Four outcomes: the data given away with probability δ₀, else randomized response."""
    return real(delta0) + (1 - real(delta0)) * response_delta(epsilon0, epsilon)


@at_full_precision
def approximate_beta(epsilon0: Fraction, delta0: Fraction, alpha: Fraction) -> arb:
    """The lower hull of the corners of the same four outcomes, by its three lines."""
    odds, rest = real(epsilon0).exp(), 1 - real(delta0)
    return (rest - odds * real(alpha)).max((rest - real(alpha)) / odds).max(arb(0))


@at_full_precision
def response_renyi(epsilon0: Fraction, order: Fraction) -> arb:
    """ln(p^α (1−p)^{1−α} + (1−p)^α p^{1−α}) / (α − 1)."""
    true = 1 / (1 + (-real(epsilon0)).exp())
    exponent = real(order)
    up, down = true.log(), (1 - true).log()
    terms = (exponent * up + (1 - exponent) * down).exp() + (exponent * down + (1 - exponent) * up).exp()
    return terms.log() / (exponent - 1)


@at_full_precision
def laplace_delta(epsilon0: Fraction, epsilon: Fraction) -> arb:
    """∫ (½e^{−|x−ε₀|} − e^ε ½e^{−|x|})₊ dx, for 0 ≤ ε: the cut is at x = (ε + ε₀)/2."""
    if epsilon >= epsilon0:
        return arb(0)
    cut = real((epsilon + epsilon0) / 2)
    return 1 - (cut - real(epsilon0)).exp() / 2 - real(epsilon).exp() * (-cut).exp() / 2


@at_full_precision
def zcdp_delta_of_proposition_12(rho: Fraction, epsilon: Fraction, order: Fraction) -> arb:
    """Canonne, Kamath and Steinke (2020): e^{(α−1)(αρ−ε)} (1 − 1/α)^{α−1} / α."""
    alpha, loss = real(order), real(epsilon)
    return ((alpha - 1) * (alpha * real(rho) - loss + (1 - 1 / alpha).log())).exp() / alpha
