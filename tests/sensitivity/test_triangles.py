"""Triangles of graphs, against all graphs on five vertices."""

import numpy as np
import pytest

from dither.errors import ParameterError
from dither.sensitivity import Triangles, distance_to_sensitivity, smooth_sensitivity
from tests.oracle import discounts, sensitivities


def test_every_graph_on_five_vertices() -> None:
    statistic, value = Triangles(5), discounts.triangles(5)
    truth = sensitivities.within(value, discounts.graphs(5), 7)
    for graph in list(truth[0])[::3]:
        edges = sorted(graph)
        profile = statistic.profile(edges)
        assert statistic.value(edges) == value(graph)
        assert [profile.within(t) for t in range(8)] == [layer[graph] for layer in truth], edges


def test_the_order_and_the_repetition_of_edges_mean_nothing() -> None:
    one, other = [(0, 1), (1, 2), (2, 0)], np.array([(1, 0), (0, 1), (2, 1), (0, 2)])
    assert Triangles(4).value(one) == Triangles(4).value(other) == 1
    assert Triangles(4).sensitivity_within(one, 1) == Triangles(4).sensitivity_within(other, 1)


def test_smooth_and_distance() -> None:
    empty: list[tuple[int, int]] = []
    assert Triangles(10).value(empty) == 0
    # Two edges are needed for each triangle that one more edge would close: A^(t) = ⌊t/2⌋.
    assert distance_to_sensitivity(Triangles(10), empty, 2) == 6
    assert smooth_sensitivity(Triangles(10), empty, 1) == pytest.approx(np.exp(-2), rel=1e-12)


@pytest.mark.parametrize(
    "data", [[(0, 3)], [(0, -1)], [(1, 1)], [(0.0, 1.0)], [0, 1], [(0, 1, 2)], [("a", "b")], [(True, False)]], ids=str
)
def test_what_is_not_a_graph_is_refused(data: list[object]) -> None:
    with pytest.raises(ParameterError, match="data must"):
        Triangles(3).value(data)


def test_too_few_vertices_are_refused() -> None:
    with pytest.raises(ParameterError, match="vertices"):
        Triangles(2)
