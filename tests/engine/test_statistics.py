"""The noise of whole releases follows its exact law, and intervals hold what they promise.

False alarms: a p-value of a right law alarms with probability 1e-11 (tests/noise/fit.py), a count of misses of an
interval with the same. Wrong laws, 10 % narrower and wider, must fail.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import dither as dp
from dither.engine.group_sensitivity import Added
from dither.engine.groups import Groups
from dither.engine.quantiles import Extreme, RankNoise, Ranks
from dither.estimators.base_measure import stepped
from dither.estimators.order_statistic import RankedRows
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.tables import Column
from dither.unit import Neighbour
from tests.engine.conftest import Open
from tests.noise.fit import ALARM, p_value, p_value_of_counts

KEYS = 40_000
UNIT = dp.Person("user", max_groups=2, max_rows_per_group=2)
PRICES: dict[str, dict[str, Any]] = {"laplace": {"epsilon": 1}, "gaussian": {"rho": "0.05"}}


@pytest.mark.parametrize("kind", PRICES)
def test_the_noise_of_a_release_has_its_law(kind: str, opened: Open) -> None:
    empty = pa.table({"user": pa.array([], pa.int64()), "city": pa.array([], pa.int64())})
    question = opened(empty, UNIT, dp.ZCDP(1) if kind == "gaussian" else None)
    release = question.group_by("city", keys=range(KEYS)).agg(n=dp.count()).release(**PRICES[kind])
    noise = release.value["n"].to_numpy()
    law = DiscreteLaplace(4) if kind == "laplace" else DiscreteGaussian(Fraction(8 * 10))
    assert p_value(noise, law) > ALARM
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        wrong = DiscreteLaplace(4 * factor) if kind == "laplace" else DiscreteGaussian(80 * factor**2)
        assert p_value(noise, wrong) < ALARM
    misses = int((release.value["n_low"].to_numpy() > 0).sum() + (release.value["n_high"].to_numpy() < 0).sum())
    assert binom.sf(misses - 1, KEYS, 0.05) > ALARM
    assert misses > 0.03 * KEYS  # and the interval is not wider than it must be


BOUNDS = (0.0, 7.0)
EPSILON, ROWS = Fraction(1), 2


def rank_noise(level: Fraction | None = None, epsilon: Fraction = EPSILON) -> RankNoise:
    """Of whole numbers from 0 to 7: each is a bin and a place."""
    need = Ranks(Column("x"), BOUNDS, (Fraction(1, 4),), level, is_whole=True)
    return RankNoise(need, Neighbour(2, ROWS, dp.Person("u").adjacency), epsilon)


def unit_bins(counts: list[int]) -> RankedRows:
    places = np.arange(len(counts))
    return RankedRows.of_bins(places, places + 1, np.array(counts))


COUNTS = [3, 0, 4, 1, 0, 0, 6, 2]


def naive_law(epsilon: Fraction) -> list[float]:
    """P[place j] ∝ its mass times e^{−loss/b}: b = 2·slope·rows/(ε/groups), slope 3/4 in ranks."""
    total = sum(COUNTS)
    scale = 2 * 0.75 * ROWS / float(epsilon / 2)
    losses = [max(0, sum(COUNTS[j + 1 :]) - 0.75 * total, sum(COUNTS[:j]) - 0.25 * total) for j in range(len(COUNTS))]
    measure = rank_noise().need.base.measure
    weights = [float(measure.weight(j, j + 1)) * math.exp(-loss / scale) for j, loss in enumerate(losses)]
    return [weight / sum(weights) for weight in weights]


def test_a_quantile_has_the_law_of_the_exponential_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its places; so few rows would get no answer in nearly every draw."""
    monkeypatch.setattr("dither.engine.quantiles.stepped", lambda *where: replace(stepped(*where), refuses=False))
    draws = rank_noise().draw([unit_bins(COUNTS)] * 6_000)
    found = np.bincount(np.floor(draws.flatten().to_numpy()).astype(int), minlength=8)[:8]
    assert p_value_of_counts(found.tolist(), naive_law(EPSILON)) > ALARM
    for wrong in (Fraction(1, 2), Fraction(2)):
        assert p_value_of_counts(found.tolist(), naive_law(wrong)) < ALARM


def test_intervals_of_quantiles_hold_the_quantile() -> None:
    """The bound holds for all data, so that it is generous for these."""
    level, size = Fraction(6, 10), 400
    rows = unit_bins([20 * count for count in COUNTS])
    draws = rank_noise(level, Fraction(4)).draw([rows] * size).flatten().to_numpy().reshape(size, 3)
    # The quarter of 320 rows: 60 are 0, 80 are 2.
    misses = int(((draws[:, 1] > 2) | (draws[:, 2] < 2)).sum())
    assert binom.sf(misses - 1, size, float(1 - level)) > ALARM
    assert misses < size // 4


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("largest", [True, False])
def test_an_extreme_of_many_equal_rows_is_found(largest: bool, is_whole: bool) -> None:
    """Each of 40 is beyond them with at most 10 %: more than 20 with a probability below 1e-10 (binomial)."""
    need = Ranks(Column("x"), (0.0, 8.0), Extreme(largest), is_whole=is_whole)
    (equal,) = need.bins.numbers(np.array([5.0])).tolist()
    batch = pa.RecordBatch.from_pydict({"dither_bin": [equal], "dither_rows": [500]})
    (rows,) = need.collect([batch], Groups(pa.table({})))
    noise = RankNoise(need, Neighbour(1, 1, dp.Rows().adjacency), EPSILON)
    draws = noise.draw([rows] * 40).flatten().to_numpy()
    assert sum(abs(place - 5) > 0.01 for place in draws) <= 20


def test_a_mean_lies_in_its_interval(visits: pa.Table, opened: Open) -> None:
    keys = pa.table({"city": range(4_000)})
    rows = pa.table(
        {"user": range(16_000), "city": [at % 4_000 for at in range(16_000)], "x": [at % 9 for at in range(16_000)]}
    )
    data = opened(rows, dp.Person("user", 1, 1), dp.PureDP(10))
    table = data.group_by("city", keys=keys).agg(m=dp.mean("x", (0, 8)), v=dp.variance("x", (0, 8))).release(
        epsilon=8, level="0.8"
    ).value  # fmt: skip
    values = np.arange(16_000).reshape(4, 4_000) % 9
    for name, exact in {"m": np.clip(values, 0, 8).mean(axis=0), "v": np.clip(values, 0, 8).var(axis=0)}.items():
        low, high = (table[f"{name}_{end}"].to_numpy() for end in ("low", "high"))
        misses = int(((exact < low - 1e-9) | (exact > high + 1e-9)).sum())
        assert binom.sf(misses - 1, 4_000, 0.2) > ALARM
        assert misses > 0


def test_groups_in_many_batches_keep_their_noise() -> None:
    """What a batch is cut into changes nothing but the draws."""
    noise = Added.laplace(1, Fraction(1), dp.Rows().adjacency)
    groups = Groups(pa.table({"k": range(5_000)}))
    batch = pa.record_batch({"k": list(range(5_000)), "n": [2**70 % 997] * 5_000})
    exact = groups.vector([batch.slice(at, 100) for at in range(0, 5_000, 100)], "n")
    drawn = noise.draw(exact).to_numpy() - exact
    assert p_value(drawn, DiscreteLaplace(1)) > ALARM
    assert p_value(drawn, DiscreteLaplace(Fraction(13, 10))) < ALARM


@pytest.mark.parametrize("place", [0.0, 0.5, 0.9])
def test_turned_noise_has_its_law(place: float) -> None:
    """Of both ends where a row is replaced in place: the difference has one noise, and what tests a mean its own."""
    noise = replace(Added.laplace(2_000, Fraction(1), dp.Rows("replace").adjacency, 2), is_turned=True)
    above, below = noise.draw(np.tile([5_000, 3_000], (60_000, 1))).flatten().to_numpy().reshape(-1, 2).T
    assert p_value(above - below - 2_000, DiscreteLaplace(2_000)) > ALARM
    assert p_value(above - below - 2_000, DiscreteLaplace(2_200)) < ALARM
    off: Any = np.abs((above - 5_000) * (1 - place) - (below - 3_000) * place)
    misses = int((off > noise.law.reach([1 - place, place], 0.1)).sum())  # 6,000 expected; scales are apart by 1 %
    assert binom.sf(misses - 1, len(off), 0.101) > ALARM
    assert binom.cdf(misses, len(off), 0.096) > ALARM
    rms = math.sqrt(float(np.square(off).mean()))
    assert rms == pytest.approx(2_000 * math.sqrt((1 + (1 - 2 * place) ** 2) / 2), rel=0.1)  # 20 deviations
