"""Records that are added or removed: the sensitivities of a trimmed mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dither.sensitivity.means_added_removed import AddRemoveMean, PaddedSide

__all__ = ["AddRemoveTrimmed"]


@dataclass(frozen=True, eq=False)
class AddRemoveTrimmed(AddRemoveMean):
    """How far the mean of the middle can move when one record comes or goes.

    A dataset of N records d[1] ≤ … ≤ d[N] keeps g = N − 2k of them, k = ⌊trim·N⌋. One record more or less moves their
    mean by at most the larger one, of those that apply, of

        (d[N − k + 1] − mean)/(g + 1)     if k stays with one record more, or falls with one less,
        (d[N − k] − mean)/(g − 1)         if k grows with one record more, or stays with one less,

    and the same two of the data turned around. In the first case the kept records gain one, at the utmost d[N − k + 1]
    (which is high if k = 0); in the second they lose one, at the utmost d[N − k]. Both are (top − mean of the e kept
    records below it)/(e + 1), with e = g or e = g − 1.

    Let w records be removed and u₁ + u₂ added first. With H records from `top` on, the largest `top` and the smallest
    records below it are had at once: u₁ times low, x[1], …, x[i], then x[i + w + 1], …, x[n], and u₂ ≤ H times high,
    where i = n − w − H + u₂. So all (w, u₁, u₂) of total t are tried, in whole numbers.
    """

    def _moves(self, removed: int, added: int, size: int) -> Iterator[Fraction]:
        for below, from_top in self._kept(size):
            yield from (_furthest(side, removed, added, below, from_top, size) for side in self._sides)

    def _kept(self, size: int) -> Iterator[tuple[int, int]]:
        """(e, H) of the ways in which one record more or less moves the mean."""
        cut = self._cut(size)
        if size >= 1 and (self._cut(size + 1) == cut or self._cut(size - 1) < cut):
            yield size - 2 * cut, cut
        if size >= 2 and (self._cut(size + 1) > cut or self._cut(size - 1) == cut):
            yield size - 2 * cut - 1, cut + 1


def _furthest(side: PaddedSide, removed: int, added: int, below: int, from_top: int, size: int) -> Fraction:
    """The largest (top − mean of the `below` records under it)/(below + 1), over u₂ of the added records on top."""
    cut = size - below - from_top
    best = 0
    for raised in range(max(0, from_top + removed - side.size), min(added, from_top) + 1):
        left = side.size - removed - from_top + raised
        top = side.values[left + removed + 1]
        best = max(best, below * top - side.kept_below(cut, added - raised, left))
    return Fraction(best, below * (below + 1))
