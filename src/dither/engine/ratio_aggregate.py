"""The ratio of two sums of each group: tips by fares, hours by patients.

**Why it is private.** Both sums are those of `dp.sum`, each with noise of its own and a part of the price; the quotient
is post-processing.

**Interval** (Fieller 1954). Each sum is counted in scales of its own noise: A with noise L₁ and B with noise L₂, of one
law of scale 1. At the true t = A/(A + B) of the exact sums, A(1 − t) − B·t of the noisy ones is (1 − t)L₁ − t·L₂: the
interval has every t at which it is as small as such noise is (`estimators.mean_between`), and the ratio is t/(1 − t) in
the units of both. No exact sum is negative, as no bound is, so that t lies between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.engine.aggregate import Aggregate, Answer, Bounds, Floats, Noisy, aggregate_function
from dither.engine.binning import expression
from dither.engine.group_sensitivity import Need
from dither.engine.moment_aggregates import Total
from dither.errors import ParameterError
from dither.estimators.noise_tails import NoiseLaw
from dither.estimators.ratio_intervals import mean_between
from dither.exact import rational
from dither.tables import Expression

__all__ = ["Ratio", "ratio"]

_DISCRETE = 2.0
"""Steps by which whole numbers as noise, one for each sum, are beside the law that has no steps."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratio(Aggregate):
    """One sum by another; no value of either is negative."""

    upper: Total
    lower: Total

    @property
    def of(self) -> Expression:
        """What is added up above."""
        return self.upper.of

    @property
    def to(self) -> Expression:
        """What is added up below."""
        return self.lower.of

    @property
    def bounds(self) -> Bounds | None:
        """Those of the values above."""
        return self.upper.bounds

    @property
    def to_bounds(self) -> Bounds | None:
        """Those of the values below."""
        return self.lower.bounds

    @property
    def made_of(self) -> tuple[Aggregate, ...]:
        return self.upper, self.lower

    @property
    def needs(self) -> Mapping[str, Need]:
        return {**self.upper.needs, **self.lower.needs}

    def supposed(self, rows: int) -> Mapping[str, Any]:
        """The sums of values spread evenly."""
        return {**self.upper.supposed(rows), **self.lower.supposed(rows)}

    @property
    def depends_on_size(self) -> bool:
        return True

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        """The quotient, inside of its interval; no number where the noisy sum below is not above 0."""
        (above, unit_above), (below, unit_below) = (_in_scales(each, parts) for each in (self.upper, self.lower))
        miss = sum(part.miss for part in parts.values())
        law = next(part.law for part in parts.values())
        assert law is not None
        rounded = _DISCRETE * max(float(each.lattice.step) / unit for each, unit in zip(
            (self.upper, self.lower), (unit_above, unit_below), strict=True
        ))  # fmt: skip
        low, high = mean_between(above, below, NoiseLaw(1.0, law.is_normal), miss, rounded)
        unit = unit_above / unit_below
        ends = unit * _odds(low), unit * _odds(high)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(below > 0, unit * np.maximum(above, 0.0) / below, math.nan)
        return Answer(np.clip(found, *ends), *ends)

    def __str__(self) -> str:
        bounds, to_bounds = (f"({each[0]}, {each[1]})" for each in (self.bounds, self.to_bounds) if each is not None)
        return f"ratio({self.of}, {self.to}, bounds={bounds}, to_bounds={to_bounds})"


def _in_scales(total: Total, parts: Mapping[str, Noisy]) -> tuple[Floats, float]:
    """The noisy sum in scales of its noise, and what one scale is in the unit of the column."""
    (key,) = total.needs
    noisy = parts[key]
    assert noisy.law is not None
    return np.atleast_1d(np.asarray(noisy.value, dtype=np.float64)) / noisy.law.scale, noisy.law.scale * float(
        total.lattice.step
    )


def _odds(place: Floats) -> Floats:
    """t/(1 − t), without an end at 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(place / (1 - place))


@aggregate_function
def ratio(of: str | Expression, to: str | Expression, bounds: Bounds, to_bounds: Bounds) -> Aggregate:
    """Divide the sum of one column by the sum of another, in each group: tips by fares.

    Each is the sum that `dp.sum` would give, with a part of the price of its own: a missing value adds nothing to it,
    and a person's sum is clamped to what `max_rows_per_group` values could add up to. The answer has a number per
    group, with `name_low` and `name_high` as the ends of an interval. Where the sum below may be 0 as far as the noise
    tells, the interval has no upper end.

    Parameters
    ----------
    of : str or Expression
        The column whose sum is divided, by its name; or an expression such as `dp.col("price") * dp.col("amount")`.
    to : str or Expression
        The column whose sum it is divided by.
    bounds : tuple of (Number, Number)
        Public (low, high) to which values of `of` are clamped, 0 or more; know them beforehand, do not take them from
        the data.
    to_bounds : tuple of (Number, Number)
        The same for values of `to`.

    Returns
    -------
    Aggregate
        One column of an answer: give it a name in `.agg(name=...)`, then `.plan(epsilon=...)` or
        `.release(epsilon=...)`.

    Raises
    ------
    ParameterError
        If bounds are not two finite numbers of 0 or more, or not in order, or both sums are the same.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> trips = pa.table({"zone": ["North", "South"] * 500, "fare": [20.0, 50.0] * 500, "tip": [2.0, 3.0] * 500})
    >>> data = dp.Dataset(trips, unit=dp.Rows(), budget=dp.PureDP(1), ledger="trips.ledger", identity="trips")
    >>> zones = data.group_by("zone", keys=["North", "South"])
    >>> question = zones.agg(tip=dp.ratio("tip", "fare", bounds=(0, 20), to_bounds=(0, 100)))
    >>> question.release(epsilon=0.5).to_arrow().column_names
    ['zone', 'tip', 'tip_low', 'tip_high']
    """
    made = Ratio(_total(of, bounds, "bounds"), _total(to, to_bounds, "to_bounds"))
    if len(made.needs) < 2:
        raise ParameterError(f"ratio divides two sums, and both are that of {made.of}. Name another column.")
    return made


def _total(of: str | Expression, bounds: Bounds, name: str) -> Total:
    total = Total(expression(of), bounds, clip=False)
    if total.lattice.low < 0 or not rational(bounds[0], name) >= 0:  # a lattice of no bounds at all begins below 0
        raise ParameterError(
            f"ratio needs {name} of 0 or more, such as {name}=(0, 200): where a sum may be negative, its ratio has no "
            "interval. Ask for both sums, or shift the column."
        )
    return total
