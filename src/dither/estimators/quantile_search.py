"""The steps that find quantiles, for arrays and for the groups of tables.

**One** quantile is one exponential mechanism with all of ε: no range is searched for before, as the base measure knows
where numbers usually are (`base`, `places`).

**Several.** The middle probability is answered first; its answer v cuts the data in two, and each half answers its own.
A level spends ε/levels, whatever the number of its nodes:

* add/remove: a record is in one node of a level, and only that node sees a change;
* replace-one, one node: a record is replaced, added or removed there: Δ = d covers all three;
* replace-one, several nodes: a record may leave one and enter another. Each node spends half as for add/remove.
  A record replaced within a node moves its score by d ≤ 2·max(p, d − p), so that it costs no more than both halves.

In each case the privacy losses of a level lie in an interval of width ε/levels, which is what its event says. (Losses
of two independent selections lie in an interval of the sum of the widths.)

**Far out.** A single quantile beyond 5 % or 95 % first finds the median with a fiftieth of ε. Half of its base measure
is then spread over the octaves of the distance from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.estimators.base_measure import Base
from dither.estimators.order_statistic import RankedRows, chosen, quantile_aim
from dither.estimators.ranks import MOST_UNITS, quantile_sensitivity
from dither.estimators.records import is_replace
from dither.mechanisms.selection import Exponential

__all__ = ["QuantileSearch", "as_answer"]

_ANCHOR_SHARE = Fraction(1, 50)
_FAR_OUT = Fraction(1, 20)
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class _Node:
    """A part of the data between two answers, with the probabilities that fall there."""

    rows: RankedRows
    between: tuple[int, int]
    asked: list[Fraction]
    first: Fraction
    last: Fraction
    base: Base

    @property
    def middle(self) -> Fraction:
        return self.asked[len(self.asked) // 2]

    @property
    def probability(self) -> Fraction:
        """The middle probability, relative to this part. Rounded, it still is a target like any other."""
        inside = ((self.middle - self.first) / (self.last - self.first)).limit_denominator(MOST_UNITS)
        least = Fraction(1, MOST_UNITS)
        return min(max(inside, least), 1 - least)

    def children(self, answer: int) -> list[_Node]:
        first, end = self.between
        below, above = self.rows.parted(answer)
        parts = [
            (below, (first, answer + 1), [q for q in self.asked if q < self.middle], self.first, self.middle),
            (above, (answer, end), [q for q in self.asked if q > self.middle], self.middle, self.last),
        ]
        return [_Node(*part, self.base.within(answer)) for part in parts if part[2]]


@dataclass(frozen=True)
class QuantileSearch:
    """The steps of one quantile query; None stands for no answer.

    A person has up to `rows` rows in each of `groups` groups, of which each spends its part of ε.
    """

    base: Base
    adjacency: Adjacency
    rows: int = 1
    groups: int = 1

    def mechanism(self, probability: Fraction, epsilon: Fraction, adjacency: Adjacency | None = None) -> Exponential:
        """The mechanism for one quantile of one group, of what ε pays in all groups."""
        known = adjacency or self.adjacency
        sensitivity = quantile_sensitivity(probability, known) * self.rows
        return Exponential(sensitivity=sensitivity, epsilon=epsilon / self.groups, adjacency=known)

    def steps(self, asked: Iterable[Fraction], epsilon: Fraction) -> list[tuple[str, Fraction]]:
        """What is done one after the other, and the part of ε that each step spends in all groups."""
        distinct = set(asked)
        if len(distinct) > 1:
            levels = len(distinct).bit_length()
            return [("quantiles", epsilon / levels)] * levels
        (q,) = distinct
        if _FAR_OUT <= q <= 1 - _FAR_OUT:
            return [("quantile", epsilon)]
        return [("median", epsilon * _ANCHOR_SHARE), ("quantile", epsilon * (1 - _ANCHOR_SHARE))]

    def run(self, rows: RankedRows, asked: Iterable[Fraction], epsilon: Fraction) -> dict[Fraction, int | None]:
        """The place of each probability."""
        distinct = sorted(set(asked))
        shares = [share for _, share in self.steps(distinct, epsilon)]
        if len(distinct) > 1:
            whole = (self.base.first, self.base.end)
            return self._levels([_Node(rows, whole, distinct, Fraction(0), Fraction(1), self.base)], shares)
        (q,) = distinct
        base = self.base
        if len(shares) > 1:
            anchor = self._one(rows, _HALF, base, shares[0])
            base = base.with_little_uniform if anchor is None else base.around(anchor)
        return {q: self._one(rows, q, base, shares[-1])}

    def _one(self, rows: RankedRows, probability: Fraction, base: Base, epsilon: Fraction) -> int | None:
        mechanism = self.mechanism(probability, epsilon)
        target = quantile_aim(probability, rows.total, base, mechanism)
        released = chosen(rows, base, (base.first, base.end), target, mechanism)
        return as_answer(released.value, base.end)

    def _levels(self, nodes: list[_Node], shares: list[Fraction]) -> dict[Fraction, int | None]:
        answers: dict[Fraction, int | None] = dict.fromkeys(nodes[0].asked)
        for share in shares:
            placed = [(node, self._in_node(node, share, is_alone=len(nodes) == 1)) for node in nodes]
            answers |= {node.middle: place for node, place in placed}
            nodes = [child for node, place in placed if place is not None for child in node.children(place)]
        return answers

    def _in_node(self, node: _Node, share: Fraction, *, is_alone: bool) -> int | None:
        q = node.probability
        mechanism = self.mechanism(q, share)
        if is_replace(self.adjacency) and not is_alone:
            mechanism = self.mechanism(q, share / 2, ADD_REMOVE)
        target = quantile_aim(q, node.rows.total, node.base, mechanism)
        return as_answer(chosen(node.rows, node.base, node.between, target, mechanism).value, node.between[1])


def as_answer(place: int, end: int) -> int | None:
    """From `end` on there is no answer: the piece that refuses has every place behind the part of a node."""
    return place if place < end else None
