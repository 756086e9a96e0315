"""Edges, degrees and triangles of graphs, by edge and by vertex, against every graph of a small world."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, EDGE, VERTEX
from dither.errors import AdjacencyMismatch, ParameterError
from dither.sensitivity import (
    DegreeHistogram,
    EdgeCount,
    FiniteWorld,
    Statistic,
    Triangles,
    distance_to_sensitivity,
    local_sensitivity,
    smooth_sensitivity,
    world,
)
from dither.sensitivity.graph import Graph

SMALL = {adjacency: world(4, adjacency=adjacency) for adjacency in (EDGE, VERTEX)}
STATISTICS = [
    *(EdgeCount(4, adjacency, cut) for adjacency in SMALL for cut in (None, 1, 2, 3)),
    *(DegreeHistogram(4, a, cut, norm) for a in SMALL for cut in (None, 1, 2, 3) for norm in ("l1", "l2")),
    *(Triangles(4, adjacency) for adjacency in SMALL),
]


def enumerated(statistic: Any, known: FiniteWorld) -> Any:
    """The same function in a world whose sensitivities come from their definition."""
    return known.statistic(lambda graph: statistic.value(as_data(graph)), getattr(statistic, "norm", "l1"))


def as_data(graph: Any) -> Any:
    return (sorted(graph[0]), sorted(graph[1])) if isinstance(graph, tuple) else sorted(graph)


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_no_graph_is_more_sensitive_than_said(statistic: Any) -> None:
    """A^(t) of every graph on four vertices; and said of neighbours it moves by one step at most."""
    known = SMALL[statistic.adjacency]
    truth = enumerated(statistic, known)
    assert truth.global_sensitivity <= statistic.global_sensitivity
    said = {graph: statistic.profile(as_data(graph)) for graph in known.datasets}
    for graph in known.datasets:
        steps = [said[graph].within(t) for t in range(6)]
        assert all(a <= b for a, b in pairwise(steps))
        assert steps[-1] <= statistic.global_sensitivity
        assert all(truth.sensitivity_within(graph, t) <= steps[t] for t in range(5))
        for other in known.neighbours(graph):
            assert all(said[other].within(t) <= steps[t + 1] for t in range(4))


@pytest.mark.parametrize(
    ("statistic", "less"),
    [(EdgeCount(4, VERTEX), 1.0), (EdgeCount(4, VERTEX, 2), 1.0), (DegreeHistogram(4, VERTEX, 2), 1.0),
     (DegreeHistogram(4, VERTEX), 1.0), (DegreeHistogram(4, EDGE), 1.0), (DegreeHistogram(4, EDGE, norm="l2"), 0.1),
     (Triangles(4, VERTEX), 1.0), (EdgeCount(4, EDGE), 0.5)],
    ids=repr,
)  # fmt: skip
def test_less_would_be_too_little(statistic: Any, less: float) -> None:
    """A control: what is said is attained in a world of four vertices."""
    truth = enumerated(statistic, SMALL[statistic.adjacency])
    assert truth.global_sensitivity > statistic.global_sensitivity - less


@pytest.mark.nightly
@pytest.mark.parametrize("statistic", [EdgeCount(6, VERTEX, 2), DegreeHistogram(6, VERTEX, 2)], ids=repr)
def test_no_cut_graph_on_six_vertices_is_more_sensitive(statistic: Any) -> None:
    truth = enumerated(statistic, world(6, adjacency=VERTEX))
    assert truth.global_sensitivity == statistic.global_sensitivity


def test_an_order_that_moves_with_the_data_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges taken by the degrees of their ends are not those of a neighbour."""
    kept = Graph.cut

    def by_degree(self: Graph, max_degree: int) -> Graph:
        degrees = np.bincount(self.edges.ravel(), minlength=self.vertices)
        order = np.argsort(degrees[self.edges].sum(axis=1) % 3, kind="stable")
        return kept(Graph(self.vertices, self.here, self.edges[order]), max_degree)

    monkeypatch.setattr(Graph, "cut", by_degree)
    found = [enumerated(EdgeCount(5, VERTEX, 1), world(5, adjacency=VERTEX)).global_sensitivity,
             enumerated(DegreeHistogram(5, VERTEX, 1), world(5, adjacency=VERTEX)).global_sensitivity]  # fmt: skip
    assert found[0] > 1 or found[1] > 3


def test_a_real_network() -> None:
    """Thirty thousand people: sparse, and no matrix is made."""
    count = 30_000
    rng = np.random.default_rng(5)
    edges = rng.integers(0, count, (90_000, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    graph = (range(count), edges)
    simple = {(min(u, v), max(u, v)) for u, v in edges.tolist()}
    assert EdgeCount(2 * count, VERTEX).value(graph) == len(simple)
    cut = DegreeHistogram(2 * count, VERTEX, max_degree=5)
    bars = cut.value(graph)
    assert sum(bars) == count
    assert sum(degree * bar for degree, bar in enumerate(bars)) == 2 * EdgeCount(2 * count, VERTEX, 5).value(graph)
    assert smooth_sensitivity(EdgeCount(2 * count, VERTEX), graph, "0.1") == pytest.approx(count)
    assert smooth_sensitivity(EdgeCount(2 * count, VERTEX, 5), graph, "0.1") == 5


def test_mechanisms_take_them() -> None:
    dense = (range(40), [(u, v) for u in range(40) for v in range(u)])
    counted = dp.SmoothSensitivity(EdgeCount(50, VERTEX), epsilon=1).release(dense)
    assert counted.guarantee.adjacency == VERTEX
    triangles = dp.SmoothSensitivity(Triangles(50, VERTEX), epsilon=1).release(dense)
    assert math.isfinite(triangles.value)
    tested = dp.ProposeTestRelease(Triangles(50, VERTEX), limit=1176, epsilon=1, delta=1e-6)
    assert isinstance(tested.release(dense).value, float)
    assert distance_to_sensitivity(Triangles(50, VERTEX), dense, 900) == 3  # 780 + 40 + 41 + 42
    bars = DegreeHistogram(50, VERTEX, 10)
    noisy = dp.Laplace(sensitivity=bars.global_sensitivity, epsilon=1, adjacency=VERTEX).release(bars.value(dense))
    assert len(noisy.value) == bars.dimension == 11
    with pytest.raises(ParameterError, match="one number"):
        dp.SmoothSensitivity(bars, epsilon=1)
    assert isinstance(bars, Statistic)
    assert local_sensitivity(bars, dense) == 21


@pytest.mark.parametrize(
    "data",
    [[(0, 1)], ([0, 1], [(0, 2)]), ([0, 3], []), ([0, -1], []), ([0.0], []), ([0, 1], [(0, 0)]), ([[0, 1]], []), 5],
    ids=str,
)
def test_what_is_not_a_graph_with_vertices_is_refused(data: Any) -> None:
    for statistic in (EdgeCount(3, VERTEX), DegreeHistogram(3, VERTEX), Triangles(3, VERTEX)):
        with pytest.raises(ParameterError, match="data must"):
            statistic.value(data)


@pytest.mark.parametrize("ties", [[(0, 1), (1,)], [(0, 1), 2], None, [None], 5, "ab", np.array(1)], ids=repr)
def test_what_is_no_list_of_edges_is_refused(ties: Any) -> None:
    for make in (EdgeCount, DegreeHistogram, Triangles):
        for adjacency, data in ((EDGE, ties), (VERTEX, ([0, 1, 2], ties)), (VERTEX, (ties, []))):
            with pytest.raises(ParameterError, match="data must be a list of edges"):
                make(3, adjacency).value(data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EdgeCount(1), "vertices"),
        (lambda: EdgeCount(4, EDGE, 4), "max_degree must be below"),
        (lambda: EdgeCount(4, EDGE, 0), "max_degree"),
        (lambda: DegreeHistogram(4, EDGE, math.nan), "max_degree"),  # type: ignore[arg-type]
        (lambda: DegreeHistogram(4, norm="l3"), "norm must be"),
    ],
)
def test_bad_parameters_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize("make", [EdgeCount, DegreeHistogram, Triangles])
def test_records_are_no_part_of_a_graph(make: Any) -> None:
    with pytest.raises(AdjacencyMismatch, match="Use EDGE or VERTEX"):
        make(4, ADD_REMOVE)
