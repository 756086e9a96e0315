"""Workloads against their matrices: sensitivities over all pairs of columns, answers, strategies."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

from dither.adjacency import ADD_REMOVE, EDGE, REPLACE_ONE, person
from dither.errors import NotANumberError, ParameterError
from dither.workloads import Workload
from dither.workloads.strategies import Strategy, named, names

Array = NDArray[Any]


def written(workload: Workload) -> Array:
    """The matrix, cell by cell."""
    return np.array([workload.exact(cell) for cell in np.eye(workload.cells, dtype=np.int64)]).T


def moved(matrix: Array, adjacency: Any, power: int) -> int:
    """The sensitivity from its definition: all cells, or all pairs of cells."""
    columns = [np.array([int(x) for x in column], dtype=object) for column in matrix.T]
    if adjacency == ADD_REMOVE:
        return int(max(sum(abs(x) ** power for x in a) for a in columns))
    return int(max(sum(abs(x - y) ** power for x, y in zip(a, b, strict=True)) for a, b in product(columns, repeat=2)))


ranges = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(1, n)).filter(lambda r: r[0] < r[1]), min_size=1, max_size=9
        ),
    )
)
shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3)
matrices = (
    st.integers(1, 6)
    .flatmap(lambda n: st.lists(st.lists(st.integers(-3, 3), min_size=n, max_size=n), min_size=1, max_size=6))
    .filter(lambda rows: any(map(any, rows)))
)


def any_marginals(shape: list[int]) -> st.SearchStrategy[Workload]:
    sets = st.lists(st.sets(st.integers(0, len(shape) - 1)), min_size=1, max_size=4)
    return sets.map(lambda kept: Workload.marginals(shape, kept))


workloads = st.one_of(
    st.integers(1, 9).map(Workload.prefix),
    st.integers(1, 7).map(Workload.all_ranges),
    ranges.map(lambda given: Workload.ranges(*given)),
    shapes.flatmap(any_marginals),
    matrices.map(Workload.matrix),
)


@settings(max_examples=80, deadline=None)
@given(workloads)
def test_sensitivities_are_those_of_all_pairs_of_columns(workload: Workload) -> None:
    matrix = written(workload)
    for adjacency in (ADD_REMOVE, REPLACE_ONE):
        assert workload.sensitivity(1, adjacency) == moved(matrix, adjacency, 1)
        square = moved(matrix, adjacency, 2)
        assert workload.sensitivity_squared(adjacency) == square
        root = Fraction(workload.sensitivity(2, adjacency))
        assert square <= root**2 <= square * (1 + Fraction(1, 10**15))


@settings(max_examples=30, deadline=None)
@given(ranges)
def test_ranges_are_what_they_say(given: tuple[int, list[tuple[int, int]]]) -> None:
    cells, pairs = given
    plain = [[int(low <= cell < high) for cell in range(cells)] for low, high in pairs]
    assert written(Workload.ranges(cells, pairs)).tolist() == plain


@settings(max_examples=30, deadline=None)
@given(matrices)
def test_a_matrix_is_what_it_says_dense_and_sparse(rows: list[list[int]]) -> None:
    dense, thin = Workload.matrix(rows), Workload.matrix(sparse.csr_array(np.array(rows)))
    assert written(dense).tolist() == rows
    assert dense == thin
    assert hash(dense) == hash(thin)


def test_marginals_sum_over_the_other_attributes() -> None:
    table = np.arange(24).reshape(2, 3, 4)
    found = Workload.marginals((2, 3, 4), [(0, 2), (1,), ()]).exact(table)
    assert found.tolist() == [*table.sum(axis=1).ravel(), *table.sum(axis=(0, 2)), table.sum()]
    assert Workload.marginals((2, 3, 4), 2).count == 6 + 8 + 12


def test_predicates_may_be_functions_or_lists() -> None:
    functions = Workload.predicates(range(6), [lambda x: x < 2, lambda x: x % 2 == 0])
    lists = Workload.predicates(range(6), [[x < 2 for x in range(6)], [x % 2 == 0 for x in range(6)]])
    assert functions == lists
    assert functions.exact([1, 2, 3, 4, 5, 6]).tolist() == [3, 9]
    assert functions.queries.cells == 3  # 0, 1, and 2 with 4; no predicate holds for 3 and 5


def test_entries_mean_their_shortest_decimal() -> None:
    assert Workload.matrix([[0.1, 0.2], [0, Fraction(1, 3)]]).sensitivity(1) == Fraction(8, 15)


@settings(max_examples=9, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3))
def test_a_stack_asks_everything(first: int, second: int) -> None:
    table = Workload.marginals((first, second), 1)
    parts = [table, Workload.prefix(table.cells), Workload.matrix(np.full((1, table.cells), 0.5))]
    together = Workload.stack(*parts)
    assert np.allclose(written(together), np.concatenate([written(part) for part in parts]))
    assert Workload.stack(parts[1], Workload.all_ranges(table.cells)).count == table.cells * (table.cells + 3) // 2
    assert written(Workload.stack(table, table)).tolist() == [*written(table).tolist()] * 2


# --------------------------------------------------------------------- strategies


def every_strategy(workload: Workload) -> list[tuple[bool, Strategy]]:
    kinds = [(g, name) for g in (False, True) for name in names(workload.queries, gaussian=g)]
    return [(g, named(workload.queries, name, gaussian=g)) for g, name in kinds]


@settings(max_examples=40, deadline=None)
@given(workloads)
def test_a_strategy_is_the_matrix_that_it_measures(workload: Workload) -> None:
    """Lengths and distances of columns are never too small, C A = W, and ‖c_q‖² and peaks are those of C."""
    queries = workload.queries
    wanted = np.asarray(queries.answers(np.eye(queries.cells)), dtype=np.float64)
    for gaussian, strategy in every_strategy(workload):
        columns = [strategy.measure(cell) for cell in np.eye(queries.cells, dtype=np.int64)]
        measured = np.array(columns).T
        assert measured.shape == (strategy.measurements, queries.cells)
        for power in (1, 2):
            longest = moved(measured, ADD_REMOVE, power)
            assert strategy.largest_column(power) == longest
            assert moved(measured, REPLACE_ONE, power) <= strategy.largest_distance(power) <= 2**power * longest
        exact_distances = ("cells", "answers", "residuals", "optimal")
        if gaussian and (strategy.name in exact_distances or strategy.name.startswith("tree")):
            assert strategy.largest_distance(2) == moved(measured, REPLACE_ONE, 2)
        rule = np.array([strategy.answers(unit) for unit in np.eye(strategy.measurements)]).T
        assert np.allclose(rule @ measured, wanted, atol=1e-6)
        assert np.allclose((rule**2).sum(axis=1), strategy.row_squares(), rtol=1e-6, atol=1e-24)
        assert (strategy.row_peaks() >= np.abs(rule).max(axis=1) * (1 - 1e-9)).all()


@pytest.mark.parametrize("cells", [300, 4000])
def test_least_squares_on_a_tree_has_no_smaller_variance(cells: int) -> None:
    """Moving an answer along what the strategy does not see cannot help: C is a combination of rows of A."""
    workload = Workload.prefix(cells)
    tree = named(workload.queries, "tree of 4", gaussian=True)
    counts = np.random.default_rng(0).integers(0, 1000, cells)
    found = tree.answers(tree.measure(counts).astype(np.float64))
    assert np.allclose(found, np.cumsum(counts))
    # For one query c = C^T e: A (A^T A)^{-1} w has the squared length w (A^T A)^{-1} w.
    unit = np.zeros(tree.measurements)
    unit[0] = 1
    assert tree.row_squares().shape == (cells,)
    assert np.abs(tree.answers(unit)).max() ** 2 <= tree.row_squares().max()


def best_error(gram: Array) -> float:
    """The least tr(V (AᵀA)⁻¹) over square A with columns of length 1, by descent on A itself.

    Slow and plain; the problem is convex in AᵀA, so that descent ends near the best. A little is added to V, so that it
    can be inverted.
    """
    cells = len(gram)
    ridged = gram + 1e-6 * np.eye(cells)

    def error(flat: Array) -> tuple[float, Array]:
        entries = flat.reshape(cells, cells)
        lengths = np.sqrt((entries**2).sum(axis=0))
        unit = entries / lengths
        inverse = np.linalg.inv(unit.T @ unit)
        slope = -2 * unit @ inverse @ ridged @ inverse
        slope = (slope - unit * (unit * slope).sum(axis=0)) / lengths
        return float((inverse * ridged).sum()), slope.ravel()

    start = np.eye(cells) + 0.1 * np.tril(np.ones((cells, cells)))
    return float(minimize(error, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).fun)


@pytest.mark.parametrize(
    ("workload", "name", "within"),
    [
        (Workload.prefix(10), "optimal", 1.01),
        (Workload.prefix(10), "square root", 1.15),
        (Workload.all_ranges(8), "optimal", 1.01),
        (Workload.marginals((2, 2, 3), 2), "residuals", 1.001),
        (Workload.matrix([[1, 1, 0, 0, 2], [0, 1, 1, 0, 0], [1, 0, 0, -1, 1]]), "optimal", 1.01),
    ],
    ids=["prefix", "square root", "ranges", "marginals", "matrix"],
)
def test_strategies_are_close_to_the_best_factorisation(workload: Workload, name: str, within: float) -> None:
    least = best_error(workload.queries.gram())
    strategy = named(workload.queries, name, gaussian=True)
    error = float(strategy.row_squares().sum()) * strategy.largest_column(2)
    assert 0.99 * least <= error <= within * least


def test_prefix_sums_beat_noise_on_each_cell_thirty_times() -> None:
    cells, root = (named(Workload.prefix(1024).queries, n, gaussian=True) for n in ("cells", "square root"))
    simple, better = (float(s.row_squares().mean()) * s.largest_column(2) for s in (cells, root))
    assert simple > 30 * better


def test_ten_thousand_ranges_of_a_hundred_thousand_cells() -> None:
    """No dense matrix: 10^9 entries would not fit."""
    starts = np.arange(10_000) * 9
    workload = Workload.ranges(100_000, np.stack([starts, starts + 1 + (starts * 7) % 9_000], axis=1))
    ends = starts + 1 + (starts * 7) % 9_000
    assert workload.sensitivity(1) == max(((starts <= cell) & (cell < ends)).sum() for cell in starts)
    tree = named(workload.queries, "tree of 4", gaussian=True)
    counts = workload.by_class(np.arange(100_000) % 5)
    assert np.allclose(tree.answers(tree.measure(counts).astype(np.float64)), workload.queries.answers(counts))


# ------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("cells", [0, -1, 1.5, True, None, "9"])
def test_a_domain_has_a_whole_number_of_cells(cells: Any) -> None:
    for build in (Workload.prefix, Workload.all_ranges, lambda n: Workload.ranges(n, [(0, 1)])):
        with pytest.raises(ParameterError):
            build(cells)


@pytest.mark.parametrize(
    "pairs", [[], [(0, 0)], [(2, 1)], [(-1, 2)], [(0, 9)], [(0.0, 1.0)], [(0, 1, 2)], [(0,), (1, 2)]]
)
def test_ranges_outside_the_domain_are_refused(pairs: Any) -> None:
    with pytest.raises(ParameterError):
        Workload.ranges(8, pairs)


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [((), 1), ((2, 0), 1), ((2, 3), 3), ((2, 3), -1), ((2, 3), []), ((2, 3), [(0, 0)]), ((2, 3), [(2,)]), ((2.0,), 1),
     ((2, 3), True), ((10**5, 10**5), 1)],
)  # fmt: skip
def test_marginals_of_no_table_are_refused(shape: Any, attributes: Any) -> None:
    with pytest.raises(ParameterError):
        Workload.marginals(shape, attributes)


@pytest.mark.parametrize("rows", [[], [[]], [1, 2], [[float("nan")]], [[float("inf")]], [[0, 0]], [["a"]], [[10**9]]])
def test_matrices_that_are_none_are_refused(rows: Any) -> None:
    with pytest.raises((ParameterError, ValueError)):
        Workload.matrix(rows)


def test_entries_whose_squares_could_wrap_are_refused() -> None:
    twice = sparse.csr_array(([2**20, 2**20], [0, 0], [0, 2]), (1, 1))
    long = sparse.csr_array((np.full(2, 2**20), ([0, 2**20], [0, 0])), (2**20 + 1, 1))
    for bad in (twice, long):
        with pytest.raises(ParameterError, match="2\\^60"):
            Workload.matrix(bad)
    thirds = [Workload.matrix([[f"1/{prime}"]]) for prime in (9973, 9967)]
    with pytest.raises(ParameterError, match="2\\^20"):
        Workload.stack(*thirds, Workload.prefix(1))
    same = sparse.csr_array(([2, 3], [0, 0], [0, 2]), (1, 1))  # 2 and 3 in one place are 5
    assert Workload.matrix(same).sensitivity(1) == 5


def test_predicates_must_say_true_or_false_of_every_value() -> None:
    bads: list[Any] = [[[True]], [[1, 0, 1]], [lambda x: 0.5], []]
    for bad in bads:
        with pytest.raises(ParameterError):
            Workload.predicates(range(3), bad)
    with pytest.raises(ParameterError, match="asks nothing"):
        Workload.predicates(range(3), [lambda x: x > 5])


@pytest.mark.parametrize(
    "histogram", [[1, 2], [[1, 2, 3]], [1.0, 2.0, 3.0], [1, 2, float("nan")], [1, -2, 3], [2**33, 0, 0], None, "abc"]
)
def test_histograms_that_do_not_fit_the_domain_are_refused(histogram: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        Workload.prefix(3).exact(histogram)
    assert "-2" not in str(caught.value)


def test_other_refusals() -> None:
    with pytest.raises(ParameterError, match="same domain"):
        Workload.stack(Workload.prefix(3), Workload.prefix(4))
    with pytest.raises(ParameterError, match="norm"):
        Workload.prefix(3).sensitivity(3)
    for adjacency in (EDGE, person("who"), None, "replace"):
        with pytest.raises(ParameterError):
            Workload.prefix(3).sensitivity(1, adjacency)  # type: ignore[arg-type]
    with pytest.raises(NotANumberError):
        Workload.prefix(3).exact(np.array([True, False, True]))
    with pytest.raises(ParameterError, match="not known"):
        named(Workload.prefix(3).queries, "residuals", gaussian=True)
