"""The small worlds in which D5 and D6 are checked hold everything, and their definitions notice what is left out."""

from fractions import Fraction
from typing import Any

import pytest

from dither import adjacency
from dither.audit.claims import worlds
from dither.audit.claims.worlds import World

WORLDS: dict[str, tuple[World[Any], int, int]] = {
    # how many datasets, and how many neighbours the one with most has
    "replace": (worlds.replace_one(range(4), 3), 4**3, 3 * 3),
    "add or remove": (worlds.add_remove(range(3), 4), 1 + 3 + 6 + 10 + 15, 3 + 3),
    "person": (worlds.persons(range(3), people=2, max_records=2), (1 + 3 + 6) ** 2, 2 * 9),
    "edge": (worlds.by_edge(4), 2**6, 6),
    "vertex": (worlds.by_vertex(4), 1 + 4 + 6 * 2 + 4 * 2**3 + 2**6, 3 + 2**3),
}


@pytest.mark.parametrize("name", WORLDS)
def test_it_holds_every_dataset_and_neighbours_are_mutual(name: str) -> None:
    world, datasets, most = WORLDS[name]
    assert len(world.neighbours) == datasets
    assert max(map(len, world.neighbours.values())) == most
    for data, others in world.neighbours.items():
        assert data not in others
        assert all(data in world.neighbours[other] for other in others)


@pytest.mark.parametrize("name", WORLDS)
def test_distances_are_symmetric_and_keep_the_triangle_inequality(name: str) -> None:
    world = WORLDS[name][0]
    start, *_, end = world.neighbours
    from_start, from_end = world.distances[start], world.distances[end]
    assert from_start[end] == from_end[start]
    for data, steps in from_start.items():
        assert from_start[end] <= steps + from_end[data]
        assert (steps == 1) == (data in world.neighbours[start])


def distance(x: int, y: int) -> int:
    return abs(x - y)


def test_sensitivities_of_a_world_that_can_be_seen_at_a_glance() -> None:
    """A path a - b - c with the answers 0, 1, 3."""
    path = World(adjacency.REPLACE_ONE, {"a": frozenset("b"), "b": frozenset("ac"), "c": frozenset("b")})
    local = path.local({"a": 0, "b": 1, "c": 3}.__getitem__, distance)
    assert local == {"a": 1, "b": 2, "c": 2}
    assert path.sensitivity({"a": 0, "b": 1, "c": 3}.__getitem__, distance) == 2
    assert path.within(local) == {"a": [1, 2, 2], "b": [2, 2], "c": [2, 2, 2]}
    smooth = path.smooth(local, Fraction(1, 10))
    assert float(smooth["a"]) == pytest.approx(2 * 0.9048374180359595)
    assert (float(smooth["b"]), float(smooth["c"])) == (2, 2)
    assert float(path.smooth(local, Fraction(5))["a"]) == 1
