"""Laws composed by FFT under an exponential tilt, with every error bounded.

The sum X = ΣL_j of independent losses has the masses P[X = x] = e^{K − λx}·r(x), where r is the convolution of the
tilted laws w(x)·e^{λx − K_j}. r is found on a circle of M lattice points; what that costs is bounded as follows.

* Aliasing. The circle shows r(x) plus the tilted mass at x ± M·h, ... That is at least r(x) inside the window,
  fine from above; from below the tilted mass outside the window is subtracted. It is bounded by Chernoff:
  P̃[X ≥ R] ≤ e^{K(λ+θ) − K(λ) − θR}, computed on the very laws that are composed.
* Losses right of the window, missing from above: at most e^{K(λ) − λR}·P̃[X ≥ R].
* Rounding of the weights. Weights are positive, so a relative error ρ in each of k factors is at most
  e^{kρ} − 1 in the result, pointwise.
* Rounding of the transform. ‖ŷ − y‖₂ ≤ γ‖y‖₂ with γ = `FFT_ERROR`·log₂ M (Higham 2002, Theorem 24.2: with accurate
  twiddle factors 6.7u per level; 16u is used here, as the real transform adds a step). Raising a spectrum of
  modulus ≤ 1 to the power k multiplies an absolute error by at most k, and costs √5·u per product in relative
  error (Brent, Percival and Zimmermann 2007). By Parseval r is off by at most `spread` in ℓ₂, and a sum
  Σ r(x)·c(x) by at most spread·‖c‖₂ (Cauchy and Schwarz).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from dither.accounting.law import Law
from dither.accounting.saddle import Saddle
from dither.measures.pairs import FloatArray

__all__ = ["FFT_ERROR", "UNIT", "Composed", "Underflow", "compose_laws", "irfft", "rfft"]

UNIT = 2.0**-53
FFT_ERROR = 16 * UNIT
_PRODUCT_ERROR = math.sqrt(5) * UNIT
_NEGLIGIBLE = 1e-30
_SMALLEST_TOTAL = 1e-250
_DIRECT = 0.5
_UNDERFLOW = 1e-60  # what weights that underflow to 0 may add up to, relative to _SMALLEST_TOTAL


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """The composed law on a window, and the errors that a sum over it may have.

    P[X = first + n·step] = e^{log_scale − λ(first + n·step)}·masses[n], λ = `tilt`, within a relative error of
    `relative` and an ℓ₂ error of `spread` in `masses`. `outside` is the tilted mass outside the window and
    `right` the part of it to the right; `infinity` the probability of an infinite loss.
    """

    first: float
    step: float
    tilt: float
    log_scale: float
    masses: FloatArray
    relative: float
    spread: float
    outside: float
    right: float
    infinity: float


class Underflow(ArithmeticError):
    """A tilted law vanishes in floats: nothing can be said through it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Tilted:
    """One law times e^{λL}, scaled to add up to 1, and the logarithm of that scale."""

    law: Law
    count: int
    tilt: float
    weights: FloatArray
    log_mgf: float
    rounding: float


def compose_laws(laws: Sequence[tuple[Law, int]], saddle: Saddle) -> Composed:
    """The law of the sum of `count` independent copies of each law, seen through the window of `saddle`."""
    step = laws[0][0].step
    tilted = [_tilt(law, count, saddle.tilt) for law, count in laws]
    base = sum((Fraction(law.offset) * count for law, count in laws), Fraction(0))
    start, size = _window(laws, saddle, float(base))
    masses, spread = _convolve(tilted, size)
    masses = np.roll(np.maximum(masses, 0.0), -(start % size))
    first = float(base + start * Fraction(step))
    log_scale = math.fsum(one.count * one.log_mgf for one in tilted)
    left = 0.0 if start <= 0 else _outside(tilted, saddle.theta_left, first - step / 2)
    right = 0.0 if start + size > _last(laws) else _outside(tilted, saddle.theta_right, first + (size - 0.5) * step)
    rounding = math.fsum(one.count * one.rounding for one in tilted) + 8 * UNIT * abs(log_scale)
    gone = math.fsum(count * math.log1p(-law.infinity) if law.infinity < 1 else -math.inf for law, count in laws)
    return Composed(
        first,
        step,
        saddle.tilt,
        log_scale,
        masses,
        math.expm1(rounding),
        spread,
        left + right,
        right,
        -math.expm1(gone),
    )


def _window(laws: Sequence[tuple[Law, int]], saddle: Saddle, base: float) -> tuple[int, int]:
    """The first lattice index of the window and its number of points; an end near the last loss takes it in."""
    step = laws[0][0].step
    start = math.floor((saddle.left - base) / step) - 1
    end = math.ceil((saddle.right - base) / step) + 2
    near = min(3 * sum(count for _, count in laws) + 3, end - start)
    start = min(start, 0) if start <= near else start
    end = max(end, _last(laws) + 1) if end >= _last(laws) - near else end
    return start, int(next_fast_len(max(end - start, 16), real=True))


def _last(laws: Sequence[tuple[Law, int]]) -> int:
    """The index of the largest sum."""
    return sum(count * (len(law.weights) - 1) for law, count in laws)


def _tilt(law: Law, count: int, tilt: float) -> _Tilted:
    exponents = tilt * law.losses
    top = float(exponents.max())
    weights = law.weights * np.exp(exponents - top)
    total = float(weights.sum())
    if not total > _SMALLEST_TOTAL:
        raise Underflow
    log_mgf = math.log(total) + top
    rounding = UNIT * (16 + 4 * float(np.abs(exponents).max()) + abs(top) + 2 * abs(math.log(total)))
    return _Tilted(law, count, tilt, weights / total, log_mgf, rounding)


def _convolve(tilted: Sequence[_Tilted], size: int) -> tuple[FloatArray, float]:
    """r on a circle of `size` points, and a bound on its ℓ₂ error."""
    gamma = FFT_ERROR * math.log2(size)
    product: NDArray[np.complex128] | None = None
    from_spectra, powers, growth, smallest = 0.0, 0, 0.0, 1.0
    for one in tilted:
        norm = math.sqrt(float(np.sum(one.weights * one.weights))) * (1 + 2.0**-20)
        spectrum = _spectrum(one.weights, size, size // 2 + 1 if product is None else len(product))
        # Where |Â|^k is negligible, so is the product: every other factor has modulus ≤ 1 (see growth).
        large = spectrum.real**2 + spectrum.imag**2 >= _NEGLIGIBLE ** (2 / one.count)
        kept = len(large) - int(np.argmax(large[::-1]))
        power = _power(spectrum[:kept], one.count)
        product = power if product is None else product[:kept] * power
        from_spectra += one.count * gamma * norm
        growth += one.count * (gamma * norm * math.sqrt(size) + 2.0**-46)
        powers += one.count + 1
        smallest = min(smallest, norm)
    whole = np.zeros(size // 2 + 1, dtype=np.complex128)
    if product is not None:
        whole[: len(product)] = product
    spread = math.exp(min(growth, 700.0)) * (
        from_spectra
        + powers * _UNDERFLOW
        + (powers * _PRODUCT_ERROR + 2 * gamma) * smallest
        + 2 * _NEGLIGIBLE * len(tilted)
    )
    return irfft(whole, size), spread


def _spectrum(weights: FloatArray, size: int, count: int) -> NDArray[np.complex128]:
    """The first `count` Fourier coefficients, summed directly if that is cheaper than a whole transform.

    A direct sum of positive terms is off by at most (log₂ n + 8)·u times their sum, below the bound for the FFT:
    NumPy adds pairwise, and the angles 2π·(f·i mod size)/size are exact up to 3 roundings.
    """
    if count * len(weights) > _DIRECT * size:
        whole: NDArray[np.complex128] = rfft(_wrapped(weights, size), size)
        return whole[:count]
    places = np.outer(np.arange(count), np.arange(len(weights))) % size
    angles = places * (2 * math.pi / size)
    spectrum = np.empty(count, dtype=np.complex128)
    spectrum.real = (weights * np.cos(angles)).sum(axis=1)
    spectrum.imag = -(weights * np.sin(angles)).sum(axis=1)
    return spectrum


def _wrapped(weights: FloatArray, size: int) -> FloatArray:
    if len(weights) <= size:
        return weights
    padded = np.zeros(-(-len(weights) // size) * size)
    padded[: len(weights)] = weights
    folded: FloatArray = padded.reshape(-1, size).sum(axis=0)
    return folded


def _power(spectrum: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """spectrum**count by repeated squaring: count − 1 roundings at most in each entry."""
    result: NDArray[np.complex128] | None = None
    while True:
        if count & 1:
            result = spectrum if result is None else result * spectrum
        count >>= 1
        if not count:
            return result if result is not None else np.ones_like(spectrum)
        spectrum = spectrum * spectrum


def _outside(tilted: Sequence[_Tilted], theta: float, edge: float) -> float:
    """A bound on the tilted probability of a sum beyond `edge`, to the right if θ > 0, else to the left.

    It is E[e^{θ(X − edge)}], rounded up. Logarithms throughout: nothing may underflow to a bound of 0.
    """
    total = -theta * edge
    slack = abs(total)
    for one in tilted:
        positive = one.law.weights > 0
        exponents = theta * one.law.losses[positive]
        logs = np.log(one.law.weights[positive]) + one.tilt * one.law.losses[positive] + exponents
        top = float(logs.max())
        log_mean = top + math.log(float(np.exp(logs - top).sum())) - one.log_mgf
        total += one.count * log_mean
        slack += one.count * (abs(top) + abs(one.log_mgf) + float(np.abs(exponents).max()) + 1)
    bound = total + 2.0**-40 * slack
    return math.exp(bound) if bound < 0 else 1.0
