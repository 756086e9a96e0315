"""Histograms: who can move which counts, and the exact threshold of bins that are discovered."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, person
from dither.errors import ParameterError
from dither.events import GaussianNoise, LaplaceNoise
from dither.guarantees import ApproxDP, PureDP
from dither.mechanisms import Histogram, Release
from dither.mechanisms.discovery_threshold import Discovery
from tests.mechanisms.entropy_use import nothing_drawn
from tests.oracle.lattice_sums import Masses, masses, profile_of, thresholded_profile


def test_known_bins_have_the_sensitivities_of_claim_c10() -> None:
    one, two = Histogram(bins=3, epsilon=1), Histogram(bins=3, epsilon=1, adjacency=REPLACE_ONE)
    assert one.event == LaplaceNoise(Fraction(1), Fraction(1), Fraction(1), ADD_REMOVE)
    assert two.event == LaplaceNoise(Fraction(2), Fraction(2), Fraction(1), REPLACE_ONE)
    assert one.guarantee == PureDP(1, adjacency=ADD_REMOVE)
    assert two.guarantee == PureDP(1, adjacency=REPLACE_ONE)
    gaussian = Histogram(bins=3, epsilon=1, delta="1e-6", noise="gaussian", adjacency=REPLACE_ONE)
    assert isinstance(gaussian.event, GaussianNoise)
    assert gaussian.event.sensitivity_squared == 2
    assert gaussian.guarantee == ApproxDP(1, "1e-6", adjacency=REPLACE_ONE)
    per_person = Histogram(bins=9, epsilon=1, max_bins=3, adjacency=person("user", max_records=3))
    assert per_person.mechanism.scale == 3  # type: ignore[union-attr]


def test_nobody_moves_more_counts_than_there_are_bins() -> None:
    for bins, max_bins, adjacency, moves in (
        (2, 5, ADD_REMOVE, 2), (["a", "b", "c"], 5, ADD_REMOVE, 3), (3, 2, REPLACE_ONE, 3), (1, 1, REPLACE_ONE, 1)
    ):  # fmt: skip
        laplace = Histogram(bins=bins, epsilon=1, max_bins=max_bins, adjacency=adjacency)
        assert laplace.event == LaplaceNoise(Fraction(moves), Fraction(moves), Fraction(1), adjacency)
        gaussian = Histogram(
            bins=bins, epsilon=1, delta="1e-6", noise="gaussian", max_bins=max_bins, adjacency=adjacency
        )
        assert isinstance(gaussian.event, GaussianNoise)
        assert gaussian.event.sensitivity_squared == moves


def test_every_known_bin_gets_integer_noise() -> None:
    release = Histogram(bins=["a", "b", "c"], epsilon="0.001").release({"b": 10**6})
    assert release.value.dtype == np.int64
    assert release.value.shape == (3,)
    assert (release.value != [0, 10**6, 0]).any()
    low, high = release.interval("0.999999999999")
    assert low[1] <= 10**6 <= high[1]


def law_of(histogram: Histogram) -> Masses:
    """The noise, from its parameter alone."""
    law: Any = histogram.mechanism.for_integers.law  # type: ignore[union-attr]
    if histogram.noise == "laplace":
        return masses(lambda x: np.exp(-x / np.longdouble(float(law.scale))), 200)
    return masses(lambda x: np.exp(-x * x / (2 * np.longdouble(float(law.variance)))), 200)


NEIGHBOURS = [(0, 1), (1, 2), (5, 6), (14, 15), (30, 31)]


def worst(law: Masses, threshold: int, epsilon: float) -> float:
    return max(thresholded_profile(law, counts, threshold, epsilon) for counts in NEIGHBOURS)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.7", "1e-3"), ("3", "1e-9"), ("2", "0.3")])
def test_the_threshold_is_the_smallest_that_keeps_the_budget(noise: str, epsilon: str, delta: str) -> None:
    """One less and the brute-force sum is above δ."""
    histogram = Histogram(epsilon=epsilon, delta=delta, noise=noise)
    law, threshold = law_of(histogram), histogram.threshold
    assert threshold is not None
    assert worst(law, threshold, float(epsilon)) <= float(delta) * (1 + 1e-9)
    assert worst(law, threshold - 1, float(epsilon)) > float(delta)


def two_bins(law: Masses, before: tuple[int, int], after: tuple[int, int], threshold: int, epsilon: float) -> float:
    """δ(ε) between two pairs of counts: the product of two thresholded bins."""
    reach = (len(law) - 1) // 2
    values = np.arange(-reach, reach + 1 + max(*before, *after))

    def shown(count: int) -> Masses:
        out = np.zeros(len(values), dtype=np.longdouble)
        if count:
            out[count : count + len(law)] = law
        out[values < threshold] = 0
        return np.append(out[values >= threshold], 1 - out.sum())

    p, q = (np.outer(shown(a), shown(b)).ravel() for a, b in (before, after))
    return profile_of(p, q, epsilon)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_two_moved_counts_keep_the_budget(noise: str, adjacency: Any) -> None:
    """Two bins per person under add/remove, one bin before and one after under replace-one."""
    bins = 2 if adjacency == ADD_REMOVE else 1
    histogram = Histogram(epsilon=1, delta="1e-3", noise=noise, max_bins=bins, adjacency=adjacency)
    law, threshold = law_of(histogram), histogram.threshold
    assert threshold is not None
    counts = (0, 1, 2, threshold)
    if adjacency == ADD_REMOVE:
        moves = [((a, b), (a + 1, b + 1)) for a, b in product(counts, repeat=2)]
    else:
        moves = [((a + 1, b), (a, b + 1)) for a, b in product(counts, repeat=2)]
    assert max(two_bins(law, *move, threshold, 1) for move in moves) <= 1e-3 * (1 + 1e-9)
    slack = 1 if noise == "laplace" else 2  # two Gaussian counts are bounded, not summed
    assert max(two_bins(law, *move, threshold - slack, 1) for move in moves) > 1e-3


def test_a_threshold_off_by_one_is_not_enough() -> None:
    found = Histogram(epsilon=1, delta="1e-6")._discovery
    assert found is not None
    assert found.is_enough()
    less = Discovery(found.law, found.epsilon, found.delta, found.moves, found.max_bins, found.threshold - 1)
    assert not less.is_enough()


def test_the_laplace_threshold_is_not_used_for_gaussian_noise() -> None:
    thresholds = [Histogram(epsilon=1, delta="1e-6", noise=noise).threshold for noise in ("laplace", "gaussian")]
    assert thresholds == [15, 22]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_only_bins_that_reach_the_threshold_are_shown_and_empty_ones_never(noise: str) -> None:
    histogram = Histogram(epsilon=1, delta="0.1", noise=noise)
    names = np.arange(60_000)
    shown, counts = histogram.release((names, np.repeat([0, 1, 100], 20_000))).value
    assert counts.min() >= histogram.threshold
    assert shown.min() >= 20_000
    assert set(range(40_000, 60_000)) <= set(shown.tolist())
    assert 0 < (shown < 40_000).sum() < 20_000 * 0.1 + 6 * np.sqrt(20_000 * 0.09)


def test_the_order_of_the_data_does_not_show() -> None:
    histogram = Histogram(epsilon=5, delta="1e-6")
    there = histogram.release({"b": 1000, "a": 1000, "c": 1000}).value
    assert list(there) == ["a", "b", "c"]
    mixed = histogram.release({"b": 1000, 3: 1000, None: 1000, (1, 2): 1000}).value
    assert list(mixed) == [None, 3, "b", (1, 2)]


class Colour(Enum):
    RED = 2
    BLUE = 1


class Unordered:
    """Its text is where it lies in memory."""


@pytest.mark.parametrize(
    "names",
    [
        [frozenset("a"), frozenset("b"), frozenset("ab"), frozenset("c")],
        [frozenset({1, "x", None}), frozenset({(1, 2)}), frozenset()],
        [(frozenset("abc"), 1), (frozenset("xyz"), 1)],
        [2.0, float("nan"), 1.0, -1.0],
        [Decimal(2), Decimal("NaN"), Decimal(1)],
        [1, "1", 1.5, None, b"1"],
        [Colour.RED, Colour.BLUE],
        [date(2020, 1, 2), datetime(2020, 1, 1), date(2019, 1, 1)],
        [np.int64(3), 2, "a"],
    ],
    ids=["sets", "mixed sets", "sets in tuples", "NaN", "decimal NaN", "mixed", "enumeration", "dates", "NumPy"],
)
def test_names_without_a_total_order_do_not_show_the_order_of_the_data(names: list[Any]) -> None:
    histogram = Histogram(epsilon=5, delta="1e-6")
    mappings, arrays = set(), set()
    for order in permutations(names):
        mappings.add(tuple(map(str_of, histogram.release(dict.fromkeys(order, 1000)).value)))
        arrays.add(tuple(map(str_of, histogram.release((list(order), [1000] * len(order))).value[0])))
    assert len(mappings) == len(arrays) == 1


def str_of(name: Any) -> str:
    """The name as text; sets differ in the order in which they are printed."""
    if isinstance(name, tuple):
        return str([str_of(part) for part in name])
    return str(sorted(map(str, name))) if isinstance(name, frozenset) else str(name)


@pytest.mark.parametrize(
    "names",
    [
        [Unordered(), Unordered()],
        [float("nan"), -float("nan")],
        [(float("nan"),), (-float("nan"),)],
        [frozenset([Unordered()]), 1],
        [Decimal("sNaN"), 1],
        [[1], [2]],
    ],
    ids=["objects", "NaN twice", "NaN twice, inside", "objects, inside", "signalling NaN", "lists"],
)
def test_names_that_only_their_place_tells_apart_are_refused(names: list[Any]) -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match=r"order of the data|named once"):
        Histogram(epsilon=1, delta="1e-6").release((names, [1000] * len(names)))


def test_two_nan_of_an_array_are_one_name() -> None:
    histogram = Histogram(epsilon=1, delta="1e-6")
    with nothing_drawn(), pytest.raises(ParameterError, match="named once"):
        histogram.release((np.array([np.nan, 1, np.nan]), [1, 2, 3]))
    assert np.isnan(histogram.release((np.array([np.nan, 1, 2]), [1000] * 3)).value[0][-1])


def test_hidden_names_change_neither_the_type_nor_the_width_of_those_shown() -> None:
    histogram = Histogram(epsilon=5, delta="1e-6")
    assert histogram.release((np.array(["a", "a very long name"]), [1000, 0])).value[0].dtype == np.dtype("U1")
    shown = histogram.release(([7, "text", 1.5], [1000, 0, 0])).value[0]
    assert [type(name) for name in shown] == [int]


def test_claim_c26_delta_of_one_over_n_is_refused() -> None:
    with pytest.raises(ParameterError, match="far below 1/n"):
        Histogram(epsilon=1, delta="0.001", n=1000)
    assert Histogram(epsilon=1, delta="0.001", n=999).threshold is not None
    assert Histogram(epsilon=1, delta="0.001", n=1000, allow_large_delta=True).threshold is not None


def test_counts_beyond_64_bits_do_not_wrap() -> None:
    value = Histogram(bins=2, epsilon=1).release([2**63 - 1, 2**70]).value
    assert abs(int(value[0]) - 2**63) < 200
    assert abs(int(value[1]) - 2**70) < 200


@pytest.mark.parametrize("found", [False, True], ids=["known", "discovered"])
def test_intervals_near_the_end_of_64_bits_do_not_wrap(found: bool) -> None:
    counts = np.array([2**63 - 1, 2**62])
    histogram = Histogram(epsilon=1, delta="1e-6") if found else Histogram(bins=2, epsilon=1)
    value = (np.array(["a", "b"]), counts) if found else counts
    low, high = Release(value, histogram.event, histogram.guarantee, histogram).interval(0.95)
    reach = int(histogram.error(0.05))
    assert [int(x) for x in low] == [2**63 - 1 - reach, 2**62 - reach]
    assert [int(x) for x in high] == [2**63 - 1 + reach, 2**62 + reach]


@pytest.mark.parametrize("beta", ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"])
def test_an_error_that_no_float_holds_is_rounded_up(beta: str) -> None:
    histogram = Histogram(bins=2, epsilon="1e-30")
    exact = histogram._noising.reach(Fraction(beta))
    assert exact > 2**53
    assert exact <= Fraction(histogram.error(beta)) <= exact * (1 + Fraction(1, 2**51))


def test_the_number_of_bins_may_be_any_whole_number() -> None:
    for three in (np.int64(3), np.uint8(3)):
        histogram = Histogram(bins=three, epsilon=1)
        assert histogram == Histogram(bins=3, epsilon=1)
        assert type(histogram.bins) is int
        assert histogram.release([1, 2, 3]).value.shape == (3,)


@pytest.mark.parametrize(
    "bins", [np.bool_(True), 3.0, np.float64(3), b"ab", np.array(3), object(), [[1], [2]], np.int64(0)]
)
def test_bins_that_are_none_are_refused(bins: Any) -> None:
    with nothing_drawn(), pytest.raises(ParameterError, match="bins must be"):
        Histogram(bins=bins, epsilon=1)


@pytest.mark.parametrize("counts", [[Decimal("sNaN"), 1], [Fraction(10**400), 1], {"a": Decimal("sNaN")}, 3, [[1], 2]])
def test_counts_that_are_none_are_refused(counts: Any) -> None:
    known, found = Histogram(bins=["a", "b"], epsilon=1), Histogram(epsilon=1, delta="1e-6")
    with nothing_drawn(), pytest.raises(ParameterError):
        known.release(counts)
    with nothing_drawn(), pytest.raises(ParameterError):
        found.release(counts if isinstance(counts, dict) else (["a", "b"], counts))


def test_it_prints_what_builds_it_again() -> None:
    histogram = Histogram(bins=["yes", "no"], epsilon="1/3")
    says = "Histogram(epsilon='1/3', noise='laplace', bins=['yes', 'no'], max_bins=1, adjacency="
    assert repr(histogram) == says + "'add or remove one record')"
    assert eval(says + "ADD_REMOVE)") == histogram
    assert "noise='gaussian', bins=3," in repr(Histogram(bins=3, epsilon=1, delta="1e-6", noise="gaussian"))
    many = Histogram(bins=[f"name {i}" for i in range(10**5)], epsilon=1)
    assert "bins=[100000 names]" in repr(many)
