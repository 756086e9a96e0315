"""Counts: of records, by bin, by name; the most common names.

What is public (edges, categories) is given by the caller. Names that are not known beforehand need δ: a name that one
person alone has would show that they are there (`Histogram` with discovered bins).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import ParameterError
from dither.estimators.answer import Estimate, budget
from dither.estimators.labels import label, labels
from dither.estimators.records import checked_adjacency, finite, is_replace
from dither.exact import Number, check, rational
from dither.mechanisms.histogram import Histogram
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.released import Interval, Release
from dither.mechanisms.selection import NoisyMax

__all__ = ["count", "histogram", "mode", "top"]


def count(data: Any, *, epsilon: Number, adjacency: Adjacency = ADD_REMOVE) -> Estimate:
    """Count the records that are not missing, with integer noise.

    Parameters
    ----------
    data : array or sequence
        The records, one per person; None and NaN are missing.
    epsilon : Number
        The privacy budget ε > 0.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`. Δ = 1 under both.

    Returns
    -------
    Estimate
        `.value` is an int; `.interval(0.95)` contains the exact count.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.stats.count(["yes", None, "no"] * 100, epsilon=1)
    >>> isinstance(release.value, int), release.guarantee.epsilon(0)
    (True, 1.0)
    """
    mechanism = Laplace(sensitivity=1, epsilon=budget(epsilon), adjacency=checked_adjacency(adjacency))
    released = mechanism.release(len(labels(data)))
    return _estimate("count", released, epsilon, "the number of entries that are not missing")


def histogram(
    data: Any,
    *,
    epsilon: Number,
    edges: Sequence[Number] | None = None,
    categories: Sequence[Any] | None = None,
    delta: Number | None = None,
    adjacency: Adjacency = ADD_REMOVE,
) -> Estimate:
    """Count the records in each bin, with integer noise.

    Give exactly one of `edges`, `categories` and `delta`. Records outside all bins are not counted.

    Parameters
    ----------
    data : array or sequence
        The records, one per person: numbers with `edges`, names otherwise.
    epsilon : Number
        The privacy budget ε > 0.
    edges : sequence of Number, optional
        Public ends of the bins [e₀, e₁), …, [eₖ₋₁, eₖ], in increasing order.
    categories : sequence, optional
        Public names of the bins.
    delta : Number, optional
        The budget δ, such as 1e-6, with which the names that are common enough are found (partition selection).
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

    Returns
    -------
    Estimate
        `.value` is an integer array in the order of `edges` or `categories`; with `delta` a mapping from name to count.
        `.interval(0.95)` has the same shape.

    Raises
    ------
    ParameterError
        If bins are given in no way or in two, or a name stands twice.

    Notes
    -----
    Δ₁ = 1 under add/remove, 2 under replace-one (claim C10).

    Examples
    --------
    >>> import dither as dp
    >>> dp.stats.histogram([1, 2, 2, 7, 99], epsilon=1, edges=[0, 5, 10]).value.shape
    (2,)
    >>> list(dp.stats.histogram(["a"] * 500 + ["b"], epsilon=1, delta=1e-9).value)
    ['a']
    """
    ways = {"edges": edges, "categories": categories, "delta": delta}
    if [way is not None for way in ways.values()].count(True) != 1:
        raise ParameterError("bins must be given in exactly one way: edges=[...], categories=[...] or delta=...")
    covers = "the number of records in each bin"
    if edges is not None:
        known = _checked_edges(edges)
        bins = len(known) - 1
        mechanism = Histogram(epsilon=epsilon, bins=bins, adjacency=checked_adjacency(adjacency))
        return _estimate("histogram", mechanism.release(_binned(data, known)), epsilon, covers)
    if categories is not None:
        mechanism = Histogram(epsilon=epsilon, bins=len(categories), adjacency=checked_adjacency(adjacency))
        return _estimate("histogram", mechanism.release(_by_category(data, categories)), epsilon, covers)
    return _estimate("histogram", _discovered(data, epsilon, delta, adjacency), epsilon, covers)


def mode(
    data: Any,
    *,
    epsilon: Number,
    categories: Sequence[Any] | None = None,
    delta: Number | None = None,
    adjacency: Adjacency = ADD_REMOVE,
) -> Estimate:
    """Select the most common name: `top` with number 1.

    Give exactly one of `categories` and `delta`.

    Parameters
    ----------
    data : array or sequence
        The records, one name per person.
    epsilon : Number
        The privacy budget ε > 0.
    categories : sequence, optional
        The public names to select from; then it is ε-DP.
    delta : Number, optional
        The budget δ, such as 1e-6, with which names that are common enough are found.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

    Returns
    -------
    Estimate
        `.value` is the name; with `delta` None if no name is common enough. A name has no interval.

    Examples
    --------
    >>> import dither as dp
    >>> dp.stats.mode(["flu"] * 300 + ["cold"] * 20, epsilon=1, categories=["cold", "flu", "gout"]).value
    'flu'
    """
    best = top(data, 1, epsilon=epsilon, categories=categories, delta=delta, adjacency=adjacency, _name="mode")
    value = best.value[0] if best.value else None
    return Estimate(value, best.event, best.guarantee, best.mechanism, "mode", best.split, covers=best.covers)


def top(
    data: Any,
    number: int,
    *,
    epsilon: Number,
    categories: Sequence[Any] | None = None,
    delta: Number | None = None,
    adjacency: Adjacency = ADD_REMOVE,
    _name: str = "top",
) -> Estimate:
    """Select the most common names, best first.

    Give exactly one of `categories` and `delta`.

    Parameters
    ----------
    data : array or sequence
        The records, one name per person.
    number : int
        How many names to select.
    epsilon : Number
        The privacy budget ε > 0.
    categories : sequence, optional
        The public names to select from; then it is ε-DP.
    delta : Number, optional
        The budget δ, such as 1e-6, with which names that are common enough are found; there may be fewer than `number`.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

    Returns
    -------
    Estimate
        `.value` is a list of names. It has no interval.

    Raises
    ------
    ParameterError
        If names are given in no way or in two, or are fewer than `number`.

    Notes
    -----
    One name of the categories is chosen by a noisy maximum of the counts, with exponential noise (claims C12 and C14):
    the law of permute-and-flip, whose regret is never above that of the exponential mechanism (McKenna and Sheldon
    2020; Ding and others 2021). Several are the largest counts of one noisy histogram: a record is in one count, so
    that the noise does not grow with their number, as it would from round to round. Found names are those of a
    histogram with `delta`, by noisy count.

    Examples
    --------
    >>> import dither as dp
    >>> dp.stats.top(["a"] * 500 + ["b"] * 300 + ["c"], 2, epsilon=1, delta=1e-6).value
    ['a', 'b']
    """
    check.count(number=number)
    if (categories is None) == (delta is None):
        raise ParameterError("names must be given in exactly one way: categories=[...] or delta=...")
    covers = "A selected name has none; a histogram has."
    if categories is None:
        found = _discovered(data, epsilon, delta, adjacency)
        names = sorted(found.value, key=found.value.get, reverse=True)[:number]
        return _estimate(
            _name, Release(names, found.event, found.guarantee, found.mechanism), epsilon, covers, bars=False
        )
    is_monotone, known = not is_replace(checked_adjacency(adjacency)), list(categories)
    if not number <= len(known):
        raise ParameterError(f"number must be at most the {len(known)} categories, got number={number}.")
    counts = _by_category(data, known)
    if number == 1:
        one = NoisyMax(
            sensitivity=1, epsilon=epsilon, noise="exponential", monotone=is_monotone, adjacency=adjacency
        )  # fmt: skip
        best = one.release(counts)
        winners = [best.value]
    else:
        best = Laplace(sensitivity=1 if is_monotone else 2, epsilon=epsilon, adjacency=adjacency).release(counts)
        winners = np.argsort(-np.asarray(best.value), kind="stable")[:number].tolist()
    released = Release([known[at] for at in winners], best.event, best.guarantee, best.mechanism)
    return _estimate(_name, released, epsilon, covers, bars=False)


@dataclass(frozen=True)
class _Bars:
    """The interval of the mechanism itself."""

    released: Release

    def __call__(self, level: Fraction) -> Interval:
        return self.released.interval(level)


def _estimate(name: str, released: Release, epsilon: Number, covers: str, *, bars: bool = True) -> Estimate:
    return Estimate(
        released.value, released.event, released.guarantee, released.mechanism, name, {name: rational(epsilon)},
        covers=covers, bars=_Bars(released) if bars else None,
    )  # fmt: skip


def _discovered(data: Any, epsilon: Number, delta: Number | None, adjacency: Adjacency) -> Release:
    mechanism = Histogram(epsilon=epsilon, delta=delta, adjacency=checked_adjacency(adjacency))
    return mechanism.release(dict(Counter(labels(data))))


def _by_category(data: Any, categories: Sequence[Any]) -> np.ndarray:
    """A count for each category, in their order."""
    names = [label(category) for category in categories]
    if not names or None in names or len(set(names)) != len(names):
        raise ParameterError("categories must be a list of names (text, numbers, dates), each once.")
    counts = Counter(labels(data))
    return np.array([counts[name] for name in names], dtype=np.int64)


def _checked_edges(edges: Sequence[Number]) -> np.ndarray:
    known = np.array([float(rational(edge, "edges")) for edge in edges], dtype=np.float64)
    if len(known) < 2 or not (np.diff(known) > 0).all():
        raise ParameterError("edges must be two numbers or more, in increasing order.")
    return known


def _binned(data: Any, edges: np.ndarray) -> np.ndarray:
    """np.histogram's rule: the last bin holds its right end too. Missing records are in no bin."""
    values = finite(data)
    found = np.searchsorted(edges, values, side="right") - 1
    found[values == edges[-1]] = len(edges) - 2
    return np.bincount(found[(found >= 0) & (found < len(edges) - 1)], minlength=len(edges) - 1)
