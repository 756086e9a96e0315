"""Added noise that is too small, sits in the wrong place, or is not what it seems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.audit.zoo.specimen import STEPS, Specimen, laplace, uniform
from dither.guarantees import ApproxDP, GaussianDP, PureDP
from dither.noise import DiscreteGaussian

__all__ = ["SPECIMENS", "laplace_float"]

Rows = NDArray[np.float64]
_HALF = Fraction(1, 2)
_CLASSIC_EPSILON, _CLASSIC_DELTA = 10, 0.25


def scale_is_epsilon(counts: Sequence[int], runs: int) -> Rows:
    """A histogram with noise of scale ε where 1/ε was meant, for ε = 1/2."""
    return np.asarray(counts) + laplace(_HALF, (runs, len(counts)))


def one_for_all(answers: Sequence[int], runs: int) -> Rows:
    """Several answers, each with the noise that one alone would need, for ε = 1."""
    return np.asarray(answers) + laplace(1, (runs, len(answers)))


def classic_gaussian(value: int, runs: int) -> Rows:
    """σ = √(2 ln(1.25/δ))/ε, for ε = 10 and δ = 1/4: the proof of the formula (claim C6) asks for ε < 1."""
    variance = 2 * math.log(1.25 / _CLASSIC_DELTA) / _CLASSIC_EPSILON**2
    return np.asarray(value + DiscreteGaussian(Fraction(variance) * STEPS**2).sample(runs) / STEPS, dtype=np.float64)


def true_count_in_scale(records: Sequence[float], runs: int) -> Rows:
    """A mean of values in [0, 1] with noise of scale 1/(nε), n being the true number of records, for ε = 1."""
    n = max(len(records), 1)
    mean = round(float(np.clip(records, 0, 1).sum()) / n * STEPS) / STEPS
    return mean + laplace(Fraction(1, n), runs)


def clips_a_copy(records: Sequence[float], runs: int) -> Rows:
    """Noise for values clipped to [0, 1], on the sum of those that were not, for ε = 1."""
    return sum(records) + laplace(1, runs)


def sum_over_count(records: Sequence[float], runs: int) -> Rows:
    """A mean of values in [−1, 1] as noisy sum over noisy count, each with the whole ε = 1."""
    total = np.clip(records, -1, 1).sum() + laplace(1, runs)
    return np.asarray(total / np.maximum(len(records) + laplace(1, runs), 1))


def laplace_float(value: float, runs: int) -> Rows:
    """The textbook sampler in floating point: value ± ln u, for ε = 1."""
    return np.asarray(value + np.where(uniform(runs) < 0.5, 1.0, -1.0) * np.log(uniform(runs)))


def gaussian_float(value: float, runs: int) -> Rows:
    """The textbook sampler of Box and Muller in floating point, for σ = 1."""
    return np.asarray(value + np.sqrt(-2 * np.log(uniform(runs))) * np.cos(2 * np.pi * uniform(runs)))


SPECIMENS = (
    Specimen(
        "histogram with scale ε",
        scale_is_epsilon,
        "counts",
        PureDP(_HALF),
        2.0,
        "scale ε in place of 1/ε: the loss is 1/ε",
    ),
    Specimen(
        "each answer at the whole ε",
        one_for_all,
        "answers",
        PureDP(1),
        math.inf,
        "noise for one answer, while k of them change at once: the loss is kε",
    ),
    Specimen(
        "classic Gaussian at ε = 10",
        classic_gaussian,
        "number",
        ApproxDP(_CLASSIC_EPSILON, _CLASSIC_DELTA),
        18.36,
        "the formula is proved for ε < 1 only; the true δ is 0.79, not 0.25",
        samples=3_000_000,
    ),
    Specimen(
        "mean with the true n in its scale",
        true_count_in_scale,
        "add or remove",
        PureDP(1),
        math.inf,
        "the width of the noise reveals the number of records",
    ),
    Specimen(
        "clips one copy, adds the other",
        clips_a_copy,
        "add or remove",
        PureDP(1),
        math.inf,
        "the bound holds for values that are not the ones added up",
    ),
    Specimen(
        "AVG as SUM/COUNT, each at the whole ε",
        sum_over_count,
        "add or remove",
        PureDP(1),
        2.0,
        "two answers for the price of one",
    ),
    Specimen(
        "Laplace noise in floating point",
        laplace_float,
        "real",
        PureDP(1),
        math.inf,
        "which floats can come out depends on the value (Mironov 2012)",
    ),
    Specimen(
        "Gaussian noise in floating point",
        gaussian_float,
        "real",
        GaussianDP(1),
        math.inf,
        "which floats can come out depends on the value (Jin et al. 2022)",
    ),
)
