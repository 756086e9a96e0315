"""Selection from an interval: exact pieces, exact edges, and errors that say nothing of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.events import Selection
from dither.mechanisms import Exponential
from dither.mechanisms.piecewise_scores import Pieces
from dither.noise.race import Race
from tests.mechanisms.entropy_use import nothing_drawn


def test_the_event_of_an_interval_says_nothing_of_candidates() -> None:
    """Their number may be data, and is not the one that was announced."""
    mechanism = Exponential(sensitivity=1, epsilon=1, candidates=4)
    release = mechanism.release_interval([0, 1, 2], [0, 1])
    assert isinstance(release.event, Selection)
    assert release.event.candidates is None
    assert mechanism.release([1, 2, 3, 4]).event == mechanism.event


def test_pieces_hold_every_grid_point_once() -> None:
    pieces = Pieces.of([0.0, 0.3, 0.3, 0.7, 1.0], [1.0, 2.0, 3.0, 4.0])
    assert pieces.grid.exponent == -40
    assert pieces.scores.values.tolist() == [1.0, -math.inf, 3.0, 4.0]
    weights = [int(pieces.scores.weight(i)) for i in (0, 2, 3)]
    assert sum(weights) == 2**40 + 1, "both ends are in"
    assert weights[0] == math.ceil(Fraction(0.3) * 2**40)


def test_pieces_far_from_zero_are_exact() -> None:
    pieces = Pieces.of([1e9, 1e9 + 0.25, 1e9 + 1], [0.0, 1.0])
    assert [int(pieces.scores.weight(i)) for i in range(2)] == [2**38, 3 * 2**38 + 1]
    tiny = Pieces.of([0.0, 5e-324, 1.0], [0.0, 1.0])
    assert int(tiny.scores.weight(0)) == 1, "0 itself lies before the first edge above it"


def test_the_sensitivity_of_the_median_depends_on_who_is_a_neighbour() -> None:
    """The score −|rank − n/2| of every point between and beyond the data: ½ for add or remove, 1 for replace."""

    def scores(data: tuple[int, ...]) -> list[Fraction]:
        return [-abs(sum(2 * x < y for x in data) - Fraction(len(data), 2)) for y in range(-1, 9)]

    def largest_move(pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> Fraction:
        return max(abs(s - t) for one, other in pairs for s, t in zip(scores(one), scores(other), strict=True))

    datasets = [data for n in range(4) for data in itertools.product(range(4), repeat=n)]
    added = ((data, (*data, x)) for data in datasets for x in range(4))
    replaced = ((data, (*data[1:], x)) for data in datasets if data for x in range(4))
    assert 2 * largest_move(added) == largest_move(replaced) == 1
    page = (Path(__file__).parents[2] / "docs/mechanisms/exponential.md").read_text(encoding="utf-8")
    assert "sensitivity=0.5, epsilon=1, adjacency=ADD_REMOVE" in page
    assert "under replace-one Δ = 1" in page


def test_a_point_lies_in_its_piece() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    for _ in range(50):
        assert 2.0 <= mechanism.release_interval([0, 2, 3, 10], [0, 1e6, 0]).value < 3.0
        assert 0.0 <= mechanism.release_interval([0.0, 1.0], [0.0]).value <= 1.0
    halves = [mechanism.release_interval([0, 1, 4], [2 * math.log(3), 0.0]).value < 1 for _ in range(2000)]
    assert 0.35 < np.mean(halves) < 0.65, "width 1 at three times the weight, against width 3: a fair coin"


@pytest.mark.parametrize("scores", [[2**60 + 129, 2**60, 0.5], [2**63 + 1, 2**63, -1]], ids=str)
def test_integer_scores_of_an_interval_are_exact(scores: list[Any]) -> None:
    """As doubles, the first two would be 256 or 0 apart."""
    laid = Pieces.of([0, 1, 2, 3], scores).scores
    assert [laid.gap(i) for i in range(3)] == [Fraction(scores[0]) - Fraction(x) for x in scores]
    mechanism = Exponential(sensitivity=1, epsilon=1000)
    assert {mechanism.release_interval([0, 1, 2, 3], scores).value < 1 for _ in range(20)} == {True}


def test_edges_are_exact() -> None:
    """None of them but the last is a double, and next to it NumPy would make doubles of all."""
    edges: list[Any] = [2**60 + 129, 2**60 + 130, 2**60 + Fraction(401, 3), float(2**60 + 512)]
    step = Pieces.of(edges, [0, 0, 0]).grid.step
    for some in (edges, [edges[0], edges[1], edges[3]]):
        starts = [math.ceil(Fraction(x) / step) for x in some]
        assert Pieces.of(some, [0] * (len(some) - 1)).starts.tolist() == [*starts[:-1], starts[-1] + 1]
    with pytest.raises(ParameterError, match="masked"):
        Pieces.of(np.ma.array([0.0, 1.0]), [0])


@pytest.mark.parametrize("edges", [[0, 1], [0, 0.125, 1, 12345]])
def test_no_error_tells_how_many_edges_there_are(edges: Any) -> None:
    """Those between are data."""
    with pytest.raises(ParameterError) as refused:
        Pieces.of(edges, [0, 1])
    assert not any(digit in str(refused.value) for digit in "0123456789")
    with pytest.raises(ParameterError) as refused:
        Pieces.of([edges], [0])
    assert not any(digit in str(refused.value) for digit in "0123456789")


@pytest.mark.parametrize(
    ("edges", "scores"),
    [
        ([0, 1], [0, 1]),
        ([1, 0], [0]),
        ([0, 0], [0]),
        ([0], []),
        ([0, math.nan], [0]),
        ([-math.inf, 0], [0]),
        ([0, 1], [math.nan]),
        ([0, "b"], [0]),
        ([0, 1e308], [0]),
        ([0, 2, 1], [0, 0]),
    ],
    ids=str,
)
def test_bad_pieces_are_refused(edges: Any, scores: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError):
        Exponential(sensitivity=1, epsilon=1).release_interval(edges, scores)


# ----------------------------------------------------------------------- base measures


def steep(y: float) -> float:
    return math.exp(-5 * y)


@pytest.mark.parametrize("density", [lambda y: y + 0.01, steep, lambda y: 1e300 * steep(y), lambda y: 1.0 + (y > 0.7)])
def test_a_density_weighs_pieces_by_its_integral(density: Any) -> None:
    """P(piece) ∝ e^{q/b} ∫ w, with the integral by another rule; within the error of 8,192 steps."""
    mechanism, edges, scores = Exponential(sensitivity=1, epsilon=2), [0, 0.25, 0.5, 0.5, 1], [0.0, 1.5, 9.0, -2.0]
    fine = np.linspace(0, 1, 400_001)
    middles = (fine[:-1] + fine[1:]) / 2
    weights = np.array([density(y) for y in middles.tolist()])
    shares = [
        math.exp(q) * weights[(middles >= a) & (middles < b)].sum()
        for a, b, q in zip(edges[:-1], edges[1:], scores, strict=True)
    ]
    found = [float(chance) for chance in mechanism.interval_probabilities(edges, scores, density=density)]
    assert found == pytest.approx([share / sum(shares) for share in shares], rel=2e-4)
    assert sum(found) == pytest.approx(1, abs=1e-12)


def test_where_data_cut_the_cells_changes_the_weight_of_no_point() -> None:
    """Exactly: the weights of the pieces on both sides of any place add up to the same, however they are cut."""
    whole = Pieces.of([0, 3], [0], steep)
    cut = Pieces.of([0, 0.123456789, 0.1234567891, 1 / 3, 2.999999, 3], [0] * 5, steep)
    total = [sum(pieces.scores.weight(i) for i in range(len(pieces.scores))) for pieces in (whole, cut)]
    assert total[0] == total[1]
    for pieces in (whole, cut):
        sizes = np.diff(pieces.starts)
        levels = [pieces.scores.weight(i) / int(sizes[i]) for i in range(len(sizes))]
        assert all(level == Fraction(float(np.float32(level))) for level in levels), "24 binary digits and no more"


@pytest.mark.parametrize("moved", [1, -1])
def test_neighbours_keep_epsilon_with_any_density(moved: int) -> None:
    """The score of a median under add or remove, at every place where a piece of either begins."""
    mechanism = Exponential(sensitivity="1/2", epsilon=1)
    data = [0.2, 0.4, 0.9]
    other = [*data, 0.5] if moved > 0 else data[1:]
    cuts = [0.0, *sorted({*data, *other}), 1.0]

    def chances(records: list[float], bent: Fraction = Fraction(1)) -> list[float]:
        scores = [bent * -abs(sum(x <= a for x in records) - Fraction(len(records), 2)) for a in cuts[:-1]]
        return [float(chance) for chance in mechanism.interval_probabilities(cuts, scores, density=steep)]

    def loss(bent: Fraction) -> float:
        pairs = zip(chances(data, bent), chances(other, bent), strict=True)
        return max(abs(math.log(p / q)) for p, q in pairs)

    assert loss(Fraction(1)) <= 1
    assert loss(Fraction(4)) > 1, "a control: scores that move four times as much"


def test_points_follow_the_density() -> None:
    """∫ y dy over [0, 1] is a quarter of that over [0, 2]: 1,500 draws stay within 5.6 standard deviations (2e-8)."""
    pieces, race = Pieces.of([0, 1, 2], [0, 0], lambda y: y), Race("gumbel", Fraction(2))
    draws = np.array([pieces.point_in(race.winner(pieces.scores)) for _ in range(1_500)])
    room = 5.6 * math.sqrt(1_500 * 3 / 16)
    assert abs((draws < 1).sum() - 375) < room
    assert abs((draws < math.sqrt(2)).sum() - 750) < 5.6 * math.sqrt(375)
    assert 750 - 375 > 2 * room, "a control: without a density it would be a half"
    assert 0 <= Exponential(sensitivity=1, epsilon=1).release_interval([0, 2], [0], density=steep).value <= 2


@pytest.mark.parametrize(
    "density", [lambda y: 0.0, lambda y: -1.0, lambda y: math.nan, lambda y: math.inf, lambda y: y - 1]
)
def test_what_is_no_density_is_refused(density: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match="density must be"):
        Exponential(sensitivity=1, epsilon=1).release_interval([0, 1, 2], [0, 0], density=density)


@pytest.mark.parametrize(("density", "message"), [
    ("y", "density must be a function of one value, got the type str"),
    (lambda: 1.0, "density must be a function of one value"),
    (lambda y: "a", "fails at 0.000.* .ValueError"),
    (lambda y: None, "fails at 0.000.* .TypeError"),
    (lambda y: math.exp(1000 * y), "fails at 0.7.* .OverflowError"),
    (lambda y: 1 / 0, "fails at 0.000.* .ZeroDivisionError"),
])  # fmt: skip
def test_a_density_that_fails_says_where(density: Any, message: str) -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match=message):
        Exponential(sensitivity=1, epsilon=1).release_interval([0, 1, 2], [0, 0], density=density)
