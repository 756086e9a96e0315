"""From two laws, given in any of the usual ways, to their privacy loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, Number, precision, rational
from dither.guarantees.density_loss import Density, DensityLoss, FloatArray, LogDensity, MappedInterval
from dither.guarantees.finite import Distribution, read_distribution
from dither.guarantees.finite_loss import FiniteLoss
from dither.guarantees.loss import Loss

__all__ = ["loss_of", "normalised"]

_BITS = 128
_MOST_OUTCOMES = 1 << 16
_LEFT_OUT = Fraction(1, 1 << 80)
_LEFT_OUT_FLOAT = 1e-15
_MOST_ROUNDING = Fraction(1, 1000)  # of a sum, however narrow its floats
_FROZEN_ACCURACY = Fraction(1, 1 << 40)  # of each probability that SciPy gives, relative
_Window: TypeAlias = tuple[int, int]


def normalised(weights: Any) -> dict[Hashable, Fraction]:
    """Make exact probabilities of floats that add up to 1 but for rounding, such as a softmax.

    Parameters
    ----------
    weights : array, sequence or mapping
        Probabilities: a vector of NumPy, a list, or a mapping from outcomes. Their sum may miss 1 by the rounding of
        a softmax of n outcomes: 4 + log₂ n units in the last place of 1, and never more than 0.001.

    Returns
    -------
    dict
        Exact probabilities that add up to 1, by outcome; a list numbers its outcomes 0, 1, ...

    Raises
    ------
    ParameterError
        If a weight is negative or NaN, or the sum is farther from 1 than rounding explains: no mass is lost silently.

    Notes
    -----
    Each float counts with its binary value, divided by the exact sum of all.

    Examples
    --------
    >>> normalised([1 / 3, 1 / 3, 1 / 3])[0]
    Fraction(1, 3)
    """
    named = dict(weights.items()) if isinstance(weights, Mapping) else dict(enumerate(_entries(weights)))
    if not named:
        raise ParameterError("weights must not be empty. Give at least one outcome.")
    exact = {outcome: _weight(value) for outcome, value in named.items()}
    total = sum(exact.values(), Fraction(0))
    width = max((np.finfo(type(x)).eps for x in named.values() if isinstance(x, np.floating)), default=2.0**-52)
    rounding = min(_MOST_ROUNDING, (4 + len(exact).bit_length()) * Fraction(float(width)))
    if not abs(total - 1) <= rounding:
        raise ParameterError(
            f"weights must sum to 1 but for rounding, got {float(total):.17g}. "
            "Divide them by their sum if they are meant so."
        )
    return {outcome: value / total for outcome, value in exact.items()}


def _entries(weights: Any) -> Sequence[Any]:
    if isinstance(weights, np.ndarray):
        if weights.ndim != 1:
            raise ParameterError(f"weights must be a vector, got {weights.ndim} dimensions.")
        return list(weights)
    if isinstance(weights, str) or not isinstance(weights, Sequence):
        raise ParameterError(f"weights must be a vector, a list or a mapping, got the type {type(weights).__name__}.")
    return weights


def _weight(value: Any) -> Fraction:
    if isinstance(value, float | np.floating):
        exact = Fraction(*value.as_integer_ratio()) if math.isfinite(value) else None
    else:
        exact = rational(value, "a weight")
    if exact is None or not exact >= 0:
        raise ParameterError(f"each weight must be a number, 0 or more; got {value}.")
    return exact


def loss_of(
    p: Any,
    q: Any,
    *,
    shift: int = 0,
    interval: tuple[Number | float, Number | float] = (-math.inf, math.inf),
    normalise: bool = False,
) -> Loss:
    """Compute the privacy loss L(y) = ln p(y)/q(y) of any two laws.

    Parameters
    ----------
    p : mapping, sequence, array, law or callable
        The first law: probabilities by outcome, a list or a NumPy vector of them; a law of `dither.noise`; a frozen
        distribution of `scipy.stats`; or a density, as a function of one number or of an array.
    q : mapping, sequence, array, law or callable
        The second law, of the same kind.
    shift : int, default 0
        For laws of `dither.noise`, which are centred at 0: by how much the second is moved.
    interval : tuple, default the whole line
        For densities: where they live.
    normalise : bool, default False
        Whether probabilities in floats are divided by their sum, which must be 1 within rounding, and densities by
        their integral.

    Returns
    -------
    Loss
        The loss at an outcome, its law, the bad set and the witnessing event of an ε, δ(ε) and ε(δ), the trade-off
        curve, and pictures.

    Raises
    ------
    ParameterError
        If probabilities do not sum to 1 or a density does not integrate to 1 within the error of the quadrature.

    Notes
    -----
    Probabilities that are exact numbers, and the laws of `dither.noise`, give certified answers (`is_certified`).
    Frozen distributions and densities are integrated, and their answers are on the safe side by an error that is
    estimated and checked: two rules, and two formulas for δ(ε), must agree within it (guarantees/density_loss.py). No
    error is stated for what lies between all points that are looked at: a peak narrower than about 1/5,000 of the
    interval can be missed. A density with its mass there does not integrate to 1, and is refused; with normalise=True
    the rest is made 1 and nothing is noticed, so give an interval on which the density is not thin.

    Examples
    --------
    >>> coin = loss_of(["3/4", "1/4"], ["1/4", "3/4"])
    >>> coin.loss(0), coin.delta(1), coin.bad_set(1).outcomes
    (1.0986122886681098, 0.07042954288..., (0,))
    >>> from dither.noise import DiscreteLaplace
    >>> noisy = loss_of(DiscreteLaplace(2), DiscreteLaplace(2), shift=1)
    >>> noisy.loss(-3), noisy.is_certified
    (0.5, True)
    >>> import math
    >>> half = loss_of(lambda y: math.exp(-y), lambda y: 2 * math.exp(-2 * y), interval=(0, math.inf))
    >>> round(half.delta(0), 9), half.is_certified
    (0.25, False)
    """
    kinds = {_kind(p), _kind(q)}
    if len(kinds) > 1:
        raise ParameterError(f"p and q must be laws of the same kind, got {' and '.join(sorted(kinds))}.")
    kind = kinds.pop()
    if shift and kind != "law of dither.noise":
        raise ParameterError(f"shift is for laws of dither.noise, got a {kind}. Give q where it is.")
    if kind == "table":
        return _of_tables(p, q, normalise)
    if kind == "law of dither.noise":
        return _of_laws(p, q, shift)
    if kind == "discrete distribution":
        return _of_frozen(p, q)
    return _of_densities(p, q, interval, normalise)


def _kind(law: Any) -> str:
    if isinstance(law, Mapping | np.ndarray) or (isinstance(law, Sequence) and not isinstance(law, str)):
        return "table"
    if all(hasattr(law, name) for name in ("pmf", "tail", "quantile")):
        return "law of dither.noise"
    if hasattr(law, "pmf") and not hasattr(law, "pdf") and hasattr(law, "support"):
        return "discrete distribution"
    if (hasattr(law, "pdf") and hasattr(law, "support")) or callable(law):
        return "density"
    raise ParameterError(
        "a law must be probabilities, a law of dither.noise, a frozen distribution of SciPy or a density as a "
        f"function; got the type {type(law).__name__}."
    )


# --------------------------------------------------------------------- tables


def _of_tables(p: Any, q: Any, normalise: bool) -> Loss:
    first, second = (_table(law, name, normalise) for law, name in ((p, "p"), (q, "q")))
    outcomes = tuple(dict.fromkeys([*first, *second]))
    zero = Fraction(0)
    in_order = [tuple(law.get(y, zero) for y in outcomes) for law in (first, second)]
    return FiniteLoss(outcomes, in_order[0], in_order[1])


def _table(law: Distribution, name: str, normalise: bool) -> dict[Hashable, Fraction]:
    if normalise:
        return normalised(law)
    found = read_distribution(law, name)
    exact = {outcome: value for outcome, value in found.items() if isinstance(value, Fraction)}
    if len(exact) < len(found):
        raise ParameterError(f"{name} must have exact probabilities, not balls. Round them, and say normalise=True.")
    return exact


# ----------------------------------------------------------- laws on the integers


def _of_laws(p: Any, q: Any, shift: int) -> Loss:
    """Both on a window that leaves out less than 2^-80 of each, or more beyond 65,536 outcomes; errors are proven."""
    reach = min(max(_reach(p), _reach(q)) + abs(shift), _MOST_OUTCOMES // 2)
    outcomes = range(-reach, reach + 1)
    (first, p_radii, p_left), (second, q_radii, q_left) = _masses(p, outcomes, 0), _masses(q, outcomes, shift)
    p_error, q_error = sum(p_radii, p_left), sum(q_radii, q_left)
    return FiniteLoss(tuple(outcomes), first, second, p_error, q_error, p_radii=p_radii, q_radii=q_radii)


def _reach(law: Any) -> int:
    return max(1, int(law.quantile(1 - _LEFT_OUT)), -int(law.quantile(_LEFT_OUT)))


def _masses(law: Any, outcomes: range, shift: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...], Fraction]:
    """The middles of the balls, their radii, and what lies outside."""
    with precision(_BITS):
        balls = [law.pmf(y - shift) for y in outcomes]
        outside = law.cdf(outcomes[0] - 1 - shift) + law.tail(outcomes[-1] - shift)
    middles, radii = (
        [_exact(number) for number in each] for each in zip(*((x.mid(), x.rad()) for x in balls), strict=True)
    )
    return tuple(max(Fraction(0), middle) for middle in middles), tuple(radii), _exact(outside.upper())


def _exact(number: Ball) -> Fraction:
    """A ball of radius 0 as a fraction."""
    mantissa, exponent = number.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _of_frozen(p: Any, q: Any) -> Loss:
    """Discrete distributions in floats: what their probabilities lack to 1 is the error, and rounding."""
    low, high = (f(ends) for f, ends in zip((min, max), zip(_window(p), _window(q), strict=True), strict=True))
    if high - low >= _MOST_OUTCOMES:
        raise ParameterError(f"at most {_MOST_OUTCOMES} outcomes are compared, got {high - low + 1}. Use densities.")
    outcomes = np.arange(low, high + 1)
    laws = [tuple(Fraction(float(x)) for x in np.asarray(law.pmf(outcomes), dtype=np.float64)) for law in (p, q)]
    rounding = Fraction(len(outcomes), 1 << 44)
    errors = [abs(1 - sum(law, Fraction(0))) + rounding for law in laws]
    if not max(errors) < Fraction(1, 10**6):
        raise ParameterError(f"the probabilities must sum to 1, and miss it by {float(max(errors)):.2g}.")
    p_radii, q_radii = (tuple(x * _FROZEN_ACCURACY for x in law) for law in laws)
    named = tuple(outcomes.tolist())
    return FiniteLoss(named, laws[0], laws[1], errors[0], errors[1], False, p_radii, q_radii)


def _window(law: Any) -> _Window:
    low, high = law.support()
    return (
        int(low if math.isfinite(low) else law.ppf(_LEFT_OUT_FLOAT)),
        int(high if math.isfinite(high) else law.ppf(1 - _LEFT_OUT_FLOAT)),
    )


# ------------------------------------------------------------------- densities


def _of_densities(p: Any, q: Any, interval: tuple[Any, Any], normalise: bool) -> Loss:
    low, high = (float(end) for end in interval)
    if not low < high:
        raise ParameterError(f"interval must have a low end below its high end, got interval={interval}.")
    known = [law for law in (p, q) if hasattr(law, "support")]
    if len(known) == 2:
        ends = [tuple(map(float, law.support())) for law in known]
        low, high = max(low, min(end[0] for end in ends)), min(high, max(end[1] for end in ends))
    line = MappedInterval(low, high, *_where(known))
    first, second = (Density.of(name, _log(law), line, normalise=normalise) for name, law in (("p", p), ("q", q)))
    return DensityLoss(first, second, line)


def _where(known: Sequence[Any]) -> tuple[float, float]:
    """The middle and the width of frozen distributions, by their quantiles; 0 and 1 for functions."""
    if not known:
        return 0.0, 1.0
    quantiles = [getattr(law, "ppf", None) or law.icdf for law in known]
    middles = [float(quantile(0.5)) for quantile in quantiles]
    widths = [float(quantile(0.75)) - float(quantile(0.25)) for quantile in quantiles]
    return sum(middles) / len(middles), max(*widths, max(middles) - min(middles), *([0.0] * 2)) or 1.0


def _log(law: Any) -> LogDensity:
    """ln of the density, for arrays; −∞ where it is 0."""
    if hasattr(law, "logpdf"):
        return lambda y: np.asarray(law.logpdf(y), dtype=np.float64)
    density: Callable[[FloatArray], FloatArray] = _for_arrays(law.pdf if hasattr(law, "pdf") else law)

    def logs(y: FloatArray) -> FloatArray:
        values = density(y)
        if not bool((values >= 0).all()):  # NaN fails too
            raise ParameterError("a density must be 0 or positive everywhere on the interval.")
        with np.errstate(divide="ignore"):
            return np.log(values)

    return logs


def _for_arrays(function: Callable[..., Any]) -> Callable[[FloatArray], FloatArray]:
    """The function for arrays: as it is if it takes them, else point by point."""
    probe = np.array([0.25, 0.5, 0.75])
    try:
        found = np.asarray(function(probe), dtype=np.float64)
        takes_arrays = found.shape == probe.shape
    except Exception:
        takes_arrays = False
    if takes_arrays:
        return lambda y: np.asarray(function(y), dtype=np.float64)
    return lambda y: np.array([float(function(float(each))) for each in y], dtype=np.float64)
