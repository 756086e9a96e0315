"""Runs of one contender in one setting: its errors, and how often it collapsed, went wild, refused or missed.

- *Wild*: an answer beyond ten times the range of the data.
- *Collapsed*: an answer below a tenth of the truth, where that is ten standard errors away. The standard error is that
  of sampling and of Laplace noise in the tight bounds; for quantiles in ranks.
- Where bounds were given, an answer within ten claimed standard errors of the truth is neither: it says how little it
  knows. The claimed one is the half-width of the intervals, their median over runs, by that of a standard normal.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.accuracy_case import CHOSEN, Data, Estimator, Setting, Truth
from bench.families import Bounds, Floats

LEVEL, NORMAL = 0.95, 1.96
"""The level of intervals, and the half-width of such an interval of a standard normal."""
LEAST_RUNS, MOST_RUNS = 10, 200
FAR = 10.0
"""Wild: times the range of the data. Collapsed: below 1/FAR of the truth, so many standard errors away."""


@dataclass(frozen=True)
class Answer:
    """One release: a value for each group (NaN where it was refused), and its interval.

    `clips` are the ranges to which the interval says that it clamped the records of each group; None where it claims
    the raw value.
    """

    value: Floats
    low: Floats | None = None
    high: Floats | None = None
    clips: Sequence[Bounds | None] | None = None


@dataclass(frozen=True)
class Contender:
    """`ask` gives one answer about the data that it was made for."""

    who: str
    ask: Callable[[], Answer]
    is_ours: bool = False


def by_group(who: str, estimator: Estimator, data: Data) -> Contender:
    """A contender that has no groups: it is asked about each with the whole ε, as nobody is in two of them."""

    def ask() -> Answer:
        return Answer(np.concatenate([np.atleast_1d(estimator(part)) for part in data.parts]).astype(np.float64))

    return Contender(who, ask)


@dataclass(frozen=True)
class Measured:
    """What was found about one contender in one setting, over `runs` runs."""

    setting: Setting
    who: str
    is_ours: bool
    runs: int
    errors: Floats
    """The squared error of each answered run, averaged over groups; the regret for names."""
    scale: float
    percentile: float
    """The 95th percentile of the absolute error."""
    answers: int = 0
    refused: int = 0
    collapsed: int = 0
    wild: int = 0
    intervals: int = 0
    covered: int = 0
    """Of the intervals, how many hold what they claim."""
    raw_intervals: int = 0
    """How many intervals claim the raw value; of these `covered_raw` hold it."""
    covered_raw: int = 0
    holds_raw: int = 0
    """Of all intervals, how many hold the raw value, whatever they claim."""
    half_width: float = float("nan")
    failure: str | None = None

    @property
    def rmse(self) -> float:
        if not len(self.errors):
            return float("nan")
        mean = float(np.mean(self.errors))
        return mean if self.setting.question.statistic == "top" else float(np.sqrt(mean))

    def __str__(self) -> str:
        return f"{self.who}: {self.setting}"


def measure(contender: Contender, data: Data, *, seconds: float) -> Measured:
    """As many runs as fit in the CPU time, but a few at least. An exception is a failure, and ends the setting."""
    found: list[Answer] = []
    failure = None
    start = time.process_time()
    while len(found) < LEAST_RUNS or (len(found) < MOST_RUNS and time.process_time() - start < seconds):
        try:
            found.append(contender.ask())
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
            break
    return _judged(contender, data, found, failure)


def _judged(contender: Contender, data: Data, found: list[Answer], failure: str | None) -> Measured:
    setting, truth = data.setting, data.truth
    if not found:
        return Measured(setting, contender.who, contender.is_ours, 0, np.empty(0), data.scale, np.nan, failure=failure)
    values = np.array([answer.value for answer in found])
    if setting.question.statistic == "top":
        regret = _regrets(values, data)
        percentile = float(np.quantile(regret, LEVEL))
        return Measured(
            setting, contender.who, contender.is_ours, len(found), regret, data.scale, percentile, answers=len(found),
            failure=failure,
        )  # fmt: skip
    answered = ~np.isnan(values)
    errors = truth.errors(values)
    whole = answered.all(axis=1)
    bars = _Bars.of(found, data)
    excused = errors <= FAR * bars.standard_error if setting.bounds is not None else np.zeros_like(answered)
    return Measured(
        setting,
        contender.who,
        contender.is_ours,
        len(found),
        np.mean(errors[whole] ** 2, axis=1),
        data.scale,
        float(np.quantile(errors[answered], LEVEL)) if answered.any() else float("nan"),
        answers=int(answered.sum()),
        refused=int((~answered).sum()),
        collapsed=int((_collapsed(values, data) & answered & ~excused).sum()),
        wild=int((_wild(values, data) & answered & ~excused).sum()),
        intervals=int(bars.given.sum()),
        covered=int((bars.given & bars.holds_claim).sum()),
        raw_intervals=int((bars.given & bars.claims_raw).sum()),
        covered_raw=int((bars.given & bars.claims_raw & bars.holds_raw).sum()),
        holds_raw=int((bars.given & bars.holds_raw).sum()),
        half_width=bars.half_width,
        failure=failure,
    )


def _regrets(chosen: Floats, data: Data) -> Floats:
    """How many records fewer the chosen names have than the most common ones."""
    best = np.sort(data.counts)[-CHOSEN:].sum()
    return np.asarray(best - data.counts[chosen.astype(np.int64)].sum(axis=1), dtype=np.float64)


Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class _Bars:
    """Of each run and group: whether there is an interval, and what it holds."""

    given: Flags
    holds_claim: Flags
    holds_raw: Flags
    claims_raw: Flags
    standard_error: Floats
    """That the intervals of each group claim; NaN where there are none."""
    half_width: float

    @classmethod
    def of(cls, found: list[Answer], data: Data) -> "_Bars":
        shape = len(found), len(data.truth.low)
        low, high = np.full(shape, np.nan), np.full(shape, np.nan)
        holds_claim, claims_raw = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for run, answer in enumerate(found):
            if answer.low is not None and answer.high is not None:
                low[run], high[run] = answer.low, answer.high
            claim = data.truth if answer.clips is None else data.clamped(answer.clips)
            holds_claim[run] = _holds(low[run], high[run], claim, data.scale)
            claims_raw[run] = answer.clips is None or [clip is None for clip in answer.clips]
        given, half = ~np.isnan(low), (high - low) / 2
        return cls(
            given,
            holds_claim,
            _holds(low, high, data.truth, data.scale),
            claims_raw,
            np.array([_median(each[~np.isnan(each)]) for each in half.T]) / NORMAL,
            float(np.mean(half[given])) if given.any() else float("nan"),
        )


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _holds(low: Floats, high: Floats, truth: Truth, scale: float) -> Flags:
    """Whether the interval meets the truth, up to the rounding of its ends to doubles."""
    slack = 1e-12 * scale
    return np.asarray((low <= truth.high + slack) & (truth.low - slack <= high))


def _wild(values: Floats, data: Data) -> Flags:
    least, most = float(data.values.min()), float(data.values.max())
    low, high = data.setting.tight
    spread = (most - least) or (high - low)
    statistic = data.setting.question.statistic
    if statistic == "count":
        return np.asarray(np.abs(values) > FAR * data.setting.n)
    if statistic == "sum":
        return np.asarray(np.abs(values) > FAR * data.setting.n * (max(abs(least), abs(most)) or spread))
    if statistic == "variance":
        return np.asarray(values > FAR * spread**2)
    return np.asarray((values < least - FAR * spread) | (values > most + FAR * spread))


def _collapsed(values: Floats, data: Data) -> Flags:
    truth = np.where(np.abs(data.truth.low) < np.abs(data.truth.high), data.truth.low, data.truth.high)
    below = np.where(truth != 0, values * np.sign(truth) < np.abs(truth) / FAR, False)
    if data.setting.question.statistic == "quantile":
        far = np.array([_ranks_away(values[:, group], part, data) for group, part in enumerate(data.parts)]).T
        return np.asarray(below & far)
    errors = np.array([_standard_error(part, data.setting) for part in data.parts])
    return np.asarray(below & (np.abs(truth) > FAR * errors))


def _ranks_away(values: Floats, part: Floats, data: Data) -> Flags:
    """Whether an answer has a rank that is far from that of its quantile."""
    q, n = data.setting.question.q, len(part)
    ordered = np.sort(part)
    first, last = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    away = np.maximum(np.maximum(q * n - last, first - q * n), 0)
    return np.asarray(away > FAR * np.hypot(np.sqrt(q * (1 - q) * n), 2 / data.setting.epsilon))


def _standard_error(part: Floats, setting: Setting) -> float:
    """Of a moment: from sampling, and from Laplace noise in the tight bounds."""
    low, high = setting.tight
    n, unit = len(part), np.sqrt(2) / setting.epsilon
    deviation = float(np.std(part))
    if setting.question.statistic == "mean":
        return float(np.hypot(deviation / np.sqrt(n), unit * (high - low) / n))
    if setting.question.statistic == "sum":
        return float(np.hypot(deviation * np.sqrt(n), unit * max(abs(low), abs(high))))
    if setting.question.statistic == "variance":
        squares = (part - part.mean()) ** 2
        return float(np.hypot(np.std(squares) / np.sqrt(n), unit * (high - low) ** 2 / n))
    return float(unit)
