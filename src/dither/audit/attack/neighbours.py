"""Where a mechanism may leak: pairs of neighbouring inputs that have broken others before.

What the inputs of a mechanism are, and which of them are neighbours, is part of its promise. A family gives pairs for
one such promise. All pairs are worst cases by design: everything changes at once, one record is far away, two clumps of
records hang in the balance (Ding et al. 2018, StatDP, for the answers; claims C17 and C20 for the clumps).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dither.errors import ParameterError

__all__ = ["FAMILIES", "Pair", "candidates"]

Pair = tuple[Any, Any]


def _number() -> Iterator[Pair]:
    """One number that changes by at most 1."""
    yield 0, 1
    yield 5, 6


def _real() -> Iterator[Pair]:
    """One real number that changes by at most 1."""
    yield 0.0, 1.0


def _answers() -> Iterator[Pair]:
    """Answers to several questions; each changes by at most 1."""
    yield [0], [1]
    for length in (2, 5, 10, 25):
        zeros, half, few = [0] * length, length // 2, max(1, length // 4)
        yield zeros, [1] * length
        yield zeros, [1] * half + [-1] * (length - half)
        yield zeros, [1] * (length - few) + [-1] * few
        yield [0] * (length - 1) + [1], [1] * (length - 1) + [0]


def _counts() -> Iterator[Pair]:
    """Counts of several groups, of which one changes by 1."""
    for length in (1, 3):
        for level in (0, 1, 10):
            yield [level] * length, [level + 1] + [level] * (length - 1)


def _added() -> Iterator[Pair]:
    """Records, to which one is added."""
    for size in (0, 1, 2, 9):
        for value in (0.0, 1.0):
            for more in (0.0, 1.0, -1.0, 1000.0):
                yield [value] * size, [value] * size + [more]


def _replaced() -> Iterator[Pair]:
    """Records, of which one is replaced."""
    for size in (1, 3, 10):
        for value in (1.0, 1000.0):
            yield [0.0] * size, [0.0] * (size - 1) + [value]
    for gap in (10, 1000):
        half = 150
        yield [0] * half + [gap // 2] + [gap] * half, [0] * (half + 1) + [gap] * half
        for ahead in range(24):
            yield (
                [0] * (half + ahead) + [gap] * (half + 1 - ahead),
                [0] * (half + ahead + 1) + [gap] * (half - ahead),
            )


FAMILIES = {
    "number": _number,
    "real": _real,
    "answers": _answers,
    "counts": _counts,
    "add or remove": _added,
    "replace": _replaced,
}


def candidates(neighbours: Any) -> Sequence[Pair]:
    """The pairs to try: those of a family, the one pair that is given, or all of a list of pairs."""
    if isinstance(neighbours, str):
        if neighbours not in FAMILIES:
            raise ParameterError(
                f"neighbours must be a pair of inputs or one of {', '.join(map(repr, FAMILIES))}; "
                f"got neighbours={neighbours!r}."
            )
        return list(FAMILIES[neighbours]())
    if isinstance(neighbours, tuple) and len(neighbours) == 2:
        return [neighbours]
    if isinstance(neighbours, list) and neighbours and all(isinstance(p, tuple) and len(p) == 2 for p in neighbours):
        return neighbours
    raise ParameterError("neighbours must be a pair (left, right), a list of pairs, or the name of a family.")
