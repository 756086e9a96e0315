"""A million releases in a second or so: samplers are asked for many draws at once.

`Race.winner` and `SparseVector` draw one by one, in 50 µs and more. A batch goes through the parts of which these
consist (the ends of the race in double precision, the vector path of a law) for all draws together. That it does
nothing else is a test: `one`, a real release on the randomness of one row, must have the error of that row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.mechanisms import Mechanism, SparseVector
from dither.mechanisms.additive import Noising
from dither.noise import entropy
from dither.noise.law import Law
from dither.noise.race import Race, Scores
from tests.mechanisms.mechanism_case import Errors

__all__ = ["Batch", "Words", "additive_batch", "race_batch", "rule_batch", "sparse_batch", "winners"]

Words = NDArray[np.uint64]
_ROWS = 1 << 16


@dataclass(frozen=True)
class Batch:
    """Errors of many releases."""

    draw: Callable[[Any, int], NDArray[Any]]
    """Randomness for so many releases of a mechanism, a row each."""
    errors: Callable[[Any, Any], Errors]
    """The error of each row."""
    one: Callable[[Any], float]
    """The error of one real release."""
    replay: Callable[[Any, Any], AbstractContextManager[None]]
    """Let a release draw what a row holds."""

    def __call__(self, mechanism: Mechanism, count: int) -> Errors:
        sizes = [min(_ROWS, count - start) for start in range(0, count, _ROWS)]
        return np.concatenate([self.errors(mechanism, self.draw(mechanism, size)) for size in sizes])


# --------------------------------------------------------------------- races


class _Recorded:
    """Words that were drawn before; single bits, for ties, are fresh."""

    word_bits = 64

    def __init__(self, words: Words) -> None:
        self._words, self._used = words, 0
        self.bits = entropy.current().bits

    def words(self, count: int) -> Words:
        self._used += count
        assert self._used <= len(self._words), "more was drawn than the batch knows of"
        return self._words[self._used - count : self._used]


@contextmanager
def _replayed(_: Mechanism, words: Words) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entropy, "_stand_in", _Recorded(words))
        yield


def winners(race: Race, scores: Scores, words: Words) -> NDArray[np.intp]:
    """Who wins on each row of words. Rows that double precision leaves open are run one by one."""
    entrants = np.arange(len(scores)) if scores.entrants is None else scores.entrants
    assert words.shape[1] == len(entrants)
    shifts = np.tile(scores.shifts(entrants, float(1 / race.scale)), len(words))
    lower, upper = (ends.reshape(words.shape) for ends in race._ends(words.ravel(), 64, shifts))
    is_qualified = upper >= lower.max(axis=1, keepdims=True)
    found: NDArray[np.intp] = entrants[is_qualified.argmax(axis=1)]
    for row in np.flatnonzero(is_qualified.sum(axis=1) > 1):
        found[row] = race._run(_Recorded(words[row]), scores)
    return found


def race_batch(width: int, errors: Callable[[Any, Words], Errors], one: Callable[[Any], float]) -> Batch:
    """A mechanism that races, with so many words to a release."""

    def draw(_: Mechanism, count: int) -> Words:
        return entropy.current().words(count * width).reshape(count, width)

    return Batch(draw, errors, one, _replayed)


# ---------------------------------------------------------------- added noise


@contextmanager
def _prescribed(draws: dict[Law, list[int]]) -> Iterator[None]:
    """Each of these laws gives its numbers in turn, one by one."""
    left = {law: list(numbers) for law, numbers in draws.items()}
    with pytest.MonkeyPatch.context() as patch:
        for kind in {type(law) for law in draws}:
            patch.setattr(kind, "sample", lambda law, size=None: _taken(left[law], size))
        yield


def _taken(numbers: list[int], size: Any) -> Any:
    if size is None:
        return numbers.pop(0)
    return np.array([numbers.pop(0) for _ in range(np.prod(size, dtype=int))]).reshape(size)


def additive_batch(noising: Callable[[Any], Noising], one: Callable[[Any], Any], size: int = 1) -> Batch:
    """Added noise; `one` releases a zero first, and perhaps others: `size` in all."""

    def draw(mechanism: Any, count: int) -> NDArray[Any]:
        return noising(mechanism).law.sample(count)

    def errors(mechanism: Any, steps: NDArray[Any]) -> Errors:
        return np.abs(steps.astype(np.float64) * float(noising(mechanism).step))

    return Batch(
        draw,
        errors,
        lambda mechanism: abs(float(one(mechanism))),
        lambda mechanism, steps: _prescribed({noising(mechanism).law: [int(steps)] + [0] * (size - 1)}),
    )


def rule_batch(size: int, rule: Callable[[Any], Any], one: Callable[[Any], Any]) -> Batch:
    """A linear `rule` over `size` numbers of noise; `one` releases zeros."""

    def errors(mechanism: Any, steps: NDArray[Any]) -> Errors:
        found: Errors = np.abs(steps.astype(np.float64) @ rule(mechanism))
        return found

    return Batch(
        lambda mechanism, count: mechanism._noising.law.sample((count, size)),
        errors,
        lambda mechanism: abs(float(one(mechanism))),
        lambda mechanism, row: _prescribed({mechanism._noising.law: [int(step) for step in row]}),
    )


def sparse_batch(
    values: Callable[[], tuple[Fraction, ...]], errors: Callable[..., Errors], one: Callable[[Any], float]
) -> Batch:
    """A row is ρ, then ν for each of `values`, then the noise of the answers, if they are told, for each of them.

    `errors` gets the mechanism, which values were asked and above, and the rows.
    """

    def draw(mechanism: SparseVector, count: int) -> NDArray[Any]:
        size = len(values())
        told = [] if mechanism._answer_noise is None else [mechanism._answer_noise] * size
        laws = [mechanism._threshold_noise, *[mechanism._query_noise] * size, *told]
        return np.stack([law.sample(count) for law in laws], axis=1)

    def found(mechanism: SparseVector, rows: NDArray[Any]) -> Errors:
        size = len(values())
        left, above = np.full(len(rows), mechanism.max_above), []
        for value, noise in zip(values(), rows[:, 1 : 1 + size].T, strict=True):
            steps = int(mechanism.grid.round(value) - mechanism.grid.round(mechanism.threshold))
            above.append((steps + noise >= rows[:, 0]) & (left > 0))
            left = left - above[-1]
        return errors(mechanism, np.stack(above, axis=1), rows)

    def replay(mechanism: SparseVector, row: NDArray[Any]) -> AbstractContextManager[None]:
        size = len(values())
        rho, *rest = (int(x) for x in row)
        draws: dict[Law, list[int]] = {mechanism._threshold_noise: [rho], mechanism._query_noise: rest[:size]}
        if mechanism._answer_noise is not None:
            draws[mechanism._answer_noise] = rest[size:]
        return _prescribed(draws)

    return Batch(draw, found, one, replay)
