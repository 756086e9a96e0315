"""What is computed once: for an instance, or for all instances that are equal."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import dither as dp
from dither.adjacency import REPLACE_ONE
from dither.exact import once, shared

COMPUTED: list[int] = []


@dataclass(frozen=True)
class Mine:
    number: int

    @once
    def own(self) -> list[int]:
        """A list of its own."""
        COMPUTED.append(self.number)
        return [self.number]

    @shared
    def common(self) -> list[int]:
        """One list for all that are equal."""
        COMPUTED.append(self.number)
        return [self.number]


def test_an_instance_computes_once() -> None:
    COMPUTED.clear()
    here, there = Mine(1), Mine(1)
    assert here.own is here.own
    assert here.own is not there.own
    assert COMPUTED == [1, 1]


def test_equal_instances_share_and_others_do_not() -> None:
    COMPUTED.clear()
    assert Mine(2).common is Mine(2).common
    assert Mine(3).common == [3]
    assert COMPUTED == [2, 3]
    assert vars(Mine)["common"].__doc__ == "One list for all that are equal."


@pytest.mark.parametrize(
    "other",
    [
        dp.Laplace(sensitivity=1, epsilon=2),
        dp.Laplace(sensitivity=2, epsilon=1),
        dp.Laplace(sensitivity=1, epsilon=1, dimension=2),
        dp.Laplace(sensitivity=1, scale=1),
        dp.Laplace(sensitivity=1, epsilon=1, adjacency=REPLACE_ONE),
    ],
    ids=repr,
)
def test_mechanisms_share_calibrations_only_if_they_are_equal(other: dp.Laplace) -> None:
    one = dp.Laplace(sensitivity=1, epsilon=1)
    assert one.for_reals is dp.Laplace(sensitivity="1", epsilon=1.0).for_reals
    assert one.for_reals is not other.for_reals
