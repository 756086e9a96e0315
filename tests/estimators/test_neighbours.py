"""No estimator of dp.stats loses more than ε between neighbours, whatever its steps answer.

Mechanisms are replaced by ones that answer what the test says and keep what they were given. For two neighbours and the
same answers, each step must be the same mechanism on the same public places, and the privacy loss of each answer is at
most (max − min)/b of the differences of the scores, or |difference|·ε/Δ of the sums. Their sum must not exceed ε.

A noisy maximum with exponential noise loses (max − min)/b as well: what is added to all scores alike changes no winner,
and scores that only grow, by D at most, lose D/b. Propose-test-release is held against its neighbours elsewhere
(`tests/mechanisms`); here it must see numbers of which one is replaced, added or removed, and counts as its ε.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.estimators import stats
from dither.exact.search import first_integer
from dither.mechanisms import Exponential, Histogram, Laplace, NoAnswer, NoisyMax, ProposeTestRelease, Release
from dither.mechanisms.public_measure import PublicMeasure

pytestmark = pytest.mark.property

ENTRIES = st.one_of(
    st.floats(-50, 50),
    st.sampled_from([0.0, -0.0, 1.0, 1.0, 7.0, 50.0, -50.0, 1e300, -1e300, 5e-324, math.nan, math.inf, None, "x", 3]),
)
COLUMNS = st.lists(ENTRIES, min_size=1, max_size=9)
BOUNDS = st.sampled_from([(-10, 10), (0, 40), (0, 10**9), (5, 6), (-1000, -1)])


@dataclass
class Script:
    """Answers to give, as parts of the unit interval; what the mechanisms were given."""

    parts: list[float]
    seen: list[tuple[Any, ...]] = field(default_factory=list)

    def part(self) -> float:
        return self.parts[len(self.seen) % len(self.parts)]

    def chosen(self, mechanism: Exponential, starts: Any, scores: Any, measure: PublicMeasure) -> Release:
        """A place by a part of the mass, so that every scale is tried."""
        assert (np.diff(starts) > 0).all()
        first, end = int(starts[0]), int(starts[-1])
        wanted = Fraction(self.part()) * measure.weight(first, end)
        place = first_integer(lambda place: measure.weight(first, place + 1) >= wanted, first, end - 1)
        self.seen.append((mechanism, np.asarray(starts), np.asarray(scores), measure))
        return Release(place, mechanism.event, mechanism.guarantee, mechanism)

    def choice(self, mechanism: Exponential | NoisyMax, scores: Any) -> Release:
        answer = round(self.part() * (len(scores) - 1))
        self.seen.append((mechanism, np.asarray(scores)))
        return Release(answer, mechanism.event, mechanism.guarantee, mechanism)

    def counted(self, histogram: Histogram, value: Any) -> Release:
        """Of public bins."""
        assert isinstance(histogram.mechanism, Laplace)
        return replace(self.noisy(histogram.mechanism, value.tolist()), event=histogram.event)

    def tested(self, mechanism: ProposeTestRelease, numbers: Any) -> Release:
        """No answer, or one of any size."""
        part = self.part()
        answer = NoAnswer("too few") if part < 0.25 else (part - 0.5) * 4.0 ** round(20 * part)
        self.seen.append((mechanism, sorted(numbers.tolist())))
        return Release(answer, mechanism.event, mechanism.guarantee, mechanism)

    def noisy(self, mechanism: Laplace, value: Any) -> Release:
        """One whole number, or several at once."""
        value = value.tolist() if isinstance(value, np.ndarray) else value
        values = value if isinstance(value, list) else [value]
        assert all(isinstance(each, int) for each in values)
        part = round(12 * self.part())
        # One of many counts stands out, so that searches go on in all the ways there are.
        peak = round(self.part() * (len(values) - 1))
        answers = [part + at + (at == peak) * 10 ** round(8 * self.part()) for at in range(len(values))]
        answer = np.array(answers) if isinstance(value, list) else part
        self.seen.append((mechanism, values))
        return Release(answer, mechanism.event_for(value), mechanism.guarantee, mechanism)


@dataclass(frozen=True)
class Keys:
    """The keys that put records into blocks: the same for all records that two neighbours share."""

    bound: int

    def sample(self, size: int) -> Any:
        return np.array([(at + 1) * 0x9E3779B97F4A7C15 % self.bound for at in range(size)], dtype=np.int64)


def followed(script: Script, run: Callable[[], Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dither.estimators.order_statistic.released_place", script.chosen)
        patch.setattr(Exponential, "release", lambda m, s: script.choice(m, s))
        patch.setattr(NoisyMax, "release", lambda m, s: script.choice(m, s))
        patch.setattr(Histogram, "release", lambda m, v: script.counted(m, v))
        patch.setattr(ProposeTestRelease, "release", lambda m, v: script.tested(m, v))
        patch.setattr("dither.estimators.unbounded.UniformBelow", Keys)
        patch.setattr(Laplace, "release", lambda m, v: script.noisy(m, v))
        return run()


def loss(left: tuple[Any, ...], right: tuple[Any, ...]) -> Fraction:
    """At most how much one step tells about which of two datasets it saw."""
    assert left[0] == right[0], "the mechanism depends on data"
    if isinstance(left[0], Laplace):
        assert left[0].epsilon is not None
        distance = sum(abs(a - b) for a, b in zip(left[1], right[1], strict=True))
        return Fraction(distance, math.floor(left[0].sensitivity)) * left[0].epsilon
    if isinstance(left[0], ProposeTestRelease):
        old, new = Counter(left[1]), Counter(right[1])
        assert max((old - new).total(), (new - old).total()) <= 1
        return left[0].epsilon
    if len(left) == 2:
        differences = [Fraction(a) - Fraction(b) for a, b in zip(left[1].tolist(), right[1].tolist(), strict=True)]
    else:
        assert left[1][0] == right[1][0]
        assert left[1][-1] == right[1][-1]
        assert left[3] == right[3], "the base measure depends on data"
        differences = list(_differences(left, right))
    spread: Fraction = (max(differences) - min(differences)) / left[0].scale
    return spread


def _differences(left: tuple[Any, ...], right: tuple[Any, ...]) -> Iterator[Fraction]:
    for place in np.unique(np.concatenate([left[1], right[1]])):
        a, b = (min(int(np.searchsorted(side[1], place, side="right")) - 1, len(side[2]) - 1) for side in (left, right))
        yield Fraction(left[2][a]) - Fraction(right[2][b])


NAMES: list[Any] = [7, "x", 0, 1]
QUERIES: dict[str, Callable[[Any, Any], Any]] = {
    "count": lambda x, o: stats.count(x, epsilon=o["epsilon"], adjacency=o["adjacency"]),
    "sum": lambda x, o: stats.sum(x, **o),
    "mean": lambda x, o: stats.mean(x, **o),
    "mean without clipping": lambda x, o: stats.mean(x, **o, clip=False),
    "mean without bounds": lambda x, o: stats.mean(x, epsilon=o["epsilon"], adjacency=o["adjacency"]),
    "mean of the population": lambda x, o: stats.mean(x, **o, population=True),
    "sum without bounds": lambda x, o: stats.sum(x, epsilon=o["epsilon"], adjacency=o["adjacency"]),
    "variance": lambda x, o: stats.variance(x, **o),
    "variance without clipping": lambda x, o: stats.variance(x, **o, clip=False),
    "std without bounds": lambda x, o: stats.std(x, epsilon=o["epsilon"], adjacency=o["adjacency"]),
    "median": lambda x, o: stats.median(x, **o),
    "median without bounds": lambda x, o: stats.median(x, epsilon=o["epsilon"], adjacency=o["adjacency"]),
    "median with interval": lambda x, o: stats.median(x, **o, interval_level=0.9),
    "median of the population": lambda x, o: stats.median(x, **o, interval_level=0.9, population=True),
    "median of whole numbers": lambda x, o: stats.median(_whole(x), **o, interval_level=0.9),
    "quantile": lambda x, o: stats.quantile(x, "1/3", **o),
    "far quantile": lambda x, o: stats.quantile(x, 0.99, **o),
    "two quantiles": lambda x, o: stats.quantile(x, [0.2, 0.7], **o),
    "two quantiles without bounds": lambda x, o: stats.quantile(
        x, [0.2, 0.7], epsilon=o["epsilon"], adjacency=o["adjacency"], interval_level=0.9
    ),
    "three quantiles with intervals": lambda x, o: stats.quantile(x, [0.1, 0.5, 0.75], **o, interval_level=0.9),
    "six quantiles": lambda x, o: stats.quantile(x, [0.01, 0.1, 0.25, 0.5, 0.75, 0.999], **o),
    "min": lambda x, o: stats.min(x, **o),
    "max": lambda x, o: stats.max(x, **o),
    "max without bounds": lambda x, o: stats.max(x, epsilon=o["epsilon"], adjacency=o["adjacency"]),
    "min of whole numbers": lambda x, o: stats.min(_whole(x), **o),
    "histogram of bins": lambda x, o: stats.histogram(x, edges=[0, 1, 7, 50], **_unbounded(o)),
    "histogram of names": lambda x, o: stats.histogram(x, categories=NAMES, **_unbounded(o)),
    "mode": lambda x, o: stats.mode(x, categories=NAMES, **_unbounded(o)),
    "top": lambda x, o: stats.top(x, 2, categories=NAMES, **_unbounded(o)),
    "median by test": lambda x, o: stats.unbounded_median(x, delta="1e-6", **_unbounded(o)),
    "median by test with interval": lambda x, o: stats.unbounded_median(
        x, delta="1e-6", interval_level=0.9, **_unbounded(o)
    ),
    "mean by test": lambda x, o: stats.unbounded_mean(x, delta="1e-6", blocks=5, **_unbounded(o)),
}


def _unbounded(options: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in options.items() if name != "bounds"}


def _whole(x: Any) -> Any:
    """An array of whole numbers; what is none of them is 7."""
    return np.array([int(e) if isinstance(e, int | float) and abs(e) < 1e6 else 7 for e in x], dtype=np.int64)


def check(run: Callable[[Any], Any], left: Any, right: Any, epsilon: Fraction, parts: list[float]) -> None:
    scripts = Script(parts), Script(parts)
    first, second = followed(scripts[0], partial(run, left)), followed(scripts[1], partial(run, right))
    assert first.event == second.event
    assert len(scripts[0].seen) == len(scripts[1].seen)
    total = sum((loss(a, b) for a, b in zip(scripts[0].seen, scripts[1].seen, strict=True)), Fraction(0))
    assert total <= epsilon
    assert sum(first.split.values()) == epsilon


def neighbour(data: list[Any], entry: Any, at: int, adjacency: Adjacency) -> list[Any]:
    if adjacency == ADD_REMOVE:
        return [*data, entry]
    return [entry if i == at % len(data) else x for i, x in enumerate(data)]


fewer = settings(max_examples=max(10, settings().max_examples // 8))
"""There are some forty queries, and each is searched: so many examples of each."""

PARTS = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("name", QUERIES)
@fewer
@given(
    data=COLUMNS, entry=ENTRIES, at=st.integers(0, 8), parts=PARTS, bounds=BOUNDS, epsilon=st.sampled_from([0.5, 100])
)
def test_no_step_and_no_sum_of_steps_costs_more_than_stated(
    name: str, adjacency: Adjacency, data: list[Any], entry: Any, at: int, parts: list[float], bounds: Any, epsilon: Any
) -> None:
    options = {"epsilon": epsilon, "bounds": bounds, "adjacency": adjacency}
    other = neighbour(data, entry, at, adjacency)
    check(lambda x: QUERIES[name](x, options), data, other, Fraction(str(epsilon)), parts)


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@fewer
@given(
    data=st.lists(st.tuples(ENTRIES, ENTRIES), min_size=1, max_size=6), entry=st.tuples(ENTRIES, ENTRIES), parts=PARTS
)
def test_covariance_costs_no_more_than_stated(
    adjacency: Adjacency, data: list[Any], entry: Any, parts: list[float]
) -> None:
    def run(pairs: list[Any]) -> Any:
        x, y = [a for a, _ in pairs], [b for _, b in pairs]
        return stats.covariance(x, y, epsilon=100, bounds=((-10, 10), (0, 10**6)), adjacency=adjacency)

    check(run, data, neighbour(data, entry, 0, adjacency), Fraction(100), parts)


@pytest.mark.parametrize("steps", [1 << 31, 1 << 34])
def test_sums_of_a_wrong_sensitivity_would_be_seen(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """With places in other steps than the noise is made for, some pair of neighbours loses more than ε, or less."""
    options: dict[str, Any] = {"epsilon": 1, "bounds": (0, 10), "adjacency": ADD_REMOVE, "clip": False}

    def lost() -> Fraction:
        scripts = Script([0.5]), Script([0.5])
        followed(scripts[0], lambda: stats.mean([1, 2], **options))
        followed(scripts[1], lambda: stats.mean([1, 2, 10], **options))
        return sum((loss(a, b) for a, b in zip(scripts[0].seen, scripts[1].seen, strict=True)), Fraction(0))

    assert lost() == 1
    original = Laplace.__init__

    def wrong(self: Laplace, *, sensitivity: Any, **more: Any) -> None:
        original(self, sensitivity=steps, **more)

    monkeypatch.setattr(Laplace, "__init__", wrong)
    assert lost() == Fraction(1 << 32, steps)


def test_a_score_that_moves_too_far_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """With half the sensitivity declared, some pair of neighbours loses more than ε."""
    monkeypatch.setattr(
        "dither.estimators.quantile_search.quantile_sensitivity", lambda q, _: Fraction(q.denominator, 4)
    )
    options: dict[str, Any] = {"epsilon": 1, "bounds": (0, 10), "adjacency": ADD_REMOVE}
    with pytest.raises(AssertionError):
        check(lambda x: stats.median(x, **options), [1, 2, 8, 9], [1, 2, 8, 9, 9.5], Fraction(1), [0.5])


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("name", ["histogram of bins", "histogram of names", "mode", "top"])
def test_counts_lose_all_that_is_stated_and_no_more(name: str, adjacency: Adjacency) -> None:
    """A record of one name more, or in place of another: with any more noise than there is, less would be lost."""
    options: dict[str, Any] = {"epsilon": 1, "bounds": None, "adjacency": adjacency}
    scripts = Script([0.5]), Script([0.5])
    for script, data in zip(scripts, ([1, 0, 0], neighbour([1, 0, 0], 7, 0, adjacency)), strict=True):
        followed(script, partial(QUERIES[name], data, options))
    assert sum((loss(a, b) for a, b in zip(scripts[0].seen, scripts[1].seen, strict=True)), Fraction(0)) == 1
