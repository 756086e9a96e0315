"""Your own laws, mechanisms, statistics and metrics: what their privacy rests on, bent one place at a time."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

__all__ = ["MUTATIONS"]

_LOSS = ("tests/guarantees/test_loss_of.py",)
_TABLE = ("tests/mechanisms/test_finite_mechanism.py",)
_WORLD = ("tests/sensitivity/test_enumeration.py",)
_SCORED = ("tests/mechanisms/test_scored_selection.py",)
_GROUPS = ("tests/guarantees/test_groups.py",)

MUTATIONS = [
    Mutation("guarantees/finite_loss.py", "ball(p + sign * self.p_error)", "ball(p)", _LOSS),
    Mutation("guarantees/given_laws.py", "* Fraction(float(width)):", "* Fraction(1):", _LOSS),
    Mutation(
        "guarantees/density_loss.py", "if not far <= max(_MASS_ERROR, min(mass.error, 0.001)):", "if False:", _LOSS
    ),
    Mutation(
        "pairs/finite.py", "highest[q] = max(p, highest.get(q, p))", "highest[q] = min(p, highest.get(q, p))", _TABLE
    ),
    Mutation("mechanisms/finite.py", "((first, second), (second, first))", "((first, second),)", _TABLE),
    Mutation("mechanisms/finite.py", "bisect_right(ends[at], place)", "bisect_right(ends[at], place + 1)", _TABLE),
    Mutation("sensitivity/enumeration.py", "sqrt(sum((move ** 2", "sqrt(sum((move ** 3", _WORLD),
    Mutation(
        "sensitivity/enumeration.py", "reached.append(max([reached[-1],", "reached.append(min([reached[-1],", _WORLD
    ),
    Mutation("sensitivity/enumeration.py", "Fraction(float(item)) if", "number if", _WORLD),
    Mutation("mechanisms/metric.py", "sensitivity=given + widened", "sensitivity=given", _SCORED),
    Mutation("mechanisms/metric.py", "entry + more * (i != j)", "entry", _SCORED),
    Mutation("guarantees/approximate.py", "ball(size * epsilon).expm1()", "ball(epsilon).expm1()", _GROUPS),
    Mutation("guarantees/renyi.py", "ZCDP(size ** 2 * self.rho)", "ZCDP(size * self.rho)", _GROUPS),
    Mutation("guarantees/gaussian.py", "size ** 2 * self.mu_squared", "size * self.mu_squared", _GROUPS),
]
