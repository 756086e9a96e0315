"""The cells of the comparison of accuracy: one statistic at one budget, on incomes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Change: TypeAlias = Literal["add or remove", "replace"]
Estimator: TypeAlias = Callable[[Floats], float]
"""One private answer for one dataset."""

RECORDS = 10**4
HIGH = 10**6
REPETITIONS = 200


@dataclass(frozen=True)
class Cell:
    """`statistic` is "mean", "variance" or a quantile's probability, between 0 and `high`."""

    statistic: str | float
    epsilon: float
    change: Change
    high: int = HIGH

    def __str__(self) -> str:
        name = self.statistic if isinstance(self.statistic, str) else f"quantile {self.statistic:g}"
        return f"{name}, ε = {self.epsilon:g}, {self.change}"

    def truth(self, data: Floats) -> float:
        if self.statistic == "mean":
            return float(data.mean())
        if self.statistic == "variance":
            return float(data.var())
        assert isinstance(self.statistic, float)
        return float(np.quantile(data, self.statistic))


ASKED: list[tuple[str | float, float]] = [
    (0.5, 0.1),
    (0.5, 1.0),
    (0.9, 1.0),
    (0.99, 0.1),
    ("mean", 0.1),
    ("mean", 1.0),
    ("variance", 1.0),
]
CHANGES: tuple[Change, Change] = ("add or remove", "replace")
CELLS = [Cell(statistic, epsilon, change) for change in CHANGES for statistic, epsilon in ASKED]


def incomes(repetition: int) -> Floats:
    """Lognormal(ln 40000, 0.8) inside the bounds; other data in each repetition, the same for everyone."""
    drawn = np.random.default_rng(repetition).lognormal(np.log(40_000), 0.8, RECORDS)
    return np.clip(drawn, 0, HIGH)


def errors(cell: Cell, estimator: Estimator) -> Floats:
    """The absolute error of one answer in each repetition."""
    found = []
    for repetition in range(REPETITIONS):
        data = incomes(repetition)
        found.append(abs(estimator(data) - cell.truth(data)))
    return np.array(found)
