"""Every mechanism of dither as the auditor meets it: how it is built for a budget, and neighbours that try it hardest.

They are the controls of the zoo: the auditor accuses none of them, but for its `alpha`. A test names a mechanism that
is missing here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dither.adaptive.mean import QueryMean
from dither.errors import ParameterError
from dither.exact import Number, rational
from dither.mechanisms import (
    Exponential,
    Gaussian,
    Histogram,
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
from dither.unit import Median, Workload

__all__ = ["CONTROLS", "Control", "control"]


@dataclass(frozen=True)
class Control:
    """A mechanism of dither, ready to be attacked."""

    name: str
    make: Callable[[Number, Number], Mechanism]
    """From ε and δ."""
    neighbours: Any
    """The pairs on which to run it."""

    def __str__(self) -> str:
        return self.name


def _clumps(ahead: int, gap: int) -> tuple[list[float], list[float]]:
    """Records in two clumps, of which one changes sides, `ahead` of the balance."""
    left = [0.0] * (10 + ahead) + [float(gap)] * (11 - ahead)
    return left, [0.0] * (11 + ahead) + [float(gap)] * (10 - ahead)


_SCORES = [([0, 0], [1, -1]), ([0, 1], [1, 0]), ([0] * 5, [1] * 5), ([0] * 5, [1] * 4 + [-1]), ([9, 0, 0], [8, 1, 1])]
_RECORDS = [_clumps(0, 10), _clumps(4, 10), ([0.0] * 10 + [5.0] + [10.0] * 10, [0.0] * 11 + [10.0] * 10)]

CONTROLS = (
    Control("Laplace", lambda e, d: Laplace(sensitivity=1, epsilon=e), [(0, 1), (0.0, 1.0)]),
    Control("Gaussian", lambda e, d: Gaussian(sensitivity=1, epsilon=e, delta=d), [(0, 1), (0.0, 1.0)]),
    Control("Staircase", lambda e, d: Staircase(sensitivity=1, epsilon=e), [(0, 1), (0.0, 1.0)]),
    Control("Histogram", lambda e, d: Histogram(bins=3, epsilon=e), [([0, 0, 0], [1, 0, 0]), ([5, 1, 0], [5, 1, 1])]),
    Control(
        "Histogram of discovered bins",
        lambda e, d: Histogram(epsilon=e, delta=d),
        [({}, {"a": 1}), ({"a": 5}, {"a": 5, "b": 1}), ({"a": 20}, {"a": 21})],
    ),
    Control("Exponential", lambda e, d: Exponential(sensitivity=1, epsilon=e), _SCORES),
    Control("NoisyMax", lambda e, d: NoisyMax(sensitivity=1, epsilon=e), _SCORES),
    Control("TopK", lambda e, d: TopK(count=2, sensitivity=1, epsilon=e), _SCORES),
    Control(
        "MetricExponential",
        lambda e, d: MetricExponential(points=range(5), distance=lambda x, y: abs(x - y), sensitivity=1, epsilon=e),
        [(0, 1), (2, 3)],
    ),
    Control(
        "RandomizedResponse", lambda e, d: RandomizedResponse(answers=["a", "b", "c"], epsilon=e), [(["a"], ["b"])]
    ),
    Control(
        "SparseVector",
        lambda e, d: SparseVector(threshold=0, epsilon=e, max_above=2),
        [([0] * 5, [1] * 3 + [-1] * 2), ([0] * 9 + [1], [1] * 9 + [0]), ([0], [1])],
    ),
    Control("ProposeTestRelease", lambda e, d: ProposeTestRelease(Median(None), limit=5, epsilon=e, delta=d), _RECORDS),
    Control("SmoothSensitivity", lambda e, d: SmoothSensitivity(Median((0, 100)), epsilon=e), _RECORDS),
    Control(
        "QueryMean",
        lambda e, d: QueryMean.laplace(10, 1 / (10 * rational(e, "epsilon"))),
        [([0.0] * 10, [0.0] * 9 + [1.0])],
    ),
    Control(
        "MatrixMechanism",
        lambda e, d: MatrixMechanism(Workload.prefix(4), epsilon=e),
        [([0, 0, 0, 0], [1, 0, 0, 0]), ([3, 0, 2, 5], [3, 0, 3, 5])],
    ),
)
"""One for each mechanism, and more where it has several faces."""


def control(name: str) -> Control:
    """The control of a mechanism, by its name."""
    known: Mapping[str, Control] = {each.name: each for each in CONTROLS}
    if name not in known:
        raise ParameterError(f"there is no mechanism {name!r}. Known: {', '.join(known)}.")
    return known[name]
