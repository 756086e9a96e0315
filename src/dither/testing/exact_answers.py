"""What each kind of draw answers when there is no noise, so that a test can say what it expects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from dither.audit.replay.calls import BitStream
from dither.mechanisms.piecewise_scores import Pieces
from dither.noise import add_integers
from dither.noise._replay import without_noise

__all__ = ["ANSWERS", "exact_answers"]


class _Nothing:
    """A law of noise that is always 0."""

    def sample(self, shape: Any = None) -> Any:
        """0, or an array of them."""
        return 0 if shape is None else np.zeros(shape, dtype=np.int64)


_NOTHING: Final[Any] = _Nothing()
Draw = Callable[[], Any]


def _added(_: Draw, values: Any, terms: dict[str, Any]) -> Any:
    """Real numbers are still rounded to the grid."""
    grid = terms["grid"]
    return add_integers(values, _NOTHING) if grid is None else grid.add(values, _NOTHING)


def _smooth(_: Draw, values: Any, terms: dict[str, Any]) -> Any:
    return terms["mechanism"]._grid.add(values[0], _NOTHING)


def _point(_: Draw, values: Any, terms: dict[str, Any]) -> float:
    """The middle of the best piece."""
    pieces = Pieces.of(*values)
    best = pieces.scores.best_at
    return pieces.grid.to_float((int(pieces.starts[best]) + int(pieces.starts[best + 1]) - 1) // 2)


def _place(_: Draw, values: Any, terms: dict[str, Any]) -> int:
    """The middle of the best pieces that follow each other."""
    starts, scores = values
    first = int(np.argmax(scores))
    worse = np.flatnonzero(scores[first:] < scores[first])
    end = first + int(worse[0]) if len(worse) else len(scores)
    return (int(starts[first]) + int(starts[end]) - 1) // 2


def _comparison(_: Draw, steps: Any, terms: dict[str, Any]) -> bool:
    mechanism = terms["mechanism"]
    return bool(steps >= int(mechanism.grid.round(mechanism.threshold)))


def _test(_: Draw, distance: Any, terms: dict[str, Any]) -> bool:
    return math.isinf(distance) or int(distance) > terms["mechanism"].split.threshold


def _within(draw: Draw, values: Any, terms: dict[str, Any]) -> Any:
    """It is made of other draws, or is no noise but a choice of rows: that comes from the same bits in every test."""
    return draw()


ANSWERS: Final[dict[str, Callable[[Draw, Any, dict[str, Any]], Any]]] = {
    "added": _added,
    "comparison": _comparison,
    "discovered": _within,
    "groups": _within,
    "keys": _within,
    "metric": lambda _, position, terms: position,
    "place": _place,
    "point": _point,
    "response": lambda _, codes, terms: codes,
    "salt": _within,
    "selection": lambda _, scores, terms: scores.best_at,
    "smooth": _smooth,
    "table": lambda _, at, terms: max(range(len(row := terms["mechanism"].rows[at])), key=lambda output: row[output]),
    "test": _test,
    "tested": _within,
    "threshold": lambda _, values, terms: 0,
    "told": lambda _, steps, terms: terms["mechanism"].grid.to_float(steps),
    "vector": lambda _, steps, terms: [terms["mechanism"]._grid.to_float(x) for x in steps.tolist()],
}
"""By the kind of call that draws."""


class _Exact:
    """A tape that answers every call with what would be answered without noise."""

    def answer(self, draw: Draw, kind: str, values: Any, terms: dict[str, Any]) -> Any:
        """As every tape."""
        return ANSWERS[kind](draw, values, terms)

    def turn(self, group: int | None) -> None:
        """Groups are all alike."""


@contextmanager
def exact_answers() -> Iterator[None]:
    """Inside the block nothing is noisy, and which rows a person keeps is the same in every run."""
    with without_noise(BitStream(0, open_calls=1), _Exact()):
        yield
