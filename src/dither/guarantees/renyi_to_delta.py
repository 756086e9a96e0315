"""From one Rényi divergence to (ε, δ): the tangent bound, and the search for its best parameters.

Let t = dP/dQ and E_Q[t^α] ≤ c = e^{(α−1)γ}, that is D_α(P‖Q) ≤ γ. For r > s ≥ 0 the convex function

    h(t) = (t^α − α s^{α−1} t + (α − 1) s^α) / (α (r^{α−1} − s^{α−1}))

touches 0 at t = s and has slope 1 at t = r. It stays above (t − e^ε)₊ if h(r) ≥ r − e^ε, that is if

    (α − 1)(r^α − s^α) ≤ e^ε α (r^{α−1} − s^{α−1}).                                            (*)

Taking E_Q on both sides, with E_Q[t] = 1,

    δ(ε) = E_Q[(t − e^ε)₊] ≤ (c − α s^{α−1} + (α − 1) s^α) / (α (r^{α−1} − s^{α−1})).            (**)

At s = 0 this is Proposition 12 of Canonne, Kamath and Steinke (2020), δ = e^{(α−1)(γ−ε)} (1 − 1/α)^{α−1} / α.
There h may also rise from t = 0: h(t) = A t^α + B t with A = e^ε/((α − 1) r^α), B = 1 − e^ε α/((α − 1) r) ≥ 0
has the tangent t − e^ε at t = r, and is best at r = e^γ:

    δ(ε) ≤ 1 − e^{ε−γ}   if   e^γ ≥ e^ε α/(α − 1), that is if 1 − e^{ε−γ} ≥ 1/α.                        (***)

The better of both at the best s, with equality in (*), is the exact worst case among all pairs with D_α(P‖Q)
≤ γ: a coin with likelihood ratios r and s attains it (the optimum of Asoodeh, Liao, Calmon, Kosut and Sankar
2021). Every (α, s) gives a valid bound, so floats may search for good ones and balls evaluate the
one that was found.

Parameters are kept as m = α − 1 and as distances from 1, so that neither is lost when it is tiny.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.exact import Ball, ball

__all__ = [
    "Curve",
    "FloatArray",
    "best_for_delta",
    "best_for_epsilon",
    "certified_delta",
    "certified_epsilon",
]

FloatArray: TypeAlias = NDArray[np.float64]
Curve: TypeAlias = Callable[[FloatArray], FloatArray]
"""m = α − 1 ↦ ln c = (α − 1)γ(α), in floats."""
Score: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""(m, ln c, gap) ↦ what to make small."""

# Gaps are searched on a logistic scale x, gap = 1/(1 + e^{−x}), which resolves both those near 0 and near 1.
_NEAR = np.linspace(-4.0, 4.0, 9)
_WIDE = np.array([-3.0, -1.5, -0.5, 0.5, 1.5, 3.0, 5.0, 8.0, 12.0, 18.0, 26.0, 40.0])
_STEPS = np.linspace(-1.0, 1.0, 9)
_ZOOMS = (1.0, 0.5, 0.2, 0.08, 0.03)
_MANY_ORDERS = 24
"""With more orders than this, the first look is at every second gap."""
_MOST_ORDERS = 6
"""How many orders stay in the search after the first look, where the orders are given."""


def certified_delta(epsilon: Fraction, m: Fraction, gap: Fraction, log_c: Ball) -> Ball:
    """The bound (**) with s = (1 − gap)·r and equality in (*), which then gives r."""
    order, ratio, m_ball = ball(m + 1), ball(1 - gap), ball(m)
    low_power = ratio**m_ball if gap != 1 else Ball(0)
    spread = 1 - low_power
    log_r = ball(epsilon) + (order * spread / (m_ball * (1 - low_power * ratio))).log()
    s_power = low_power * (m_ball * log_r).exp()
    s = ratio * log_r.exp() if gap != 1 else Ball(0)
    numerator = log_c.exp() - order * s_power + (m_ball * s_power * s if gap != 1 else 0)
    return numerator * (-m_ball * log_r).exp() / (order * spread)


def certified_epsilon(delta: Fraction, m: Fraction, gap: Fraction, log_c: Ball) -> Ball:
    """The ε for which the bound (**) with s = 1 − gap equals δ: r follows from (**), then ε from (*)."""
    order, s, m_ball = ball(m + 1), ball(1 - gap), ball(m)
    s_power = s**m_ball if gap != 1 else Ball(0)
    spread = (log_c.exp() - order * s_power + m_ball * s_power * s) / (order * ball(delta))
    log_r = (s_power + spread).log() / m_ball
    return (m_ball * ((order * log_r).exp() - s_power * s) / (order * spread)).log()


def best_for_delta(epsilon: float, m: FloatArray, curve: Curve, free_m: bool) -> tuple[float, float]:
    """The (m, gap) that makes `certified_delta` about the smallest; any m if `free_m`, else one of those given."""
    # s ≤ 1 ≤ e^ε ≤ r: the ratio s/r is at most e^{−ε}.
    least = -math.expm1(-epsilon)

    def score(m: FloatArray, log_c: FloatArray, share: FloatArray) -> FloatArray:
        return _log_delta(epsilon, m, least + (1 - least) * share, log_c)

    best_m, share = _search(score, m, curve, free_m)
    return best_m, min(1.0, least + (1 - least) * share)


def best_for_epsilon(log_delta: float, m: FloatArray, curve: Curve, free_m: bool) -> tuple[float, float]:
    """The (m, gap) that makes `certified_epsilon` about the smallest; any m if `free_m`, else one of those given."""

    def score(m: FloatArray, log_c: FloatArray, gap: FloatArray) -> FloatArray:
        return _epsilon(log_delta, m, gap, log_c)

    return _search(score, m, curve, free_m)


def _search(score: Score, m: FloatArray, curve: Curve, free_m: bool) -> tuple[float, float]:
    """The (m, gap) of about the smallest score: a first look on a grid, then zooms around the best points."""
    with np.errstate(all="ignore"):
        log_c = curve(m)
        # Where the two parts of the numerator of (**) balance: (1 − s)² = 2(c − 1)/(αm).
        size = np.log(2 * np.expm1(np.minimum(log_c, 1.0)) / (m * (1 + m))) / 2
        wide = np.broadcast_to(_WIDE, (len(m), len(_WIDE)))
        places = np.concatenate([np.minimum(size[:, None] + _NEAR, 40.0), wide], axis=1)
        if len(m) > _MANY_ORDERS:
            places = places[:, ::2]
        scores = _scores(score, m, log_c, places)
        columns = scores.argmin(axis=1)
        rows = np.argsort(scores[np.arange(len(m)), columns])[:_MOST_ORDERS]
        found = places[rows, columns[rows]]
        if free_m:
            return _zoom_both(score, curve, float(m[rows[0]]), float(found[0]))
        return _zoom_gaps(score, m[rows], log_c[rows], found)


def _zoom_both(score: Score, curve: Curve, m: float, place: float) -> tuple[float, float]:
    """Around one point, in both directions; the last zoom ends in the vertex of a parabola."""
    for shrink in _ZOOMS:
        near, places = m * np.exp(0.8 * shrink * _STEPS), place + 1.6 * shrink * _STEPS
        scores = _scores(score, near, curve(near), np.broadcast_to(places, (len(near), len(places))))
        row, column = divmod(int(scores.argmin()), len(places))
        m, place = float(near[row]), float(places[column])
    step = 0.2 * shrink
    m *= math.exp(step * _vertex(scores[:, column], row))
    return m, _gap(place + 2 * step * _vertex(scores[row], column))


def _zoom_gaps(score: Score, m: FloatArray, log_c: FloatArray, places: FloatArray) -> tuple[float, float]:
    """Around one gap for each of several orders; the last zoom ends in the vertex of a parabola."""
    rows = np.arange(len(m))
    for shrink in _ZOOMS:
        near = places[:, None] + 1.6 * shrink * _STEPS
        scores = _scores(score, m, log_c, near)
        columns = scores.argmin(axis=1)
        places = near[rows, columns]
    best = int(scores[rows, columns].argmin())
    return float(m[best]), _gap(float(places[best]) + 0.4 * shrink * _vertex(scores[best], int(columns[best])))


def _scores(score: Score, m: FloatArray, log_c: FloatArray, places: FloatArray) -> FloatArray:
    scores = score(m[:, None], log_c[:, None], 1 / (1 + np.exp(-places)))
    scores[np.isnan(scores)] = math.inf
    return scores


def _gap(place: float) -> float:
    return 1.0 if place > 36 else 1 / (1 + math.exp(-place))


def _vertex(values: FloatArray, at: int) -> float:
    """Where the parabola through three neighbours has its vertex, in steps from the middle one."""
    if not 0 < at < len(values) - 1:
        return 0.0
    before, here, after = (float(value) for value in values[at - 1 : at + 2])
    bend = before - 2 * here + after
    return (before - after) / (2 * bend) if 0 < bend < math.inf else 0.0


def _log_numerator(m: FloatArray, log_s: FloatArray, log_c: FloatArray) -> FloatArray:
    """ln(c − α s^m + m s^α) as the sum of the two nonnegative parts c − 1 and 1 − α s^m + m s^α."""
    bend = -(1 + m) * np.expm1(m * log_s) + m * np.expm1((1 + m) * log_s)
    excess = log_c + np.log(-np.expm1(-log_c))
    result: FloatArray = np.logaddexp(excess, np.log(np.maximum(bend, 1e-300)))
    return result


def _log_delta(epsilon: float, m: FloatArray, gap: FloatArray, log_c: FloatArray) -> FloatArray:
    log_ratio = np.log1p(-gap)
    log_spread = np.log(-np.expm1(m * log_ratio))
    log_r = epsilon + np.log1p(m) - np.log(m) + log_spread - np.log(-np.expm1((1 + m) * log_ratio))
    result: FloatArray = _log_numerator(m, log_r + log_ratio, log_c) - np.log1p(m) - m * log_r - log_spread
    return result


def _epsilon(log_delta: float, m: FloatArray, gap: FloatArray, log_c: FloatArray) -> FloatArray:
    log_s = np.log1p(-gap)
    log_spread = _log_numerator(m, log_s, log_c) - np.log1p(m) - log_delta
    log_r = np.logaddexp(m * log_s, log_spread) / m
    log_rise = (1 + m) * log_r + np.log(-np.expm1((1 + m) * (log_s - log_r)))
    result: FloatArray = np.log(m) - np.log1p(m) + log_rise - log_spread
    return result
