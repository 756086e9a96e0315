"""Floats and NumPy numbers that were rounded on the way in: what they are off by is paid for, and no mass is lost."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dither as dp
from dither.errors import ParameterError
from dither.exact import Ball, ball, precision, relative_rounding
from dither.guarantees import loss_of, normalised
from dither.mechanisms import FiniteMechanism, MetricExponential
from dither.sensitivity import world

WIDTHS: Any = st.sampled_from([np.float16, np.float32, np.float64])


def certain(mechanism: MetricExponential, near: list[tuple[Any, Any]]) -> bool:
    """Whether no two of these points are told apart by more than the ε that is stated, in balls."""
    with precision(192):
        stated = ball(mechanism.epsilon) * (1 + Ball(10) ** -40)
        laws = {point: mechanism.probabilities(point) for point in mechanism.points}
        losses = ((laws[a][y] / laws[b][y]).log() for a, b in near for y in mechanism.points)
        return all(loss <= stated for loss in losses)


# ------------------------------------------------------------------- metrics in floats


@pytest.mark.property
@given(
    st.lists(st.integers(-300, 300), min_size=2, max_size=6, unique=True),
    st.integers(0, 4),
    st.sampled_from([0, 10**3, 10**6, 10**12]),
    st.booleans(),
)
@example(steps=list(range(10)), digits=1, offset=10**6, by_norm=False)
@example(steps=list(range(10)), digits=1, offset=10**6, by_norm=True)
def test_neighbours_by_the_decimals_are_no_farther_than_is_paid_for(
    steps: list[int], digits: int, offset: int, by_norm: bool
) -> None:
    """Points such as 1000000.1: the floats differ by 0.09999999997 or 0.10000000009 where the decimals do by 0.1."""
    exact = {float(Fraction(step, 10**digits) + offset): Fraction(step, 10**digits) for step in steps}
    limit = Fraction(abs(steps[1] - steps[0]), 10**digits)
    distance: Any = "l1" if by_norm else lambda a, b: abs(a - b)
    made = MetricExponential(points=list(exact), distance=distance, sensitivity=limit, epsilon=1)
    near = [(a, b) for a, b in combinations(exact, 2) if abs(exact[a] - exact[b]) <= limit]
    assert made.epsilon <= 1
    for a, b in near:
        row = made.distances[made.points.index(a)]
        assert Fraction(row[made.points.index(b)]) <= made.sensitivity
    assert certain(made, near)


def test_the_rounding_of_floats_was_not_always_paid_for() -> None:
    """0.3 and 0.4 are 0.10000000000000003 apart in floats: noise for exactly 0.1 would cost more than ε."""
    points, told = [0.3, 0.4], lambda a, b: abs(a - b)
    made = MetricExponential(points=points, distance=told, sensitivity="0.1", epsilon=1)
    assert certain(made, [(0.3, 0.4)])
    unpaid = MetricExponential(
        points=points, distance=lambda a, b: Fraction(abs(a - b)), sensitivity="0.1", scale="0.1"
    )
    assert unpaid.epsilon == 1
    assert not certain(unpaid, [(0.3, 0.4)]), "a control: the same table, taken for exact"


@pytest.mark.property
@given(st.lists(st.floats(0.0625, 8), min_size=3, max_size=3), WIDTHS)
def test_narrow_floats_are_paid_for_by_their_width(lengths: list[float], width: Any) -> None:
    """Sides of triangles that hold with room to spare, stored in few digits."""
    a, b = (Fraction(x) + 8 for x in lengths[:2])
    exact = [[Fraction(0), a, b], [a, Fraction(0), (a + b) / 2], [b, (a + b) / 2, Fraction(0)]]
    table = np.array([[float(x) for x in row] for row in exact]).astype(width)
    made = MetricExponential(points="xyz", distance=table, sensitivity=a, epsilon=1)
    near = [("xyz"[i], "xyz"[j]) for i, j in combinations(range(3), 2) if exact[i][j] <= a]
    assert all(
        made.distances[i][j] <= made.sensitivity for i in range(3) for j in range(3) if i != j and exact[i][j] <= a
    )
    assert certain(made, near)
    assert made.sensitivity <= a * (1 + 32 * max(Fraction(float(np.finfo(width).eps)), Fraction(1, 2**42)))


@pytest.mark.property
@given(st.lists(st.integers(0, 1000), min_size=4, max_size=6, unique=True))
def test_rounded_distances_become_a_metric(thousandths: list[int]) -> None:
    """Where floats make a way by a third point shorter than the direct one, the table that counts is wider by that."""
    points = [each / 1000 for each in thousandths]
    d = MetricExponential(points=points, distance=lambda a, b: abs(a - b), sensitivity="0.1", epsilon=1).distances
    assert all(d[i][j] <= d[i][k] + d[k][j] for i, j, k in permutations(range(len(points)), 3))


def test_distances_in_floats_are_not_always_a_metric() -> None:
    """A control: among the ways between thousandths, some are shorter than the direct one."""
    ways = permutations([Fraction(each / 1000) for each in (0, 100, 300, 700, 1000)], 3)
    assert any(
        Fraction(float(abs(a - c))) > Fraction(float(abs(a - b))) + Fraction(float(abs(b - c))) for a, b, c in ways
    )


@pytest.mark.parametrize(
    "kind", [int, Fraction, Decimal, str, np.int64], ids=["int", "Fraction", "Decimal", "text", "int64"]
)
def test_exact_distances_cost_nothing(kind: Any) -> None:
    table = [[kind(abs(x - y)) for y in range(4)] for x in range(4)]
    assert MetricExponential(points=[0.1, 0.2, 0.3, 0.4], distance=table, sensitivity=1, epsilon=1).scale == 2
    floats = [[float(x) for x in row] for row in table]
    assert (
        2 < MetricExponential(points=range(4), distance=floats, sensitivity=1, epsilon=1).scale < 2 + Fraction(1, 10**9)
    )


def test_what_is_a_rounding() -> None:
    assert relative_rounding([]) == relative_rounding([1, "0.5", Fraction(1, 3), np.int8(3)]) == 0
    widths = [np.float16(1), np.float32(1), 1.0, np.float64(1), np.longdouble(1)]
    assert [relative_rounding([each]) for each in widths] == [Fraction(1, 2**each) for each in (7, 20, 40, 40, 40)]
    assert relative_rounding(widths) == Fraction(1, 2**7)


# --------------------------------------------------------------- probabilities and weights

weights = st.lists(st.floats(0, 6e4, width=16), min_size=1, max_size=20).filter(lambda x: sum(x) > 0)


@pytest.mark.property
@given(weights, weights, WIDTHS)
def test_laws_in_floats_lose_no_mass(first: list[float], second: list[float], width: Any) -> None:
    """Divided by their sum in any width: exactly 1 in all, and 0 only what was 0; δ(0) and its swap are those of it."""
    size = min(len(first), len(second))
    laws = []
    for given_weights in (first[:size], second[:size]):
        vector = np.array(given_weights, dtype=np.float64)
        if not vector.sum() > 0:
            return
        laws.append((vector / vector.sum()).astype(width))
    try:
        exact = [list(normalised(law).values()) for law in laws]
    except ParameterError:  # more was rounded away than such floats may lose
        assert any(abs(float(law.astype(np.float64).sum()) - 1) > np.finfo(width).eps for law in laws)
        return
    for law, kept in zip(laws, exact, strict=True):
        assert sum(kept) == 1
        assert [x > 0 for x in kept] == [bool(x > 0) for x in law]
    loss = loss_of(*laws, normalise=True)
    apart = sum((max(a - b, Fraction(0)) for a, b in zip(*exact, strict=True)), Fraction(0))
    low, high = loss.delta_bracket(0)
    assert Fraction(low) <= apart <= Fraction(high)
    made = FiniteMechanism(dict(enumerate(laws)), normalise=True)
    for row, law in zip(made.rows, laws, strict=True):
        assert sum(row) == 1
        assert sum(x > 0 for x in row) == int((law > 0).sum())
    same_support = [x > 0 for x in exact[0]] == [x > 0 for x in exact[1]]
    assert math.isfinite(made.guarantee.epsilon(0)) == same_support


@pytest.mark.property
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.floats(2**-14, 6e4, width=16)), min_size=1, max_size=8),
    WIDTHS,
)
def test_base_measures_in_floats_keep_their_shares(pairs: list[tuple[int, float]], width: Any) -> None:
    """Pr[y] ∝ w(y)·e^{q(y)/α} with the weights as they are, in every width; certified, and 1 in all."""
    scores, shares = [q for q, _ in pairs], np.array([w for _, w in pairs], dtype=width)
    chosen = dp.ScoredSelection(
        range(len(pairs)), lambda y, data: data[y], 1, epsilon=1, noise="gumbel", weights=shares
    )
    found = chosen.probabilities(scores)
    with precision(128):
        raw = [ball(Fraction(float(w))) * ball(Fraction(q, 2)).exp() for q, w in zip(scores, shares, strict=True)]
        total = sum(raw, Ball(0))
        assert abs(sum(found.values(), Ball(0)) - 1) < Ball(10) ** -15
        for y, chance in found.items():
            assert chance > 0
            assert abs(chance / (raw[y] / total) - 1) < Ball(10) ** -9


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, np.float32("nan"), None, "x"])
def test_weights_that_are_none_are_refused(bad: Any) -> None:
    def chance() -> Any:
        chosen = dp.ScoredSelection("ab", lambda y, data: 0, 1, epsilon=1, noise="gumbel", weights=[1, bad])
        return chosen.probabilities([])

    with pytest.raises(ParameterError):
        chance()


# --------------------------------------------------------------------- small worlds


@pytest.mark.property
@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=4, unique=True), WIDTHS, st.sampled_from(["l1", "l2", "linf"])
)
def test_sensitivities_of_floats_are_never_below_the_truth(values: list[int], width: Any, norm: str) -> None:
    """Of f as its floats are, whatever their width; and a metric in floats is widened."""
    universe = np.array(values, dtype=width)

    def f(data: Any) -> Any:
        return np.array([width(data[0]) / width(3), width(data[1]) / width(7)])

    small = world(universe, 2)
    exact = {data: [Fraction(float(x)) for x in f(data)] for data in small.datasets}
    squares: Any = {"l1": lambda m: sum(m) ** 2, "l2": lambda m: sum(x * x for x in m), "linf": lambda m: max(m) ** 2}[
        norm
    ]
    truth = max(
        squares([abs(a - b) for a, b in zip(exact[data], exact[other], strict=True)])
        for data in small.datasets
        for other in small.neighbours(data)
    )
    assert truth <= Fraction(small.sensitivity(f, norm)) ** 2 <= truth * (1 + Fraction(1, 10**12))
    own = small.sensitivity(lambda data: width(data[0]) / width(3), norm=lambda a, b: width(abs(a - b)))
    first = max(abs(exact[d][0] - exact[e][0]) for d in small.datasets for e in small.neighbours(d))
    assert Fraction(own) >= first


# ------------------------------------------------------------------------- refusals

REFUSED: list[tuple[Any, str]] = [
    (lambda: MetricExponential(points=None, distance="l1", sensitivity=1, epsilon=1), "points must be a list"),  # type: ignore[arg-type]
    (lambda: MetricExponential(points=np.array(5), distance="l1", sensitivity=1, epsilon=1), "points must be a list"),
    (lambda: MetricExponential(points=[[0], [1]], distance="l1", sensitivity=1, epsilon=1), "points must be hashable"),
    (lambda: MetricExponential(points=np.zeros((2, 2, 2)), distance="l1", sensitivity=1, epsilon=1), "hashable"),
    (lambda: MetricExponential(points=[0, 0], distance="l1", sensitivity=1, epsilon=1), "points must be all different"),
    (lambda: MetricExponential(points=[0, 1], distance=None, sensitivity=1, epsilon=1), "distance must be a table"),  # type: ignore[arg-type]
    (lambda: MetricExponential(points=[0, 1], distance=[0, 1], sensitivity=1, epsilon=1), "distance must be a table"),  # type: ignore[list-item]
    (lambda: MetricExponential(points=[0, 1], distance=[[0, 1]], sensitivity=1, epsilon=1), "2 rows and columns"),
    (
        lambda: MetricExponential(points=[0, 1], distance=lambda x, y: None, sensitivity=1, epsilon=1),
        "distance must be",
    ),
    (
        lambda: MetricExponential(points=range(600), distance=lambda x, y: "near", sensitivity=1, epsilon=1),
        "distance must give numbers",
    ),
    (lambda: dp.RandomizedResponse(answers=None, epsilon=1), "answers must be a list"),  # type: ignore[arg-type]
    (lambda: dp.RandomizedResponse(answers=[["no"], ["yes"]], epsilon=1), "answers must be hashable"),  # type: ignore[list-item]
    (lambda: dp.RandomizedResponse(answers=["no"], epsilon=1), "two or more, got 1"),
    (lambda: dp.RandomizedResponse(answers=["no", "no"], epsilon=1), "answers must be all different"),
    (lambda: dp.ScoredSelection(None, lambda y, data: 0, 1, epsilon=1), "candidates must be a list"),  # type: ignore[arg-type]
    (
        lambda: dp.ScoredSelection("ab", lambda y, data: 0, 1, epsilon=1, noise="gumbel", weights=5),  # type: ignore[arg-type]
        "weights must be a list",
    ),
    (lambda: FiniteMechanism.of(lambda x, y: 1, None, [1]), "inputs must be a list"),  # type: ignore[arg-type]
    (lambda: world(None, 2), "universe must be a list"),
    (lambda: world([[0], [1]], 2), "universe must be hashable"),
    (lambda: FiniteMechanism.of(lambda x: 1, [0, 1], [1]), "pmf must be a function of two values"),  # type: ignore[arg-type,misc]
    (lambda: FiniteMechanism({0: [1], 1: [1]}, neighbours=3), "neighbours must be a list"),  # type: ignore[arg-type]
    (lambda: FiniteMechanism({0: [1], 1: [1]}, neighbours=[0, 1]), "each pair of neighbours must be a list"),  # type: ignore[list-item]
    (lambda: FiniteMechanism({0: [1], 1: [1]}, neighbours=[(0, 0)]), "neighbours must be all different"),
    (lambda: FiniteMechanism({0: [1], 1: [1]}, neighbours=[(0, 2)]), "neighbours must be pairs"),
    (lambda: dp.ScoredSelection("ab", 3, 1, epsilon=1), "score must be a function of two values"),  # type: ignore[arg-type]
    (lambda: dp.ScoredSelection("ab", lambda y: 0, 1, epsilon=1), "score must be a function of two values"),  # type: ignore[arg-type,misc]
    (
        lambda: dp.ScoredSelection("ab", lambda y, d: 0, 1, epsilon=1, noise="gumbel", weights=lambda: 1),  # type: ignore[arg-type,misc]
        "weights must be a function of one value",
    ),
    (lambda: dp.Laplace(sensitivity=1, epsilon=1).release(3).map(3), "f must be a function of one value"),  # type: ignore[arg-type]
    (lambda: dp.Laplace(sensitivity=1, epsilon=1).release(3).map(lambda a, b: a), "f must be a function"),  # type: ignore[arg-type,misc]
    (lambda: world([0, 1], 2).sensitivity(lambda a, b: 0), "f must be a function of one value"),  # type: ignore[arg-type,misc]
    (lambda: world([0, 1], 2).sensitivity(sum, norm=abs), "norm must be a function of two values"),  # type: ignore[arg-type]
    (lambda: world([0, 1], 2).sensitivity(None), "f must be a function"),  # type: ignore[arg-type]
    (lambda: world([0, 1], 2).sensitivity(sum, norm=["l1"]), "norm must be"),  # type: ignore[arg-type]
    (lambda: loss_of([0.5, 0.5], [0.25, 0.75]).loss([1]), "outcome must be hashable"),
    (lambda: loss_of(lambda y: 1.0, lambda y: 2 * y, interval=(0, 1)).loss(None), "outcome must be"),
    (lambda: loss_of(lambda y: 1.0, lambda y: 2 * y, interval=(0, 1)).loss(math.nan), "outcome must be"),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_list_or_no_number_is_refused_by_name(build: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build()


def test_a_mechanism_that_costs_more_than_it_states_is_found() -> None:
    """A control of `certain`: opposite hours of a clock are told apart by six times ε."""
    around = lambda x, y: min((x - y) % 12, (y - x) % 12)  # noqa: E731
    clock = MetricExponential(points=range(12), distance=around, sensitivity=1, epsilon=1)
    assert certain(clock, [(0, 1), (11, 0)])
    assert not certain(clock, [(0, 6)])
