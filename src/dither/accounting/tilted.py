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
  twiddle factors 6.7u per level; 16u is used here, as the real transform adds a step and the norms are rounded).
  Raising a spectrum of modulus ≤ 1 to the power k multiplies an absolute error by at most k, and costs √5·u per
  product in relative error (Brent, Percival and Zimmermann 2007). By Parseval r is off by at most `spread` in ℓ₂,
  and a sum Σ r(x)·c(x) by at most spread·‖c‖₂ (Cauchy and Schwarz).
* Frequencies left out. Where the product of some spectra is below `negligible`, so is that of all. By Parseval
  r is off by at most that much in ℓ₂, a thousandth of what the transforms may err by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.accounting.loss_law import LossLaw
from dither.accounting.saddle import Saddle
from dither.pairs.pair import FloatArray

__all__ = [
    "FFT_ERROR",
    "UNIT",
    "ComposedLaw",
    "Tilted",
    "Underflow",
    "compose_laws",
    "log_mean",
    "tilted",
    "window_of",
    "wrapped",
]

UNIT = 2.0**-53
FFT_ERROR = 16 * UNIT
_PRODUCT_ERROR = math.sqrt(5) * UNIT
_NEGLIGIBLE = 1e-30
_SMALLEST_TOTAL = 1e-250
_NOTHING = 1e-150
_DIRECT = 0.5
_MANY = 24  # laws from which it pays to look for the frequencies that count
_SCREENS = 128
_OVERSAMPLED = 16
_SCREEN_ERROR = 1e-9
_BLOCK = 64
_LARGEST_TABLE = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class ComposedLaw:
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
    """A tilted law vanishes in floats: it gives no bound."""


@dataclass(frozen=True, slots=True, eq=False)
class Tilted:
    """One law times e^{λL}, scaled to add up to 1, and the logarithm of that scale."""

    law: LossLaw
    count: int
    tilt: float
    weights: FloatArray
    log_mgf: float
    rounding: float


def compose_laws(laws: Sequence[tuple[LossLaw, int]], saddle: Saddle) -> ComposedLaw:
    """The law of the sum of `count` independent copies of each law, seen through the window of `saddle`."""
    step = laws[0][0].step
    factors = [tilted(law, count, saddle.tilt) for law, count in laws]
    base = sum((Fraction(law.offset) * count for law, count in laws), Fraction(0))
    count = sum(number for _, number in laws)
    start, size = window_of(float(base), step, _last(laws), count, saddle)
    masses, spread = _convolve(factors, size)
    masses = np.roll(np.maximum(masses, 0.0), -(start % size))
    first = float(base + start * Fraction(step))
    log_scale = math.fsum(one.count * one.log_mgf for one in factors)
    left = 0.0 if start <= 0 else _outside(factors, saddle.theta_left, first - step / 2)
    right = 0.0 if start + size > _last(laws) else _outside(factors, saddle.theta_right, first + (size - 0.5) * step)
    rounding = math.fsum(one.count * one.rounding for one in factors) + 8 * UNIT * abs(log_scale)
    gone = math.fsum(count * math.log1p(-law.infinity) if law.infinity < 1 else -math.inf for law, count in laws)
    return ComposedLaw(
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


def window_of(base: float, step: float, last: int, count: int, saddle: Saddle) -> tuple[int, int]:
    """The first lattice index of the window and its number of points; an end near the last loss takes it in."""
    start = math.floor((saddle.left - base) / step) - 1
    end = math.ceil((saddle.right - base) / step) + 2
    near = min(3 * count + 3, end - start)
    start = min(start, 0) if start <= near else start
    end = max(end, last + 1) if end >= last - near else end
    return start, int(scipy.fft.next_fast_len(max(end - start, 16), real=True))


def _last(laws: Sequence[tuple[LossLaw, int]]) -> int:
    """The index of the largest sum."""
    return sum(count * (len(law.weights) - 1) for law, count in laws)


def tilted(law: LossLaw, count: int, tilt: float) -> Tilted:
    """The law times e^{λL}, as `count` factors of a composition."""
    exponents = tilt * law.losses
    top = float(exponents.max())
    weights = law.weights * np.exp(exponents - top)
    total = float(weights.sum())
    if not total > _SMALLEST_TOTAL:
        raise Underflow
    log_mgf = math.log(total) + top
    rounding = UNIT * (16 + 4 * float(np.abs(exponents).max()) + abs(top) + 2 * abs(math.log(total)))
    weights /= total
    weights[weights < _NOTHING] = 0.0  # floats without all their digits are slow
    return Tilted(law, count, tilt, weights, log_mgf, rounding)


def _convolve(factors: Sequence[Tilted], size: int) -> tuple[FloatArray, float]:
    """r on a circle of `size` points, and a bound on its ℓ₂ error.

    A frequency is left out once the product of some of the spectra is negligible there: every other factor has
    modulus ≤ 1 (see `growth`), so the whole product is negligible too.
    """
    gamma = FFT_ERROR * math.log2(size)
    # A law that is longer than the circle is folded, and what is folded is what is transformed.
    norms = [float(np.linalg.norm(wrapped(one.weights, size))) for one in factors]
    ordinary = gamma * math.fsum(one.count * norm for one, norm in zip(factors, norms, strict=True))
    errors = _Errors(gamma, max(_NEGLIGIBLE, 2.0**-10 * ordinary), min(norms))
    places = _screened(factors, size, errors.negligible) if len(factors) >= _MANY else None
    whole = np.zeros(size // 2 + 1, dtype=np.complex128)
    if places is None or len(places) * max(len(one.weights) for one in factors) > min(_LARGEST_TABLE, 4 * size):
        product = _product(factors, norms, size, errors)
        whole[: len(product)] = product
    else:
        places, product = _product_at(places, factors, size, errors)
        whole[places] = product
    return scipy.fft.irfft(whole, size), errors.spread()


@dataclass(slots=True)
class _Errors:
    """The errors of a product of spectra, the smallest of which has the ℓ₂ norm `smallest`.

    Norms of spectra are divided by √size, so that they are those of the weights.
    """

    gamma: float
    negligible: float
    smallest: float
    from_spectra: float = 0.0
    growth: float = 0.0
    powers: int = 0

    def add(self, count: int, norm: float, each: float) -> None:
        """A factor that is off by `norm` in ℓ₂ and by `each` at each frequency, `count` times.

        It takes `count` products at most. One more is counted: that is far above what weights that were set to 0 add
        up to, 1e-60 at most: each was below 1e-150 of the whole, or below 1e-323 in a law of more than 1e-250.
        """
        self.from_spectra += count * norm
        self.growth += count * (each + 2.0**-46)
        self.powers += count + 1

    def spread(self) -> float:
        """A bound on the ℓ₂ error of the convolution."""
        return math.exp(min(self.growth, 700.0)) * (
            self.from_spectra + (self.powers * _PRODUCT_ERROR + 2 * self.gamma) * self.smallest + 2 * self.negligible
        )


def _product(factors: Sequence[Tilted], norms: Sequence[float], size: int, errors: _Errors) -> NDArray[np.complex128]:
    """The product of all spectra up to the last frequency where it counts."""
    product: NDArray[np.complex128] | None = None
    for one, norm in zip(factors, norms, strict=True):
        spectrum = _spectrum(one.weights, size, size // 2 + 1 if product is None else len(product))
        kept = _kept(spectrum, errors.negligible ** (1 / one.count))
        power = _power(spectrum[:kept], one.count)
        if product is not None:
            power = product[:kept] * power
            power = power[: _kept(power, errors.negligible)]
        product = power
        errors.add(one.count, errors.gamma * norm, errors.gamma * norm * math.sqrt(size))
    return np.zeros(0, dtype=np.complex128) if product is None else product


def _kept(spectrum: NDArray[np.complex128], negligible: float) -> int:
    """The number of frequencies up to the last one that is not negligible, at least 1."""
    large = spectrum.real**2 + spectrum.imag**2 >= negligible**2
    return max(len(large) - int(np.argmax(large[::-1])), 1) if large.any() else 1


def _product_at(
    places: NDArray[np.intp], factors: Sequence[Tilted], size: int, errors: _Errors
) -> tuple[NDArray[np.intp], NDArray[np.complex128]]:
    """The product of all spectra at those of a few frequencies where it counts, by matrix products.

    n terms that add up to 1 are summed, in whatever order, with an error of at most n·u; the angles
    2π·(f·i mod size)/size are exact up to 3 roundings. Both for the real and for the imaginary part.
    """
    ordered = sorted(factors, key=lambda one: len(one.weights), reverse=True)
    waves = _Waves.at(places, len(ordered[0].weights), size)
    product = np.ones(len(places), dtype=np.complex128)
    for at in range(0, len(ordered), _BLOCK):
        block = ordered[at : at + _BLOCK]
        each = 2 * UNIT * (len(block[0].weights) + 8)
        spectra = waves.spectra([one.weights for one in block])
        for one, spectrum in zip(block, spectra, strict=True):
            product = product * _power(spectrum, one.count)
            errors.add(one.count, math.sqrt(2 * len(places) / size) * each, each)
        large = product.real**2 + product.imag**2 >= errors.negligible**2
        if 4 * np.count_nonzero(large) < 3 * len(large):
            places, product, waves = places[large], product[large], waves.only(large)
    return places, product


@dataclass(frozen=True, slots=True, eq=False)
class _Waves:
    """cos and sin of 2π·f·i/size, one row per frequency f."""

    cosines: FloatArray
    sines: FloatArray

    @classmethod
    def at(cls, places: NDArray[np.intp], length: int, size: int) -> _Waves:
        angles = (np.outer(places, np.arange(length)) % size) * (2 * math.pi / size)
        return cls(np.cos(angles), np.sin(angles))

    def only(self, rows: NDArray[np.bool_]) -> _Waves:
        return _Waves(self.cosines[rows], self.sines[rows])

    def spectra(self, laws: Sequence[FloatArray]) -> NDArray[np.complex128]:
        """One row per law; the first law is the longest."""
        length = len(laws[0])
        table = np.zeros((length, len(laws)))
        for column, weights in enumerate(laws):
            table[: len(weights), column] = weights
        found = np.empty((len(self.cosines), len(laws)), dtype=np.complex128)
        found.real = self.cosines[:, :length] @ table
        found.imag = -(self.sines[:, :length] @ table)
        return np.ascontiguousarray(found.T)


def _screened(factors: Sequence[Tilted], size: int, negligible: float) -> NDArray[np.intp] | None:
    """Frequencies outside of which the product of all spectra is certainly negligible; None if all may count.

    |Â(ω)| ≤ |Â(ω′)| + |ω − ω′|·E|x − m| for every m, so short transforms bound whole bands of frequencies. The width
    of a band, π/short, times E|x − m| is at most π/16; its rounding and that of the transform stay below 1e-9.
    """
    some = factors[:: max(len(factors) // _SCREENS, 1)]
    short = int(scipy.fft.next_fast_len(_OVERSAMPLED * max(len(one.weights) for one in some), real=True))
    if short >= size:
        return None
    logs = np.zeros(short // 2 + 1)
    for one in some:
        steps = np.arange(len(one.weights))
        middle = float(np.sum(one.weights * steps))
        reach = float(np.sum(one.weights * np.abs(steps - middle)))
        bound = np.abs(scipy.fft.rfft(one.weights, short)) + math.pi / short * reach + _SCREEN_ERROR
        logs += one.count * np.log(np.minimum(bound, 1.0))
    bands = logs >= math.log(negligible)
    # A frequency belongs to the band around the nearest short one.
    nearest = np.floor(np.arange(size // 2 + 1) * (short / size) + 0.5).astype(np.intp)
    return np.flatnonzero(bands[np.minimum(nearest, len(logs) - 1)])


def _spectrum(weights: FloatArray, size: int, count: int) -> NDArray[np.complex128]:
    """The first `count` Fourier coefficients, summed directly if that is cheaper than a whole transform.

    A direct sum of positive terms is off by at most (log₂ n + 8)·u times their sum, below the bound for the FFT:
    NumPy adds pairwise, and the angles 2π·(f·i mod size)/size are exact up to 3 roundings.
    """
    if count * len(weights) > _DIRECT * size:
        whole: NDArray[np.complex128] = scipy.fft.rfft(wrapped(weights, size), size)
        return whole[:count]
    places = np.outer(np.arange(count), np.arange(len(weights))) % size
    angles = places * (2 * math.pi / size)
    spectrum = np.empty(count, dtype=np.complex128)
    spectrum.real = (weights * np.cos(angles)).sum(axis=1)
    spectrum.imag = -(weights * np.sin(angles)).sum(axis=1)
    return spectrum


def wrapped(weights: FloatArray, size: int) -> FloatArray:
    """The weights, folded onto a circle of `size` points where they are more."""
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


def _outside(factors: Sequence[Tilted], theta: float, edge: float) -> float:
    """A bound on the tilted probability of a sum beyond `edge`, to the right if θ > 0, else to the left.

    It is E[e^{θ(X − edge)}], rounded up. Logarithms throughout: nothing may underflow to a bound of 0.
    """
    total = -theta * edge
    slack = abs(total)
    for one in factors:
        positive = one.law.weights > 0
        exponents = theta * one.law.losses[positive]
        logs = np.log(one.law.weights[positive]) + one.tilt * one.law.losses[positive] + exponents
        top = float(logs.max())
        log_mean = top + math.log(float(np.exp(logs - top).sum())) - one.log_mgf
        total += one.count * log_mean
        slack += one.count * (abs(top) + abs(one.log_mgf) + float(np.abs(exponents).max()) + 1)
    bound = total + 2.0**-40 * slack
    return math.exp(bound) if bound < 0 else 1.0


def log_mean(law: LossLaw, rate: float) -> float:
    """ln E[e^{rate·L}; L < ∞]."""
    positive = law.weights > 0
    logs = np.log(law.weights[positive]) + rate * law.losses[positive]
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))
