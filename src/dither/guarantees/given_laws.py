"""From two laws, given in any of the usual ways, to their privacy loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, Number, check, precision, rational, whole
from dither.exact.certified import exactly_above
from dither.guarantees.density_loss import Density, DensityLoss, FloatArray, LogDensity, MappedInterval
from dither.guarantees.finite import Distribution, read_distribution
from dither.guarantees.finite_loss import FiniteLoss
from dither.guarantees.frozen_laws import MOST_LEFT_OUT, MOST_OUTCOMES, loss_of_frozen
from dither.guarantees.loss import Loss

__all__ = ["loss_of", "normalised"]

_BITS = 128
_LEFT_OUT = Fraction(1, 1 << 80)
_SMALLEST = Ball(2) ** -32768
_MOST_ROUNDING = Fraction(1, 1000)  # of a sum, however narrow its floats
_WHOLE_LINE = (-math.inf, math.inf)


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
            f"weights must sum to 1 but for rounding, got {_near(total)}. "
            "Divide them by their sum if they are meant so."
        )
    return {outcome: value / total for outcome, value in exact.items()}


def _near(total: Fraction) -> str:
    return "more than 1000" if total > 1000 else f"{float(total):.17g}"


def _entries(weights: Any) -> Sequence[Any]:
    if isinstance(weights, np.ndarray):
        if weights.ndim != 1:
            raise ParameterError(f"weights must be a vector, got {weights.ndim} dimensions.")
        return list(weights)
    if isinstance(weights, str | bytes | bytearray) or not isinstance(weights, Sequence):
        raise ParameterError(
            f"weights must be a vector, a list or a mapping, got the type {type(weights).__name__}. "
            "Of a Series give .to_numpy() or .to_dict()."
        )
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
    kind, steps, ends = kinds.pop(), whole(shift, "shift"), _ends(interval)
    if steps and kind != _LAW:
        raise ParameterError(f"shift is for laws of dither.noise, got a {kind}. Give q where it is.")
    if ends != _WHOLE_LINE and kind != _DENSITY:
        raise ParameterError(f"interval is for densities, got a {kind}. Leave it out.")
    if normalise and kind in (_LAW, _FROZEN):
        raise ParameterError(
            f"normalise is for tables and densities, got a {kind}, which has its own sum. Leave it out."
        )
    if kind == _TABLE:
        return _of_tables(p, q, normalise)
    if kind == _LAW:
        return _of_laws(p, q, steps)
    if kind == _FROZEN:
        return loss_of_frozen(p, q)
    return _of_densities(p, q, ends, normalise)


_TABLE, _LAW, _FROZEN, _DENSITY = "table", "law of dither.noise", "discrete distribution", "density"


def _kind(law: Any) -> str:
    if isinstance(law, type):
        raise ParameterError(f"a law must have its parameters, got the class {law.__name__}. Call it with them.")
    if isinstance(law, Mapping | np.ndarray) or (isinstance(law, Sequence) and not isinstance(law, str | bytes)):
        return _TABLE
    if all(hasattr(law, name) for name in ("pmf", "tail", "quantile")):
        return _LAW
    if hasattr(law, "pmf") and hasattr(law, "support") and (not hasattr(law, "pdf") or _is_discrete(law)):
        return _FROZEN
    if (hasattr(law, "pdf") and hasattr(law, "support")) or callable(law):
        return _DENSITY
    raise ParameterError(
        "a law must be probabilities, a law of dither.noise, a frozen distribution of SciPy or a density as a "
        f"function; got the type {type(law).__name__}. Of a Series give .to_numpy() or .to_dict()."
    )


def _is_discrete(law: Any) -> bool:
    """Whether it is one of SciPy's newer distributions, all of which have a pmf and a pdf, on whole numbers."""
    return any(base.__name__ == "DiscreteDistribution" for base in type(law).__mro__)


def _ends(interval: Any) -> tuple[float, float]:
    """Both ends as floats, the first below the second."""
    try:
        low, high = interval
    except (TypeError, ValueError):
        raise ParameterError(f"interval must be a pair (low, high), got interval={interval!r}.") from None
    first, last = (
        float(end) if isinstance(end, float | np.floating) else float(rational(end, "an end of the interval"))
        for end in (low, high)
    )
    if not first < last:
        raise ParameterError(f"interval must have a low end below its high end, got interval={interval}.")
    return first, last


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
    """Both on windows that leave out less than 2^-80 of each, or more beyond 65,536 outcomes; errors are proven."""
    reaches = [min(_reach(law), MOST_OUTCOMES // 2) for law in (p, q)]
    windows = [range(at - reach, at + reach + 1) for at, reach in zip((0, shift), reaches, strict=True)]
    left = [_left_out(law, reach) for law, reach in zip((p, q), reaches, strict=True)]
    if not max(left) <= MOST_LEFT_OUT:
        raise ParameterError(
            f"the laws reach farther than the {MOST_OUTCOMES} outcomes of each that are compared. "
            "Ask the profile of their pair, as in dp.Laplace(...).guarantee."
        )
    outcomes = sorted({*windows[0], *windows[1]})
    (first, p_radii), (second, q_radii) = _masses(p, outcomes, 0), _masses(q, outcomes, shift)
    known = (_largest(p, q, shift), _largest(q, p, -shift))
    errors = [sum(radii, rest) for radii, rest in zip((p_radii, q_radii), left, strict=True)]
    return FiniteLoss(tuple(outcomes), first, second, errors[0], errors[1], True, p_radii, q_radii, known)


def _largest(p: Any, q: Any, shift: int) -> float:
    """What no loss exceeds, where a law knows it of its own shifts."""
    known = getattr(p, "largest_loss", lambda _: None)(shift) if p == q else None
    return math.inf if known is None else exactly_above(known)


def _reach(law: Any) -> int:
    return max(1, int(law.quantile(1 - _LEFT_OUT)), -int(law.quantile(_LEFT_OUT)))


def _left_out(law: Any, reach: int) -> Fraction:
    """At least the probability of |X| > reach."""
    with precision(_BITS):
        return _exact((law.cdf(-reach - 1) + law.tail(reach)).upper())


def _masses(law: Any, outcomes: Sequence[int], shift: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The middles of the balls, and their radii; what is smaller than 2^-32,768 is 0 but for that."""
    with precision(_BITS):
        balls = [law.pmf(y - shift) for y in outcomes]
        pairs = [(Ball(0), _SMALLEST) if x.upper() < _SMALLEST else (x.mid(), x.rad()) for x in balls]
    middles, radii = ([_exact(number) for number in each] for each in zip(*pairs, strict=True))
    return tuple(max(Fraction(0), middle) for middle in middles), tuple(radii)


def _exact(number: Ball) -> Fraction:
    """A ball of radius 0 as a fraction."""
    mantissa, exponent = number.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


# ------------------------------------------------------------------- densities


def _of_densities(p: Any, q: Any, interval: tuple[float, float], normalise: bool) -> Loss:
    low, high = interval
    known = [law for law in (p, q) if hasattr(law, "support")]
    if len(known) == 2:
        ends = [_support(law) for law in known]
        low, high = max(low, min(end[0] for end in ends)), min(high, max(end[1] for end in ends))
    line = MappedInterval(low, high, *_where(known))
    first, second = (Density.of(name, _log(law, name), line, normalise=normalise) for name, law in (("p", p), ("q", q)))
    return DensityLoss(first, second, line)


def _where(known: Sequence[Any]) -> tuple[float, float]:
    """The middle and the width of frozen distributions, by their quantiles; 0 and 1 for functions."""
    if not known:
        return 0.0, 1.0
    quantiles = [getattr(law, "ppf", None) or law.icdf for law in known]
    middles = [float(quantile(0.5)) for quantile in quantiles]
    widths = [float(quantile(0.75)) - float(quantile(0.25)) for quantile in quantiles]
    return sum(middles) / len(middles), max(*widths, max(middles) - min(middles), *([0.0] * 2)) or 1.0


def _support(law: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in law.support())
    except (TypeError, ValueError):
        raise ParameterError(
            "a law must be one frozen distribution with its parameters, such as stats.norm(0, 1)."
        ) from None
    return low, high


def _log(law: Any, name: str) -> LogDensity:
    """ln of the density, for arrays; −∞ where it is 0."""
    if hasattr(law, "logpdf") and hasattr(law, "support"):
        return lambda y: _without_warnings(law.logpdf, y)
    density = _for_arrays(law.pdf if hasattr(law, "pdf") and hasattr(law, "support") else law, name)

    def logs(y: FloatArray) -> FloatArray:
        values = density(y)
        if not bool((values >= 0).all()):  # NaN fails too
            raise ParameterError("a density must be 0 or positive everywhere on the interval.")
        with np.errstate(divide="ignore"):
            return np.log(values)

    return logs


def _without_warnings(function: Callable[..., Any], y: FloatArray) -> FloatArray:
    """Far out, SciPy's formulas overflow and say so; their logarithm is −∞ there, and NaN is refused."""
    with np.errstate(all="ignore"):
        return np.asarray(function(y), dtype=np.float64)


def _for_arrays(function: Callable[..., Any], name: str) -> Callable[[FloatArray], FloatArray]:
    """The function for arrays: as it is if it takes them, else point by point."""
    check.takes(1, **{name: function})
    probe = np.array([0.25, 0.5, 0.75])
    try:
        found = np.asarray(function(probe), dtype=np.float64)
        takes_arrays = found.shape == probe.shape
    except Exception:
        takes_arrays = False
    if takes_arrays:
        return lambda y: _numbers(function(y), name)

    def one_by_one(y: FloatArray) -> FloatArray:
        return np.array([_at_one_place(function, name, float(each)) for each in y], dtype=np.float64)

    return one_by_one


def _at_one_place(function: Callable[..., Any], name: str, y: float) -> float:
    try:
        return float(_unmasked(function(y), name))
    except ParameterError:
        raise
    except ArithmeticError as problem:
        raise ParameterError(
            f"{name} must have a density everywhere on the interval, and fails at {y:g} ({type(problem).__name__}). "
            "Write it so that nothing overflows there, or give the interval on which it lives, interval=(low, high)."
        ) from problem
    except (TypeError, ValueError) as problem:
        raise ParameterError(
            f"{name} must be a density: a function of one number that gives one number; it fails at {y:g}."
        ) from problem


def _numbers(values: Any, name: str) -> FloatArray:
    return np.asarray(_unmasked(values, name), dtype=np.float64)


def _unmasked(values: Any, name: str) -> Any:
    if np.ma.is_masked(values):
        raise ParameterError(f"{name} must have a density everywhere, and is masked at some points. Fill them.")
    return values
