"""How far noise reaches: the tails of the normal, Laplace and exponential laws, and the lemmas that bound them.

Everything is in units of the noise scale (σ, b or λ), and rounded up.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, rational
from dither.exact.certified import above

__all__ = ["exponential_tail", "largest_exponential_tail", "normal_tail", "normal_tail_bound"]


def normal_tail(t: Number, *, sides: Literal[1, 2] = 2) -> float:
    """Compute Pr[|Z| > t], or Pr[Z > t], of a standard normal Z.

    Parameters
    ----------
    t : Number
        The distance in standard deviations, 0 or more.
    sides : {2, 1}, default 2
        2 for |Z|, 1 for Z.

    Returns
    -------
    float
        erfc(t/√2), or half of it; never below the truth.

    Examples
    --------
    >>> import dither as dp
    >>> dp.mechanisms.normal_tail(2), dp.mechanisms.normal_tail_bound(2)
    (0.04550026389..., 0.05399096651...)
    """
    exact = _distance(t)
    _check_sides(sides)
    return min(1.0, above(lambda: sides * (ball(exact) / Ball(2).sqrt()).erfc() / 2))


def normal_tail_bound(t: Number, *, sides: Literal[1, 2] = 2, form: Literal["mills", "chernoff"] = "mills") -> float:
    """Bound the tail of a standard normal Z, as the lectures do.

    Parameters
    ----------
    t : Number
        The distance in standard deviations; above 0 for "mills".
    sides : {2, 1}, default 2
        2 for Pr[|Z| > t], 1 for Pr[Z > t].
    form : {"mills", "chernoff"}, default "mills"
        "mills" is `sides`/(t√(2π))·e^{−t²/2} (claim C4), "chernoff" is `sides`·e^{−t²/2} (claim C32).

    Returns
    -------
    float
        The bound, which may exceed 1; never below the truth.
    """
    exact = _distance(t)
    _check_sides(sides)
    if form == "chernoff":
        return above(lambda: sides * ball(-(exact**2) / 2).exp())
    if form != "mills":
        raise ParameterError(f"form must be mills or chernoff, got form={form!r}.")
    check.positive(t=exact)
    return above(lambda: sides * ball(-(exact**2) / 2).exp() / (ball(exact) * (2 * Ball.pi()).sqrt()))


def exponential_tail(t: Number) -> float:
    """Compute Pr[X > tλ] = e^{−t} of exponential noise X with mean λ; the same as Pr[|Y| > tλ] of Laplace noise Y.

    Parameters
    ----------
    t : Number
        The distance in scales, 0 or more.

    Returns
    -------
    float
        e^{−t}, never below the truth (claims C15 and C32).
    """
    exact = _distance(t)
    return above(lambda: ball(-exact).exp())


def largest_exponential_tail(count: int, t: Number) -> float:
    """Compute Pr[max of d > λ(ln d + t)] for d independent exponential noises of mean λ.

    Parameters
    ----------
    count : int
        The number d of noises, at least 1.
    t : Number
        The distance beyond ln d, in scales, 0 or more.

    Returns
    -------
    float
        1 − (1 − e^{−t}/d)^d, never below the truth, and at most e^{−t} (claim C15).

    Examples
    --------
    >>> import dither as dp
    >>> dp.mechanisms.largest_exponential_tail(1000, 3), dp.mechanisms.exponential_tail(3)
    (0.0485..., 0.0497...)
    """
    check.count(count=count)
    exact = _distance(t)
    return above(lambda: -(count * (-ball(-exact).exp() / count).log1p()).expm1() if exact or count > 1 else Ball(1))


def _distance(t: Number) -> Fraction:
    exact = rational(t, "t")
    check.nonnegative(t=exact)
    return exact


def _check_sides(sides: int) -> None:
    if sides not in (1, 2):
        raise ParameterError(f"sides must be 1 or 2, got sides={sides!r}.")
