"""Random parameter points: the same on every run, spread over many orders of magnitude."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random


class Points:
    """A stream of exact parameters."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def size(self, low: float, high: float) -> Fraction:
        """A number between 10^low and 10^high, uniform in its logarithm, of few digits."""
        return Fraction(f"{10 ** self._random.uniform(low, high):.6e}")

    def probability(self, low: float = -12.0) -> Fraction:
        """A number in (0, 1): near 0, near 1 or between."""
        small = Fraction(f"{10 ** self._random.uniform(low, -0.01):.6e}")
        return self._random.choice([small, 1 - small, Fraction(f"{self._random.uniform(1e-3, 0.999):.6f}")])

    def masses(self, outcomes: int) -> list[Fraction]:
        """A distribution with rational masses, some of them zero or extreme."""
        while True:
            weights = [self._random.choice([0, 1, 1, 3, 10, self._random.randrange(1, 1000)]) for _ in range(outcomes)]
            if any(weights):
                return [Fraction(weight, sum(weights)) for weight in weights]

    def choice(self, items: list[Fraction]) -> Fraction:
        """One of these."""
        return self._random.choice(items)


def stream(seed: str, count: int) -> Iterator[Points]:
    """One source per point, so that a point can be named and repeated alone."""
    return (Points(f"{seed} {index}") for index in range(count))
