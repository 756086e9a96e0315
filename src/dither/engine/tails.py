"""How the sizes that a noisy histogram shows go on where it shows nothing: draws of what could be there.

The best limits depend on people who are too few for any look. So what is seen is continued, by more than one law: a
power of the size, a lognormal, an exponential and a normal tail, and none, each as far as the noisy counts allow it. A
choice that is good for most of the draws is good whichever of them is true. Post-processing, which costs nothing.

Counts that are surely there stay. Beyond them, proposals come from the laws that were fitted to the end of what is
seen, with their own uncertainty; people are drawn from each (Poisson), and the proposals are weighed by the likelihood
of the noisy counts, given these people: Laplace noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.engine.supposed import Draws

__all__ = ["DRAWS", "drawn_from", "with_tails"]

Floats: TypeAlias = NDArray[np.float64]

DRAWS = 48
"""Of what could be there."""
_PROPOSALS = 800
_CONTINUED = 8.0
"""A tail goes on for so many octaves beyond the last count that is surely there."""
_NEAR = 1.5
"""Counts so many octaves beyond it, which are mostly noise, still say how the tail goes on."""
_COMPANY = 1.0
"""Counts so many octaves from others keep them company."""
_SURELY = 50
"""Of k empty bins, all stay below scale · ln(50k) but for a probability of 1 %: P[noise > t · scale] ≤ e^-t / 2."""
_FITTED = 4.0
"""So many octaves below the last count that is surely there say how the tail goes on."""
_MISFIT = 0.15
"""How far a curve may be from the counts, as a share of them."""
_ALL_ALIKE = 12.0
"""What it gains in χ² that nobody is beyond the smallest size, if all who are seen have that: mostly it is a rule."""
_EACH = 2.0
"""What each coefficient of a law has to gain in χ² (Akaike); that nobody is beyond takes the counts as they are."""


def with_tails(
    noisy: Floats, ends: Floats, scale: float, bins: int, rng: Draws, *, are_inverse: bool = False
) -> Floats:
    """Draws of the counts of sizes by bins, from small to large: one in each row.

    `ends` are the ends of the bins, all above 0, or the inverse ones if `are_inverse`; `scale` is that of the Laplace
    noise on the counts, of which there are `bins` in all.
    """
    sizes = np.log2(ends)
    widths, places = np.diff(sizes), (sizes[1:] + sizes[:-1]) / 2
    sure = _surely_there(noisy, places, scale * math.log(_SURELY * max(bins, 1)))
    counts: Floats = np.zeros((DRAWS, len(noisy)))
    if not len(sure):
        return counts
    first, last = int(sure[np.argmax(noisy[sure])]), int(sure[-1])
    between = np.min(np.abs(places[:, None] - places[sure]), axis=1) <= max(_COMPANY / 2, float(np.median(widths)))
    counts[:, between] = np.maximum(noisy[between], 0.0)
    beyond = np.flatnonzero((places > places[last]) & (places <= places[last] + _CONTINUED))
    begin = max(places[first], places[last] - _FITTED)
    fitted = np.flatnonzero((places >= begin) & (places <= places[last] + _NEAR))
    if not len(beyond) or len(fitted) < 3:
        return counts
    laws = [law for law in _LAWS if len(fitted) > law.powers]
    tails = [each for law in laws if (each := _fit(law, noisy, widths, places, fitted, scale, are_inverse)) is not None]
    is_seen = fitted <= last
    nobody = (
        float(np.sum(noisy[fitted[~is_seen]] ** 2)) / (2 * scale**2)
        + _EACH * np.count_nonzero(is_seen)
        - (_ALL_ALIKE if last == 0 else 0.0)
    )
    misfits = np.array([nobody, *(tail.misfit for tail in tails)])
    weights = np.exp((misfits.min() - misfits) / 2)
    none, *of_each = rng.multinomial(_PROPOSALS, weights / weights.sum())
    drawn = [tail.drawn(places[beyond], number, rng) for tail, number in zip(tails, of_each, strict=True)]
    expected = np.concatenate([np.zeros((none, len(beyond))), *drawn])
    expected = np.minimum(expected * widths[beyond], max(float(noisy[first]), 0.0))
    people = rng.poisson(expected).astype(np.float64)
    likely = -np.abs(noisy[beyond] - people).sum(axis=1) / scale
    counts[:, beyond] = people[drawn_from(np.exp(likely - likely.max()), rng)]
    return counts


def drawn_from(weights: Floats, rng: Draws) -> NDArray[np.int64]:
    """As many places as there are draws, each as often as it weighs, in a random order."""
    running = np.cumsum(weights) / np.sum(weights)
    marks = (np.arange(DRAWS) + rng.random()) / DRAWS
    return rng.permutation(np.minimum(np.searchsorted(running, marks), len(weights) - 1))


def _surely_there(noisy: Floats, places: Floats, least: float) -> NDArray[np.int64]:
    """Bins with more than noise would show in any; one that stands alone has to show twice as much.

    Alone is who has no other near them that shows three quarters of it: far from everybody else, noise taken for people
    would cost more than anything else could.
    """
    sure = np.flatnonzero(noisy > least)
    step = float(np.median(np.diff(places))) if len(places) > 1 else 0.0
    near = np.abs(places[sure][:, None] - places) <= max(_COMPANY, 1.5 * step)
    company = (near & (noisy > 0.75 * least)).sum(axis=1)
    return np.asarray(sure[(company > 1) | (noisy[sure] > 2 * least)])


@dataclass(frozen=True, slots=True)
class _Law:
    """A polynomial for the logarithm of the density by the logarithm of the size, in it or in the size itself.

    A line in the logarithm is a power law and a parabola a lognormal one; in the size, the line is an exponential law,
    near to which is the end of a geometric or Poisson law, and the parabola a normal one. Parabolas are bent downwards.
    """

    powers: int
    """Of the polynomial: 2 for a line, 3 for a parabola."""
    is_of_size: bool

    def terms(self, at: Floats, end: float, sign: float) -> tuple[Floats, Floats]:
        """What the coefficients multiply, and what is added."""
        if not self.is_of_size:
            return np.vander(at - end, self.powers), np.zeros_like(at)
        return np.vander(np.exp2(np.clip(sign * (at - end), -50.0, 50.0)), self.powers), sign * (at - end) * math.log(2)


_LAWS = tuple(_Law(powers, is_of_size) for powers in (2, 3) for is_of_size in (False, True))


@dataclass(frozen=True, slots=True)
class _Tail:
    """A law that was fitted, and how surely."""

    law: _Law
    line: Floats
    covariance: Floats
    misfit: float
    end: float
    sign: float

    def drawn(self, at: Floats, number: int, rng: Draws) -> Floats:
        """Densities at places, by coefficients that are as uncertain as the fit; 0 where they do not fall."""
        lines = rng.multivariate_normal(self.line, self.covariance, number, check_valid="ignore")
        if self.law.powers == 3:
            lines[:, 0] = -np.abs(lines[:, 0])
        terms, more = self.law.terms(np.r_[self.end - 1e-3, self.end, at], self.end, self.sign)
        logs = lines @ terms.T + more
        falls = logs[:, 1] < logs[:, 0]
        densities: Floats = np.where(falls[:, None], np.exp(np.clip(logs[:, 2:], -50.0, 30.0)), 0.0)
        return densities


def _fit(
    law: _Law, noisy: Floats, widths: Floats, places: Floats, fitted: NDArray[np.int64], scale: float, are_inverse: bool
) -> _Tail | None:
    """The law that is nearest to the counts; None where it does not fall at their end."""
    counts, wide, at = noisy[fitted], widths[fitted], places[fitted]
    sign, end = -1.0 if are_inverse else 1.0, float(at[-1])
    terms, more = law.terms(at, end, sign)
    spread = np.sqrt(2 * scale**2 + np.maximum(counts, 0.0) + (_MISFIT * counts) ** 2)

    def density(line: Floats) -> Floats:
        return np.asarray(wide * np.exp(np.clip(terms @ line + more, -50.0, 50.0)))

    rough = np.log(np.maximum(counts, scale / 2) / wide) - more
    weights = np.maximum(counts, scale / 2) / spread
    first = np.linalg.lstsq(terms * weights[:, None], rough * weights, rcond=None)[0]
    highs = np.full(law.powers, np.inf)
    if law.powers == 3:
        highs[0], first[0] = 0.0, min(first[0], -1e-6)
    found = scipy.optimize.least_squares(
        lambda line: (density(line) - counts) / spread,
        first,
        bounds=(np.full(law.powers, -np.inf), highs),
        jac=lambda line: (density(line) / spread)[:, None] * terms,
        max_nfev=60,
    )
    line = np.asarray(found.x)
    slope, more_slope = law.terms(np.array([end - 1e-3, end]), end, sign)
    if np.diff(slope @ line + more_slope)[0] >= 0:
        return None
    curvature = found.jac.T @ found.jac
    covariance = np.linalg.pinv(curvature + np.eye(law.powers) * 1e-9 * max(float(np.trace(curvature)), 1e-9))
    return _Tail(law, line, covariance, 2 * float(found.cost) + _EACH * law.powers, end, sign)
