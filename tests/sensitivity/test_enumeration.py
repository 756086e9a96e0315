"""Any function over a small universe: sensitivities by enumeration, against other code and against the definition."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, EDGE, REPLACE_ONE, VERTEX, Adjacency, person
from dither.audit.claims import worlds
from dither.errors import ParameterError
from dither.sensitivity import Median, Triangles, local_sensitivity, smooth_sensitivity, world

UNIVERSE = [0, 1, 3, 7]


def triangles(edges: Any) -> int:
    ties = set(edges)
    names = sorted({v for edge in ties for v in edge})
    return sum((a, b) in ties and (b, c) in ties and (a, c) in ties for a in names for b in names for c in names)


def degrees(graph: Any) -> tuple[int, ...]:
    """How many vertices have 0, 1, 2 or 3 edges."""
    vertices, edges = graph
    counts = Counter(sum(v in edge for edge in edges) for v in vertices)
    return tuple(counts[degree] for degree in range(4))


@pytest.mark.parametrize("adjacency", [REPLACE_ONE, ADD_REMOVE])
def test_a_median_is_that_of_the_library(adjacency: Adjacency) -> None:
    """A^(t) and S_β of every dataset that is not cut off by the size of the world."""
    median, size = Median((0, 7), adjacency=adjacency), 4 if adjacency == REPLACE_ONE else 6
    mine = world(UNIVERSE, size, adjacency).statistic(lambda x: median.value(list(x)))
    for data in world(UNIVERSE, 4, adjacency).datasets:
        records: Any = list(data)  # type: ignore[call-overload]
        for distance in range(2 if adjacency == ADD_REMOVE else 4):
            found, known = mine.sensitivity_within(data, distance), median.sensitivity_within(records, distance)
            assert found <= known  # the library knows all numbers between 0 and 7, this world four of them
        assert mine.value(data) == median.value(records)
    assert mine.global_sensitivity == 7


@pytest.mark.parametrize(("ours", "other", "f"), [
    (world(UNIVERSE, 3), worlds.replace_one(UNIVERSE, 3), lambda x: sum(x) ** 2),
    (world(UNIVERSE, 3, ADD_REMOVE), worlds.add_remove(UNIVERSE, 3), lambda x: sum(x) ** 2),
    (world(4, adjacency=EDGE), worlds.by_edge(4), triangles),
    (world(3, adjacency=VERTEX), worlds.by_vertex(3), lambda graph: len(graph[1])),
    (world(4, adjacency=VERTEX), worlds.by_vertex(4), lambda graph: triangles(graph[1])),
], ids=["replace", "add or remove", "triangles by edge", "edges by vertex", "triangles by vertex"])  # fmt: skip
def test_every_dataset_has_the_sensitivities_of_the_definition(ours: Any, other: Any, f: Any) -> None:
    """LS, A^(t) and S_β against the naive worlds of the claims, which share no code with it."""
    mine, local = ours.statistic(f), other.local(f, lambda a, b: abs(a - b))
    within, smooth = other.within(local), other.smooth(local, Fraction(1, 2))
    assert set(ours.datasets) == set(other.neighbours)
    assert mine.global_sensitivity == max(local.values())
    for data in ours.datasets[:: max(1, len(ours.datasets) // 150)]:
        assert local_sensitivity(mine, data) == local[data]
        assert [mine.sensitivity_within(data, t) for t in range(len(within[data]))] == within[data]
        assert smooth_sensitivity(mine, data, "1/2") == pytest.approx(float(smooth[data]), rel=1e-9)


def test_triangles_are_those_of_the_library() -> None:
    mine, known = world(4, adjacency=EDGE).statistic(triangles), Triangles(4)
    for edges in mine.world.datasets:
        data: Any = sorted(edges)  # type: ignore[call-overload]
        assert [mine.sensitivity_within(edges, t) for t in range(4)] == [
            known.sensitivity_within(data, t) for t in range(4)
        ]


def test_vectors_have_a_norm() -> None:
    """A histogram moves one count down and one up; the degree histogram, all counts, by one vertex."""
    bars = world("abc", 3)

    def histogram(x: Any) -> tuple[int, ...]:
        return tuple(x.count(letter) for letter in "abc")

    assert [bars.sensitivity(histogram, norm) for norm in ("l1", "linf")] == [2, 1]
    assert bars.sensitivity(histogram, "l2") == pytest.approx(math.sqrt(2), rel=1e-15)
    assert bars.sensitivity(histogram, "l2") ** 2 >= 2
    assert bars.sensitivity(lambda x: [3 * count for count in histogram(x)], "l2") == pytest.approx(math.sqrt(18))
    assert bars.sensitivity(histogram, lambda a, b: sum(x != y for x, y in zip(a, b, strict=True))) == 2
    vertex, edge = world(4, adjacency=VERTEX), world(4, adjacency=EDGE)
    assert vertex.sensitivity(degrees) == 7
    assert edge.sensitivity(lambda edges: degrees((range(4), edges))) == 4
    lonely = vertex.statistic(degrees)
    assert local_sensitivity(lonely, ([0], [])) == 3
    assert smooth_sensitivity(lonely, ([0], []), 1) == pytest.approx(max(3, 5 / math.e, 7 / math.e**2), rel=1e-9)


def test_mechanisms_take_it() -> None:
    middle = world(range(6), 5).statistic(lambda x: sorted(x)[2])
    smooth = dp.SmoothSensitivity(middle, epsilon=1)
    assert smooth.release([1, 2, 3, 4, 5]).event == smooth.event
    tested = dp.ProposeTestRelease(middle, limit=2, epsilon=5, delta="0.01")
    assert isinstance(tested.release([3, 3, 3, 3, 3]).value, float | dp.NoAnswer)
    vectors = world("ab", 2).statistic(lambda x: (x.count("a"), x.count("b")))
    for build in (
        lambda: dp.SmoothSensitivity(vectors, epsilon=1),
        lambda: dp.ProposeTestRelease(vectors, limit=2, epsilon=5, delta="0.01"),
    ):
        with pytest.raises(ParameterError, match="one number"):
            build()


@pytest.mark.parametrize("norm", [lambda a, b: int(a != b), lambda a, b: abs(a - b)], ids=["discrete", "absolute"])
def test_no_noise_is_scaled_in_a_metric_of_ones_own(norm: Any) -> None:
    """The sum moves by 1000, which the discrete metric calls 1: noise for 1 would show the sum."""
    own, real = (world([0, 1000], 3).statistic(sum, norm=norm) for norm in (norm, "l1"))
    assert own.dimension is None
    mechanisms: list[Any] = [
        lambda statistic: dp.SmoothSensitivity(statistic, epsilon=1),
        lambda statistic: dp.ProposeTestRelease(statistic, limit=2, epsilon=5, delta="0.01"),
    ]
    for make in mechanisms:
        with pytest.raises(ParameterError, match=r"one number whose sensitivity is in \|a − b\|.*Leave norm"):
            make(own)
        assert make(real).statistic.global_sensitivity == 1000


@pytest.mark.parametrize(("build", "message"), [
    (lambda: world([], 2), "universe"),
    (lambda: world([1, 1], 2), "universe"),
    (lambda: world([0, 1]), "number of records"),
    (lambda: world([0, 1], 0), "n must be"),
    (lambda: world([0, 1], True), "n must be"),
    (lambda: world(3, 2, EDGE), "number of records"),
    (lambda: world(range(10), 9), "at most 200000"),
    (lambda: world(8, adjacency=EDGE), "at most 200000"),
    *((lambda size=size, adjacency=adjacency: world(range(size), 10**12, adjacency), "at most 200000")
      for size in (2, 10**5) for adjacency in (REPLACE_ONE, ADD_REMOVE)),
    (lambda: world(range(10**5), 10**4), "at most 200000"),
    (lambda: world([0], 10**12, ADD_REMOVE), "at most 200000"),
    *((lambda size=size, adjacency=adjacency: world(size, adjacency=adjacency), "at most 200000")
      for size in (21, 10**12, range(10**4)) for adjacency in (EDGE, VERTEX)),
    (lambda: world([0, 1], 2, person("id")), "adjacency must be"),
    (lambda: world([0, 1], 2).sensitivity(lambda x: math.nan), "finite number"),
    (lambda: world([0, 1], 2).sensitivity(lambda x: x[: x[0] + 1]), "as many numbers"),
    (lambda: world([0, 1], 2).sensitivity(sum, "l3"), "norm must be"),
    (lambda: world([0, 1], 2).sensitivity(sum, lambda a, b: -1), "negative"),
    (lambda: world([0, 1], 2).statistic(sum).value([0, 5]), "datasets of the world"),
    (lambda: world([0, 1], 2).statistic(sum).value([0]), "datasets of the world"),
    (lambda: world([0, 1], 2).statistic(sum).value(None), "datasets of the world"),
])  # fmt: skip
def test_what_is_refused(build: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build()


def test_floats_count_with_their_binary_value() -> None:
    """0.1 + 0.2 is not 0.3, and the sensitivity of what is released must say so."""
    odd = world([0, 1], 1).statistic(lambda x: 0.1 + 0.2 if x[0] else 0.3)
    assert 0 < odd.global_sensitivity < 1e-16
    assert odd.exact_value([1]) == Fraction(0.1 + 0.2)
