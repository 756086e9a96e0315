"""Smooth sensitivities term by term, and triangles one by one; nothing is shared with `dither.unit`."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import TypeAlias

from flint import arb, ctx

Graph: TypeAlias = frozenset[tuple[int, int]]


def smooth(sensitivities: Sequence[Fraction], beta: Fraction) -> arb:
    """max e^{−βt} A^(t) over the given t = 0, 1, …, as a ball at 200 bits."""
    with ctx.workprec(200):
        best = arb(0)
        for t, each in enumerate(sensitivities):
            exponent = -arb(beta.numerator) / beta.denominator * t
            best = best.max(arb(each.numerator) / each.denominator * exponent.exp())
        return best


def replaced_quantile(data: Sequence[float], rank: int, low: float, high: float, distance: int) -> Fraction:
    """The formula of Nissim, Raskhodnikova and Smith: max over k of x[m + k] − x[m + k − t − 1], k from 0 to t + 1."""
    padded = sorted(Fraction(x) for x in data)

    def x(i: int) -> Fraction:
        return Fraction(low) if i < 1 else Fraction(high) if i > len(padded) else padded[i - 1]

    return max(x(rank + k) - x(rank + k - distance - 1) for k in range(distance + 2))


def added_quantile(data: Sequence[float], probability: Fraction, low: float, high: float, distance: int) -> Fraction:
    """w removals, u₁ additions below and u₂ above, all of them, around each gap that the remaining dataset uses."""
    padded = [Fraction(low), *sorted(Fraction(x) for x in data), Fraction(high)]
    n = len(data)

    def rank(size: int) -> int:
        return ceil(probability * size) if probability > 0 else 1

    best = Fraction(0)
    for removed in range(min(n, distance) + 1):
        for added in range(distance - removed + 1):
            size = n - removed + added
            uses = {rank(size + 1) - 1} | ({rank(size - 1)} if size else set())
            for used in uses:
                for added_below in range(added + 1):
                    below = used - added_below
                    i, j = max(below, 0), min(below + removed + 1, n + 1)
                    if i <= n and j >= 1:
                        best = max(best, padded[j] - padded[i])
    return best


def graphs(vertices: int) -> dict[Graph, set[Graph]]:
    """All graphs on so many vertices, and those that one edge more or less leads to."""
    edges = list(combinations(range(vertices), 2))
    world = [frozenset(chosen) for size in range(len(edges) + 1) for chosen in combinations(edges, size)]
    return {graph: {graph ^ {edge} for edge in edges} for graph in world}


def triangles(vertices: int) -> Callable[[Graph], Fraction]:
    """The number of triangles, one by one."""

    def value(graph: Graph) -> Fraction:
        triples = combinations(range(vertices), 3)
        return Fraction(sum({(a, b), (a, c), (b, c)} <= graph for a, b, c in triples))

    return value
