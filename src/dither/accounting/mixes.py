"""All mixes of what may be one of two things, bounded together from the spectra of their laws.

With jᵢ of kᵢ releases from the law Aᵢ and the others from Bᵢ, the tilted spectrum of the sum of all losses is

    X̂(ω) = F̂(ω) ∏ᵢ Âᵢ(ω)^jᵢ B̂ᵢ(ω)^{kᵢ−jᵢ} = e^{E(ω) + Σ jᵢ gᵢ(ω)},   gᵢ = ln Âᵢ − ln B̂ᵢ,

and by Parseval δ(ε) is a sum Σ_ω ĉ(ω)* X̂(ω), where c(x) = e^{−λ(x−ε)}(1 − e^{ε−x}) for x > ε. Let j vary in a box, by
hᵢ to each side of its middle m. Each term is an exponential in j, and |e^z − 1 − z| ≤ ½|z|²e^{max(Re z, 0)}, so

    δ(j) ≤ δ(m) + Σᵢ hᵢ |∂ᵢδ(m)| + ½ Σ_ω |ĉ| max_j |X̂| (Σᵢ hᵢ|gᵢ|)².

Where A and B are nearly the same to whatever comes beside them, gᵢ is small wherever X̂ is not, and one box holds
hundreds of mixes. Where they are not, boxes are halved, in the end down to single mixes. So what is proved holds for
every mix, and rests on no order among them.

Which branch of a logarithm is taken does not matter: at whole j all agree, and between them the bound is about the
function that the branch defines.

Errors are those of `tilted`. Each bound there grows with the laws that are composed, so it is taken of the larger of
A and B. That X̂ is an exponential of a sum of logarithms and ĉ a difference of geometric series costs roundings of its
own; they are counted at each frequency. Frequencies that are small in every mix are left out, and what they hold at
most is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.accounting.loss_law import LossLaw
from dither.accounting.saddle import Saddle
from dither.accounting.tilted import FFT_ERROR, UNIT, Tilted, log_mean, tilted, window_of, wrapped
from dither.pairs.pair import FloatArray

__all__ = ["Box", "Mixes"]

Box: TypeAlias = tuple[tuple[int, int], ...]
"""For each choice, how many of its releases are the first of the two: from, to."""

ComplexArray: TypeAlias = NDArray[np.complex128]

_CUT = 34.0  # frequencies that are e^{−34} of the largest in every mix
_LEAST_MODULUS = 1e-300
_LARGEST_LOG = 700.0
_POSITION = 2.0**-49
_MOST_CORNERS = 64


class _Two(NamedTuple):
    """The tilted laws of the first and of the second thing, and by how many steps each starts after the earlier one."""

    first: Tilted
    second: Tilted
    shifts: tuple[int, int]
    times: int

    @property
    def offset(self) -> float:
        """Where the common frame starts."""
        return min(self.first.law.offset, self.second.law.offset)

    @property
    def last(self) -> int:
        """The index of the largest loss of either."""
        return max(s + len(one.law.weights) - 1 for one, s in zip((self.first, self.second), self.shifts, strict=True))

    def finite(self, index: int) -> float:
        """ln P[L < ∞] of the first or of the second."""
        return _log_finite((self.first, self.second)[index])


class _Sum(NamedTuple):
    """The factors of the spectra of all mixes at all frequencies.

    X̂ = e^{base + Σ jᵢ slopeᵢ}, at most e^{largest} in modulus; the exponents are off by `rounding` at most.
    """

    base: ComplexArray
    slopes: ComplexArray
    largest: FloatArray
    rounding: FloatArray


class Mixes:
    """Upper bounds on δ of all mixes in one direction, on a lattice that all laws share.

    Parameters
    ----------
    fixed : sequence of (LossLaw, int)
        The laws from above of what is no choice, with their counts.
    choices : sequence of (LossLaw, LossLaw, int)
        The laws from above of both things, whose offsets are whole steps apart, with the number of releases.
    saddle : Saddle
        The tilt and the window.

    Raises
    ------
    Underflow
        If a tilted law vanishes in floats.
    """

    def __init__(
        self, fixed: Sequence[tuple[LossLaw, int]], choices: Sequence[tuple[LossLaw, LossLaw, int]], saddle: Saddle
    ) -> None:
        self._step = choices[0][0].step
        self._tilt = saddle.tilt
        self._others = [tilted(law, count, saddle.tilt) for law, count in fixed]
        self._two = [_two(first, second, count, saddle.tilt) for first, second, count in choices]
        offsets = [(law.offset, count) for law, count in fixed] + [(two.offset, two.times) for two in self._two]
        base = sum((Fraction(offset) * count for offset, count in offsets), Fraction(0))
        # Places in the common frame are a few roundings from where the laws were read: all losses are raised by that.
        base += Fraction(math.fsum(count * _POSITION * (1 + abs(offset)) for offset, count in offsets))
        self._last = sum(one.count * (len(one.law.weights) - 1) for one in self._others)
        self._last += sum(two.times * two.last for two in self._two)
        count = sum(number for _, number in offsets)
        self._start, self._size = window_of(float(base), self._step, self._last, count, saddle)
        self._first = float(base + self._start * Fraction(self._step))
        self._log_scale = math.fsum(
            [one.count * one.log_mgf for one in self._others]
            + [two.times * max(two.first.log_mgf, two.second.log_mgf) for two in self._two]
        )
        self._keep(self._spectra())
        self._spread = self._bound_of_transforms()
        self._relative = self._bound_of_weights()
        self._missing = self._bound_of_window(saddle.theta_right)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many releases each choice has."""
        return tuple(two.times for two in self._two)

    def corners(self) -> list[Box]:
        """The mixes that take one of the two throughout, for each choice; at most 64 of them."""
        ends = [(0, count) for count in self.counts]
        if 2 ** len(ends) > _MOST_CORNERS:
            return [tuple((each[index],) * 2 for each in ends) for index in (0, 1)]
        return [tuple((n, n) for n in each) for each in product(*ends)]

    def at(self, epsilon: float) -> Kernel:
        """What bounds δ at this ε."""
        return Kernel(self, epsilon)

    def _spectra(self) -> _Sum:
        frequencies = self._size // 2 + 1
        base = np.zeros(frequencies, dtype=np.complex128)
        roundings = np.full(frequencies, 16.0)
        for one in self._others:
            logs = _log_spectrum(wrapped(one.weights, self._size), self._size)
            base += one.count * logs
            roundings += one.count * (4 + 2 * np.abs(logs))
        slopes = np.zeros((len(self._two), frequencies), dtype=np.complex128)
        largest = np.zeros(frequencies)
        for slope, two in zip(slopes, self._two, strict=True):
            dearer = max(two.first.log_mgf, two.second.log_mgf)
            first, second = (
                _log_spectrum(wrapped(np.concatenate([np.zeros(shift), one.weights]), self._size), self._size)
                + (one.log_mgf - dearer)
                for one, shift in zip((two.first, two.second), two.shifts, strict=True)
            )
            slope += first - second
            slope.imag -= 2 * math.pi * np.round(slope.imag / (2 * math.pi))
            base += two.times * second
            largest += two.times * np.maximum(slope.real, 0.0)
            roundings += two.times * (8 + 2 * np.abs(first) + 4 * np.abs(second) + 4 * abs(dearer))
        return _Sum(base, slopes, largest + base.real, roundings * (4 * UNIT))

    def _keep(self, whole: _Sum) -> None:
        """Keep the frequencies that count in some mix. |ĉ| ≤ Σ 2/|1 − e^{−(rate + iω)h}| whatever ε is."""
        self.places = np.arange(len(whole.base))
        self.weights = np.full(len(self.places), 2.0 / self._size)
        self.weights[(self.places == 0) | (2 * self.places == self._size)] /= 2
        with np.errstate(divide="ignore"):
            reach = sum(2 / np.abs(self._one_minus_ratio(rate)) for rate in (self._tilt, self._tilt + 1))
            logs = whole.largest + np.log(np.minimum(reach, self._size) * self.weights)
        kept = logs >= float(logs.max()) - _CUT
        self.dropped = float(np.exp(logs[~kept]).sum()) * (1 + 2.0**-20)
        self.places, self.weights = self.places[kept], self.weights[kept]
        self.base, self.largest = whole.base[kept], whole.largest[kept]
        self.rounding = whole.rounding[kept]
        self.slopes = np.ascontiguousarray(whole.slopes[:, kept])
        self.moduli = np.abs(self.slopes)

    def _one_minus_ratio(self, rate: float) -> ComplexArray:
        """1 − e^{−(rate + iω)h} at each place."""
        found: ComplexArray = -np.expm1(-(rate * self._step + 1j * (2 * math.pi / self._size) * self.places))
        return found

    def kernel(self, epsilon: float) -> tuple[ComplexArray, FloatArray, float]:
        """ĉ* with the weight of each frequency in the sum, a bound on its rounding, and ‖c‖₂.

        c is a difference of two geometric series, from the first point beyond ε to the end of the window.
        """
        begin = max(math.floor((epsilon - self._first) / self._step) + 1, 0)
        values, errors = np.zeros(len(self.places), dtype=np.complex128), np.zeros(len(self.places))
        if begin >= self._size:
            return values, errors, 0.0
        angle = 2 * math.pi / self._size
        starts = np.exp(-1j * (angle * (self.places * ((self._start + begin) % self._size) % self._size)))
        ends = np.exp(-1j * (angle * (self.places * ((self._start + self._size) % self._size) % self._size)))
        distance = self._first + begin * self._step - epsilon
        length = (self._size - begin) * self._step
        for rate, sign in ((self._tilt, 1), (self._tilt + 1, -1)):
            ratio = self._one_minus_ratio(rate)
            rising, falling = math.exp(-rate * distance), math.exp(-rate * (distance + length))
            if ratio[0]:
                series = (rising * starts - falling * ends) / ratio
            else:  # not tilted, at ω = 0
                series = np.full(len(self.places), self._size - begin, dtype=np.complex128)
                series[1:] = (starts[1:] - ends[1:]) / ratio[1:]
            values += sign * series
            errors += (rising + falling) / np.maximum(np.abs(ratio), 1 / self._size) * (1 + rate * (distance + length))
        norm = math.sqrt(min(self._size - begin, 1 / (2 * self._tilt * self._step) if self._tilt else math.inf) + 1)
        return np.conj(values) * self.weights, errors * self.weights * (64 * UNIT), norm

    def _bound_of_transforms(self) -> float:
        """How far r is off in ℓ₂, as in `tilted`."""
        gamma = FFT_ERROR * math.log2(self._size)
        norms = [(one.count, float(np.linalg.norm(wrapped(one.weights, self._size)))) for one in self._others]
        norms += [
            (two.times, max(float(np.linalg.norm(wrapped(one.weights, self._size))) for one in (two.first, two.second)))
            for two in self._two
        ]
        growth = math.fsum(count * (gamma * norm * math.sqrt(self._size) + 2.0**-46) for count, norm in norms)
        spectra = math.fsum(count * norm for count, norm in norms)
        return math.exp(min(growth, _LARGEST_LOG)) * gamma * (spectra + 4)

    def _bound_of_weights(self) -> float:
        rounding = math.fsum(
            [one.count * one.rounding for one in self._others]
            + [two.times * (two.first.rounding + two.second.rounding) for two in self._two]
        )
        size = sum(one.count * abs(one.log_mgf) for one in self._others)
        size += sum(two.times * max(abs(two.first.log_mgf), abs(two.second.log_mgf)) for two in self._two)
        return math.expm1(rounding + 16 * UNIT * (1 + size))

    def _bound_of_window(self, theta: float) -> float:
        """What lies right of the window: P[X ≥ R] ≤ e^{−ρR} E[e^{ρX}] for ρ = λ + θ, of the dearer of each two."""
        if self._start + self._size > self._last:
            return 0.0
        rate, end = self._tilt + theta, self._first + (self._size - 0.5) * self._step
        means = [(one.count, log_mean(one.law, rate)) for one in self._others]
        means += [(two.times, max(log_mean(one.law, rate) for one in (two.first, two.second))) for two in self._two]
        total = math.fsum(count * mean for count, mean in means) - rate * end
        reach = sum(two.times * max(map(_reach, (two.first, two.second))) for two in self._two)
        reach += sum(one.count * _reach(one) for one in self._others)
        return math.exp(min(total + 2.0**-40 * (1 + abs(rate * end) + rate * reach + abs(total)), 0.0))

    def scaled(self, sum_: float, noise: float, epsilon: float, box: Box) -> float:
        """δ from a bound on the sum over frequencies, with everything else that it may be off by.

        Nothing is known of an ε left of the window: losses between both are seen right of it.
        """
        log = self._log_scale - self._tilt * epsilon
        reach = abs(epsilon) + abs(self._first) + self._step * self._size
        slack = _POSITION * (2 + abs(log) + abs(self._log_scale) + self._tilt * reach)
        if log > _LARGEST_LOG or (self._start > 0 and epsilon < self._first):
            return math.inf
        scale = math.exp(max(log + slack, -_LARGEST_LOG))
        total = (max(sum_, 0.0) * (1 + self._relative) + self._spread * noise) * scale
        found = (total + self._missing + self._infinity(box)) * (1 + 2.0**-40)
        return math.inf if math.isnan(found) else found  # as where a law is all infinite, and counted 0 times

    def _infinity(self, box: Box) -> float:
        """The largest P[X = ∞] in the box: ln P[X < ∞] is linear in each count."""
        finite = math.fsum(one.count * _log_finite(one) for one in self._others)
        for two, ends in zip(self._two, box, strict=True):
            finite += min(n * two.finite(0) + (two.times - n) * two.finite(1) for n in ends)
        return -math.expm1(finite) * (1 + 2.0**-40)


class Kernel:
    """Bounds on δ at one ε, of single mixes and of boxes of them."""

    def __init__(self, mixes: Mixes, epsilon: float) -> None:
        self._mixes = mixes
        self._epsilon = epsilon
        self._values, self._errors, self._norm = mixes.kernel(epsilon)
        self._sizes = np.abs(self._values)

    def bound(self, box: Box) -> tuple[float, int | None]:
        """An upper bound on δ of every mix in the box, and the choice at which to halve it; None for a single mix."""
        mixes = self._mixes
        low, high = np.array(box, dtype=np.float64).T
        middles, halves = (low + high) / 2, (high - low) / 2
        exponents = mixes.base + middles @ mixes.slopes
        terms = self._values * np.exp(exponents)
        total = float(terms.real.sum())
        is_single = not halves.any()
        # No mix has more than `largest`.
        widest = np.exp(
            np.minimum(exponents.real + halves @ np.abs(mixes.slopes.real), mixes.largest)
            if halves.any()
            else exponents.real
        )
        at: int | None = None
        if not is_single:
            changes = halves * np.abs((mixes.slopes * terms).real.sum(axis=1))
            reaches = halves @ mixes.moduli
            first_order = np.abs(terms) * (1 + reaches) + self._sizes * widest
            curved = 0.5 * self._sizes * widest * reaches * reaches
            rest = np.minimum(curved, first_order)
            total += float(changes.sum()) + float(rest.sum())
            shares = halves * (mixes.moduli @ (rest / np.maximum(reaches, 1e-300)))
            at = int(np.argmax(np.where(halves > 0, changes + shares, -1.0)))
        rounding = self._sizes * (mixes.rounding + 64 * UNIT) + self._errors
        total += float((rounding * widest).sum()) * (1 + 2.0**-20) + mixes.dropped
        return mixes.scaled(total, self._norm, self._epsilon, box), at

    def largest(self, singles: Iterable[Box]) -> tuple[float, Box]:
        """The largest bound of some single mixes."""
        return max((self.bound(box)[0], box) for box in singles)


def _two(first: LossLaw, second: LossLaw, count: int, tilt: float) -> _Two:
    apart = round((first.offset - second.offset) / first.step)
    return _Two(tilted(first, count, tilt), tilted(second, count, tilt), (max(apart, 0), max(-apart, 0)), count)


def _log_spectrum(weights: FloatArray, size: int) -> ComplexArray:
    """ln of the spectrum. What has no digits left is raised to 1e-300, which is less than the transform is off by."""
    spectrum = scipy.fft.rfft(weights, size)
    found: ComplexArray = np.log(np.where(np.abs(spectrum) < _LEAST_MODULUS, _LEAST_MODULUS, spectrum))
    return found


def _log_finite(one: Tilted) -> float:
    return math.log1p(-one.law.infinity) if one.law.infinity < 1 else -math.inf


def _reach(one: Tilted) -> float:
    return abs(one.law.offset) + one.law.step * len(one.law.weights)
