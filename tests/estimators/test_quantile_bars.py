"""Intervals of quantiles: tails of weighted noise, edges, and the walk that stops at the first doubtful edge."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.estimators.base_measure import bounded, stepped
from dither.estimators.order_statistic import RankedRows
from dither.estimators.quantile_bars import QuantileBars, tails
from dither.mechanisms import Exponential


@pytest.mark.parametrize("miss", [0.2, 0.025, 0.005, 1e-4])
def test_the_tail_of_two_is_the_known_one(miss: float) -> None:
    """(L₁ + L₂)/2: P[X > z] = (2 + 2z)/4·e^{−2z}. Very small ones are bounded, where the law has a sharp peak."""
    (z,) = tails(2, 0.5, miss)
    known = (2 + 2 * z) / 4 * math.exp(-2 * z)
    assert known <= miss * (1 + 1e-3)
    assert known >= miss * (1 - 1e-3) or miss < 1e-3


@pytest.mark.parametrize("q", [0.5, 0.9, 0.01])
def test_tails_are_those_of_simulated_noise(q: float) -> None:
    """Of 400,000 draws 10,000 are expected beyond z; more than 10,700 or fewer than 9,300 with less than 1e-11."""
    cells, draws = 9, 400_000
    noise = np.random.default_rng(11).laplace(size=(draws, cells))
    for below, z in zip(range(1, cells), tails(cells, q, 0.025), strict=True):
        weighted = (1 - q) * noise[:, :below].sum(axis=1) - q * noise[:, below:].sum(axis=1)
        assert 9_300 < int((weighted > z).sum()) < 10_700


def law_of_sum(scale: float, cells: int, reach: int) -> Any:
    """P of −reach, …, reach for the sum of so many whole numbers, each k with a probability ∝ e^{−|k|/scale}."""
    one = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    spread = np.concatenate([one[reach:], np.zeros(4 * reach), one[:reach]])
    found = np.fft.ifft(np.fft.fft(spread / one.sum()) ** cells).real
    return np.concatenate([found[-reach:], found[: reach + 1]])


@pytest.mark.parametrize("scale", [0.05, 0.3, 0.5, 1, 3, 10])
def test_half_a_row_is_enough_for_noise_on_whole_numbers(scale: float) -> None:
    """The exact law of what the walk compares with z. Without the half some would pass too often."""
    size, too_often = int(30 + 90 * scale), []
    for cells, q, miss in product((2, 5, 30), (0.5, 0.9, 0.01), (0.25, 0.025, 1e-3)):
        whole = np.arange(-size, size + 1)
        laws = {below: law_of_sum(scale, below, size) for below in range(1, cells)}
        for below, z in zip(range(1, cells), tails(cells, q, miss), strict=True):
            fewer = np.concatenate([[0.0], np.cumsum(laws[cells - below])])  # P of less than each number
            for room in (0.5, 0.0):
                least = np.ceil(((1 - q) * whole - z * scale - room) / q - 1e-12).astype(np.int64) + size
                passed = float(laws[below] @ fewer[np.clip(least, 0, 2 * size + 1)])
                too_often += [passed > miss * (1 + 1e-9)] if not room else []
                assert passed <= miss * (1 + 1e-9) or not room
    assert sum(too_often) > 0 or scale < 0.3  # so little noise is 0 nearly always


@pytest.mark.parametrize("q", [0.5, 0.999])
def test_tiny_tails_are_bounded(q: float) -> None:
    """By Chernoff's bound, which is above what the law has at a larger tail."""
    assert (tails(5, q, 1e-9) > tails(5, q, 1e-4)).all()
    assert (tails(5, q, 1e-9) < 60).all()


def walked(data: list[float], q: Fraction, edges: list[float], noise: list[int], scale: float) -> tuple[float, float]:
    base = bounded((0.0, 100.0))
    bars = QuantileBars(base, ADD_REMOVE, Fraction(9, 10))
    inner = base.axis.places(np.array(edges))
    cuts = np.concatenate([[base.first], inner, [base.end]])
    counts = np.array(bars.counts(RankedRows.of_values(np.sort(np.array(data)), base), cuts))
    assert counts.sum() == len(data)
    return bars.walk(cuts, counts + np.array(noise), scale).ends(q)


def test_a_walk_stops_at_the_first_edge_that_is_in_doubt() -> None:
    data = [float(x) for x in range(100)]
    edges = [10.0, 30.0, 45.0, 55.0, 70.0, 90.0]
    nothing = [0] * 7
    low, high = walked(data, Fraction(1, 2), edges, nothing, 0.01)
    assert [low, high] == pytest.approx([45, 55])
    low, high = walked(data, Fraction(1, 2), edges, nothing, 4.0)
    assert [low, high] == pytest.approx([30, 70])
    low, high = walked(data, Fraction(1, 2), edges, nothing, 100.0)
    assert (low, high) == (0.0, 100.0)
    # 15 more rows in the lowest cell: the first edge is in doubt, and that the second one would pass does not count.
    low, _ = walked(data, Fraction(1, 10), [10.0, 12.0, 95.0], [15, 0, 0, 0], 0.5)
    assert low == 0.0


def test_ties_at_the_quantile_are_held() -> None:
    low, high = walked([7.0] * 1000, Fraction(1, 2), [6.9, 7.0, 7.1], [0, 0, 0, 0], 1.0)
    assert low <= 7.0 <= high
    assert [low, high] == pytest.approx([7.0, 7.1])


def test_the_scale_is_that_of_the_rows_around() -> None:
    """With a large ε: the first distance that holds G rows."""
    base = stepped(Fraction(1), 0, 1000)
    bars = QuantileBars(base, ADD_REMOVE, Fraction(9, 10))
    rows = RankedRows.of_values(np.arange(1000.0), base)
    choice = Exponential(sensitivity=2, epsilon=Fraction(12, 100), adjacency=ADD_REMOVE)
    distances = bars._distances(500)
    scores = bars._scores(rows, 500, (0, 1001), distances, choice)
    wanted = 100  # 9·b/3 with b = 4/0.12
    best = distances[int(np.argmax(scores))]
    assert best == 64.0
    assert 2 * best + 1 >= wanted > best + 1


HARD: dict[str, Any] = {
    "ties": np.repeat([0.0, 1.0, 5.0], [400, 300, 300]),
    "far": 1e6 + np.random.default_rng(2).normal(size=800),
    "two points": np.repeat([0.0, 100.0], [500, 501]),
    "whole": np.arange(900) % 17,
}
TRIES, MOST_MISSES = 150, 42


EVERY_COMMIT = {("ties", ADD_REMOVE), ("whole", REPLACE_ONE)}


@pytest.mark.parametrize(
    ("name", "adjacency"),
    [
        pytest.param(*each, id=f"{each[0]}-{each[1]}", marks=() if each in EVERY_COMMIT else pytest.mark.nightly)
        for each in product(HARD, (ADD_REMOVE, REPLACE_ONE))
    ],
)
def test_intervals_of_several_hold_as_often_as_they_say(name: str, adjacency: Adjacency) -> None:
    """At most 10 % may miss; of 150, more than 42 do with probability below 1e-9 (binomial)."""
    data, asked = HARD[name], [0.25, 0.5, 0.9]
    ordered = np.sort(data)
    truth = [float(ordered[math.ceil(q * len(data)) - 1]) for q in asked]
    missed = np.zeros(3, dtype=int)
    for _ in range(TRIES):
        options: dict[str, Any] = {"epsilon": 2, "adjacency": adjacency, "interval_level": 0.9}
        release = dp.stats.quantile(data, asked, bounds=(-10, 2 * 10**6), **options)
        lows, highs = release.interval(0.9)
        missed += [not low <= x <= high for low, x, high in zip(lows, truth, highs, strict=True)]
    assert (missed <= MOST_MISSES).all()
    assert bdtrc(MOST_MISSES, TRIES, 0.1) < 1e-9


def test_an_interval_fits() -> None:
    """Of 5000 normal records at ε = 1: half of the widths are below 6 times the 95th percentile of the error."""
    data = np.random.default_rng(3).normal(size=5000)
    runs = [dp.stats.median(data, epsilon=1, bounds=(-100, 100), interval_level=0.95) for _ in range(60)]
    errors = [abs(run.value - float(np.median(data))) for run in runs]
    widths = [run.interval(0.95)[1] - run.interval(0.95)[0] for run in runs]
    assert float(np.median(widths)) < 2 * 3 * float(np.quantile(errors, 0.95)) * 1.5
