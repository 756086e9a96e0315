"""Tables of people with rows in groups, and the error of a count, sum or mean by group under limits and bounds.

The error is that of a typical group: the mean over the groups of √(noise² + bias²). Bias is computed from the rows, as
contribution bounding and clamping treat them; noise is drawn, the same for all limits that are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Bounds = tuple[float, float]

STATISTICS = ("count", "sum", "mean")
_DRAWS = 64
_REFINED = 6
"""So many of the best coarse choices are looked at more closely."""
_CLOSER = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
"""Quantiles of the values that are tried as bounds by hand."""


@dataclass(frozen=True)
class Limits:
    """What somebody may choose."""

    max_groups: int
    max_rows_per_group: int
    bounds: Bounds


@dataclass(frozen=True, eq=False)
class Trips:
    """Rows of people: who, in which group, and a value. `bounds` are what everybody knows of the value: wide."""

    name: str
    person: Whole
    group: Whole
    value: Floats
    groups: int
    bounds: Bounds

    def table(self) -> pa.Table:
        return pa.table({"who": self.person, "place": self.group, "value": self.value})

    @cached_property
    def _pairs(self) -> tuple[Whole, Whole, Whole]:
        """For each person and group: which pair a row belongs to, the group of each pair, and its rows."""
        both, pair = np.unique(self.person * self.groups + self.group, return_inverse=True)
        return pair, both % self.groups, np.bincount(pair)

    @cached_property
    def _places(self) -> Whole:
        """The place of each pair among those of its person, in a random order: those below `max_groups` count."""
        both = np.unique(self.person * self.groups + self.group)
        owner = both // self.groups
        order = np.lexsort((np.random.default_rng(1).random(len(both)), owner))
        first = np.r_[True, owner[order][1:] != owner[order][:-1]]
        starts = np.maximum.accumulate(np.where(first, np.arange(len(both)), 0))
        places = np.empty(len(both), dtype=np.int64)
        places[order] = np.arange(len(both)) - starts
        return places

    @cached_property
    def _draws(self) -> Floats:
        """Laplace noise of scale 1: for so many answers of each group, two sums each."""
        return np.random.default_rng(2).laplace(size=(2, _DRAWS, self.groups))

    @cached_property
    def rows_of_groups(self) -> Floats:
        return np.bincount(self.group, minlength=self.groups).astype(np.float64)

    @cached_property
    def _sums(self) -> Floats:
        return _added(self.group, self.value, self.groups)

    def _totals(self, bounds: Bounds) -> Floats:
        """The sum of clamped values of each pair."""
        return _added(self._pairs[0], np.clip(self.value, *bounds))

    def _by_group(self, each: Floats, kept: NDArray[np.bool_]) -> Floats:
        return _added(self._pairs[1][kept], each[kept], self.groups)

    def error(self, statistic: str, limits: Limits, epsilon: float, totals: Floats | None = None) -> float:
        """The error of a typical group."""
        _, _, rows = self._pairs
        most_groups, most_rows, (low, high) = limits.max_groups, limits.max_rows_per_group, limits.bounds
        kept, scale = self._places < most_groups, most_groups * most_rows / epsilon
        counts = self._by_group(np.minimum(rows, most_rows).astype(np.float64), kept)
        if statistic == "count":
            return _typical(counts + scale * self._draws[0], self.rows_of_groups)
        sums = self._totals(limits.bounds) if totals is None else totals
        if statistic == "sum":
            clipped = np.clip(sums, most_rows * min(low, 0.0), most_rows * max(high, 0.0))
            noise = scale * max(abs(low), abs(high)) * self._draws[0]
            return _typical(self._by_group(clipped, kept) + noise, self._sums)
        weights = np.minimum(1.0, most_rows / rows)
        held, width = self._by_group(weights * (sums - low * rows), kept), high - low
        above = held + scale * width * self._draws[0]
        below = width * counts - held + scale * width * self._draws[1]
        there = (self.rows_of_groups > 0) & (counts > 0)
        place = np.clip(above / np.maximum(above + below, width), 0.0, 1.0)[:, there]
        bounded = self._by_group(weights * self._of_pairs, kept)[there] / counts[there]
        truth = self._sums[there] / self.rows_of_groups[there]
        bias = np.abs(bounded - truth) + (self._moved(limits.bounds)[there] / self.rows_of_groups[there])
        noise = np.sqrt(np.mean(width**2 * (place - held[there] / counts[there] / width) ** 2, axis=0))
        return float(np.mean(np.hypot(noise, bias)))

    @cached_property
    def _of_pairs(self) -> Floats:
        return _added(self._pairs[0], self.value)

    def _moved(self, bounds: Bounds) -> Floats:
        """How far clamping moves values, upwards and downwards added up: who does not know the rows does not know
        that they cancel."""
        return _added(self.group, np.abs(np.clip(self.value, *bounds) - self.value), self.groups)

    def best(self, statistic: str, epsilon: float) -> tuple[float, Limits]:
        """The least error of all limits and bounds that are tried, knowing the rows.

        Limits that are powers of 2 first, with all bounds; then, with the best of these bounds, limits between them.
        """
        groups, rows = int(self._places.max()) + 1, int(self._pairs[2].max())
        bounds = [self.bounds] if statistic == "count" else list(self._bounds(statistic))
        found: list[tuple[float, Limits]] = []

        def tried(both: Bounds, of_groups: list[int], of_rows: list[int]) -> None:
            totals = self._totals(both)
            for most_groups, most_rows in product(of_groups, of_rows):
                limits = Limits(most_groups, most_rows, both)
                found.append((self.error(statistic, limits, epsilon, totals), limits))

        for both in bounds:
            tried(both, _steps(groups, 1), _steps(rows, 1))
        found.sort(key=lambda each: each[0])
        nearest = {best.bounds: best for _, best in reversed(found[:_REFINED])}
        for both, best in nearest.items():
            tried(both, _near(best.max_groups, _steps(groups, 8)), _near(best.max_rows_per_group, _steps(rows, 8)))
        return min(found, key=lambda each: each[0])

    def _bounds(self, statistic: str) -> Iterator[Bounds]:
        highs = sorted({float(f"{high:.3g}") for high in np.quantile(self.value, _CLOSER)} | {self.bounds[1]})
        lows = {self.bounds[0]} if statistic == "sum" or self.bounds[0] == 0 else set()
        lows |= {0.0} if self.bounds[0] <= 0 else set()
        if statistic == "mean":
            lows |= {float(f"{low:.3g}") for low in np.quantile(self.value, [1 - each for each in _CLOSER])}
        yield from ((low, high) for low in sorted(lows) for high in highs if low < high)


def _added(places: Whole, values: Floats, least: int = 0) -> Floats:
    return np.asarray(np.bincount(places, values, least), dtype=np.float64)


def _typical(answers: Floats, truth: Floats) -> float:
    return float(np.mean(np.sqrt(np.mean((answers - truth) ** 2, axis=0))))


def _steps(largest: int, per_octave: int) -> list[int]:
    """So many in each octave, up to the largest."""
    steps = {round(2 ** (step / per_octave)) for step in range(per_octave * max(largest, 1).bit_length() + 1)}
    return sorted({step for step in steps if step < largest} | {largest})


def _near(step: int, steps: list[int]) -> list[int]:
    """Those less than an octave away."""
    return [each for each in steps if step / 2 < each < step * 2]


# ------------------------------------------------------------------ invented shapes


def _rows(rng: np.random.Generator, law: str, people: int) -> Whole:
    """How many rows each person has."""
    drawn: Mapping[str, NDArray[Any]] = {
        "one": np.ones(people),
        "a few": 1 + rng.poisson(3, people),
        "geometric": rng.geometric(0.1, people),
        "lognormal": 1 + rng.lognormal(2.0, 1.0, people),
        "heavy": np.minimum(1 + rng.pareto(1.2, people) * 2, 3000),
    }
    return drawn[law].astype(np.int64)


def invented(seed: int) -> Iterator[Trips]:
    """Ten shapes, from light to heavy-tailed numbers of rows, 1 to 1000 groups, normal to lognormal values."""
    rng = np.random.default_rng(seed)
    for people, law, groups, spread, values in (
        (5_000, "one", 1, 1.0, "normal"),
        (5_000, "a few", 1, 1.0, "lognormal"),
        (5_000, "lognormal", 1, 1.0, "normal"),
        (20_000, "heavy", 1, 1.0, "lognormal"),
        (5_000, "one", 10, 0.3, "lognormal"),
        (10_000, "a few", 10, 0.3, "normal"),
        (10_000, "lognormal", 10, 0.5, "lognormal"),
        (20_000, "geometric", 100, 0.1, "normal"),
        (20_000, "heavy", 100, 0.2, "lognormal"),
        (50_000, "geometric", 1000, 0.02, "lognormal"),
    ):
        each = _rows(rng, law, people)
        person = np.repeat(np.arange(people), each)
        home = rng.integers(0, groups, people)
        group = (home[person] + rng.geometric(min(1.0, 1 / (1 + spread * groups)), len(person)) - 1) % groups
        value = rng.normal(50, 12, len(person)) if values == "normal" else rng.lognormal(2.6, 0.8, len(person))
        name = f"{people:,} people, {law} rows, {groups} group{'s' * (groups > 1)}, {values} values"
        yield Trips(name, person, group, np.round(value, 2), groups, (0.0, 10_000.0))


# --------------------------------------------------------------------- real tables


def real() -> Iterator[Trips]:
    """Tables that nobody drew; they come with statsmodels, which only the environment of the peers has."""
    import statsmodels.datasets as of  # type: ignore[import-not-found,import-untyped,unused-ignore]

    health = of.randhie.load_pandas().data
    visits = health["mdvis"].to_numpy().astype(np.int64)  # each visit to a doctor is a row
    person = np.repeat(np.arange(len(visits)), visits)
    levels = health[["hlthg", "hlthf", "hlthp"]].to_numpy()
    health_of = np.where(levels.any(axis=1), 1 + levels.argmax(axis=1), 0)
    chronic = health["disea"].to_numpy().astype(np.float64)
    yield Trips(
        "visits to doctors (randhie), by health", person, health_of[person], chronic[person], 4, (0.0, 10_000.0)
    )
    women = of.fair.load_pandas().data
    job = women["occupation"].to_numpy().astype(np.int64) - 1
    married = women["yrs_married"].to_numpy().astype(np.float64)
    yield Trips("years of marriage (fair), by occupation", np.arange(len(job)), job, married, 6, (0.0, 1000.0))
    ways = of.modechoice.load_pandas().data
    who, way = ways["individual"].to_numpy().astype(np.int64), ways["mode"].to_numpy().astype(np.int64) - 1
    yield Trips(
        "cost of ways to travel (modechoice)", who, way, ways["gc"].to_numpy().astype(np.float64), 4, (0.0, 10_000.0)
    )
