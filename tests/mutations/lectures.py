"""Your own laws, mechanisms, statistics and metrics: what their privacy rests on, bent one place at a time."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

__all__ = ["MUTATIONS"]

_LOSS = ("tests/guarantees/test_loss_of.py",)
_TABLE = ("tests/mechanisms/test_finite_mechanism.py",)
_FLOATS = ("tests/mechanisms/test_float_inputs.py",)
_WORLD = ("tests/sensitivity/test_enumeration.py",)
_SCORED = ("tests/mechanisms/test_scored_selection.py",)
_GRAPHS = ("tests/sensitivity/test_graphs.py",)
_INTERVAL = ("tests/mechanisms/test_selection_interval.py",)
_GROUPS = ("tests/guarantees/test_groups.py",)

MUTATIONS = [
    Mutation("guarantees/finite_loss.py", "ball(p + sign * self.p_error)", "ball(p)", _LOSS),
    Mutation("guarantees/given_laws.py", "if not abs(total - 1) <= rounding:", "if False:", _LOSS),
    Mutation("guarantees/finite_loss.py", "steps = self._possible", "steps = self._certain", _LOSS),
    Mutation(
        "guarantees/density_loss.py", "if not far <= max(_MASS_ERROR, min(mass.error, 0.001)):", "if False:", _LOSS
    ),
    Mutation(
        "pairs/finite.py", "highest[q] = max(p, highest.get(q, p))", "highest[q] = min(p, highest.get(q, p))", _TABLE
    ),
    Mutation("pairs/finite.py", "other[0] * one[1] - one[0] * other[1]", "one[0] - other[0]", _TABLE),
    Mutation("mechanisms/finite.py", "((first, second), (second, first))", "((first, second),)", _TABLE),
    Mutation("mechanisms/finite.py", "bisect_right(ends[at], place)", "bisect_right(ends[at], place + 1)", _TABLE),
    Mutation("sensitivity/enumeration.py", "sqrt(sum((move ** 2", "sqrt(sum((move ** 3", _WORLD),
    Mutation(
        "sensitivity/enumeration.py", "reached.append(max([reached[-1],", "reached.append(min([reached[-1],", _WORLD
    ),
    Mutation("sensitivity/enumeration.py", "Fraction(*item.as_integer_ratio()) if", "number if", _WORLD),
    Mutation("mechanisms/metric.py", "sensitivity=given + widened", "sensitivity=given", _SCORED),
    Mutation("mechanisms/metric.py", "entry + more * (i != j)", "entry", _FLOATS),
    Mutation("mechanisms/metric.py", "math.ceil(abs(entry) / step)", "math.floor(abs(entry) / step)", _SCORED),
    Mutation("mechanisms/metric.py", "more + asymmetry + rounding", "more + asymmetry", _FLOATS),
    Mutation("mechanisms/metric.py", "coordinate_rounding(points, kind) if off else 0", "0", _FLOATS),
    Mutation("mechanisms/metric_rows.py", "+ 2 * coordinate_rounding(self.points, self.kind)", "+ 0", _FLOATS),
    Mutation("exact/numbers.py", "(_ROUNDINGS * Fraction(float(np.finfo(kind).eps))", "(_ROUNDING", _FLOATS),
    Mutation("sensitivity/enumeration.py", "found * (1 + relative_rounding([given]))", "found", _FLOATS),
    Mutation("sensitivity/graph.py", "if room[u] and room[v]", "if room[u] or room[v]", _GRAPHS),
    Mutation("sensitivity/degrees.py", "(reach, reach + 1)", "(reach, reach)", _GRAPHS),
    Mutation("sensitivity/degrees.py", "min(present + t, reach)", "min(present, reach)", _GRAPHS),
    Mutation("sensitivity/triangles.py", "edges + present * t + comb(t, 2)", "edges + comb(t, 2)", _GRAPHS),
    Mutation("mechanisms/piecewise_scores.py", ".astype(np.float32)", ".astype(np.float64)", _INTERVAL),
    Mutation("mechanisms/piecewise_scores.py", "np.diff(cut).astype(np.float64) * levels", "levels", _INTERVAL),
    Mutation("guarantees/approximate.py", "ball(size * epsilon).expm1()", "ball(epsilon).expm1()", _GROUPS),
    Mutation("guarantees/renyi.py", "ZCDP(size ** 2 * self.rho)", "ZCDP(size * self.rho)", _GROUPS),
    Mutation("guarantees/gaussian.py", "size ** 2 * self.mu_squared", "size * self.mu_squared", _GROUPS),
]
