"""Sensitivities by going through every dataset of a small world; nothing is shared with `dither.unit`."""

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil, floor
from typing import TypeAlias, TypeVar

Dataset: TypeAlias = tuple[int, ...]
World = TypeVar("World", bound=Hashable)


def quantile(probability: Fraction, low: int, high: int) -> Callable[[Dataset], Fraction]:
    """The element of rank ⌈p·n⌉ counted from 1; the first for p = 0; nothing at all counts as a bound."""

    def value(data: Dataset) -> Fraction:
        if not data:
            return Fraction(high if probability == 0 else low)
        place = max(1, ceil(probability * len(data)))
        return Fraction(sorted(data)[place - 1])

    return value


def trimmed_mean(trim: Fraction, empty: Fraction) -> Callable[[Dataset], Fraction]:
    """The mean of what is left without the ⌊trim·n⌋ smallest and as many largest."""

    def value(data: Dataset) -> Fraction:
        cut = floor(trim * len(data))
        left = sorted(data)[cut : len(data) - cut]
        return Fraction(sum(left), len(left)) if left else empty

    return value


def winsorised_mean(trim: Fraction, empty: Fraction) -> Callable[[Dataset], Fraction]:
    """The mean after the ⌊trim·n⌋ smallest and as many largest have been moved to the nearest one left."""

    def value(data: Dataset) -> Fraction:
        cut = floor(trim * len(data))
        left = sorted(data)[cut : len(data) - cut]
        moved = [left[0]] * cut + left + [left[-1]] * cut if left else []
        return Fraction(sum(moved), len(moved)) if moved else empty

    return value


def replacements(universe: Dataset, size: int) -> dict[Dataset, set[Dataset]]:
    """All datasets of this size, as sorted tuples, and those that one replaced record leads to."""
    return {
        data: {tuple(sorted((*data[:place], other, *data[place + 1 :]))) for place in range(size) for other in universe}
        for data in combinations_with_replacement(universe, size)
    }


def additions(universe: Dataset, largest: int) -> dict[Dataset, set[Dataset]]:
    """All datasets of up to `largest` records, and those that one record more or less leads to (inside this world)."""
    world: dict[Dataset, set[Dataset]] = {
        data: set() for size in range(largest + 1) for data in combinations_with_replacement(universe, size)
    }
    for data in world:
        for place in range(len(data)):
            smaller = (*data[:place], *data[place + 1 :])
            world[data].add(smaller)
            world[smaller].add(data)
    return world


def within(
    value: Callable[[World], Fraction], neighbours: Mapping[World, set[World]], distance: int
) -> list[dict[World, Fraction]]:
    """A^(0), …, A^(distance) of every dataset, by their definition.

    In a world of datasets of limited size A^(t) is right where t + 1 steps do not leave it.
    """
    of = {data: value(data) for data in neighbours}
    local = {
        data: max((abs(of[data] - of[other]) for other in others), default=Fraction(0))
        for data, others in neighbours.items()
    }
    layers = [local]
    for _ in range(distance):
        last = layers[-1]
        layers.append({data: max(last[data], *(last[o] for o in others)) for data, others in neighbours.items()})
    return layers
