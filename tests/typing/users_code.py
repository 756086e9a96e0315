"""What users write, as `mypy --strict` must accept it: types are as permissive as the run time."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import assert_type

import polars as pl

import dither as dp
from dither.events import Composed, GaussianNoise, LaplaceNoise, PoissonSampled

whole = LaplaceNoise(10)
decimal = LaplaceNoise(0.5, sensitivity="1/3")
exact = GaussianNoise(variance=Fraction(4), sensitivity_squared=Decimal("1.5"), step=0.5 if whole.step else None)
sampled = PoissonSampled(GaussianNoise(variance=1.5), 0.01)
assert_type(whole.scale, Fraction)
assert_type(whole.step, Fraction | None)
together = Composed((whole, decimal))

mechanism = dp.Laplace(sensitivity=1, epsilon=0.5)
composed = dp.compose([mechanism])
several = dp.compose([mechanism.release(3), mechanism.event, dp.PureDP(1), whole])
own: list[dp.Laplace | dp.Gaussian] = [mechanism, dp.Gaussian(sensitivity=1, rho=0.1)]
mixed = dp.compose(own)
low, high = mixed.bracket(1e-6)
assert_type(low, float)
budget = dp.ApproxDP(1, 1e-6)


def by_city(data: dp.Dataset) -> pl.DataFrame:
    """Frames have the types of their libraries."""
    return data.group_by("city", keys=["Lyon"]).agg(n=dp.count()).release(epsilon=0.5).to_polars()
