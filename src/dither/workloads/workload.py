"""A workload: counting queries that are asked together, over a public finite domain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm, prod
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.adjacency import ADD_REMOVE, Adjacency, checked, name
from dither.errors import NotANumberError, ParameterError
from dither.exact import ball, check, plain_entries, precision, rational, upper, whole
from dither.workloads.marginals import Marginals
from dither.workloads.queries import Array, Matrix, Queries
from dither.workloads.ranges import Indices, Ranges

__all__ = ["MOST_PEOPLE", "Workload", "is_replaced"]

MOST_PEOPLE = 1 << 33
"""A histogram has fewer people than this, so that no product of whole numbers leaves 64 bits."""
_MOST_ENTRIES = 10**8
_LARGEST_ENTRY = 1 << 20
_LARGEST_SQUARE = 1 << 60


@dataclass(frozen=True, repr=False)
class Workload:
    """A set of linear counting queries that are asked together, over a public finite domain.

    Build it with `Workload.prefix`, `ranges`, `all_ranges`, `marginals`, `predicates`, `matrix` or `stack`.
    `dp.MatrixMechanism` answers it on a histogram; `dp.solve` and `dp.mechanisms.compare_strategies` predict errors.

    Parameters
    ----------
    cells : int
        The number of cells of the histogram.
    queries : Queries
        The queries by class of cells.
    denominator : int, default 1
        Answers are whole numbers over this.

    Notes
    -----
    Cells that every query treats alike are one class: what one record moves, and what noise is needed, depends on the
    classes alone. Sensitivities are exact, and no matrix is written out that its shape describes.

    Examples
    --------
    >>> import dither as dp
    >>> ages = dp.Workload.prefix(100)
    >>> ages.sensitivity(1), ages.sensitivity(1, dp.adjacency.REPLACE_ONE)
    (Fraction(100, 1), Fraction(99, 1))
    >>> dp.Workload.marginals((2, 5, 3), 2)
    Workload(31 queries, 30 cells)
    >>> dp.MatrixMechanism(dp.Workload.prefix(4), epsilon=1).release([5, 2, 0, 9]).value.shape
    (4,)
    """

    cells: int
    queries: Queries
    denominator: int = 1
    _classes: bytes | None = None

    # ------------------------------------------------------------- ways to build it

    @classmethod
    def prefix(cls, cells: int) -> Workload:
        """Build prefix sums: the counts of the first 1, 2, …, `cells` cells, a cumulative histogram.

        Parameters
        ----------
        cells : int
            The number of cells.

        Returns
        -------
        Workload
            As many queries as cells.
        """
        check.count(cells=cells)
        size = whole(cells)
        return cls(size, Ranges(size, np.zeros(size, dtype=np.int64), np.arange(1, size + 1)))

    @classmethod
    def all_ranges(cls, cells: int) -> Workload:
        """Build the counts of every range of cells that lie side by side.

        Parameters
        ----------
        cells : int
            The number of cells.

        Returns
        -------
        Workload
            cells·(cells + 1)/2 queries.
        """
        check.count(cells=cells)
        size = whole(cells)
        if size * (size + 1) // 2 > _MOST_ENTRIES:
            raise ParameterError(f"all ranges of cells={size} are more than 10^8. List the ones you need: ranges(...).")
        low, high = np.triu_indices(size)
        return cls(size, Ranges(size, low.astype(np.int64), high.astype(np.int64) + 1))

    @classmethod
    def ranges(cls, cells: int, ranges: Iterable[tuple[int, int]]) -> Workload:
        """Build the counts of given ranges.

        Parameters
        ----------
        cells : int
            The number of cells.
        ranges : iterable of (int, int)
            Pairs (low, high), each of which holds the cells low, …, high − 1.

        Returns
        -------
        Workload
            One query for each range.

        Examples
        --------
        >>> Workload.ranges(100_000, [(0, 50_000), (25_000, 75_000)]).sensitivity(1)
        Fraction(2, 1)
        """
        check.count(cells=cells)
        size, ends = whole(cells), _whole_array(list(ranges), "ranges")
        if ends.ndim != 2 or ends.shape[1] != 2 or not len(ends):
            raise ParameterError("ranges must be pairs (low, high), at least one. Give a list of pairs.")
        if not ((0 <= ends[:, 0]) & (ends[:, 0] < ends[:, 1]) & (ends[:, 1] <= size)).all():
            raise ParameterError(f"ranges must have 0 ≤ low < high ≤ cells={size}. Check the pairs.")
        edges = np.unique(np.concatenate([ends.ravel(), [0, size]]))
        low, high = np.searchsorted(edges, ends[:, 0]), np.searchsorted(edges, ends[:, 1])
        parts = len(edges) - 1
        is_seen = np.cumsum(np.bincount(low, minlength=parts + 1) - np.bincount(high, minlength=parts + 1))[:parts] > 0
        place = np.concatenate([[0], np.cumsum(is_seen)])  # a part that no range holds has no place
        classes = np.repeat(np.where(is_seen, place[:-1], -1), np.diff(edges))
        return cls._of(size, Ranges(int(place[-1]), place[low], place[high]), classes)

    @classmethod
    def marginals(cls, shape: Sequence[int], attributes: int | Iterable[Iterable[int]]) -> Workload:
        """Build marginals: counts by some of the attributes.

        Parameters
        ----------
        shape : sequence of int
            The number of values of each attribute.
        attributes : int or iterable of sets of int
            k, for the marginals of every k attributes; or a list of sets of attributes, each by its place in `shape`.

        Returns
        -------
        Workload
            The marginals one after the other, over prod(shape) cells.
        """
        sizes = tuple(whole(size, "shape") for size in shape)
        if isinstance(attributes, bool):
            raise ParameterError("attributes must be how many at a time, or a list of sets; got a boolean.")
        if not sizes or not all(size >= 1 for size in sizes) or prod(sizes) > _MOST_ENTRIES:
            raise ParameterError("shape must have 1 or more values for each attribute, and at most 10^8 cells in all.")
        if isinstance(attributes, int):
            if not 0 <= attributes <= len(sizes):
                raise ParameterError(
                    f"marginals of attributes={attributes} at a time need 0 ≤ k ≤ {len(sizes)}, their number in shape."
                )
            kept = tuple(combinations(range(len(sizes)), attributes))
        else:
            kept = tuple(tuple(sorted(whole(i, "attributes") for i in each)) for each in attributes)
        places = [i for each in kept for i in each]
        if not kept or any(len(set(each)) < len(each) for each in kept) or not all(0 <= i < len(sizes) for i in places):
            raise ParameterError(
                f"attributes must be sets of places from 0 to {len(sizes) - 1}: one set or more, no place twice in one."
            )
        return cls(prod(sizes), Marginals(sizes, kept))

    @classmethod
    def predicates(cls, domain: Sequence[Any], predicates: Iterable[Callable[[Any], Any] | Sequence[bool]]) -> Workload:
        """Build the counts of the values for which a predicate holds.

        Parameters
        ----------
        domain : sequence
            Every value that a record may have, in the order of the histogram.
        predicates : iterable of callable or sequence of bool
            For each query a function of one value, or a list of True and False.

        Returns
        -------
        Workload
            One query for each predicate.

        Examples
        --------
        >>> Workload.predicates(range(100), [lambda age: age < 18, lambda age: age % 2 == 0]).sensitivity(1)
        Fraction(2, 1)
        """
        values = list(domain)
        rows = [_truths(predicate, values) for predicate in predicates]
        if not rows or not values:
            raise ParameterError("a workload needs a domain of one value or more, and one predicate or more.")
        return cls._of_matrix(scipy.sparse.csr_array(np.array(rows, dtype=np.int64)), 1)

    @classmethod
    def matrix(cls, rows: Any) -> Workload:
        """Build any linear queries from a matrix.

        Parameters
        ----------
        rows : array, sequence of sequences or SciPy sparse matrix
            A row for each query, a column for each cell. Each entry means one exact number: 0.1 is 1/10.

        Returns
        -------
        Workload
            One query for each row.
        """
        if scipy.sparse.issparse(rows):
            found = scipy.sparse.csr_array(rows)
            scaled, denominator = _exact_entries(found.data)
            return cls._of_matrix(
                scipy.sparse.csr_array((scaled, found.indices, found.indptr), found.shape), denominator
            )
        array = np.asarray(rows) if isinstance(rows, np.ndarray) else np.array(rows, dtype=object)
        if array.ndim != 2 or not array.size:
            raise ParameterError("a matrix must have two dimensions: a row for each query, a column for each cell.")
        scaled, denominator = _exact_entries(array.ravel())
        return cls._of_matrix(scipy.sparse.csr_array(scaled.reshape(array.shape)), denominator)

    @classmethod
    def stack(cls, *workloads: Workload) -> Workload:
        """Join workloads over the same domain, one after the other.

        Parameters
        ----------
        *workloads : Workload
            The workloads, with the same number of cells.

        Returns
        -------
        Workload
            The queries of all of them.

        Examples
        --------
        >>> Workload.stack(Workload.prefix(8), Workload.all_ranges(8))
        Workload(44 queries, 8 cells)
        """
        if not workloads or len({each.cells for each in workloads}) > 1:
            raise ParameterError("workloads to stack must be over the same domain: the same number of cells.")
        kinds = [each.queries for each in workloads]
        if all(isinstance(kind, Ranges) and each._classes is None for kind, each in zip(kinds, workloads, strict=True)):
            ranges = [kind for kind in kinds if isinstance(kind, Ranges)]
            low, high = (np.concatenate([getattr(kind, end) for kind in ranges]) for end in ("low", "high"))
            return cls(workloads[0].cells, Ranges(workloads[0].cells, low, high))
        if all(isinstance(kind, Marginals) for kind in kinds) and len({k.shape for k in kinds}) == 1:  # type: ignore[attr-defined]
            tables = [kind for kind in kinds if isinstance(kind, Marginals)]
            attributes = tuple(kept for kind in tables for kept in kind.attributes)
            return cls(workloads[0].cells, Marginals(tables[0].shape, attributes))
        denominator = lcm(*(each.denominator for each in workloads))
        if any(each.queries.largest_entry * (denominator // each.denominator) > _LARGEST_ENTRY for each in workloads):
            raise _too_large()
        written = [each._entries() * (denominator // each.denominator) for each in workloads]
        return cls._of_matrix(scipy.sparse.csr_array(scipy.sparse.vstack(written)), denominator)

    @classmethod
    def _of_matrix(cls, rows: scipy.sparse.csr_array, denominator: int) -> Workload:
        """Equal columns become one class."""
        columns = rows.tocsc()
        columns.sum_duplicates()
        columns.eliminate_zeros()
        _check_size(columns)
        places: dict[bytes, int] = {}
        classes, firsts = np.full(columns.shape[1], -1, dtype=np.int64), []
        for cell in range(columns.shape[1]):
            part = slice(columns.indptr[cell], columns.indptr[cell + 1])
            if part.start < part.stop:
                says = columns.indices[part].astype(np.int64).tobytes() + columns.data[part].astype(np.int64).tobytes()
                if says not in places:
                    places[says] = len(places)
                    firsts.append(cell)
                classes[cell] = places[says]
        if not firsts:
            raise ParameterError(
                "every entry of the workload is 0: it asks nothing. Give queries that count something."
            )
        return cls._of(columns.shape[1], Matrix(scipy.sparse.csr_array(columns[:, firsts])), classes, denominator)

    @classmethod
    def _of(cls, cells: int, queries: Queries, classes: Indices, denominator: int = 1) -> Workload:
        is_itself = len(classes) == queries.cells and bool((classes == np.arange(cells)).all())
        return cls(cells, queries, denominator, None if is_itself else classes.astype(np.int64).tobytes())

    # ------------------------------------------------------------------------ what it is

    @property
    def count(self) -> int:
        """The number of queries."""
        return self.queries.count

    def __repr__(self) -> str:
        return f"Workload({self.count} queries, {self.cells} cells)"

    @property
    def classes(self) -> Indices | None:
        """The class of each cell, −1 for a cell that no query counts; None: each cell is its own class."""
        return None if self._classes is None else np.frombuffer(self._classes, dtype=np.int64)

    @property
    def has_unseen_cells(self) -> bool:
        """Whether some cell is counted by no query."""
        return self.classes is not None and bool((self.classes < 0).any())

    def sensitivity(self, norm: int = 1, adjacency: Adjacency = ADD_REMOVE) -> Fraction | float:
        """Compute how far one record can move all answers together.

        Add or remove: the longest column. Replace: the two columns that are farthest apart (claim C24).

        Parameters
        ----------
        norm : {1, 2}, default 1
            ℓ₁ or ℓ₂.
        adjacency : Adjacency, default ADD_REMOVE
            `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

        Returns
        -------
        Fraction or float
            The sensitivity in counts: exact in ℓ₁, rounded up in ℓ₂. For answers that are shares of n records, divide
            by n.
        """
        if norm == 1:
            return self._moved(1, adjacency)
        if norm != 2:
            raise ParameterError(f"norm must be 1 or 2, got norm={norm!r}.")
        with precision(128):
            return upper(ball(self.sensitivity_squared(adjacency)).sqrt())

    def sensitivity_squared(self, adjacency: Adjacency = ADD_REMOVE) -> Fraction:
        """Compute the square of the ℓ₂ sensitivity, exactly.

        Parameters
        ----------
        adjacency : Adjacency, default ADD_REMOVE
            `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

        Returns
        -------
        Fraction
            Δ₂².
        """
        return self._moved(2, adjacency) / self.denominator

    def _moved(self, power: int, adjacency: Adjacency) -> Fraction:
        if not is_replaced(adjacency):
            return Fraction(self.queries.largest_column(power), self.denominator)
        alone = self.queries.largest_column(power) if self.has_unseen_cells else 0
        return Fraction(max(self.queries.largest_distance(power), alone), self.denominator)

    # ---------------------------------------------------------------------- answers

    def exact(self, histogram: Any) -> NDArray[Any]:
        """Compute the exact answers: not private, for comparison.

        Parameters
        ----------
        histogram : array of int
            One count for each cell.

        Returns
        -------
        array
            One answer for each query.
        """
        answers = self.queries.answers(self.by_class(histogram))
        return answers if self.denominator == 1 else answers / self.denominator

    def by_class(self, histogram: Any) -> Indices:
        """Check a histogram and sum it up by classes of cells.

        Parameters
        ----------
        histogram : array of int
            One count for each cell.

        Returns
        -------
        array of int
            A count for each class of cells.
        """
        counts = _whole_array(histogram, "histogram")
        shapes = [(self.cells,)] + ([self.queries.shape] if isinstance(self.queries, Marginals) else [])
        if counts.shape not in shapes:
            raise ParameterError(f"the histogram must have one count for each of the {self.cells} cells of the domain.")
        if (counts < 0).any() or not float(counts.sum(dtype=np.float64)) < MOST_PEOPLE:
            raise ParameterError("counts must not be negative, and must be fewer than 2^33 in all.")
        if self.classes is None:
            return counts.ravel()
        is_seen = self.classes >= 0
        # The sums are below 2^53, so that floats hold them exactly.
        summed = np.bincount(self.classes[is_seen], counts[is_seen], minlength=self.queries.cells)
        return summed.astype(np.int64)

    def _entries(self) -> scipy.sparse.csr_array:
        """The matrix over all cells, in whole numbers; for stacking different kinds."""
        if float(self.queries.row_squares().sum()) > _MOST_ENTRIES:
            raise ParameterError("the workloads to stack are of different kinds, and too large to write out together.")
        kind = self.queries
        if isinstance(kind, Matrix):
            rows = kind.rows
        elif isinstance(kind, Ranges):
            lengths = kind.high - kind.low
            starts = np.concatenate([[0], np.cumsum(lengths)])
            places = np.arange(starts[-1]) - np.repeat(starts[:-1] - kind.low, lengths)
            rows = scipy.sparse.csr_array(
                (np.ones(starts[-1], dtype=np.int64), places, starts), (kind.count, kind.cells)
            )
        else:
            rows = scipy.sparse.csr_array(kind.answers(np.eye(kind.cells, dtype=np.int64)))
        if self.classes is None:
            return rows
        cells = np.flatnonzero(self.classes >= 0)
        ones = np.ones(len(cells), dtype=np.int64)
        return scipy.sparse.csr_array(
            rows @ scipy.sparse.csr_array((ones, (self.classes[cells], cells)), (kind.cells, self.cells))
        )


def is_replaced(adjacency: Adjacency) -> bool:
    """Whether a record is replaced rather than added or removed; only single records have a known sensitivity here."""
    known = checked(adjacency)
    if known is None or known.protects != "record":
        raise ParameterError(
            f"a workload knows what one record moves, got '{name(known)}'. Count each person once in the histogram, "
            "and say ADD_REMOVE or REPLACE_ONE of dither.adjacency."
        )
    return known.change == "replace"


def _whole_array(values: Any, what: str) -> Array:
    """An array of integers as int64; whole floats too are refused, since what is refused must not depend on data."""
    try:
        array = np.asarray(plain_entries(values))
    except ValueError:
        raise ParameterError(f"{what} must be an array of whole numbers, all rows of one length.") from None
    if array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise NotANumberError(f"{what} must be an array of whole numbers, got dtype {array.dtype}. Convert first.")
    return array.astype(np.int64)


def _truths(predicate: Callable[[Any], Any] | Sequence[bool], values: list[Any]) -> NDArray[np.bool_]:
    found = [predicate(value) for value in values] if callable(predicate) else list(predicate)
    if len(found) != len(values):
        raise ParameterError(f"a predicate must say true or false for each of the {len(values)} values of the domain.")
    if not all(isinstance(truth, bool | np.bool_) for truth in found):
        raise ParameterError("a predicate must say True or False for each value of the domain, and nothing else.")
    return np.array(found, dtype=np.bool_)


def _exact_entries(values: Array) -> tuple[Array, int]:
    """The entries as whole numbers over one denominator."""
    if values.dtype.kind in "bi" and values.size:
        scaled, denominator = values.astype(np.int64), 1
    else:
        exact = [rational(entry, "an entry of the matrix") for entry in values]
        denominator = lcm(*(entry.denominator for entry in exact))
        scaled = np.array([int(entry * denominator) for entry in exact], dtype=object)
    if not all(abs(int(entry)) <= _LARGEST_ENTRY for entry in (scaled.min(initial=0), scaled.max(initial=0))):
        raise _too_large()
    return scaled.astype(np.int64), denominator


def _check_size(columns: scipy.sparse.csc_array) -> None:
    """Entries that were given twice add up, and squares of a column add up to less than 2^60: nothing wraps."""
    largest = int(np.abs(columns.data).max(initial=0))
    if largest > _LARGEST_ENTRY or largest**2 * columns.shape[0] >= _LARGEST_SQUARE:
        raise _too_large()


def _too_large() -> ParameterError:
    return ParameterError(
        "entries of a matrix must be whole numbers up to 2^20 over one denominator, with squares below 2^60 in all. "
        "Round them to fewer digits."
    )
