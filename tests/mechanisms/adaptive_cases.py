"""The answers of an oracle, as the contract suite sees them."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from dither.adaptive.mean import QueryMean
from dither.mechanisms import Gaussian, Laplace
from tests.mechanisms.batches import additive_batch
from tests.mechanisms.mechanism_case import Case, ErrorLaw
from tests.oracle.lattice_sums import gaussian_profile, laplace_line

__all__ = ["CASES"]

_ROWS = 100
_HALF = np.full(_ROWS, 0.5)
_BAD_ROWS: list[Any] = [0, -1, 2.5, "many", None, True, 1 << 33]
_BAD_SCALES: list[Any] = [0, -1, float("nan"), float("inf"), True, None, "many"]
_BAD_VALUES: list[Any] = [
    np.full(_ROWS, 1.0000001),
    np.full(_ROWS, -1e-9),
    np.where(np.arange(_ROWS) == 7, np.nan, 0.5),
    np.full(_ROWS, np.inf),
    np.full(_ROWS - 1, 0.5),
    np.full((_ROWS, 1), 0.5),
    0.5,
    np.full(_ROWS, "a"),
    np.full(_ROWS, None),
    np.full(_ROWS, 1j),
    None,
]
_BATCH = additive_batch(
    lambda mechanism: SimpleNamespace(law=mechanism.noise.for_integers.law, step=Fraction(1, _ROWS << 30)),  # type: ignore[arg-type,return-value]
    lambda mechanism: mechanism.release(_HALF).value - 0.5,
)


def _gaussian_errors() -> ErrorLaw:
    return ErrorLaw(lambda x: math.erfc(x / 0.02 / math.sqrt(2)), 0.02 * math.sqrt(2 / math.pi))


def _laplace_errors() -> ErrorLaw:
    return ErrorLaw(lambda x: math.exp(-x / 0.02), 0.02)


CASES = [
    Case(
        "mean of a query, Gaussian noise",
        lambda: QueryMean.gaussian(_ROWS, "0.02"),
        _HALF,
        refused_builds=[
            *(functools.partial(QueryMean.gaussian, rows, "0.02") for rows in _BAD_ROWS),
            *(functools.partial(QueryMean.gaussian, _ROWS, sigma) for sigma in _BAD_SCALES),
            lambda: QueryMean(_ROWS, Gaussian(sensitivity=1, sigma=100)),
        ],
        refused_values=_BAD_VALUES,
        quieter=lambda: QueryMean.gaussian(_ROWS, "0.018"),
        louder=lambda: QueryMean.gaussian(_ROWS, "0.022"),
        profile=lambda epsilon: gaussian_profile(0.5, epsilon),
        errors=_BATCH,
        error_law=_gaussian_errors,
    ),
    Case(
        "mean of a query, Laplace noise",
        lambda: QueryMean.laplace(_ROWS, "0.02"),
        _HALF,
        refused_builds=[
            *(functools.partial(QueryMean.laplace, rows, "0.02") for rows in _BAD_ROWS),
            *(functools.partial(QueryMean.laplace, _ROWS, scale) for scale in _BAD_SCALES),
            lambda: QueryMean(_ROWS, Laplace(sensitivity=1, scale=100)),
        ],
        refused_values=_BAD_VALUES,
        quieter=lambda: QueryMean.laplace(_ROWS, "0.018"),
        louder=lambda: QueryMean.laplace(_ROWS, "0.022"),
        profile=lambda epsilon: laplace_line(0.5, epsilon),
        slack=math.inf,
        largest_loss=lambda: 0.5,
        errors=_BATCH,
        error_law=_laplace_errors,
    ),
]
