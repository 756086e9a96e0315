"""Your own statistic: all sensitivities of any function, by going through every dataset of a small world."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, product
from math import comb
from typing import Any, NoReturn, TypeAlias

import numpy as np

from dither.adjacency import EDGE, REPLACE_ONE, Adjacency, checked
from dither.errors import ParameterError
from dither.exact import check, listed, once, plain, rational, relative_rounding
from dither.exact.certified import above, exactly_above, sqrt
from dither.sensitivity.statistic import Profile
from dither.sensitivity.stepwise import Stepwise

__all__ = ["EnumeratedStatistic", "FiniteWorld", "world"]

_MOST_DATASETS = 200_000
_MANY = 20  # 2^20, C(40, 20) and the graphs on so many vertices are above that
_RECORDS, _GRAPHS = ("record",), ("edge", "vertex")

Data: TypeAlias = Hashable
Vector: TypeAlias = tuple[Fraction, ...]
Norm: TypeAlias = "str | Callable[[Any, Any], Any]"


def world(universe: Any, n: int | None = None, adjacency: Adjacency = REPLACE_ONE) -> FiniteWorld:
    """Make the world of all datasets over a finite universe, in which sensitivities can be taken from their definition.

    Parameters
    ----------
    universe : iterable or int
        The values that a record may have; for graphs, the number of vertices or their names.
    n : int, optional
        The number of records: exactly so many where one is replaced, at most so many where one comes or goes. Graphs
        have none.
    adjacency : Adjacency, default REPLACE_ONE
        Which datasets are neighbours: `REPLACE_ONE` (lists), `ADD_REMOVE` (bags, so that order does not count), `EDGE`
        (graphs on all vertices) or `VERTEX` (graphs on some of them, which come and go with their edges).

    Returns
    -------
    FiniteWorld
        Ask it for `sensitivity(f)`, or for a `statistic(f)` that mechanisms accept.

    Raises
    ------
    ParameterError
        If there would be more than 200,000 datasets.

    Examples
    --------
    >>> from dither.adjacency import VERTEX
    >>> small = world([0, 1, 5], n=3)
    >>> small.sensitivity(max), small.sensitivity(lambda x: sorted(x)[1])
    (5.0, 5.0)
    >>> friends = world(4, adjacency=VERTEX)
    >>> friends.sensitivity(lambda graph: len(graph[1]))  # the number of edges: a vertex may be tied to all others
    3.0
    """
    known = checked(adjacency)
    if known is None or known.protects not in (*_RECORDS, *_GRAPHS) or (known.protects in _GRAPHS and _replaces(known)):
        raise ParameterError(f"adjacency must be REPLACE_ONE, ADD_REMOVE, EDGE or VERTEX, got '{adjacency}'.")
    is_graph = known.protects in _GRAPHS
    if is_graph and isinstance(universe, int) and universe > _MANY:
        _refuse_so_many()
    values = listed(range(universe) if is_graph and isinstance(universe, int) else universe, "universe")
    if not values:
        raise ParameterError("universe must have one value or more.")
    check.distinct(universe=values)
    if is_graph != (n is None):
        raise ParameterError("n is the number of records, and graphs have none. Give it for records only.")
    if n is not None:
        check.count(1, n=n)
    return FiniteWorld(values, n, known)


def _refuse_so_many() -> NoReturn:
    raise ParameterError(
        f"at most {_MOST_DATASETS} datasets are gone through, and here are more. Use a smaller universe or n."
    )


def _count_of_graphs(vertices: int, adjacency: Adjacency) -> int:
    """How many graphs there are on all of these vertices, or on some of them."""
    if adjacency == EDGE:
        return int(2 ** comb(vertices, 2))
    return sum(comb(vertices, size) * 2 ** comb(size, 2) for size in range(vertices + 1))


def _replaces(adjacency: Adjacency) -> bool:
    return adjacency.change == "replace"


@dataclass(frozen=True)
class FiniteWorld:
    """All datasets over a finite universe, with their neighbours; `world` makes it.

    A dataset is a tuple of records (sorted where they form a bag), a frozenset of edges (u, v) with u before v, or a
    pair of a frozenset of vertices and one of edges.

    Parameters
    ----------
    universe : tuple
        The values of a record, or the vertices.
    n : int or None
        The number of records, or the most; None for graphs.
    adjacency : Adjacency
        Which datasets are neighbours.
    """

    universe: tuple[Hashable, ...]
    n: int | None
    adjacency: Adjacency

    def __post_init__(self) -> None:
        if self._size > _MOST_DATASETS:
            _refuse_so_many()

    @property
    def _size(self) -> int:
        """The number of datasets; where it is above the most, a smaller one that is so too, as it may have no end."""
        count = len(self.universe)
        if self.n is None:
            return _count_of_graphs(min(count, _MANY), self.adjacency)
        if _replaces(self.adjacency):
            return int(min(count, _MOST_DATASETS + 1) ** min(self.n, _MANY))
        few, many = sorted((count, self.n))
        return comb(min(few, _MANY) + min(many, _MOST_DATASETS), min(few, _MANY))

    @once
    def _place(self) -> dict[Hashable, int]:
        return {value: at for at, value in enumerate(self.universe)}

    @once
    def datasets(self) -> tuple[Data, ...]:
        """Every dataset."""
        if self.n is None:
            if self.adjacency == EDGE:
                return tuple(self._graphs(self.universe))
            some = chain.from_iterable(combinations(self.universe, size) for size in range(len(self.universe) + 1))
            return tuple((frozenset(chosen), edges) for chosen in some for edges in self._graphs(chosen))
        if _replaces(self.adjacency):
            return tuple(product(self.universe, repeat=self.n))
        sizes = range(self.n + 1)
        return tuple(chain.from_iterable(combinations_with_replacement(self.universe, size) for size in sizes))

    def _graphs(self, vertices: Iterable[Hashable]) -> Iterator[frozenset[Any]]:
        places = list(combinations(vertices, 2))
        for size in range(len(places) + 1):
            yield from map(frozenset, combinations(places, size))

    def neighbours(self, data: Any) -> list[Data]:
        """List the neighbours of a dataset, each once or more.

        Parameters
        ----------
        data : Any
            A dataset of this world.

        Returns
        -------
        list
            All datasets that one change leads to.
        """
        if self.n is None:
            return self._edge_neighbours(data) if self.adjacency == EDGE else self._vertex_neighbours(data)
        without = [(*data[:at], *data[at + 1 :]) for at in range(len(data))]
        if _replaces(self.adjacency):
            return [(*data[:at], value, *data[at + 1 :]) for at in range(len(data)) for value in self.universe]
        more = [tuple(sorted((*data, value), key=self._place.__getitem__)) for value in self.universe]
        return [*without, *(more if len(data) < self.n else [])]

    def _edge_neighbours(self, edges: Any) -> list[Data]:
        return [edges ^ {edge} for edge in combinations(self.universe, 2)]

    def _vertex_neighbours(self, graph: Any) -> list[Data]:
        vertices, edges = graph
        without: list[Data] = [(vertices - {v}, frozenset(e for e in edges if v not in e)) for v in vertices]
        for v in self.universe:
            if v not in vertices:
                ties = [tuple(sorted((v, u), key=self._place.__getitem__)) for u in vertices]
                some = chain.from_iterable(combinations(ties, size) for size in range(len(ties) + 1))
                without.extend((vertices | {v}, edges | frozenset(chosen)) for chosen in some)
        return without

    def of(self, data: Any) -> Data:
        """Find the dataset that some data is, as this world writes it.

        Parameters
        ----------
        data : Any
            A list of records; a list of edges; or a pair of a list of vertices and a list of edges.

        Returns
        -------
        hashable
            The dataset.

        Raises
        ------
        ParameterError
            If it is not one of this world. The message does not show it.
        """
        try:
            found = self._written(data)
        except (TypeError, ValueError, KeyError):
            found = None
        if found is None or found not in self._known:
            raise ParameterError("data must be one of the datasets of the world: of its universe and its size.")
        return found

    def _written(self, data: Any) -> Data:
        if self.n is not None:
            records = tuple(plain(value) for value in data)
            return records if _replaces(self.adjacency) else tuple(sorted(records, key=self._place.__getitem__))
        if self.adjacency == EDGE:
            return self._edges(data)
        vertices, edges = data
        return frozenset(vertices), self._edges(edges)

    def _edges(self, edges: Any) -> frozenset[Any]:
        return frozenset(tuple(sorted((plain(u), plain(v)), key=self._place.__getitem__)) for u, v in edges)

    @once
    def _known(self) -> frozenset[Data]:
        return frozenset(self.datasets)

    def sensitivity(self, f: Callable[[Any], Any], norm: Norm = "l1") -> float:
        """Compute the global sensitivity of a function: the largest distance between its values on neighbours.

        Parameters
        ----------
        f : callable
            The statistic: a number, or several numbers, for each dataset.
        norm : {"l1", "l2", "linf"} or callable, default "l1"
            The distance between two values: Δ₁, Δ₂, Δ∞, or a metric of your own as a function of two values.

        Returns
        -------
        float
            The sensitivity in this world, never below the truth.
        """
        return self.statistic(f, norm).global_sensitivity

    def statistic(self, f: Callable[[Any], Any], norm: Norm = "l1") -> EnumeratedStatistic:
        """Make a statistic of a function, with all of its sensitivities in this world.

        Parameters
        ----------
        f : callable
            The statistic: a number, or several numbers, for each dataset.
        norm : {"l1", "l2", "linf"} or callable, default "l1"
            The distance between two values.

        Returns
        -------
        EnumeratedStatistic
            A `Statistic` for the functions of `dp.sensitivity`, and for `SmoothSensitivity` and `ProposeTestRelease`
            if it is one number without a metric of your own.
        """
        return EnumeratedStatistic(self, f, norm)


@dataclass(frozen=True, eq=False)
class EnumeratedStatistic:
    """Any function of a dataset of a small world, with its sensitivities by enumeration; a `Statistic`.

    `FiniteWorld.statistic` makes it. A float counts with its binary value; differences are exact, and rounded up once.

    Parameters
    ----------
    world : FiniteWorld
        The datasets and their neighbours.
    f : callable
        A number, or several numbers, for each dataset.
    norm : {"l1", "l2", "linf"} or callable, default "l1"
        The distance between two values.

    Examples
    --------
    >>> from dither.sensitivity import local_sensitivity, smooth_sensitivity, world
    >>> middle = world([0, 1, 2, 9], n=3).statistic(lambda x: sorted(x)[1])
    >>> middle.value([1, 2, 9]), local_sensitivity(middle, [1, 2, 9]), middle.sensitivity_within([1, 1, 1], 1)
    (2.0, 7.0, 8.0)
    >>> round(smooth_sensitivity(middle, [1, 1, 1], beta=1), 3)
    2.943
    """

    # A^(t)(D) ≤ A^(t+1)(D′) for neighbours D and D′, as every dataset within t steps of D is within t + 1 of D′;
    # rounding keeps it, because LS of a dataset is rounded once and then only compared.
    world: FiniteWorld
    f: Callable[[Any], Any] = field(repr=False)
    norm: Norm = "l1"

    def __post_init__(self) -> None:
        check.takes(1, f=self.f)
        if callable(self.norm):
            check.takes(2, norm=self.norm)
        if not callable(self.norm) and self.norm not in tuple(_NORMS):
            raise ParameterError(f"norm must be one of {', '.join(_NORMS)} or a function of two values.")
        _ = self._values

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets are neighbours."""
        return self.world.adjacency

    @once
    def _values(self) -> dict[Data, Any]:
        found = {data: self.f(data) for data in self.world.datasets}
        if callable(self.norm):
            return found
        vectors = {data: _vector(value) for data, value in found.items()}
        if len({len(vector) for vector in vectors.values()}) > 1:
            raise ParameterError("f must have as many numbers for each dataset.")
        return vectors

    @property
    def dimension(self) -> int | None:
        """How many numbers f has; None for a metric of one's own, whose distances are not those of numbers."""
        return None if callable(self.norm) else len(next(iter(self._values.values())))

    @once
    def _local(self) -> dict[Data, float]:
        """LS of every dataset, rounded up."""
        values = self._values
        return {
            data: max(
                (self._distance(values[data], values[other]) for other in self.world.neighbours(data)), default=0.0
            )
            for data in self.world.datasets
        }

    def _distance(self, one: Any, other: Any) -> float:
        if callable(self.norm):
            given = self.norm(one, other)
            found = rational(given, "a distance")
            check.nonnegative(distance=found)
            return exactly_above(found * (1 + relative_rounding([given])))
        return _NORMS[self.norm]([abs(a - b) for a, b in zip(one, other, strict=True)])

    @property
    def global_sensitivity(self) -> float:
        """The largest local sensitivity, never below the truth."""
        return max(self._local.values())

    def value(self, data: Any) -> float:
        """Compute f(D).

        Parameters
        ----------
        data : Any
            A dataset of the world.

        Returns
        -------
        float
            The exact value, not private; a tuple of floats if there are several.
        """
        exact = self._values[self.world.of(data)]
        if callable(self.norm):
            return exact  # type: ignore[no-any-return]
        return float(exact[0]) if len(exact) == 1 else tuple(map(float, exact))  # type: ignore[return-value]

    def exact_value(self, data: Any) -> Any:
        """Compute f(D) without rounding.

        Parameters
        ----------
        data : Any
            A dataset of the world.

        Returns
        -------
        Fraction
            The exact value, not private; a tuple if there are several numbers.
        """
        exact = self._values[self.world.of(data)]
        return exact[0] if not callable(self.norm) and len(exact) == 1 else exact

    def sensitivity_within(self, data: Any, distance: int) -> float:
        """Compute A^(t)(D), the largest local sensitivity within t steps.

        Parameters
        ----------
        data : Any
            A dataset of the world.
        distance : int
            t, the number of steps to a neighbour.

        Returns
        -------
        float
            A^(t)(D), never below the truth.
        """
        return self.profile(data).within(distance)

    def profile(self, data: Any) -> Profile:
        """Prepare the sensitivities of this dataset.

        Parameters
        ----------
        data : Any
            A dataset of the world.

        Returns
        -------
        Profile
            Ask it for `within(distance)` or `smooth(beta)`.
        """
        start = self.world.of(data)
        seen, edge, reached = {start}, [start], [self._local[start]]
        while edge:
            edge = list({other for data in edge for other in self.world.neighbours(data)} - seen)
            seen.update(edge)
            reached.append(max([reached[-1], *(self._local[other] for other in edge)]))
        return Stepwise(lambda t: reached[min(t, len(reached) - 1)], self.global_sensitivity)


def _vector(value: Any) -> Vector:
    items = (
        np.atleast_1d(value)
        if isinstance(value, np.ndarray)
        else value
        if isinstance(value, tuple | list)
        else (value,)
    )
    return tuple(_exact(item) for item in items)


def _exact(item: Any) -> Fraction:
    number = rational(item, "f(data)")
    return Fraction(*item.as_integer_ratio()) if isinstance(item, float | np.floating) else number


_NORMS: Mapping[str, Callable[[list[Fraction]], float]] = {
    "l1": lambda moves: exactly_above(sum(moves, Fraction(0))),
    "l2": lambda moves: above(lambda: sqrt(sum((move**2 for move in moves), Fraction(0)))) if any(moves) else 0.0,
    "linf": lambda moves: exactly_above(max(moves)),
}
