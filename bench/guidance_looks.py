"""Looks of `suggest` at the same people, with noise that NumPy draws; one row of each person, as the engine has."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from bench.guidance_case import Floats, Trips

__all__ = ["NumPyLooks"]


class NumPyLooks:
    """Noisy histograms of people in one of their groups, and of one row of each."""

    def __init__(self, trips: Trips, rng: np.random.Generator) -> None:
        self.rng = rng
        both, pair = np.unique(trips.person * trips.groups + trips.group, return_inverse=True)
        rows, owner = np.bincount(pair), both // trips.groups
        order = np.lexsort((rng.random(len(both)), owner))
        first = np.r_[True, owner[order][1:] != owner[order][:-1]]
        one = order[first]
        self.groups = np.bincount(np.cumsum(first) - 1).astype(np.float64)
        self.rows = rows[one].astype(np.float64)
        sums: Floats = np.bincount(pair, np.clip(trips.value, *trips.bounds)).astype(np.float64)
        self.totals = sums[one]
        order = np.lexsort((rng.random(len(trips.person)), trips.person))
        who = trips.person[order]
        self.values = trips.value[order][np.r_[True, who[1:] != who[:-1]]]

    def by_rows(self, edges: Sequence[Sequence[int]], epsilon: Fraction) -> Floats:
        return self._counted([self.rows, self.groups][: len(edges)], edges, epsilon)

    def by_totals(
        self, name: str, edges: Sequence[float], groups: Sequence[Sequence[int]], epsilon: Fraction
    ) -> Floats:
        return self._counted([self.totals, self.groups][: 1 + len(groups)], [edges, *groups], epsilon)

    def by_values(self, name: str, edges: Sequence[float], epsilon: Fraction) -> Floats:
        return self._counted([self.values], [edges], epsilon)

    def leans(self, name: str, edges: Sequence[int], ends: tuple[float, float], epsilon: Fraction) -> Floats:
        middle, most = sum(ends) / 2, (ends[1] - ends[0]) / 2
        above = np.clip(self.totals / self.rows - middle, -most, most)
        bins = np.searchsorted(edges, self.rows, side="right") - 1
        exact: Floats = np.bincount(bins, above, len(edges) - 1).astype(np.float64)
        return self._with_noise(exact, most / float(epsilon))

    def _counted(self, of: Sequence[Floats], edges: Sequence[Sequence[float]], epsilon: Fraction) -> Floats:
        clamped = [np.clip(values, ends[0], ends[-1]) for values, ends in zip(of, edges, strict=True)]
        counts, _ = np.histogramdd(clamped, [np.array(ends, dtype=np.float64) for ends in edges])
        return self._with_noise(counts, 1 / float(epsilon))

    def _with_noise(self, exact: Floats, scale: float) -> Floats:
        return np.asarray(exact + self.rng.laplace(0, scale, exact.shape)).ravel()
