"""Adjacency: a word that must be said the same way twice."""

from typing import Any

import pytest

from dither.adjacency import ADD_REMOVE, EDGE, REPLACE_ONE, VERTEX, Adjacency, common, name, person
from dither.errors import AdjacencyMismatch, ParameterError


def test_names() -> None:
    assert [str(one) for one in (REPLACE_ONE, ADD_REMOVE, VERTEX, EDGE)] == [
        "replace one record",
        "add or remove one record",
        "add or remove one vertex",
        "add or remove one edge",
    ]
    assert str(person("user_id", 3)) == "add or remove one person (by user_id, at most 3 records each)"
    assert str(person("user_id", change="replace")) == "replace one person (by user_id)"
    assert name(None) == "unsaid"


@pytest.mark.parametrize(
    "given",
    [
        ("cat", "replace"),
        ("record", "swap"),
        ("record", "replace", "user_id"),
        ("person", "replace"),
        ("person", "replace", ""),
        ("person", "replace", "id", 0),
        ("person", "replace", "id", True),
        ("record", "replace", None, 3),
    ],
)
def test_nonsense_is_refused(given: tuple[Any, ...]) -> None:
    with pytest.raises(ParameterError):
        Adjacency(*given)


def test_common() -> None:
    assert common([]) is None
    assert common([None, None]) is None
    assert common([EDGE, EDGE]) == EDGE
    for pair in ([EDGE, VERTEX], [None, EDGE], [EDGE, None], [person("a"), person("b")], [person("a"), person("a", 1)]):
        with pytest.raises(AdjacencyMismatch) as caught:
            common(pair)
        assert name(pair[0]) in str(caught.value)
        assert name(pair[1]) in str(caught.value)
