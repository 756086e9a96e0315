"""What a statistic must know about itself for noise to be fitted to the data at hand."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dither.adjacency import Adjacency
from dither.errors import NotANumberError, ParameterError
from dither.exact import Number, plain

__all__ = ["Profile", "Statistic", "check_one_number", "value_of"]


@runtime_checkable
class Statistic(Protocol):
    """A function f of a dataset that knows how much it can change; your own class may implement it.

    `SmoothSensitivity` and `ProposeTestRelease` take any object with these four members; `Median`, `Quantile`,
    `TrimmedMean`, `Triangles` and others are ready to use.

    Notes
    -----
    The local sensitivity of D is LS(D) = max |f(D) − f(D′)| over the neighbours D′ of D, under `adjacency`. At
    distance t it is A^(t)(D) = max LS(D′) over all D′ that t steps to a neighbour lead to (Nissim, Raskhodnikova,
    Smith 2007, definition 3.1 in the full version).

    Privacy rests on three properties, which a class of one's own must have as well:
    `sensitivity_within(D, 0)` is never below LS(D); `sensitivity_within(D, t)` is never above
    `sensitivity_within(D′, t + 1)` for neighbours D and D′; and `global_sensitivity` is never below either.

    A class whose `value` is rounded also offers `exact_value(data)`, a Fraction: the sensitivities are those of it.
    It may also offer `profile(data)`, a `Profile`: it then answers many questions about one dataset, and
    finds the smooth sensitivity, in its own fast way.
    """

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets are neighbours."""
        ...

    @property
    def global_sensitivity(self) -> float:
        """The largest LS over all datasets, never below the truth; `math.inf` if there is no bound."""
        ...

    def value(self, data: Any) -> float:
        """Compute f(D).

        Parameters
        ----------
        data : Any
            The dataset D.

        Returns
        -------
        float
            The exact value, not private.
        """
        ...

    def sensitivity_within(self, data: Any, distance: int) -> float:
        """Compute A^(t)(D); it never decreases with the distance t.

        Parameters
        ----------
        data : Any
            The dataset D.
        distance : int
            t, the number of steps to a neighbour.

        Returns
        -------
        float
            The largest local sensitivity within that distance, never below the truth.
        """
        ...


def check_one_number(statistic: Statistic) -> None:
    """Refuse a statistic with several numbers, or with another distance than |a − b|: its `dimension` is not 1."""
    dimension = getattr(statistic, "dimension", 1)
    if dimension is None:
        raise ParameterError(
            "statistic must be one number whose sensitivity is in |a − b|, as noise is added to the number; got one "
            "with a metric of its own. Leave norm=... out, or use dp.MetricExponential with its global sensitivity."
        )
    if dimension != 1:
        raise ParameterError(
            "statistic must be one number, got one with several. Release each by itself, or use dp.Gaussian with its "
            "global sensitivity."
        )


def value_of(statistic: Statistic, data: Any) -> float | Fraction:
    """f(D), exactly where the statistic says it exactly. It is data, so what is no value is refused and not shown."""
    given = getattr(statistic, "exact_value", statistic.value)(data)
    found = plain(given.item() if isinstance(given, np.generic) else given)
    if isinstance(found, bool) or not isinstance(found, int | float | Fraction | Decimal):
        raise NotANumberError(f"the value of a statistic must be one number, got the type {type(given).__name__}.")
    if not math.isfinite(found):
        raise NotANumberError("the value of a statistic must be finite. Give data on which it is, or public bounds.")
    return found if isinstance(found, float) else Fraction(found)


class Profile(Protocol):
    """The sensitivities of one dataset, ready to be asked for."""

    def within(self, distance: int) -> float:
        """Compute A^(t)(D), as `Statistic.sensitivity_within`.

        Parameters
        ----------
        distance : int
            t, the number of steps to a neighbour.

        Returns
        -------
        float
            The largest local sensitivity within that distance.
        """
        ...

    def smooth(self, beta: Number) -> float:
        """Compute max_t e^{−βt} A^(t)(D), as `smooth_sensitivity`.

        Parameters
        ----------
        beta : Number
            The smoothness β > 0.

        Returns
        -------
        float
            The β-smooth sensitivity.
        """
        ...
