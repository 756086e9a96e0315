"""Gaussian noise that is on the integers or on the line, not known which: between two continuous ones.

Write σ² = v for the variance in units of the lattice, T(n) = P[X > n] of the discrete law X, Φ̄ for the normal tail, and
G(μ²) for the pair of continuous noise. Let Φ̄(z(n)) = T(n) and w = max over n of z(n + 1) − z(n). The best tests of X
against X + Δ are {X > n}, and have the masses (T(n), T(n + Δ)) with z(n + Δ) − z(n) ≤ Δw: all of them are tests of
G(Δ²w²), so that dominates. w is about (1 + 1/(24v))/σ.

* w is read off a table up to n = N. Tests beyond add at most t = T(N − Δ) to δ(u), u = e^ε ≥ 1: for n > N − Δ as
  T(n) ≤ t, for n < −N as p − uq ≤ 1 − u(1 − t) ≤ t. Where G has δ(1) = 1 − c, a pair of G and of a
  leak of t/c has at least δ(u) + t for u ≥ 1, hence dominates there, and for u < 1 by symmetry.
* Of a wide law no table is needed. Round y, normal with variance v − s, to the integer z with probability
  ∝ e^{−(z−y)²/2s}. The sums Σ_z e^{−(z−y)²/2s} differ from √(2πs) by at most 2.01e^{−2π²s} relative (Poisson), so
  z is the discrete law within a factor e^{±r}, r = 5e^{−2π²s}: G(Δ²/(v − s)) dominates all but that factor.
* k copies together, j of them on the integers. Σx has masses ∝ e^{−s²/2jv}, within the factor of the sums
  Σ_x e^{−(x−c)²/2τ²} of each step, where i copies and one more have τ² = iv/(i + 1) ≥ v/2: r = 4.1·k·e^{−π²v}.
  The likelihood ratio is one of the sum of all. For 0 < j < k that sum has the density of a normal law within such a
  factor, τ² = v·j(k − j)/k ≥ v/2 again: G(kΔ²/v). For j = k it is the discrete law of variance kv, moved by kΔ; for
  j = 0 the normal one. So the copies together cost what one discrete law does: 1/(12kv) more than the normal one, not
  1/(12v).

Factors add up to R, leaks to T, and with P ≤ e^R P′, Q ≥ e^{−R} Q′ one has δ(u) ≤ e^R (δ′(ue^{−2R}) + T), so
ε(δ) ≤ ε′(e^{−R}δ − T) + 2R. A sample keeps both: a mixture of laws is off by the factor that they are off by, and what
is leaked on a sample is leaked by all. All mixes are thus below; that everything is continuous is one of the mixes, and
is what the lower end is about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from dither.accounting.bracket_search import Group, Groups
from dither.pairs.between import BetweenPair
from dither.pairs.choice import ChoicePair
from dither.pairs.discrete_noise import DiscreteGaussianPair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.pair import Pair
from dither.pairs.subsampled import FixedSizePair, PoissonAddPair, PoissonRemovePair

__all__ = ["NearlyContinuous", "nearly_continuous"]

_SHARE = 0.5  # of the width that is asked for may be due to not knowing which
_LARGEST_FACTOR = 2.0**-40
_LARGEST_LEAK = 2.0**-40  # relative to δ
_LEAST_VARIANCE = 1.0
_LARGEST_TABLE = 10**6  # the variance up to which w is read off a table
_ROUNDED_WITH = 8
_FARTHEST, _SUMMED = 30.0, 32.0  # standard deviations
_LARGEST_MU = 10.0
_OVERLAP = 1e-8  # 1 − δ(0) of G at most a tenth above that μ: 2Φ̄(5.5) is 3.8e-8
_PLACE = 4e-12  # how far z(n) may be off; it is checked
_TAIL_ERROR = 1e-12  # of T(n) and of Φ̄, relative: at most 4e4 terms in long floats, exponents up to 512
_LARGEST_EXPONENT = 50.0
_OF_WIDE_LAPLACE = 3.0  # the variance of its loss
_SAMPLES = (PoissonRemovePair, PoissonAddPair, FixedSizePair)


class _Cover(NamedTuple):
    """`pair` dominates the product, but for a `factor` R and a `leak` T."""

    pair: BetweenPair
    times: int
    factor: float
    leak: float


@dataclass(frozen=True, slots=True)
class NearlyContinuous:
    """The same `groups`, some choices in them replaced; all that costs beside is a `factor` R and a `leak` T."""

    groups: Groups
    factor: float
    leak: Fraction


def nearly_continuous(
    groups: Groups, merged: Callable[[Counter[Pair]], Iterable[Group]], delta: float, relative: float
) -> NearlyContinuous | None:
    """Replace the choices for which that should widen a bracket on ε by a part of `relative` only; None if there are
    none.

    How much it should is guessed from the shares in the variance of all losses; what holds does not depend on that.
    """
    variances = [times * _variance(pair) for pair, times in groups]
    total = math.fsum(variances)
    found = [(index, cover) for index, group in enumerate(groups) if (cover := _cover(group))]
    wider = {index: _excess(cover.pair) * variances[index] / total for index, cover in found} if total else {}
    counts = Counter(dict(groups))
    factor, leak = 0.0, 0.0
    spent = sum(
        _excess(pair) * variances[index] / total
        for index, (pair, _) in enumerate(groups)
        if isinstance(pair, BetweenPair)
    )
    for index, cover in sorted(found, key=lambda each: wider.get(each[0], math.inf)):
        spent += wider.get(index, math.inf)
        if not (
            spent <= _SHARE * relative
            and factor + cover.factor <= _LARGEST_FACTOR * min(1.0, total)
            and leak + cover.leak <= _LARGEST_LEAK * delta
        ):
            break
        factor, leak = factor + cover.factor, leak + cover.leak
        del counts[groups[index].pair]
        counts[cover.pair] += cover.times
    if not leak and not factor:
        return None
    return NearlyContinuous(tuple(merged(counts)), factor, Fraction(leak) * (1 + Fraction(1, 2**40)))


def _cover(group: Group) -> _Cover | None:
    pair, times = group
    if not isinstance(pair, ChoicePair):
        return None
    first, second = pair.first, pair.second
    if isinstance(first, DiscreteGaussianPair) and isinstance(second, GaussianPair):
        return _together(first, second, times)
    found = _on_sample(first, second)
    return None if found is None else found._replace(times=times, factor=times * found.factor, leak=times * found.leak)


def _on_sample(first: Pair, second: Pair) -> _Cover | None:
    """The cover of one release. Sampling keeps an order: δ of the sampled pair grows with that of its base."""
    if isinstance(first, DiscreteGaussianPair) and isinstance(second, GaussianPair):
        return _together(first, second, 1)
    for kind in _SAMPLES:
        if isinstance(first, kind) and isinstance(second, kind) and first.rate == second.rate:
            base = _on_sample(first.base, second.base)
            if base is None:
                return None
            return base._replace(pair=BetweenPair(kind(base.pair.above, first.rate), second))
    return None


def _together(first: DiscreteGaussianPair, second: GaussianPair, times: int) -> _Cover | None:
    """All copies as one. Where continuous noise of another size is the smaller one, it counts with what it has more."""
    if first.variance < _LEAST_VARIANCE:
        return None
    cover = _dominating(first.variance * times, first.sensitivity * times)
    if cover is None:
        return None
    squared_mu, factor, leak = cover
    of_line = times * max(second.squared_mu, Fraction(first.sensitivity**2) / first.variance)
    if times > 1:
        factor += 4.1 * times * math.exp(-(math.pi**2) * float(first.variance) * (1 - 2.0**-40))
    below = GaussianPair(times * second.squared_mu)
    return _Cover(BetweenPair(GaussianPair(max(squared_mu, of_line)), below), 1, factor, leak)


@lru_cache(maxsize=1024)
def _dominating(variance: Fraction, sensitivity: int) -> tuple[Fraction, float, float] | None:
    """The μ² of continuous noise that dominates the discrete law, up to a factor and a leak."""
    if variance > _LARGEST_TABLE:
        return Fraction(sensitivity**2) / (variance - _ROUNDED_WITH), 5 * math.exp(-2 * math.pi**2 * _ROUNDED_WITH), 0.0
    sigma = math.sqrt(variance)
    if sensitivity > _LARGEST_MU * sigma:
        return None
    found = _largest_step(variance)
    if found is None:
        return None
    step, log_tail = found
    leak = math.exp(log_tail(math.floor(_FARTHEST * sigma) - sensitivity - 1)) / _OVERLAP
    return (sensitivity * step) ** 2, 0.0, leak


@lru_cache(maxsize=64)
def _largest_step(variance: Fraction) -> tuple[Fraction, Callable[[int], float]] | None:
    """w, rounded up, and ln T(n) in the table that it is read off.

    z(n) is found in floats and then checked: Φ̄ falls by more than 0.79·_PLACE relative where z ≥ 0 moves by _PLACE.
    None if the quantiles are less accurate than that.
    """
    sigma = math.sqrt(variance)
    x = np.arange(1, math.ceil(_SUMMED * sigma) + 50, dtype=np.longdouble)
    sums = np.cumsum(np.exp(-x * x / np.longdouble(2 * float(variance)))[::-1])[::-1]
    tails = (sums / (1 + 2 * sums[0]))[: math.floor(_FARTHEST * sigma) + 1].astype(np.float64)
    places = -scipy.special.ndtri(tails)
    low, high = _normal_tail(places + _PLACE), _normal_tail(np.maximum(places - _PLACE, 0.0))
    if not ((low * (1 + _TAIL_ERROR) <= tails) & ((tails <= high * (1 - _TAIL_ERROR)) | (places <= _PLACE))).all():
        return None
    step = max(2 * float(places[0]), float(np.max(np.diff(places), initial=0.0))) + 3 * _PLACE
    logs = np.log(tails)

    def log_tail(n: int) -> float:
        return float(logs[n]) if n >= 0 else 0.0

    return Fraction(step), log_tail


def _normal_tail(z: np.ndarray) -> np.ndarray:
    tail: np.ndarray = 0.5 * np.exp(-z * z / 2) * scipy.special.erfcx(z / math.sqrt(2))
    return tail


def _excess(pair: BetweenPair) -> float:
    """By how much the squares of μ differ, relatively."""
    above, below = pair.above, pair.below
    while isinstance(above, _SAMPLES) and isinstance(below, _SAMPLES):
        above, below = above.base, below.base
    assert isinstance(above, GaussianPair), "covers are Gaussian, or on samples"
    assert isinstance(below, GaussianPair), "covers are Gaussian, or on samples"
    return float(above.squared_mu / below.squared_mu) - 1


def _variance(pair: Pair) -> float:
    """Roughly the variance of one loss; 0 where nothing is known of it."""
    if isinstance(pair, ChoicePair):
        return _variance(pair.second)
    if isinstance(pair, BetweenPair):
        return _variance(pair.below)
    if isinstance(pair, GaussianPair):
        return float(pair.squared_mu)
    if isinstance(pair, _SAMPLES):
        return float(pair.rate) ** 2 * _of_ratio(pair.base)
    top = pair.largest_loss
    return 0.0 if top is None else min(float(top) ** 2, _OF_WIDE_LAPLACE)


def _of_ratio(pair: Pair) -> float:
    """Roughly the variance of p/q under Q; bounded losses count as if they were of Laplace noise."""
    if isinstance(pair, GaussianPair):
        return math.expm1(min(float(pair.squared_mu), _LARGEST_EXPONENT))
    top = pair.largest_loss
    if top is None:
        return 0.0
    loss = min(float(top), _LARGEST_EXPONENT)
    return (2 * math.expm1(loss) + math.expm1(-2 * loss)) / 3
