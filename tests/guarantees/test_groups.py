"""Group privacy: against chains of neighbours that are as bad as each promise allows, and against less."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.guarantees import hockey_stick
from dither.ledger import Ledger
from dither.pairs import ProfileOf
from dither.pairs.finite import finite
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair

SIZES = (1, 2, 3, 10)


@pytest.mark.parametrize("size", SIZES)
def test_groups_of_gaussian_and_laplace_noise_are_shifts(size: int) -> None:
    """A group moves the value by k: what that costs is known exactly, and the promise is that or a little more."""
    shifted = ProfileOf(GaussianPair(Fraction(size**2, 100)))
    for epsilon in (0.1, 1, 3):
        assert dp.GaussianDP("0.1").group(size).delta(epsilon) == pytest.approx(shifted.delta(epsilon), rel=1e-12)
        assert dp.ZCDP("0.005").group(size).delta(epsilon) >= shifted.delta(epsilon)
    assert dp.ZCDP("0.005").group(size) == dp.ZCDP(Fraction(size**2, 200))
    moved = ProfileOf(LaplacePair(Fraction(size, 10)))
    assert dp.PureDP("0.1").group(size).epsilon(0) == pytest.approx(moved.epsilon(0))
    assert ProfileOf(LaplacePair(Fraction(1, 10))).group(size).epsilon(0) == pytest.approx(moved.epsilon(0))


@pytest.mark.parametrize("size", [100, 1_000, 10**6])
def test_a_large_group_may_learn_all(size: int) -> None:
    assert dp.ApproxDP(1, 1e-6).group(size) == dp.ApproxDP(size, 1)


@pytest.mark.parametrize("epsilon", ["0", "0.5", "1"])
@pytest.mark.parametrize("size", SIZES[1:])
def test_a_chain_of_worst_neighbours_reaches_the_promise(epsilon: str, size: int) -> None:
    """P_j(E) = e^ε P_{j+1}(E) + δ at each step: after k steps it is what `group` promises, so nothing less is true."""
    delta, start = Fraction(1, 10**6), 1e-7
    odds, chances = math.exp(float(epsilon)), [start]
    for _ in range(size):
        chances.append(odds * chances[-1] + float(delta))
    promised = dp.ApproxDP(epsilon, delta).group(size)
    grown = odds**size
    assert chances[-1] == pytest.approx(grown * start + promised.delta(Fraction(epsilon) * size), rel=1e-9)
    laws = [[Fraction(p), 1 - Fraction(p)] for p in chances]
    found = hockey_stick(laws[-1], laws[0], Fraction(epsilon) * size)
    assert 0.99 * found <= promised.delta(Fraction(epsilon) * size) <= found * (1 + 1e-9) + 1e-15


def test_total_variation_adds_up_and_stops_at_one() -> None:
    assert dp.TVStable("0.3").group(3) == dp.TVStable("0.9")
    assert dp.TVStable("0.3").group(4) == dp.TVStable(1)
    assert dp.ApproxDP(5, "0.1").group(9).delta(45) == 1


def test_the_adjacency_is_that_of_nothing() -> None:
    assert dp.PureDP(1, adjacency=dp.adjacency.ADD_REMOVE).group(2).adjacency is None


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2", math.nan])
def test_what_is_no_group(size: Any) -> None:
    with pytest.raises(ParameterError):
        dp.PureDP(1).group(size)


def test_what_has_no_rule_says_so() -> None:
    with pytest.raises(ParameterError, match="no rule for groups"):
        dp.RenyiDP({2: 1}).group(2)


def test_a_profile_of_added_noise_is_that_of_a_longer_move() -> None:
    pair, far = dp.Gaussian(sensitivity=1, sigma=2).guarantee.group(3), dp.GaussianDP("1.5")
    assert pair.delta(1) == pytest.approx(far.delta(1), rel=1e-9)
    assert pair.delta(1) >= far.delta(1) * (1 - 1e-12)
    whole = dp.Gaussian(sensitivity=1, sigma=2).release(1).guarantee.group(3)
    assert whole.delta(1) == dp.Gaussian(sensitivity=3, sigma=2).release(1).guarantee.delta(1)


def test_a_profile_of_ones_own_mechanism_is_chained() -> None:
    """Two steps between laws of losses ±ln 2 and ±ln 3/2: never below the worst chain, never above 2 ln 2."""
    table = {"a": {"x": "1/2", "y": "1/2"}, "b": {"x": "1/4", "y": "3/4"}}
    pair = dp.FiniteMechanism(table).guarantee.group(2)
    assert pair.epsilon(0) == pytest.approx(2 * math.log(2), rel=1e-9)
    assert pair.delta("0.1") >= 0.5 - 0.25 * math.exp(0.1)


def test_steps_may_go_in_either_direction() -> None:
    """Both ends are as far from the middle as the pair allows, in the order that it states or in the other one."""
    left, middle, right = ["100/101", "1/101"], ["1/2", "1/2"], ["1/101", "100/101"]
    promise = ProfileOf(finite(left, middle))
    for one, other in ((left, middle), (middle, left), (middle, right), (right, middle)):
        for epsilon in ("0", "0.5", "3"):
            assert promise.delta(epsilon) >= hockey_stick(one, other, epsilon) - 1e-15
    for epsilon in ("0", "0.5", "3"):
        assert promise.group(2).delta(epsilon) >= hockey_stick(left, right, epsilon)
    assert promise.group(2).epsilon(0) >= 4.6051


def test_post_processing_costs_nothing_and_has_no_interval() -> None:
    release = dp.Laplace(sensitivity=1, epsilon="0.5").release(100)
    mapped = release.map(lambda value: max(0, value) // 10)
    assert mapped.value == max(0, release.value) // 10
    assert (mapped.event, mapped.guarantee) == (release.event, release.guarantee)
    assert dp.check_certificate(mapped.certificate()).guarantee == dp.PureDP("0.5")
    assert mapped.certificate() == release.certificate()
    with pytest.raises(ParameterError, match="post-processed"):
        mapped.interval()
    assert mapped.map(str).value == str(mapped.value)
    assert "value=" in repr(mapped)


def test_a_post_processed_answer_has_the_certificate_of_the_answer() -> None:
    """Of an estimate with the split of its budget, of a table with the entry that paid for it."""
    estimate = dp.stats.mean(range(100), epsilon=1, bounds=(0, 100))
    assert estimate.map(round).map(str).certificate() == estimate.certificate()
    data = dp.Dataset(
        pa.table({"age": [30, 40] * 50}), unit=dp.Rows(), budget=dp.PureDP(1), ledger=Ledger(":memory:"), identity="a"
    )
    table = data.agg(n=dp.count()).release(epsilon=1)
    mapped = table.map(lambda answer: answer.num_rows)
    assert mapped.value == 1
    assert mapped.certificate() == table.certificate()
    assert mapped.certificate()["ledger_entry"]["number"] == table.entry.number
