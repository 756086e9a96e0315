"""Generated inputs: Hypothesis draws bytes, and shrinks them; the strategies here read choices off them.

A strategy of Hypothesis takes 45 µs for each choice and 450 µs for each example: 2.2 ms for a column of a dozen
entries, and 20 s for the 10,000 pairs of a commit, more than their replays. One string of bytes for ten pairs takes
0.1 ms a pair. (Not a list of strings: Hypothesis then varies one list many times, and of 10,000 pairs 1,500 were
different.) Smaller bytes make simpler choices, so the pair that Hypothesis shrinks a failure to is small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Choices",
    "Draw",
    "Strategy",
    "alike",
    "booleans",
    "composite",
    "decimals",
    "dictionaries",
    "integers",
    "lists",
    "one_of",
    "sampled_from",
    "text",
    "unlike",
]


@dataclass
class Choices:
    """Choices off a string of bytes; past its end, all are the first."""

    drawn: bytes
    place: int = 0

    def below(self, count: int) -> int:
        """A whole number below `count`: the smaller, the smaller the bytes."""
        size = (count.bit_length() + 7) >> 3
        part = self.drawn[self.place : self.place + size].ljust(size, b"\0")
        self.place += size
        return int.from_bytes(part, "big") * count >> (8 * size)


Strategy = Callable[[Choices], Any]
Draw = Callable[[Strategy], Any]


def integers(low: int, high: int) -> Strategy:
    """0 first, then those above, then those below; all from `low` if 0 is not among them."""

    def strategy(choices: Choices) -> int:
        if not low <= 0 <= high:
            return low + choices.below(high - low + 1)
        number = choices.below(high - low + 1)
        return number if number <= high else high - number

    return strategy


def decimals(low: int, high: int) -> Strategy:
    """Floats with six digits after the point."""
    whole = integers(10**6 * low, 10**6 * high)
    return lambda choices: whole(choices) / 10**6


def booleans() -> Strategy:
    return lambda choices: choices.below(2) == 1


def sampled_from(values: Sequence[Any]) -> Strategy:
    return lambda choices: values[choices.below(len(values))]


def one_of(*strategies: Strategy) -> Strategy:
    return lambda choices: strategies[choices.below(len(strategies))](choices)


def lists(entries: Strategy, *, min_size: int = 0, max_size: int = 9) -> Strategy:
    return lambda choices: [entries(choices) for _ in range(min_size + choices.below(max_size - min_size + 1))]


def dictionaries(names: Strategy, values: Strategy, *, max_size: int) -> Strategy:
    return lambda choices: {names(choices): values(choices) for _ in range(choices.below(max_size + 1))}


def text(max_size: int) -> Strategy:
    letters = lists(sampled_from("aZ0 é漢'\"\\\n😀"), max_size=max_size)
    return lambda choices: "".join(letters(choices))


def alike(left: Any, right: Any) -> bool:
    """Whether two inputs are one: NaN is as NaN, and 0 not as −0 or False."""
    left, right = (each.tolist() if isinstance(each, np.ndarray) else each for each in (left, right))
    return repr(left) == repr(right)


def unlike(value: Any, strategy: Strategy) -> Strategy:
    """As `strategy`, and never `value`: in its place is the simplest other that is found."""

    def other(choices: Choices) -> Any:
        drawn = strategy(choices)
        if not alike(drawn, value):
            return drawn
        simplest = (strategy(Choices(bytes([byte]) * 16)) for byte in range(256))
        return next(each for each in simplest if not alike(each, value))

    return other


def composite(made: Callable[..., Any]) -> Callable[..., Strategy]:
    """A function whose first argument draws from other strategies."""

    def strategy(*options: Any, **named: Any) -> Strategy:
        return lambda choices: made(lambda each: each(choices), *options, **named)

    return strategy
