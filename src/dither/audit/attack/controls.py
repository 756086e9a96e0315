"""Every mechanism of dither as the auditor meets it: how it is built for a budget.

They are the controls of the zoo: the auditor accuses none of them, but for its `alpha`. A test names a mechanism that
is missing here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dither.adaptive.mean import QueryMean
from dither.errors import ParameterError
from dither.exact import Number, rational
from dither.mechanisms import (
    Exponential,
    FiniteMechanism,
    Gaussian,
    Histogram,
    KNorm,
    Laplace,
    MatrixMechanism,
    Mechanism,
    MetricExponential,
    NoisyMax,
    ProposeTestRelease,
    RandomizedResponse,
    SmoothSensitivity,
    SparseVector,
    Staircase,
    TopK,
)
from dither.sensitivity import Median
from dither.workloads import Workload

__all__ = ["CONTROLS", "Control", "control"]


@dataclass(frozen=True)
class Control:
    """A mechanism of dither, ready to be attacked."""

    name: str
    make: Callable[[Number, Number], Mechanism]
    """From ε and δ."""

    def __str__(self) -> str:
        return self.name


CONTROLS = (
    Control("Laplace", lambda e, d: Laplace(sensitivity=1, epsilon=e)),
    Control("Gaussian", lambda e, d: Gaussian(sensitivity=1, epsilon=e, delta=d)),
    Control("Staircase", lambda e, d: Staircase(sensitivity=1, epsilon=e)),
    Control("KNorm", lambda e, d: KNorm(sensitivity=1, dimension=2, epsilon=e)),
    Control("KNorm of the largest coordinate", lambda e, d: KNorm(sensitivity=1, dimension=2, norm="linf", epsilon=e)),
    Control("Histogram", lambda e, d: Histogram(bins=3, epsilon=e)),
    Control("Histogram of discovered bins", lambda e, d: Histogram(epsilon=e, delta=d)),
    Control("Exponential", lambda e, d: Exponential(sensitivity=1, epsilon=e)),
    Control("NoisyMax", lambda e, d: NoisyMax(sensitivity=1, epsilon=e)),
    Control("TopK", lambda e, d: TopK(count=2, sensitivity=1, epsilon=e)),
    Control(
        "MetricExponential",
        lambda e, d: MetricExponential(points=range(5), distance=lambda x, y: abs(x - y), sensitivity=1, epsilon=e),
    ),
    Control("RandomizedResponse", lambda e, d: RandomizedResponse(answers=["a", "b", "c"], epsilon=e)),
    Control("FiniteMechanism", lambda e, d: _flip(e)),
    Control("SparseVector", lambda e, d: SparseVector(threshold=0, epsilon=e, max_above=2)),
    Control("ProposeTestRelease", lambda e, d: ProposeTestRelease(Median(None), limit=5, epsilon=e, delta=d)),
    Control("SmoothSensitivity", lambda e, d: SmoothSensitivity(Median((0, 100)), epsilon=e)),
    Control("QueryMean", lambda e, d: QueryMean.laplace(10, 1 / (10 * rational(e, "epsilon")))),
    Control("MatrixMechanism", lambda e, d: MatrixMechanism(Workload.prefix(4), epsilon=e)),
)
"""One for each mechanism, and more where it has several faces."""


def _flip(epsilon: Number) -> Mechanism:
    """A coin that tells the truth with odds below e^ε."""
    odds = 1 + rational(epsilon, "epsilon")
    true, false = odds / (1 + odds), 1 / (1 + odds)
    return FiniteMechanism({"no": {"no": true, "yes": false}, "yes": {"no": false, "yes": true}})


def control(name: str) -> Control:
    """The control of a mechanism, by its name in capital or small letters."""
    known: Mapping[str, Control] = {each.name.casefold(): each for each in CONTROLS}
    if name.casefold() not in known:
        raise ParameterError(f"there is no mechanism {name!r}. Known: {', '.join(map(str, CONTROLS))}.")
    return known[name.casefold()]
