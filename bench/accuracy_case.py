"""The settings of the comparison of accuracy: one question about one family of data, with what is public about it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.families import Bounds, Family, Floats, draw, widened

Change: TypeAlias = Literal["add or remove", "replace"]
Statistic: TypeAlias = Literal["count", "sum", "mean", "variance", "quantile", "top"]
Estimator: TypeAlias = Callable[[Floats], float | Sequence[float]]
"""One private answer about the records of one group: a number, or the chosen names."""

CHANGES: tuple[Change, Change] = ("add or remove", "replace")
SIZES = {100: 0.2, 300: 0.16, 1000: 0.2, 3000: 0.16, 10**4: 0.16, 10**5: 0.08, 10**6: 0.04}
"""How many records, and how often."""
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
WIDENINGS: tuple[float | None, ...] = (1, 10, 1000, None)
"""How many times too wide the bounds are; None where there are none."""
GROUPS, NAMES, CHOSEN = 8, 30, 5
_SHARES = 1 / np.arange(1, GROUPS + 1) / np.sum(1 / np.arange(1, GROUPS + 1))
"""Of the records, in each group."""


@dataclass(frozen=True)
class Question:
    """`q` is the probability of a quantile; `interval` spends on an interval of it; `clip` searches for a range."""

    name: str
    statistic: Statistic
    q: float = 0.5
    is_grouped: bool = False
    interval: bool = False
    clip: bool = True

    @property
    def widenings(self) -> tuple[float | None, ...]:
        """Bounds do not matter to counts and names; without bounds a range must be searched for."""
        if self.statistic in ("count", "top"):
            return (1,)
        return WIDENINGS if self.clip else WIDENINGS[:-1]

    @property
    def changes(self) -> tuple[Change, ...]:
        """Of one group, or none: a replaced record may leave its group, and its number is no secret."""
        return CHANGES[:1] if self.is_grouped or self.statistic in ("count", "top") else CHANGES


QUESTIONS = (
    Question("count", "count"),
    Question("sum", "sum"),
    Question("mean", "mean"),
    Question("mean, clip=False", "mean", clip=False),
    Question("mean by group", "mean", is_grouped=True),
    Question("variance", "variance"),
    Question("0.25 quantile", "quantile", 0.25),
    Question("median", "quantile", 0.5),
    Question("median by group", "quantile", 0.5, is_grouped=True),
    Question("0.9 quantile", "quantile", 0.9),
    Question("0.99 quantile", "quantile", 0.99),
    Question("median with interval", "quantile", 0.5, interval=True),
    Question("0.9 quantile with interval", "quantile", 0.9, interval=True),
    Question("top 5", "top"),
)


@dataclass(frozen=True)
class Setting:
    """A question about n records of a family, and everything that is public about them."""

    question: Question
    family: Family
    n: int
    epsilon: float
    widening: float | None
    change: Change
    seed: int

    def __str__(self) -> str:
        return (
            f"{self.question.name}, {self.family.name}, n = {self.n}, ε = {self.epsilon:g}, "
            f"{width_name(self.widening)}, {self.change}"
        )

    @property
    def smallest(self) -> float:
        """How many records the smallest group has, about."""
        return self.n * float(_SHARES[-1]) if self.question.is_grouped else float(self.n)

    @property
    def tight(self) -> Bounds:
        return self.family.bounds(self.n)

    @property
    def bounds(self) -> Bounds | None:
        if self.widening is None:
            return None
        low, high = widened(self.tight, self.widening)
        return (float(np.floor(low)), float(np.ceil(high))) if self.family.whole else (low, high)


def width_name(widening: float | None) -> str:
    if widening is None:
        return "no bounds"
    return "tight bounds" if widening == 1 else f"bounds ×{widening:g}"


@dataclass(frozen=True)
class Data:
    """The records of a setting, and the group of each (all in group 0 if the question has no groups)."""

    setting: Setting
    values: Floats
    groups: NDArray[np.int64]

    @classmethod
    def of(cls, setting: Setting) -> "Data":
        rng = np.random.default_rng([setting.seed, setting.n, 2])
        values = draw(setting.family, setting.n, setting.seed)
        if setting.question.statistic == "top":
            values = rng.choice(NAMES, setting.n, p=_popularity(setting)).astype(np.float64)
        groups = np.zeros(setting.n, dtype=np.int64)
        if setting.question.is_grouped:  # unequal groups, none of them empty
            groups = rng.choice(GROUPS, setting.n, p=_SHARES)
            groups[:GROUPS] = np.arange(GROUPS)
        return cls(setting, values, groups)

    @cached_property
    def parts(self) -> list[Floats]:
        """The records of each group."""
        return [self.values[self.groups == group] for group in range(int(self.groups.max()) + 1)]

    @cached_property
    def truth(self) -> "Truth":
        return Truth.of(self.setting.question, self.parts)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each name occurs."""
        return np.bincount(self.values.astype(np.int64), minlength=NAMES)

    @property
    def scale(self) -> float:
        """An error of 1e-9 of this is none."""
        low, high = self.setting.tight
        return float(max(high - low, np.max(np.abs(self.truth.low))))

    def clamped(self, clips: Sequence[Bounds | None]) -> "Truth":
        """The truth about the records of each group clamped to a range."""
        pairs = zip(self.parts, clips, strict=True)
        return Truth.of(self.setting.question, [np.clip(part, *clip) if clip else part for part, clip in pairs])


def _popularity(setting: Setting) -> Floats:
    """Of the names, as the values of the family: some equal, some far ahead, some almost absent."""
    values = np.abs(draw(setting.family, NAMES, setting.seed))
    values = values / (values.max() or 1.0) + 1e-3
    return np.asarray(values / values.sum())


@dataclass(frozen=True)
class Truth:
    """What is true of each group: a quantile may be anything between two neighbouring records."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, question: Question, parts: Sequence[Floats]) -> "Truth":
        ends = np.array([_ends(question, part) for part in parts], dtype=np.float64)
        return cls(ends[:, 0], ends[:, 1])

    def errors(self, answers: Floats) -> Floats:
        return np.asarray(np.maximum(np.maximum(self.low - answers, answers - self.high), 0.0))


def _ends(question: Question, part: Floats) -> tuple[float, float]:
    if question.statistic == "quantile":
        rank = question.q * len(part)
        first, last = int(np.ceil(rank - 1e-9)) - 1, int(np.floor(rank + 1e-9))
        ordered = np.partition(part, [max(first, 0), min(last, len(part) - 1)])
        return float(ordered[max(first, 0)]), float(ordered[min(last, len(part) - 1)])
    if question.statistic == "top":
        return 0.0, 0.0
    if question.statistic == "count":
        return float(len(part)), float(len(part))
    moments: dict[str, Callable[[Floats], np.floating]] = {"sum": np.sum, "mean": np.mean, "variance": np.var}
    value = float(moments[question.statistic](part))
    return value, value


def settings(seed: int, families: Sequence[Family], questions: Sequence[Question] = QUESTIONS) -> Iterator[Setting]:
    """Without end, at random: each question with each kind of bounds in turn, each time with the next family."""
    rng = np.random.default_rng([seed, 3])
    strata = [(question, widening) for question in questions for widening in question.widenings]
    orders = {stratum: rng.permutation(len(families)) for stratum in strata}
    sizes, often = list(SIZES), list(SIZES.values())
    turn = 0
    while True:
        for stratum in (strata[index] for index in rng.permutation(len(strata))):
            question, widening = stratum
            yield Setting(
                question,
                families[orders[stratum][turn % len(families)]],
                int(rng.choice(sizes, p=often)),
                float(rng.choice(EPSILONS)),
                widening,
                question.changes[rng.integers(len(question.changes))],
                int(rng.integers(2**31)),
            )
        turn += 1
