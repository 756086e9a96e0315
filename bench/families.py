"""Families of data for the comparison of accuracy, drawn afresh by seed.

>>> from bench.families import draw, families, widened
>>> family = families(seed=7)[0]
>>> values = draw(family, 1000, seed=7)
>>> low, high = family.bounds(1000)  # tight: all of `values` lie inside
>>> widened((0, 8), 10)
(0.0, 80.0)

A family has public facts: tight bounds for a number of records, and whether its values are whole numbers.
`families(seed)` are the named ones, the same for every seed but for their records, and random mixtures whose parameters
come from the seed. `real_columns()` needs statsmodels and scikit-learn, which only the environment of the peers has.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bounds: TypeAlias = tuple[float, float]
Law: TypeAlias = Callable[[Generator, int], NDArray[np.floating] | NDArray[np.integer]]

MIXTURES = 12
_REFERENCE = 20_261_116
"""The seed of the records that tight bounds are read from; they are never the records that are asked about."""


@dataclass(frozen=True)
class Family:
    """`law` draws n records; `known` are bounds that everybody knows, such as 0 and 1 for a share."""

    name: str
    law: Law
    whole: bool = False
    known: Bounds | None = None

    def bounds(self, n: int) -> Bounds:
        """What somebody who knows such data would say before seeing n records of it: round numbers, hardly too wide."""
        return self.known or _round_bounds(self, n)


def draw(family: Family, n: int, seed: int) -> Floats:
    """n records; the few beyond the tight bounds are recorded as the bound, as top-coded columns are."""
    rng = np.random.default_rng([seed, n, zlib.crc32(family.name.encode())])
    return np.clip(np.asarray(family.law(rng, n), dtype=np.float64), *family.bounds(n))


def widened(bounds: Bounds, factor: float) -> Bounds:
    """Bounds `factor` times as wide, around the same middle; they do not cross 0, which everybody knows."""
    low, high = bounds
    width = factor * (high - low)
    lowest = (low + high - width) / 2
    if low >= 0:
        lowest = max(lowest, 0.0)
    elif high <= 0:
        lowest = min(lowest, -width)
    return float(lowest), float(lowest + width)


@cache
def _round_bounds(family: Family, n: int) -> Bounds:
    """The range of four times as many other records of the family, outward to about a tenth of its own size."""
    rng = np.random.default_rng([_REFERENCE, n, zlib.crc32(family.name.encode())])
    records = family.law(rng, 4 * n)
    low, high = float(np.min(records)), float(np.max(records))
    width = high - low or abs(high) or 1.0
    step = 10.0 ** np.floor(np.log10(width)) / 10
    if family.whole:
        step = max(step, 1.0)
    return float(np.floor(low / step) * step), float((np.floor(high / step) + 1) * step)


# Named families. Each law is one line; the names tell the shape.


def _normal(mean: float, deviation: float) -> Law:
    return lambda rng, n: rng.normal(mean, deviation, n)


def _lognormal(middle: float, sigma: float) -> Law:
    return lambda rng, n: rng.lognormal(np.log(middle), sigma, n)


def _pareto(least: float, alpha: float) -> Law:
    return lambda rng, n: least * (1 + rng.pareto(alpha, n))


def _zeros(share: float, rest: Law) -> Law:
    """A share of exact zeros; the rest by another law."""
    return lambda rng, n: np.where(rng.random(n) < share, 0, rest(rng, n))


def _outliers(one_in: int, bulk: Law, far: float) -> Law:
    """One record in so many lies far away, within a factor of two."""
    return lambda rng, n: np.where(rng.random(n) * one_in < 1, far * (1 + rng.random(n)), bulk(rng, n))


def _two_points(low: float, high: float, share: float) -> Law:
    return lambda rng, n: np.where(rng.random(n) < share, high, low)


def _bimodal(first: Law, second: Law, share: float) -> Law:
    return lambda rng, n: np.where(rng.random(n) < share, second(rng, n), first(rng, n))


def _among(values: list[float]) -> Law:
    """Ties: values that many records share, the first ones more often."""
    weights = 1 / np.arange(1, len(values) + 1)
    return lambda rng, n: rng.choice(values, n, p=weights / weights.sum())


def _times(factor: float, law: Law) -> Law:
    return lambda rng, n: factor * np.asarray(law(rng, n), dtype=np.float64)


def _rounded(law: Law, step: float = 1.0) -> Law:
    return lambda rng, n: np.round(law(rng, n) / step) * step


_NAMED = (
    Family("normal", _normal(50, 10)),
    Family("normal around 0", _normal(0, 1)),
    Family("uniform", lambda rng, n: rng.uniform(0, 1, n), known=(0, 1)),
    Family("exponential", lambda rng, n: rng.exponential(20, n)),
    Family("gamma 0.3", lambda rng, n: rng.gamma(0.3, 100, n)),
    Family("beta 0.5 5", lambda rng, n: rng.beta(0.5, 5, n), known=(0, 1)),
    Family("Student t3", lambda rng, n: rng.standard_t(3, n)),
    Family("lognormal 0.3", _lognormal(30, 0.3)),
    Family("lognormal 0.8", _lognormal(40_000, 0.8)),
    Family("lognormal 1.5", _lognormal(200, 1.5)),
    Family("lognormal 2.5", _lognormal(1, 2.5)),
    Family("Pareto 1.1", _pareto(10, 1.1)),
    Family("Pareto 2", _pareto(1, 2)),
    Family("Pareto 3", _pareto(1000, 3)),
    Family("zeros 5 %", _zeros(0.05, _lognormal(100, 0.7))),
    Family("zeros 30 %", _zeros(0.30, _lognormal(5, 1.0))),
    Family("zeros 60 %", _zeros(0.60, _normal(40, 8))),
    Family("zeros 80 %, small integers", _zeros(0.80, lambda rng, n: 1 + rng.poisson(1.2, n)), whole=True),
    Family("zeros 90 %", _zeros(0.90, _lognormal(1000, 1.0))),
    Family("zeros 95 %", _zeros(0.95, _lognormal(300, 0.5))),
    Family("Poisson 0.3", lambda rng, n: rng.poisson(0.3, n), whole=True),
    Family("Poisson 4", lambda rng, n: rng.poisson(4, n), whole=True),
    Family("Poisson 500", lambda rng, n: rng.poisson(500, n), whole=True),
    Family("negative binomial", lambda rng, n: rng.negative_binomial(0.4, 0.05, n), whole=True),
    Family("geometric", lambda rng, n: rng.geometric(0.1, n), whole=True),
    Family("two points, even", _two_points(0, 1, 0.5), whole=True, known=(0, 1)),
    Family("two points, 3 %", _two_points(0, 1, 0.03), whole=True, known=(0, 1)),
    Family("two points far apart", _two_points(10, 1000, 0.2), whole=True, known=(0, 1000)),
    Family("constant 7", lambda rng, n: np.full(n, 7), whole=True, known=(0, 10)),
    Family("constant 0", lambda rng, n: np.zeros(n), whole=True, known=(0, 10)),
    Family("constant 0.137", lambda rng, n: np.full(n, 0.137), known=(0, 1)),
    Family("bimodal", _bimodal(_normal(20, 2), _normal(80, 3), 0.4)),
    Family("bimodal, two scales", _bimodal(_lognormal(10, 0.4), _lognormal(10_000, 0.4), 0.3)),
    Family("bimodal around 0", _bimodal(_normal(-5, 1), _normal(5, 1), 0.5)),
    Family("ties, prices", _among([9.99, 19.99, 4.99, 49.0, 99.0, 0.99, 199.0])),
    Family("ties, rounded incomes", _rounded(_lognormal(40_000, 0.8), 1000)),
    Family("ties, grades", _among([3, 4, 2, 5, 1]), whole=True, known=(1, 5)),
    Family("ages", lambda rng, n: np.minimum(np.floor(90 * rng.beta(1.6, 2.2, n)), 94), whole=True, known=(0, 120)),
    Family("integers, uniform", lambda rng, n: rng.integers(1, 1001, n), whole=True),
    Family("integers, wide", _rounded(_lognormal(1e6, 1.2)), whole=True),
    Family("negative", _times(-1, _lognormal(500, 0.6))),
    Family("negative and positive", lambda rng, n: rng.standard_t(4, n) * 100 + 30),
    Family("tiny unit", _times(1e-12, _lognormal(3, 0.7))),
    Family("tiny unit, normal", _normal(2e-9, 3e-10)),
    Family("huge unit", _times(1e15, _lognormal(2, 1.0))),
    Family("huge unit, normal", _normal(0, 1e12)),
    Family("shifted to 1e6", _normal(1e6, 1000)),
    Family("shifted to -1e4", _normal(-1e4, 50)),
    Family("years", lambda rng, n: 2026 - np.floor(90 * rng.beta(1.6, 2.2, n)), whole=True),
    Family("narrow at 1e6", _normal(1e6, 5)),
    Family("narrow at 1e9", _normal(1e9, 0.5)),
    Family("outliers 1 in 10", _outliers(10, _normal(50, 10), 5000)),
    Family("outliers 1 in 100", _outliers(100, _normal(50, 10), 5000)),
    Family("outliers 1 in 1000", _outliers(1000, _lognormal(10, 0.5), 10_000)),
    Family("outliers 1 in 10^4", _outliers(10_000, _lognormal(10, 0.5), 100_000)),
)


def families(seed: int) -> tuple[Family, ...]:
    """The named families, then mixtures that nobody has seen before."""
    return (*_NAMED, *(_mixture(seed, number) for number in range(MIXTURES)))


@cache
def _mixture(seed: int, number: int) -> Family:
    """One to three parts with random laws, places and scales; often with zeros, ties, or a unit far from 1."""
    rng = np.random.default_rng([seed, number, 1])
    parts = [_random_part(rng) for _ in range(rng.integers(1, 4))]
    shares = rng.dirichlet(np.ones(len(parts)))
    zeros = rng.uniform(0.05, 0.95) if rng.random() < 0.3 else 0.0
    unit = float(10 ** rng.uniform(-9, 9)) if rng.random() < 0.3 else 1.0
    step = float(10 ** rng.integers(0, 3)) if rng.random() < 0.3 else None

    def law(generator: Generator, n: int) -> Floats:
        chosen = generator.choice(len(parts), n, p=shares)
        drawn = np.choose(chosen, [np.asarray(part(generator, n), dtype=np.float64) for part in parts])
        drawn = np.where(generator.random(n) < zeros, 0.0, drawn)
        return np.round(drawn / step) * step if step else unit * drawn

    return Family(f"mixture {seed}.{number}", law, whole=step is not None)


def _random_part(rng: Generator) -> Law:
    place = float(10 ** rng.uniform(0, 5))
    kind = rng.integers(5)
    if kind == 0:
        return _normal(place * float(rng.choice([-1, 1, 1, 1])), place * float(10 ** rng.uniform(-3, 0)))
    if kind == 1:
        return _lognormal(place, float(rng.uniform(0.2, 2)))
    if kind == 2:
        return _pareto(place, float(rng.uniform(1.2, 4)))
    if kind == 3:
        return lambda generator, n: generator.uniform(0, place, n)
    return _among([float(value) for value in np.round(rng.uniform(0, place, int(rng.integers(2, 12))), 1)])


# Real columns: they come with packages on PyPI, nothing is downloaded. n records are drawn with replacement.

_STATSMODELS = {
    "fair": ["affairs", "age", "yrs_married", "children"],
    "randhie": ["mdvis", "lncoins", "hlthp"],
    "engel": ["income", "foodexp"],
    "ccard": ["AVGEXP", "INCOME"],
    "star98": ["NABOVE", "PERMINTE", "AVSALK"],
    "anes96": ["popul", "age", "income"],
    "strikes": ["duration"],
    "grunfeld": ["invest", "value"],
    "statecrime": ["violent", "murder"],
    "sunspots": ["SUNACTIVITY"],
    "heart": ["survival"],
}
_SKLEARN = {
    "load_breast_cancer": ["mean area", "area error", "worst concavity"],
    "load_diabetes": ["target"],
    "load_wine": ["proline", "malic_acid"],
    "load_digits": ["pixel_2_1", "pixel_3_4"],
}


@cache
def real_columns() -> tuple[Family, ...]:
    """Columns that nobody drew: zero-inflated, integer, tied, heavy-tailed."""
    import sklearn.datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import statsmodels.datasets  # type: ignore[import-not-found,import-untyped,unused-ignore]

    found = []
    for name, columns in _STATSMODELS.items():
        frame = getattr(statsmodels.datasets, name).load_pandas().data
        found += [_real(f"{name}.{column}", np.asarray(frame[column], dtype=np.float64)) for column in columns]
    for name, columns in _SKLEARN.items():
        frame = getattr(sklearn.datasets, name)(as_frame=True).frame
        short = name.removeprefix("load_")
        found += [_real(f"{short}.{column}", np.asarray(frame[column], dtype=np.float64)) for column in columns]
    return tuple(found)


def _real(name: str, column: Floats) -> Family:
    present = column[np.isfinite(column)]
    whole = bool(np.all(present == np.round(present)))
    low, high = float(present.min()), float(present.max())
    step = 10.0 ** np.floor(np.log10(high - low)) / 10
    least = 0.0 if 0 <= low < (high - low) else float(np.floor(low / step) * step)
    known = least, float(np.ceil(high / step) * step)
    return Family(name, lambda rng, n: rng.choice(present, n), whole, known)
