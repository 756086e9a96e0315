"""Mechanisms: an exact value and its sensitivity go in, a noisy value and an event come out.

Build a mechanism from a privacy budget or from a noise scale, look at `guarantee` and `error(beta)`, then call
`release(value)` on the exact value. A `Number` is an int, Fraction, Decimal, decimal string or float; a float means its
shortest decimal, so that 0.1 is 1/10.
"""

from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.histogram import Histogram
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.matrix import MatrixMechanism, compare_strategies
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.metric import MetricExponential
from dither.mechanisms.no_answer import NoAnswer
from dither.mechanisms.propose_test_release import ProposeTestRelease
from dither.mechanisms.randomized_response import Frequencies, RandomizedResponse
from dither.mechanisms.released import Release
from dither.mechanisms.selection import Exponential, NoisyMax, TopK
from dither.mechanisms.selection_error import ErrorDistribution
from dither.mechanisms.smooth_sensitivity import SmoothSensitivity
from dither.mechanisms.sparse_vector import SparseVector, SparseVectorSession
from dither.mechanisms.staircase import Staircase

__all__ = [
    "ErrorDistribution",
    "Exponential",
    "Frequencies",
    "Gaussian",
    "Histogram",
    "Laplace",
    "MatrixMechanism",
    "Mechanism",
    "MetricExponential",
    "NoAnswer",
    "NoisyMax",
    "ProposeTestRelease",
    "RandomizedResponse",
    "Release",
    "SmoothSensitivity",
    "SparseVector",
    "SparseVectorSession",
    "Staircase",
    "TopK",
    "compare_strategies",
]
