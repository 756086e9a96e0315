"""Histograms: integer counts per bin, for bins known in advance or discovered privately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import ParameterError
from dither.events import Event, Stated
from dither.exact import Number, check, once, rational, set_fields
from dither.exact.certified import exactly_above
from dither.guarantees import ApproxDP, Guarantee
from dither.mechanisms.additive import Noising, described, failure, moved, numeric
from dither.mechanisms.discovery_threshold import Discovery
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.noise.tape import answered

__all__ = ["Histogram"]


@dataclass(frozen=True, init=False, repr=False)
class Histogram(Mechanism):
    """Noisy integer counts per bin, for bins known in advance or found privately (partition selection).

    With `bins`, every bin gets noise, empty or not. Without `bins`, only bins that are not empty get noise, and only
    those whose noisy count reaches `threshold` are shown; that needs `delta`, as a bin of one person shows that they
    are there.

    Parameters
    ----------
    epsilon : Number
        The privacy budget ε > 0.
    delta : Number, optional
        The budget δ, such as 1e-6: required for Gaussian noise and for bins that are found privately, refused
        otherwise.
    noise : {"laplace", "gaussian"}, default "laplace"
        The noise on each count. Laplace noise on known bins is ε-DP; everything else is (ε, δ)-DP.
    bins : int or sequence, optional
        The bins if they are public: their number, or their names. By default they are found privately.
    max_bins : int, default 1
        The contribution bound k: one person is counted once in at most so many bins.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`, or `dp.adjacency.person(...)`.
    n : int, optional
        The number of people, if it is public: then δ ≥ 1/n is refused, as that would allow publishing a random record
        (claim C26).
    allow_large_delta : bool, default False
        Allow δ ≥ 1/n all the same.

    Raises
    ------
    ParameterError
        If `delta` is missing or not needed, a bin is named twice, or a number is out of range.

    Notes
    -----
    Under add/remove a neighbour moves k = `max_bins` counts by one: Δ₁ = Δ₂² = k; under replace-one twice as many: Δ₁ =
    Δ₂² = 2k (claim C10). Each count moves by one at most, so that neither passes the number of known bins. `threshold`
    is the smallest integer for which the whole is (ε, δ)-DP, computed from the exact tail of the noise (see
    `mechanisms.discovery_threshold`).

    Examples
    --------
    >>> import dither as dp
    >>> votes = dp.Histogram(bins=["yes", "no"], epsilon=1)
    >>> noisy = votes.release({"yes": 412, "no": 371}).value
    >>> noisy.dtype
    dtype('int64')
    >>> words = dp.Histogram(epsilon=1, delta="1e-6")
    >>> words.threshold
    15
    >>> "common" in words.release({"common": 5000, "rare": 1}).value
    True
    """

    epsilon: Fraction
    delta: Fraction | None
    noise: str
    bins: int | tuple[Any, ...] | None
    max_bins: int
    adjacency: Adjacency | None

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number | None = None,
        noise: str = "laplace",
        bins: int | np.integer[Any] | Sequence[Any] | None = None,
        max_bins: int = 1,
        adjacency: Adjacency = ADD_REMOVE,
        n: int | None = None,
        allow_large_delta: bool = False,
    ) -> None:
        check.count(max_bins=max_bins)
        if noise not in ("laplace", "gaussian"):
            raise ParameterError(f"noise must be laplace or gaussian, got noise={noise!r}.")
        if not isinstance(adjacency, Adjacency):
            raise ParameterError("adjacency must say who is protected, such as dither.adjacency.REPLACE_ONE.")
        set_fields(self, epsilon=rational(epsilon, "epsilon"))
        check.positive(epsilon=self.epsilon)
        set_fields(self, bins=_checked_bins(bins), noise=noise, max_bins=int(max_bins), adjacency=adjacency)
        set_fields(self, delta=self._checked_delta(delta, n, allow_large_delta))
        self.event  # noqa: B018  (built now, so that what cannot be kept is refused here)

    def _checked_delta(self, delta: Number | None, n: int | None, allow_large: bool) -> Fraction | None:
        needed = self.noise == "gaussian" or self.bins is None
        if needed != (delta is not None):
            raise ParameterError(
                "delta must be given for Gaussian noise and for bins that are discovered, and only for these; "
                f"got delta={delta}."
            )
        return failure(delta, n, allow_large)

    def __repr__(self) -> str:
        return described(
            self, epsilon=self.epsilon, delta=self.delta, noise=self.noise, bins=self.bins, max_bins=self.max_bins
        )

    # -------------------------------------------------------------------- cost

    @property
    def moves(self) -> int:
        """How many counts one neighbour moves by one: of known bins no more than there are."""
        assert self.adjacency is not None
        moves = self.max_bins * (2 if self.adjacency.change == "replace" else 1)
        return moves if self.bins is None else min(moves, self._size)

    @property
    def _size(self) -> int:
        """The number of known bins."""
        assert self.bins is not None
        return self.bins if isinstance(self.bins, int) else len(self.bins)

    @once
    def mechanism(self) -> Laplace | Gaussian:
        """The additive mechanism that puts noise on each count."""
        if self.noise == "laplace":
            return Laplace(sensitivity=self.moves, epsilon=self.epsilon, adjacency=self.adjacency)
        return Gaussian(
            sensitivity_squared=self.moves,
            epsilon=self.epsilon,
            delta=self.delta,
            dimension=self.moves,
            adjacency=self.adjacency,
        )

    @once
    def _discovery(self) -> Discovery | None:
        if self.bins is not None:
            return None
        assert self.delta is not None
        return Discovery.of(self.mechanism, self.epsilon, self.delta, self.max_bins)

    @property
    def threshold(self) -> int | None:
        """The smallest noisy count that is shown; None for known bins."""
        return None if self._discovery is None else self._discovery.threshold

    @property
    def guarantee(self) -> Guarantee:
        """Pure ε-DP for known bins with Laplace noise, (ε, δ)-DP otherwise."""
        if self.delta is None:
            return self.mechanism.guarantee
        return ApproxDP(self.epsilon, self.delta, adjacency=self.adjacency)

    @once
    def event(self) -> Event:
        """The noise for known bins; the stated (ε, δ)-DP for bins found privately.

        No other event describes a threshold.
        """
        if self._discovery is None:
            return self._noising.event
        assert self.delta is not None
        return Stated("ApproxDP", (self.epsilon, self.delta), self.adjacency)

    @property
    def _noising(self) -> Noising:
        found = self.mechanism.for_integers
        assert found is not None
        return found

    # ----------------------------------------------------------------- release

    def release(self, counts: Any) -> Release:
        """Add noise to the counts.

        Parameters
        ----------
        counts : mapping, array or tuple of two arrays
            Known bins: an integer array in the order of `bins`, or a mapping from bin to count, where an absent bin
            counts 0. Otherwise: a mapping, or two arrays (names, counts) as `numpy.unique(..., return_counts=True)`
            returns them.

        Returns
        -------
        Release
            Known bins: `.value` is an integer array in the order of `bins`. Otherwise: a mapping or two arrays, as
            given, of the bins that reached the threshold, in the order of their names.

        Raises
        ------
        ParameterError
            If counts are not one for each known bin.
        """
        if self.bins is not None:
            noisy = self._noising.add(self._known(counts))
            return Release(noisy, self.event, self._noising.guarantee, self)
        pairs = _pairs_of(counts)
        names, shown = answered(lambda: self._discovered(*pairs), "discovered", pairs, histogram=self)
        value = (
            dict(zip(names.tolist(), shown.tolist(), strict=True)) if isinstance(counts, Mapping) else (names, shown)
        )
        return Release(value, self.event, self.guarantee, self)

    def _discovered(self, names: NDArray[Any], counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The bins that reach the threshold; empty bins get no noise, so that their number stays unknown."""
        found = counts > 0
        noisy = np.asarray(self._noising.add(counts[found]))
        shown = noisy >= self.threshold
        names, noisy = names[found][shown], noisy[shown]
        order = _sorted(names)
        if names.dtype.kind in "US":  # the width of the array would tell how long the longest hidden name is
            names = np.array(names.tolist(), dtype=names.dtype.kind)
        return names[order], noisy[order]

    def _known(self, counts: Any) -> NDArray[Any]:
        assert self.bins is not None
        if isinstance(counts, Mapping):
            if isinstance(self.bins, int):
                raise ParameterError("counts by name need named bins: bins=[...].")
            if set(counts) - set(self.bins):
                raise ParameterError("counts must be for the declared bins only, and one of them is for another.")
            counts = [counts.get(name, 0) for name in self.bins]
        array = _whole_counts(counts)
        if array.shape != (self._size,):
            raise ParameterError(f"counts must be one for each of the {self._size} bins, in one dimension.")
        return array

    @property
    def expected_error(self) -> float:
        """The mean absolute noise on one bin, rounded up. Bins below the threshold are not shown at all."""
        return self.mechanism.expected_error_of(self._noising)

    def _error(self, beta: Fraction) -> float:
        return exactly_above(self._noising.reach(beta))

    def _interval(self, value: Any, level: Fraction) -> Interval:
        """The noise on one bin, both ways. A bin is shown when its noise was high enough: read its bounds with that."""
        reach = int(self._noising.reach(1 - level))
        if isinstance(value, dict):
            return tuple({name: count + side for name, count in value.items()} for side in (-reach, reach))  # type: ignore[return-value]
        noisy = value[1] if isinstance(value, tuple) else value
        return moved(noisy, -reach), moved(noisy, reach)


def _checked_bins(bins: Any) -> int | tuple[Any, ...] | None:
    if bins is None:
        return None
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        check.count(bins=bins)
        return int(bins)
    try:
        names = () if isinstance(bins, str | bytes) else tuple(bins)
        distinct = set(names)
    except TypeError:
        raise _no_bins() from None
    if not names or len(distinct) != len(names):
        raise _no_bins()
    return names


def _no_bins() -> ParameterError:
    return ParameterError("bins must be their number or a list of their names: at least one, each named once.")


def _whole_counts(counts: Any) -> NDArray[Any]:
    array = numeric(counts)
    if not isinstance(array, np.ndarray) or (array.size and array.dtype.kind not in "iuO"):
        raise ParameterError("counts must be an array of whole numbers.")
    if array.dtype.kind == "O" and not all(isinstance(x, int) for x in array):
        raise ParameterError("counts must be whole numbers.")
    if (array < 0).any():
        raise ParameterError("counts must not be negative.")
    return array.astype(np.int64) if array.dtype.kind == "u" and array.dtype.itemsize < 8 else array


def _pairs_of(counts: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    if isinstance(counts, Mapping):
        names, exact = _as_they_are(list(counts)), _whole_counts(list(counts.values()))
    elif isinstance(counts, tuple) and len(counts) == 2:
        names, exact = _as_they_are(counts[0]), _whole_counts(counts[1])
    else:
        raise ParameterError("counts of bins that are discovered must be a mapping, or two arrays (names, counts).")
    if names.ndim != 1 or names.shape != exact.shape or not _are_distinct(names):
        raise ParameterError("each bin must be named once, with one count.")
    return names, exact


def _as_they_are(names: Any) -> NDArray[Any]:
    """The names as an array. In a list each keeps its type: NumPy would turn 3 into "3" if some other name is text."""
    if not isinstance(names, list | tuple):
        return np.asarray(names)
    array: NDArray[Any] = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def _are_distinct(names: NDArray[Any]) -> bool:
    """Whether no two names are equal, nor read the same, as two NaN do; names that have no order are refused."""
    if names.dtype.kind != "O":
        return len(np.unique(names)) == names.size
    try:
        distinct = len(set(names.tolist())) == names.size
    except TypeError:
        raise _no_order() from None
    return distinct and (_is_plain(names) or len({_key(name) for name in names}) == names.size)


def _sorted(names: NDArray[Any]) -> NDArray[Any]:
    """An order that depends on the set of names alone: by value, or by type and text if values do not compare."""
    if names.dtype.kind != "O" or _is_plain(names):
        return np.argsort(names, kind="stable")
    keys = [_key(name) for name in names]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _is_plain(names: NDArray[Any]) -> bool:
    """Whether the names have a total order: all int, all text, or all float without NaN."""
    kinds = {type(name) for name in names}
    return kinds <= {int} or kinds <= {str} or (kinds <= {float} and not any(name != name for name in names))


def _key(name: Any) -> tuple[str, str]:
    """The type and a text that says the value: equal for equal names, whatever was built first."""
    kind = type(name).__qualname__
    if isinstance(name, np.generic):
        return _key(name.item()) if not isinstance(name.item(), np.generic) else (kind, str(name))
    if isinstance(name, Enum):
        return kind, name.name
    if isinstance(name, tuple):
        return kind, repr([_key(part) for part in name])
    if isinstance(name, frozenset):
        return kind, repr(sorted(_key(part) for part in name))
    if name is None or isinstance(name, _SAYS_ITS_VALUE):
        return kind, repr(name)
    raise _no_order()


def _no_order() -> ParameterError:
    return ParameterError(
        "names of bins must be numbers, text, dates, enumerations, or tuples or frozensets of these: other names have "
        "no order of their own, and the order of the data would show. Turn them into text first."
    )


_SAYS_ITS_VALUE = (bool, int, float, complex, str, bytes, Fraction, Decimal, date, time, timedelta)
