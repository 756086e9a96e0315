"""Graphs of a dozen vertices, drawn at random, and one step away from them; and an attack on too little noise."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither.adjacency import EDGE, VERTEX
from dither.sensitivity import DegreeHistogram, EdgeCount, Triangles

COUNT = 12
PAIRS = list(combinations(range(COUNT), 2))
edges = st.sets(st.sampled_from(PAIRS), max_size=40)
cuts = st.sampled_from([None, 1, 3, 8])


def distance(one: Any, other: Any, norm: str) -> float:
    moves = np.abs(np.atleast_1d(one).astype(float) - np.atleast_1d(other))
    return float(moves.sum() if norm == "l1" else np.sqrt(np.square(moves).sum()))


def assert_one_step(statistic: Any, here: Any, there: Any) -> None:
    """The value moves by LS at most, from both sides, and A^(t) of one is at most A^(t + 1) of the other."""
    moved = distance(statistic.value(here), statistic.value(there), getattr(statistic, "norm", "l1"))
    said = [[statistic.sensitivity_within(data, t) for t in range(4)] for data in (here, there)]
    for one, other in (said, said[::-1]):
        assert moved <= one[0] <= statistic.global_sensitivity
        assert all(one[t] <= other[t + 1] for t in range(3))


@pytest.mark.property
@settings(max_examples=60)
@given(edges, st.sampled_from(PAIRS), cuts)
def test_one_edge_moves_no_more_than_is_said(graph: set[tuple[int, int]], edge: tuple[int, int], cut: Any) -> None:
    here, there = sorted(graph), sorted(graph ^ {edge})
    assert_one_step(EdgeCount(COUNT, EDGE, cut), here, there)
    assert_one_step(Triangles(COUNT, EDGE), here, there)
    for norm in ("l1", "l2"):
        assert_one_step(DegreeHistogram(COUNT, EDGE, cut, norm), here, there)


@pytest.mark.property
@settings(max_examples=60)
@given(edges, st.sets(st.integers(0, COUNT - 1)), st.integers(0, COUNT - 1), cuts)
def test_one_vertex_moves_no_more_than_is_said(
    graph: set[tuple[int, int]], some: set[int], goes: int, cut: Any
) -> None:
    there = some | {goes}
    with_it = (sorted(there), sorted(edge for edge in graph if set(edge) <= there))
    without = (sorted(there - {goes}), [edge for edge in with_it[1] if goes not in edge])
    assert_one_step(EdgeCount(COUNT, VERTEX, cut), with_it, without)
    assert_one_step(Triangles(COUNT, VERTEX), with_it, without)
    for norm in ("l1", "l2"):
        assert_one_step(DegreeHistogram(COUNT, VERTEX, cut, norm), with_it, without)


@pytest.mark.property
@given(edges)
def test_triangles_are_counted(graph: set[tuple[int, int]]) -> None:
    truth = sum(all(pair in graph for pair in combinations(three, 2)) for three in combinations(range(COUNT), 3))
    assert (
        Triangles(COUNT).value(sorted(graph)) == Triangles(COUNT, VERTEX).value((range(COUNT), sorted(graph))) == truth
    )


def test_triangles_of_many_people_need_no_matrix() -> None:
    """Thirty thousand in a ring, each tied to the next two: as many triangles."""
    count = 30_000
    ring = [(v, (v + step) % count) for v in range(count) for step in (1, 2)]
    assert Triangles(count, VERTEX).value((range(count), ring)) == count


def test_an_audit_finds_noise_for_an_edge_where_a_vertex_goes() -> None:
    """The middle of a star takes ten edges along. False alarms: 2e-11 by the audit's alpha."""
    star = (range(11), [(0, v) for v in range(1, 11)])
    rest: Any = (range(1, 11), [])

    def noisy(statistic: Any, sensitivity: int) -> Any:
        mechanism = dp.Laplace(sensitivity=sensitivity, epsilon=1, adjacency=VERTEX)
        return lambda graph: mechanism.release(int(statistic.value(graph))).value

    for statistic, enough in ((EdgeCount(20, VERTEX), 19), (EdgeCount(20, VERTEX, 3), 3)):
        assert statistic.global_sensitivity == enough
        right = noisy(statistic, enough)
        assert not dp.audit.attack(right, (star, rest), epsilon=1, samples=2000, alpha="1e-11").violated
    assert dp.audit.attack(
        noisy(EdgeCount(20, VERTEX), 1), (star, rest), epsilon=1, samples=2000, alpha="1e-7"
    ).violated
