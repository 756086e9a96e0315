"""Generated inputs: a few strategies in the manner of Hypothesis, without its search, which takes longer than a replay.

A strategy is a function of a `random.Random`. A failing pair is found again by its number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "Draw",
    "Strategy",
    "booleans",
    "composite",
    "dictionaries",
    "integers",
    "lists",
    "one_of",
    "sampled_from",
    "text",
]

Strategy = Callable[[random.Random], Any]
Draw = Callable[[Strategy], Any]


def integers(low: int, high: int) -> Strategy:
    return lambda choose: choose.randint(low, high)


def booleans() -> Strategy:
    return lambda choose: choose.random() < 0.5


def sampled_from(values: Sequence[Any]) -> Strategy:
    return lambda choose: choose.choice(values)


def one_of(*strategies: Strategy) -> Strategy:
    return lambda choose: choose.choice(strategies)(choose)


def lists(entries: Strategy, *, min_size: int = 0, max_size: int = 9) -> Strategy:
    return lambda choose: [entries(choose) for _ in range(choose.randint(min_size, max_size))]


def dictionaries(names: Strategy, values: Strategy, *, max_size: int) -> Strategy:
    return lambda choose: {names(choose): values(choose) for _ in range(choose.randint(0, max_size))}


def text(max_size: int) -> Strategy:
    return lambda choose: "".join(choose.choices("aZ0 é漢'\"\\\n😀", k=choose.randint(0, max_size)))


def composite(made: Callable[..., Any]) -> Callable[..., Strategy]:
    """A function whose first argument draws from other strategies."""

    def strategy(*options: Any, **named: Any) -> Strategy:
        return lambda choose: made(lambda each: each(choose), *options, **named)

    return strategy
