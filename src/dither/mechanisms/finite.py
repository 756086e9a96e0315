"""Your own mechanism: a table of probabilities, drawn from exactly and charged for exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, combinations
from math import lcm
from typing import Any

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events import Event, FiniteAnswer
from dither.exact import Ball, Number, check, listed, once, precision, rational, set_fields
from dither.exact.certified import exactly_above
from dither.guarantees import Guarantee, normalised
from dither.guarantees.finite import Distribution, read_distribution
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.noise import UniformBelow
from dither.noise.tape import answered
from dither.pairs import ProfileOf
from dither.pairs.finite import FinitePair, worst_of

__all__ = ["FiniteMechanism"]

_STEPS = 1 << 62
_BITS = 192
_MOST_LOSSES = 1000


@dataclass(frozen=True, init=False, repr=False)
class FiniteMechanism(Mechanism):
    """A mechanism of your own: for each input, the probabilities of its outputs.

    Outputs are drawn exactly with these probabilities, and the privacy of the table is computed exactly: the
    guarantee is the largest δ(ε) over all neighbours, in both orders.

    Parameters
    ----------
    table : mapping
        For each input, its law: probabilities by output, or a list or NumPy vector of them whose outputs are 0, 1,
        ... They must be exact numbers that sum to 1.
    neighbours : iterable of pairs, optional
        Which inputs are neighbours. By default all of them are, as for the answers of one person.
    normalise : bool, default False
        Whether floats that sum to 1 but for rounding are made exact. They are rounded to multiples of 2^-62, a
        positive one to no less, and the rounded table is what is drawn from and charged for.
    adjacency : Adjacency, optional
        Which datasets the neighbouring inputs stand for. By default unstated; samples need it stated.

    Raises
    ------
    ParameterError
        If a law does not sum to 1, there are fewer than two inputs, neighbours are not inputs, or more than 1000
        outputs all have another loss.

    Notes
    -----
    A test between two neighbours has the points (Q(E), P(E)), and the concave hull of these points over all events
    and all neighbours is the trade-off curve of one finite pair, which is the event: for one release it is tight, and
    composing it is never below the truth (Zhu, Dong and Wang 2022).

    Examples
    --------
    >>> import dither as dp
    >>> mine = dp.FiniteMechanism({"no": {"no": "2/3", "yes": "1/3"}, "yes": {"no": "1/4", "yes": "3/4"}})
    >>> mine.guarantee.epsilon(0)  # the largest loss: ln((2/3)/(1/4))
    0.98082925301...
    >>> mine.release("no").value in ("no", "yes")
    True
    >>> dp.compose([mine] * 10).epsilon(1e-6) < 10 * mine.guarantee.epsilon(0)
    True
    """

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    rows: tuple[tuple[Fraction, ...], ...]
    adjacent_rows: tuple[tuple[int, int], ...]
    adjacency: Adjacency | None
    _place: dict[Hashable, int] = field(compare=False)

    def __init__(
        self,
        table: Mapping[Any, Distribution],
        *,
        neighbours: Iterable[tuple[Hashable, Hashable]] | None = None,
        normalise: bool = False,
        adjacency: Adjacency | None = None,
    ) -> None:
        if not (hasattr(table, "items") and len(table) >= 2):
            raise ParameterError("table must be a mapping from two inputs or more to the laws of their outputs.")
        read = _rounded if normalise else _exact
        laws = {value: read(law, f"table[{value!r}]") for value, law in table.items()}
        outputs = tuple(dict.fromkeys(output for law in laws.values() for output in law))
        rows = tuple(tuple(law.get(output, Fraction(0)) for output in outputs) for law in laws.values())
        place: dict[Hashable, int] = {value: at for at, value in enumerate(laws)}
        set_fields(self, inputs=tuple(laws), outputs=outputs, rows=rows, _place=place, adjacency=adjacency)
        set_fields(self, adjacent_rows=_pairs(place, neighbours))
        if len(self._pair.p) > _MOST_LOSSES:
            raise ParameterError(
                f"the worst neighbours of the table have {len(self._pair.p)} different losses, and an event states at "
                f"most {_MOST_LOSSES}. Use fewer outputs: merge those whose probabilities are nearly in proportion."
            )
        _ = self.event

    @classmethod
    def of(
        cls,
        pmf: Callable[[Any, Any], Number | Ball],
        inputs: Iterable[Hashable],
        outputs: Iterable[Hashable],
        *,
        neighbours: Iterable[tuple[Hashable, Hashable]] | None = None,
        adjacency: Adjacency | None = None,
    ) -> FiniteMechanism:
        """Make the mechanism with Pr[y | x] ∝ pmf(x, y), from weights as numbers, floats or balls.

        Parameters
        ----------
        pmf : callable
            The weight of output y for input x, not negative; it needs not be normalised. A ball counts with its middle.
        inputs : iterable
            The inputs, all different.
        outputs : iterable
            The outputs, all different.
        neighbours : iterable of pairs, optional
            Which inputs are neighbours. By default all.
        adjacency : Adjacency, optional
            Which datasets the neighbouring inputs stand for.

        Returns
        -------
        FiniteMechanism
            The mechanism whose probabilities are these, rounded to multiples of 2^-62.

        Examples
        --------
        >>> import math
        >>> walk = FiniteMechanism.of(
        ...     lambda x, y: math.exp(-abs(x - y)), range(5), range(5), neighbours=[(x, x + 1) for x in range(4)]
        ... )
        >>> round(walk.guarantee.epsilon(0), 6)
        1.20087
        """
        rows, columns = listed(inputs, "inputs"), listed(outputs, "outputs")
        check.distinct(inputs=rows, outputs=columns)
        check.takes(2, pmf=pmf)
        laws = {value: _shares({y: _weight(pmf(value, y)) for y in columns}, f"pmf({value!r}, ·)") for value in rows}
        return cls(laws, neighbours=neighbours, adjacency=adjacency)

    def __repr__(self) -> str:
        return f"FiniteMechanism({len(self.inputs)} inputs, {len(self.outputs)} outputs)"

    @once
    def event(self) -> Event:
        """One answer of the table, by the pair that dominates all of its neighbours."""
        return FiniteAnswer(self._pair.p, self._pair.q, self.adjacency)

    @once
    def guarantee(self) -> Guarantee:
        """The exact privacy profile, the largest over all neighbours."""
        return ProfileOf(self._pair, adjacency=self.adjacency)

    @once
    def _pair(self) -> FinitePair:
        ordered = [(self.rows[a], self.rows[b]) for a, b in self.adjacent_rows]
        return worst_of(both for first, second in ordered for both in ((first, second), (second, first)))

    def release(self, value: Any) -> Release:
        """Draw an output for one input.

        Parameters
        ----------
        value : hashable
            One of the inputs.

        Returns
        -------
        Release
            `.value` is one of the outputs.

        Raises
        ------
        ParameterError
            If `value` is not one of the inputs. The message does not show it.
        """
        try:
            at = self._place.get(value)
        except TypeError:  # not hashable, so not declared
            at = None
        if at is None:
            raise ParameterError(f"value must be one of the {len(self.inputs)} inputs of the table. Declare it first.")
        drawn = answered(lambda: self._drawn(at)[0], "table", at, mechanism=self)
        return Release(self.outputs[drawn], self.event, self.guarantee, self)

    @once
    def _ends(self) -> tuple[int, list[list[int]]]:
        """A common denominator D, and for each row where the share of each output ends in 0, ..., D."""
        common = lcm(*(share.denominator for row in self.rows for share in row))
        return common, [list(accumulate(int(share * common) for share in row)) for row in self.rows]

    def _drawn(self, at: int, count: int = 1) -> list[int]:
        """A uniform integer below D lies in the share of output y with exactly its probability."""
        common, ends = self._ends
        return [bisect_right(ends[at], place) for place in UniformBelow(common).sample(count).tolist()]

    @property
    def expected_error(self) -> float:
        """The chance that the output is not the likeliest one of its input, for the input where that is largest."""
        return exactly_above(self._unlikely)

    @property
    def _unlikely(self) -> Fraction:
        return max(1 - max(row) for row in self.rows)

    def _error(self, beta: Fraction) -> float:
        """The error is 0 for the likeliest output of the input, 1 for any other."""
        return float(self._unlikely > beta)

    def _interval(self, value: Any, level: Any) -> Interval:
        raise ParameterError(
            "outputs of a table have no order, so there is no interval. Use `rows`, their probabilities."
        )


def _pairs(
    place: Mapping[Hashable, int], neighbours: Iterable[tuple[Hashable, Hashable]] | None
) -> tuple[tuple[int, int], ...]:
    if neighbours is None:
        return tuple(combinations(range(len(place)), 2))
    found = []
    for pair in listed(neighbours, "neighbours"):
        both = listed(pair, "each pair of neighbours")
        check.distinct(neighbours=both)
        if not (len(both) == 2 and all(value in place for value in both)):
            raise ParameterError(f"neighbours must be pairs of two different inputs, got {pair!r}.")
        found.append((place[both[0]], place[both[1]]))
    if not found:
        raise ParameterError("neighbours must not be empty. Without neighbours nothing is promised.")
    return tuple(found)


def _exact(law: Distribution, name: str) -> dict[Hashable, Fraction]:
    found = read_distribution(law, name)
    exact = {output: share for output, share in found.items() if isinstance(share, Fraction)}
    if len(exact) < len(found):
        raise ParameterError(f"{name} must have exact probabilities, not balls. Use FiniteMechanism.of.")
    return exact


def _rounded(law: Distribution, name: str) -> dict[Hashable, Fraction]:
    return _shares(normalised(law), name)


def _shares(weights: Mapping[Hashable, Fraction], name: str) -> dict[Hashable, Fraction]:
    """The weights over their sum in multiples of 2^-62, positive ones in one or more; the largest takes the rest."""
    total = sum(weights.values(), Fraction(0))
    if not (weights and total > 0 and min(weights.values()) >= 0):
        raise ParameterError(f"the weights of {name} must be 0 or more, and not all 0.")
    shares = {output: max(round(weight / total * _STEPS), int(weight > 0)) for output, weight in weights.items()}
    largest = max(shares, key=lambda output: shares[output])
    shares[largest] += _STEPS - sum(shares.values())
    return {output: Fraction(share, _STEPS) for output, share in shares.items()}


def _weight(value: Number | Ball) -> Fraction:
    if not isinstance(value, Ball):
        return rational(value, "a weight")
    if not value.is_finite():
        raise ParameterError("a weight must be finite.")
    with precision(_BITS):
        mantissa, exponent = value.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
