"""Noise vectors in ℓ₂ and ℓ∞: every step on every stream of bits, ties in balls, and the law of wide noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import chdtrc
from scipy.stats import beta, gamma, uniform

from dither.exact import Ball, ball, lower, precision, upper
from dither.noise import DiscreteGaussian, entropy, normed, rejection
from dither.noise.blocks import Arm, Layout
from dither.noise.entropy import BitSource
from dither.noise.normed import NORMED, EuclideanNoise, LargestCoordinateNoise
from dither.noise.radius_cells import RadiusCells, _FromPeak
from dither.noise.rejection import BlockSampler
from tests.every_stream import RecordedBits, every_stream
from tests.noise.fit import ALARM, p_value

_CELLS = [RadiusCells(2, Fraction(2, 3), 1), RadiusCells(1, Fraction(1, 3), 1), RadiusCells(3, Fraction(1, 7), 2)]


def _arms(cells: RadiusCells) -> list[Arm]:
    return [Arm(_FromPeak(cells, 1), 1, 0, cells.peak), Arm(_FromPeak(cells, -1), -1, 1, cells.peak)]


@pytest.mark.parametrize("cells", _CELLS, ids=str)
def test_a_round_for_a_cell_has_exact_probabilities(cells: RadiusCells) -> None:
    layout = Layout(
        keep=Fraction(1, 2), index_bits=4, uniform_bits=1, tail_share=Fraction(1, 3), margin=2.0, largest_block_bits=3
    )
    sampler = BlockSampler.over(_arms(cells), layout)
    sampler.__dict__["_deeper"] = _NoTail()
    outcomes = every_stream(sampler._attempt, 19, 5)
    assert outcomes.undecided < Fraction(1, 500)
    points = {x for block in sampler._blocks for x in range(block.start, block.start + (1 << block.bits))} - {0, -1, -2}
    assert len(points) >= 3
    for n in points:
        with precision(200):
            share = (ball(n) / cells.peak) ** cells.dimension
            slope = (n - 1) ** cells.power - (cells.peak - 1) ** cells.power
            mantissa, exponent = (share * ball(-cells.rate * slope).exp()).mid().man_exp()
        wanted = Fraction(int(mantissa)) * Fraction(2) ** int(exponent) * sampler._plan.scale / 16
        assert outcomes.allows(n, wanted), n


class _NoTail:
    def _attempt(self, source: BitSource) -> None:
        return None


@pytest.mark.parametrize("cells", [*_CELLS, RadiusCells(10**4, Fraction(1, 8), 1)], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_weights_of_cells_fall_from_the_peak_and_tails_are_bounded(cells: RadiusCells, sign: Any) -> None:
    side = _FromPeak(cells, sign)
    with precision(128):
        for start in (0, 1, 3, 40):
            weights = [side.weight(i) for i in range(start, start + 3000)]
            first = 1 if sign < 0 and not start else 0  # the left side begins beside the peak
            assert all(a >= b or a.overlaps(b) for a, b in itertools.pairwise(weights[first:]))
            bound = side.tail_bound(start)
            assert bound.is_finite()
            assert lower(bound) >= lower(sum(weights, Ball(0)))


@pytest.mark.parametrize("power", [1, 2])
def test_the_peak_is_where_the_logarithm_of_the_weight_has_its_top(power: Any) -> None:
    """The smallest n at which its slope, k/n − λ or k/n − 2λ(n − 1), is not above 0."""
    for dimension, parts in itertools.product(range(1, 60), range(1, 40)):
        cells = RadiusCells(dimension, Fraction(1, parts), power)
        slopes = [
            Fraction(dimension, n) - cells.rate * (1 if power == 1 else 2 * (n - 1))
            for n in (cells.peak, cells.peak - 1)
            if n
        ]
        assert slopes[0] <= 0
        assert all(slope > 0 for slope in slopes[1:])


# ------------------------------------------------------- what is kept, in ℓ₂


def _kept_in_l2(law: EuclideanNoise, cell: int, vector: list[int], source: BitSource) -> bool:
    return bool(law._accepts(source, np.array([cell]), np.array([vector]))[0])


@pytest.mark.parametrize(
    ("scale", "cell", "vector"),
    [
        *((5, cell, vector) for cell, vector in [(1, [0, 0]), (1, [1, 0]), (2, [3, -4]), (5, [7, 2]), (5, [0, 0])]),
        ((1 << 19) + 1, 200, [1_000_000, -3_000_000]),
    ],
)
def test_a_vector_is_kept_with_the_exact_chance(scale: int, cell: int, vector: list[int]) -> None:
    """Words of four digits, of which three are known of each number: balls and further digits decide nearly all."""
    law = EuclideanNoise(Fraction(scale), 2)
    step = law._step
    assert (law._rate > law._cells.rate) == (scale > 5), "wide noise has one law of cells, a little wider than needed"
    square = sum(x * x for x in vector) / (2 * step**2)
    sigma = cell * step
    theta = sum(math.exp(-(j**2) / (2 * sigma**2)) for j in range(-40 * sigma, 40 * sigma + 1)) if sigma < 100 else None
    factor = 1.0 if theta is None else (theta / (math.sqrt(2 * math.pi) * sigma)) ** 2

    def chance(place: float) -> float:
        width = cell - 1 + place
        exponent = float(law._rate) * width**2 - float(law._cells.rate) * (cell - 1) ** 2
        return factor * math.exp(-exponent - (square * (1 / width**2 - 1 / cell**2) if square else 0.0))

    wanted, error = quad(chance, 0, 1, epsabs=1e-12)
    outcomes = every_stream(partial(_kept_in_l2, law, cell, vector), 16, 4)
    assert outcomes.undecided < Fraction(1, 20)
    kept = float(outcomes.mass.get(True, Fraction(0)))
    assert kept - 1e-9 - error <= wanted <= kept + float(outcomes.undecided) + 1e-9 + error


class _Words:
    """Two words that are given, and fair digits afterwards."""

    word_bits = 64

    def __init__(self, *digits: int) -> None:
        self._words = [np.array([d << 2], dtype=np.uint64) for d in digits]

    def words(self, count: int) -> Any:
        return self._words.pop(0)

    def bits(self, count: int) -> int:
        return entropy.current().bits(count)


def _integer(number: Ball) -> int:
    found = number.unique_fmpz()
    assert found is not None
    return int(found)


@pytest.mark.parametrize("dimension", [2, 5, 300])
def test_ties_in_l2_are_settled_on_the_right_side(dimension: int) -> None:
    """Three units of 2^-62 beside the true chance, where doubles are wrong half of the time."""
    rng = np.random.default_rng(70)
    for scale in (Fraction(40), Fraction(2) ** 41 + 1):
        law = EuclideanNoise(scale, dimension)
        for _ in range(12):
            cell, place = int(law._cells.draw_many(entropy.current(), 1)[0]), int(rng.integers(1 << 55, 1 << 62))
            vector = DiscreteGaussian((cell * law._step) ** 2).sample(dimension).tolist()
            square = sum(x * x for x in vector)
            with precision(200):
                chance = law._chance(cell, square, ball(place).union(ball(place + 1)) / (1 << 62)) * (1 << 62)
                low, high = _integer(chance.mid().floor()), _integer(chance.mid().ceil())
                assert float(chance.rad()) < 2 * dimension + 50
                far = _integer(chance.rad().upper().ceil()) + 3
            if not far < low < (1 << 62) - far:
                continue
            assert _kept_in_l2(law, cell, vector, _Words(place, low - far))
            assert not _kept_in_l2(law, cell, vector, _Words(place, high + far))


@pytest.mark.parametrize("large", [200, 2000, 1 << 20])
def test_ties_at_the_end_of_a_cell_are_settled_on_the_right_side(large: int) -> None:
    """‖x‖²/(2η²) is large and 1 − U of a few units of 2^-62, which a double next to 1 cannot tell."""
    law = EuclideanNoise(Fraction(2) ** 41, 1)
    x, tried = int(math.sqrt(2 * large) * law._step), 0
    for left, beside in itertools.product((100, 127, 129, 200, 255, 300, 383), (0, 200, 1000, 5000, 20_000)):
        place = (1 << 62) - left
        with precision(300):
            chance = law._chance(1, x * x, ball(place).union(ball(place + 1)) / (1 << 62)) * (1 << 62)
            middle, far = _integer(chance.mid().floor()), _integer(chance.rad().upper().ceil()) + 3 + beside
        assert _kept_in_l2(law, 1, [x], _Words(place, middle - far))
        if middle + far < 1 << 62:
            assert not _kept_in_l2(law, 1, [x], _Words(place, middle + far))
            tried += 1
    assert tried


def test_a_width_of_nothing_is_settled_in_balls() -> None:
    """The first cell, at its very beginning: all of its known digits are 0."""
    law = EuclideanNoise(Fraction(5), 2)
    assert _kept_in_l2(law, 1, [0, 0], _Words(0, 1 << 60))
    assert not _kept_in_l2(law, 1, [1, 0], _Words(0, 1 << 60))


# ------------------------------------------------ Gaussian noise of each width


def _point(law: EuclideanNoise, block: int, length: int, source: BitSource) -> int | None:
    points, kept = law._points(source, np.array([block]), [length], np.zeros(1, dtype=np.intp))
    return int(points[0]) if kept[0] else None


@pytest.mark.parametrize("length", [1, 2, 3, 7])
@pytest.mark.parametrize("block", [0, 1, 4, -1, -2, -5])
def test_a_point_of_a_block_has_its_exact_gaussian_chance(block: int, length: int) -> None:
    law = EuclideanNoise(Fraction(5), 2)
    number, _ = law._blocks
    start = min(abs(block), abs(block + 1)) * length
    outcomes = every_stream(partial(_point, law, block, length), 18, 4)
    assert outcomes.undecided < Fraction(1, 50)
    for x in range(block * length, (block + 1) * length):
        wanted = math.exp(-(x**2 - start**2) / (2 * (number * length) ** 2)) / length
        found = float(outcomes.mass.get(x, Fraction(0)))
        assert found - 1e-12 <= wanted <= found + float(outcomes.undecided) + 1e-12, x
    assert set(outcomes.mass) <= {None, *range(block * length, (block + 1) * length)}


@pytest.mark.parametrize("scale", [Fraction(2) ** 41, Fraction(2) ** 60])
def test_ties_of_points_are_settled_on_the_right_side(scale: Fraction) -> None:
    law, rng = EuclideanNoise(scale, 3), np.random.default_rng(72)
    number, step = law._blocks
    for _ in range(30):
        block, length = int(rng.integers(-40, 40)), step * int(rng.integers(1, 200))
        inside, start = int(rng.random() * length), min(abs(block), abs(block + 1)) * length
        x = block * length + inside
        with precision(200):
            chance = ball(Fraction(start**2 - x**2, 2 * (number * length) ** 2)).exp() * (1 << 62)
            tie = _integer(chance.floor())
        part = ((1 << 64) - 1) // length
        for digits, wanted in ((tie - 1, x), (tie + 1, None)):
            assert _point(law, block, length, _Words((inside * part + part // 2) >> 2, digits)) == wanted


def test_gaussian_noise_of_a_width_has_its_law() -> None:
    """Chi-squared tests against the exact law, false alarms 1e-11 each; σ that is 5 % off fails."""
    law = EuclideanNoise(Fraction(1024), 2)
    assert law._blocks == (32, 1)
    for cell in (1, 3):
        drawn = law._gaussians(entropy.current(), np.full(20_000, cell)).ravel()
        sigma = cell * law._step
        assert p_value(drawn, DiscreteGaussian(sigma**2)) > ALARM
        assert p_value(drawn, DiscreteGaussian((sigma * Fraction(105, 100)) ** 2)) < ALARM


class _CountedWords(RecordedBits):
    """How many words were asked for, one call after the other."""

    def __init__(self, digits: int, length: int) -> None:
        super().__init__(digits, length)
        self.asked: list[int] = []

    def words(self, count: int) -> Any:
        self.asked.append(count)
        return super().words(count)


def test_the_steps_are_the_same_for_all_widths() -> None:
    """So that time does not tell the width: the same words, and no table that is laid out for one of them."""
    digits, length = int.from_bytes(np.random.default_rng(73).bytes(100_000)), 800_000
    law = EuclideanNoise(Fraction(2) ** 40 + 1, 1000)
    law.sample()
    tables, asked, shapes = rejection._sampler.cache_info().misses, [], []
    for cell in (1, 100, 16_000, 16_500, 100_000):
        source = _CountedWords(digits, length)
        vector = law._gaussians(source, np.array([cell]))[0] / (cell * law._step)
        asked.append(source.asked)
        shapes.append(vector)
    assert all(found == asked[0] for found in asked)
    assert all(np.abs(shape - shapes[0]).max() < 1e-6 for shape in shapes)
    assert rejection._sampler.cache_info().misses == tables


# ------------------------------------------------------- what is kept, in ℓ∞


def _kept_in_linf(law: LargestCoordinateNoise, cell: int, radius: int, source: BitSource) -> bool:
    return bool(law._accepts(source, np.array([cell]), np.array([radius]))[0])


@pytest.mark.parametrize("scale", ["0.7", "9", "20.5", "5001"])
def test_a_radius_is_kept_with_the_exact_chance(scale: str) -> None:
    law = LargestCoordinateNoise(Fraction(scale), 3)
    length, cells = law._cells
    assert cells.rate <= length / law.scale
    for cell, inside in ((1, 0), (1, length - 1), (7, length // 2), (30, length - 1)):
        radius = (cell - 1) * length + inside
        outcomes = every_stream(partial(_kept_in_linf, law, cell, radius), 16, 7)
        assert outcomes.undecided < Fraction(1, 1000)
        exponent = float(radius / law.scale - cells.rate * (cell - 1))
        wanted = ((2 * radius + 1) / (2 * cell * length)) ** 3 * math.exp(-exponent)
        kept = float(outcomes.mass.get(True, Fraction(0)))
        assert kept - 1e-12 <= wanted <= kept + float(outcomes.undecided) + 1e-12


@pytest.mark.parametrize("dimension", [3, 400])
def test_ties_in_linf_are_settled_on_the_right_side(dimension: int) -> None:
    for scale in (Fraction(100), Fraction(2) ** 45 / 3, Fraction(2) ** 70):
        law = LargestCoordinateNoise(scale, dimension)
        length, cells = law._cells
        for _ in range(12):
            cell = int(cells.draw_many(entropy.current(), 1)[0])
            radius = (cell - 1) * length + length // 3
            with precision(200):
                chance = law._chance(cell, radius) * (1 << 62)
                low, high = math.floor(lower(chance)), math.ceil(upper(chance))
                near = _integer(chance.mid().floor())
            assert low <= near <= high
            kept = partial(law._accepts, cells=np.array([cell], dtype=object), radii=np.array([radius], dtype=object))
            assert kept(_Words(near - 1)).tolist() == [True]
            assert kept(_Words(near + 1)).tolist() == [False]


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 16, 25, 31])
def test_numbers_below_a_bound_are_uniform(bound: int) -> None:
    outcomes = every_stream(lambda source: int(normed._below(source, [bound], np.zeros(1, dtype=np.intp))[0]), 15, 5)
    assert set(outcomes.mass) == set(range(bound))
    assert len(set(outcomes.mass.values())) == 1, "all values have the same mass on the same streams"
    assert outcomes.undecided <= Fraction(1, 8)


def test_each_row_has_its_own_bound() -> None:
    rows = np.repeat(np.arange(3), 4000)
    drawn = normed._below(entropy.current(), [1, 5, (1 << 60) - 1], rows).reshape(3, 4000)
    assert set(drawn[0].tolist()) == {0}
    assert set(drawn[1].tolist()) == set(range(5))
    assert 0.9 < drawn[2].max() / 2**60 < 1


# -------------------------------------------------------------- the whole law


def _p_value(found: Any, law: Any) -> float:
    """The chi-squared test of numbers against a continuous law, on 40 cells that are equally likely."""
    seen = np.bincount((law.cdf(found) * 40).astype(int).clip(0, 39), minlength=40)
    expected = len(found) / 40
    return float(chdtrc(39, np.square(seen - expected).sum() / expected))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("dimension", "scale", "count"),
    [(2, Fraction(2) ** 40 + Fraction(1, 3), 60_000), (20, Fraction(2) ** 41, 20_000), (3, Fraction(2) ** 70, 30_000)],
)
def test_wide_noise_has_a_gamma_radius_and_an_even_direction(dimension: int, scale: Fraction, count: int) -> None:
    """The radius to 5 % of the scale; false alarms: 1e-11 in each of 12 tests."""
    for norm in NORMED:
        drawn = NORMED[norm](scale, dimension).sample(count).astype(np.float64) / float(scale)
        radius = np.sqrt(np.square(drawn).sum(axis=1)) if norm == "l2" else np.abs(drawn).max(axis=1)
        assert _p_value(radius, gamma(dimension)) > ALARM
        for wrong in (0.95, 1.05):
            assert _p_value(radius, gamma(dimension, scale=wrong)) < ALARM
        if norm == "l2":
            share, law = np.square(drawn[:, -1]) / np.square(radius), beta(0.5, (dimension - 1) / 2)
            assert _p_value(share, law) > ALARM
            assert _p_value(share * 0.8, law) < ALARM
        else:
            inner = drawn[np.abs(drawn[:, 0]) == radius][:, -1] / radius[np.abs(drawn[:, 0]) == radius]
            assert _p_value(inner, uniform(-1, 2)) > ALARM
            assert _p_value(np.abs(inner), uniform(-1, 2)) < ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(("dimension", "count"), [(2, 60_000), (3, 100_000)])
@pytest.mark.parametrize("norm", NORMED)
def test_noise_of_a_small_scale_has_its_law_point_by_point(norm: str, dimension: int, count: int) -> None:
    """Chi-squared tests of all points that are expected 50 times; false alarms: 1e-11 each, 4e-11 together.

    A law whose scale is 5 % off fails.
    """
    drawn = NORMED[norm](Fraction(2), dimension).sample(count).astype(np.int64)
    axis = np.arange(-60, 61)
    squares = np.stack(np.meshgrid(*[axis] * dimension)).reshape(dimension, -1)
    norms = np.sqrt(np.square(squares).sum(axis=0)) if norm == "l2" else np.abs(squares).max(axis=0)
    places = ((drawn + 60).clip(0, 120) * 121 ** np.arange(dimension)).sum(axis=1)
    seen = np.bincount(places, minlength=121**dimension)[((squares + 60).T * 121 ** np.arange(dimension)).sum(axis=1)]
    for scale, holds in ((2, True), (2.1, False), (1.9, False)):
        expected = np.exp(-norms / scale)
        expected *= count / expected.sum()
        often = expected >= 50
        all_seen, all_expected = (np.append(found[often], found[~often].sum()) for found in (seen, expected))
        right = float(chdtrc(often.sum(), (np.square(all_seen - all_expected) / all_expected).sum()))
        assert (right > ALARM) == holds, scale


@pytest.mark.parametrize("norm", NORMED)
def test_a_stream_that_is_repeated_gives_the_same_vectors(norm: str) -> None:
    digits, length = int.from_bytes(np.random.default_rng(71).bytes(50_000)), 400_000
    law = NORMED[norm](Fraction(2) ** 41 / 3, 400)
    first, again = (law._drawn(RecordedBits(digits, length), 2).tolist() for _ in range(2))
    assert first == again
    assert len(set(first[0])) > 300


@pytest.mark.parametrize("norm", NORMED)
def test_one_coordinate_and_none(norm: str) -> None:
    """In one dimension both are Laplace noise: the variance is 2t², here to 8 standard errors."""
    law = NORMED[norm](Fraction(1000), 1)
    assert law.sample(0).shape == (0, 1)
    assert abs(float((law.sample(20_000).astype(float) ** 2).mean()) / 2e6 - 1) < 8 * math.sqrt(5 / 20_000)
