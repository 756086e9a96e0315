"""Sampling, naively: all datasets of up to three bits, all samples of each, all neighbours, and the exact loss.

A mechanism here is a function from a sample (a tuple of bits) to the chances of its outputs. Outputs of infinite laws
are gathered in cells, and the farthest are left out: so the δ that is found is at most the true one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

Data = tuple[int, ...]
Chances = dict[Any, float]
Mechanism = Callable[[Data], Chances]
BITS = (0, 1)


def datasets(size: int) -> Iterator[Data]:
    """All datasets of this many records."""
    return itertools.product(BITS, repeat=size)


def neighbours(change: str, size: int) -> Iterator[tuple[Data, Data]]:
    """All neighbours of which the larger has `size` records."""
    for data in datasets(size):
        for at in range(size):
            if change == "add or remove":
                yield data, data[:at] + data[at + 1 :]
            else:
                yield data, (*data[:at], 1 - data[at], *data[at + 1 :])


def poisson(data: Data, rate: Fraction) -> Iterator[tuple[Data, float]]:
    """All samples, each with its chance."""
    for kept in itertools.product((False, True), repeat=len(data)):
        chance = math.prod(float(rate if each else 1 - rate) for each in kept)
        yield tuple(itertools.compress(data, kept)), chance


def fixed_size(data: Data, sample: int) -> Iterator[tuple[Data, float]]:
    """All samples of one size, equally likely."""
    drawn = list(itertools.combinations(data, sample))
    return ((each, 1 / len(drawn)) for each in drawn)


def mixed(mechanism: Mechanism, samples: Iterator[tuple[Data, float]]) -> Chances:
    """The law of the output over the sample and the noise."""
    law: Chances = {}
    for sample, chance in samples:
        for output, share in mechanism(sample).items():
            law[output] = law.get(output, 0.0) + chance * share
    return law


def delta(first: Chances, second: Chances, epsilon: float) -> float:
    """Σ (P − e^ε Q)₊."""
    return math.fsum(max(p - math.exp(epsilon) * second.get(output, 0.0), 0.0) for output, p in first.items())


def twice(mechanism: Mechanism) -> Mechanism:
    """The mechanism, run twice on the same sample."""

    def both(sample: Data) -> Chances:
        once = mechanism(sample)
        return {(a, b): p * q for (a, p), (b, q) in itertools.product(once.items(), repeat=2)}

    return both


# ------------------------------------------------------------------ mechanisms on bits, of sensitivity 1


def in_cells(cdf: Callable[[float], float], centre: float, scale: float = 1.0, width: float = 0.25) -> Chances:
    """The chance of each cell of the line for centre + scale·Z."""
    edges = [width * at for at in range(-120, 121)]
    below = [cdf((edge - centre) / scale) for edge in edges]
    return {at: high - low for at, (low, high) in enumerate(itertools.pairwise(below))}


def moved_at_random(amounts: dict[int, float]) -> Mechanism:
    """Each 1 of the sample moves the sum by an amount of its own, and N(0, 1) is added."""

    def mechanism(sample: tuple[int, ...]) -> Chances:
        sums = {0: 1.0}
        for _ in range(sum(sample)):
            grown: dict[int, float] = {}
            for (total, chance), (amount, share) in itertools.product(sums.items(), amounts.items()):
                grown[total + amount] = grown.get(total + amount, 0.0) + chance * share
            sums = grown
        laws = [(chance, in_cells(normal_cdf, float(total))) for total, chance in sums.items()]
        return {at: sum(chance * law[at] for chance, law in laws) for at in laws[0][1]}

    return mechanism


def laplace_cdf(x: float) -> float:
    """Of Lap(1)."""
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


def normal_cdf(x: float) -> float:
    """Of N(0, 1)."""
    return math.erfc(-x / math.sqrt(2)) / 2


def staircase_cdf(epsilon: float, fraction: float) -> Callable[[float], float]:
    """Of staircase noise on a value of sensitivity 1, by adding up its stairs."""
    step = math.exp(-epsilon)
    unit = (1 - step) / (2 * (fraction + step * (1 - fraction)))

    def right(x: float) -> float:
        """The mass of [0, x]."""
        whole, rest = divmod(x, 1.0)
        before = unit * (fraction + step * (1 - fraction)) * (1 - step**whole) / (1 - step)
        return float(before + unit * step**whole * (min(rest, fraction) + step * max(rest - fraction, 0.0)))

    return lambda x: 0.5 + math.copysign(right(abs(x)), x)


def lattice(weight: Callable[[int], float]) -> Mechanism:
    """The sum of the bits and noise with these weights on the integers."""
    total = math.fsum(weight(x) for x in range(-60, 61))
    return lambda sample: {y: weight(y - sum(sample)) / total for y in range(-12, 13)}


def winner(chance_of_worse: Callable[[int], float]) -> Mechanism:
    """The more frequent bit, by noisy counts: the chance that the one behind by d wins."""

    def law(sample: Data) -> Chances:
        ones, zeros = sum(sample), len(sample) - sum(sample)
        worse = chance_of_worse(abs(ones - zeros))
        return {1: 1 - worse, 0: worse} if ones >= zeros else {0: 1 - worse, 1: worse}

    return law


def responses(keep: float) -> Mechanism:
    """One randomized answer for each record: everybody sees how many there are."""
    true = keep + (1 - keep) / 2

    def law(sample: Data) -> Chances:
        return {
            output: math.prod(true if a == b else 1 - true for a, b in zip(sample, output, strict=True))
            for output in datasets(len(sample))
        }

    return law


def tell_tale(epsilon: float) -> Mechanism:
    """Whether there is a 1, told with odds e^ε: as bad as ε-DP can be."""
    true = 1 / (1 + math.exp(-epsilon))
    return lambda sample: {True: true, False: 1 - true} if any(sample) else {True: 1 - true, False: true}


def first_above(threshold_scale: float, query_scale: float) -> Mechanism:
    """Which of the questions "how many ones?", "how many zeros?" is the first above 1, by sparse vector."""
    width = 0.05
    grid = [width * at for at in range(-500, 501)]
    chances = [
        laplace_cdf((x + width / 2) / threshold_scale) - laplace_cdf((x - width / 2) / threshold_scale) for x in grid
    ]

    def law(sample: Data) -> Chances:
        found = {"first": 0.0, "second": 0.0, "none": 0.0}
        for shift, chance in zip(grid, chances, strict=True):
            ones, zeros = (
                laplace_cdf((count - 1 - shift) / query_scale) for count in (sum(sample), len(sample) - sum(sample))
            )
            found["first"] += chance * ones
            found["second"] += chance * (1 - ones) * zeros
            found["none"] += chance * (1 - ones) * (1 - zeros)
        return found

    return law
