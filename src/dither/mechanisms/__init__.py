"""Mechanisms: an exact value and its sensitivity go in, a noisy value and an event come out.

Build a mechanism from a privacy budget or from a noise scale, look at `guarantee` and `error(beta)`, then call
`release(value)` on the exact value. A `Number` is an int, Fraction, Decimal, decimal string or float; a float means its
shortest decimal, so that 0.1 is 1/10.

Names load when they are first used: a table needs four of these mechanisms, and the others take time to load.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.mechanisms.public_names import (
        ErrorDistribution,
        Exponential,
        FiniteMechanism,
        Frequencies,
        Gaussian,
        Histogram,
        KNorm,
        Laplace,
        MatrixMechanism,
        Mechanism,
        MetricExponential,
        NoAnswer,
        NoisyMax,
        ProposeTestRelease,
        RandomizedResponse,
        Release,
        ScoredSelection,
        SmoothSensitivity,
        SparseVector,
        SparseVectorSession,
        Staircase,
        TopK,
        compare_strategies,
        exponential_tail,
        largest_exponential_tail,
        normal_tail,
        normal_tail_bound,
    )

__all__ = [
    "ErrorDistribution",
    "Exponential",
    "FiniteMechanism",
    "Frequencies",
    "Gaussian",
    "Histogram",
    "KNorm",
    "Laplace",
    "MatrixMechanism",
    "Mechanism",
    "MetricExponential",
    "NoAnswer",
    "NoisyMax",
    "ProposeTestRelease",
    "RandomizedResponse",
    "Release",
    "ScoredSelection",
    "SmoothSensitivity",
    "SparseVector",
    "SparseVectorSession",
    "Staircase",
    "TopK",
    "compare_strategies",
    "exponential_tail",
    "largest_exponential_tail",
    "normal_tail",
    "normal_tail_bound",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(
            f"module 'dither.mechanisms' has no attribute {name!r}. Public names: {', '.join(__all__)}."
        )
    from dither.mechanisms import public_names

    return getattr(public_names, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
