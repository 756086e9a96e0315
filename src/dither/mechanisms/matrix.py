"""The matrix mechanism: noise on well-chosen sums, answers to a whole workload put together from them.

Proofs of privacy and of the error bounds: matrix.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import ParameterError
from dither.events import Event
from dither.exact import Number, check, once, rational, set_fields
from dither.exact.certified import exactly_below
from dither.exact.search import farthest
from dither.guarantees import Guarantee
from dither.mechanisms.additive import Noising, described, failure, per_coordinate
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.laplace_sums import sums_of
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.workloads.strategies import Strategy, named, names
from dither.workloads.strategies.strategy import Floats
from dither.workloads.workload import Workload, is_replaced

__all__ = ["Comparison", "MatrixMechanism", "Prediction", "compare_strategies", "gaussian_reach"]

_OUTWARDS = 1 + 2.0**-30
"""Bounds on errors are computed in floats, and made wider by this: far more than their rounding."""
_SHIFT, _UNSEEN = 6, Fraction(1, 1 << 20)
"""Between lattice and continuous noise lie 6‖c‖, except with probability e^{−18}, which is less than 2^-20."""
_HALVINGS = 60


@dataclass(frozen=True, init=False, repr=False)
class MatrixMechanism(Mechanism):
    """Matrix mechanism: answer a whole workload of linear queries from noise on well-chosen sums.

    It adds noise to A x for a strategy A and reconstructs all answers W x as C(A x + noise), with C A = W. Related
    queries (ranges, prefix sums, marginals) get far smaller errors than from noise on each answer.

    Parameters
    ----------
    workload : Workload
        The queries, such as `dp.Workload.prefix(100)`.
    epsilon : Number
        The privacy budget ε > 0.
    delta : Number, optional
        The budget δ for Gaussian noise, such as 1e-6.
    strategy : str, default "best"
        "best" takes the strategy with the smallest mean squared error. Or a name that
        `dp.mechanisms.compare_strategies` lists: "cells" (noise on each cell), "answers" (on each answer), "tree of 2"
        and so on for ranges, "square root" for prefix sums, "residuals" for marginals, "optimal" for few cells.
    noise : {"laplace", "gaussian"}, optional
        The noise on A x. By default "gaussian" if `delta` is given and "laplace" otherwise; "best" with `delta` tries
        both.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

    Raises
    ------
    ParameterError
        If the workload, the budget or the name of the strategy is not valid.

    Notes
    -----
    ε-DP with Laplace noise of scale ‖A‖₁/ε, or (ε, δ)-DP with Gaussian noise for ‖A‖₂, where ‖A‖_p is how far one
    record can move A x: the longest column of A, or for replace-one the two that are farthest apart (claim C24).
    The squared error of an answer is ‖c_q‖² times the variance of the noise. Proofs: matrix.md.

    Examples
    --------
    >>> import dither as dp
    >>> ages = dp.MatrixMechanism(dp.Workload.prefix(100), epsilon=1, delta="1e-6", noise="gaussian")
    >>> ages.strategy, ages.guarantee
    ('optimal', ApproxDP(epsilon=1, delta=1e-06, adjacency='add or remove one record'))
    >>> simple = dp.MatrixMechanism(dp.Workload.prefix(100), epsilon=1, delta="1e-6", strategy="cells")
    >>> round(simple.mean_squared_error / ages.mean_squared_error)
    10
    >>> ages.release([12] * 100).value.shape  # one count for each of the 100 cells
    (100,)
    """

    workload: Workload
    epsilon: Fraction
    delta: Fraction | None
    strategy: str
    noise: str
    adjacency: Adjacency

    def __init__(
        self,
        workload: Workload,
        *,
        epsilon: Number,
        delta: Number | None = None,
        strategy: str = "best",
        noise: str | None = None,
        adjacency: Adjacency = ADD_REMOVE,
    ) -> None:
        if not isinstance(workload, Workload):
            raise ParameterError(f"workload must be a dither.Workload, got the type {type(workload).__name__}.")
        exact = rational(epsilon, "epsilon")
        check.positive(epsilon=exact)
        share = failure(delta, None, None)
        is_replaced(adjacency)
        set_fields(self, workload=workload, epsilon=exact, delta=share, adjacency=adjacency)
        if strategy == "best":
            best = _predictions(workload, exact, share, adjacency, noise)[0]
            strategy, noise = best.strategy, best.noise
        set_fields(self, noise=_noises(share, noise)[-1], strategy=strategy)
        self.event  # noqa: B018  (built now, so that what cannot be kept is refused here)

    def __repr__(self) -> str:
        return described(
            self,
            workload=self.workload,
            epsilon=self.epsilon,
            delta=self.delta,
            strategy=self.strategy,
            noise=self.noise,
        )

    # -------------------------------------------------------------------- cost

    @once
    def _strategy(self) -> Strategy:
        return named(self.workload.queries, self.strategy, gaussian=self.noise == "gaussian")

    def _moved(self, power: int) -> int:
        """max Σ|A_ri − A_rj|^power, or of one column, over the cells; a cell that no query counts has a column of 0."""
        longest = self._strategy.largest_column(power)
        if not is_replaced(self.adjacency):
            return longest
        return max(self._strategy.largest_distance(power), longest if self.workload.has_unseen_cells else 0)

    @once
    def mechanism(self) -> Laplace | Gaussian:
        """The additive mechanism that puts noise on A x."""
        moved = self._moved(2 if self.noise == "gaussian" else 1)
        if not moved:
            raise ParameterError("no record can move these answers: they are public, and need no noise.")
        if self.noise == "laplace":
            return Laplace(sensitivity=moved, epsilon=self.epsilon, adjacency=self.adjacency)
        return Gaussian(
            sensitivity_squared=moved,
            epsilon=self.epsilon,
            delta=self.delta,
            dimension=min(self._strategy.measurements, moved),
            adjacency=self.adjacency,
        )

    @property
    def guarantee(self) -> Guarantee:
        """Pure ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise."""
        return self.mechanism.guarantee

    @once
    def event(self) -> Event:
        """The noise on A x; the reconstruction is post-processing.

        Gaussian noise on many coordinates is stated as the continuous noise that dominates it, which composes more
        tightly.
        """
        if isinstance(self.mechanism, Gaussian):
            part = self.mechanism._on_integers
            if part is not None and part.mu_squared is not None:
                return self.mechanism._continuous(part.mu_squared)
        return self._noising.event

    @property
    def _noising(self) -> Noising:
        found = self.mechanism.for_integers
        assert found is not None, "whole numbers move by 1 or more"
        return found

    # ----------------------------------------------------------------- release

    def release(self, histogram: Any) -> Release:
        """Answer all queries of the workload.

        Parameters
        ----------
        histogram : array of int
            One count for each cell of the domain. Other shapes, negative counts and floats are refused.

        Returns
        -------
        Release
            `.value` is an array of floats, one for each query, in their order.
        """
        measured = self._strategy.measure(self.workload.by_class(histogram))
        noisy = np.asarray(self._noising.add(measured), dtype=np.float64)
        return Release(
            self._strategy.answers(noisy) / self.workload.denominator, self.event, self._noising.guarantee, self
        )

    # ------------------------------------------------------------------- errors

    @property
    def mean_squared_error(self) -> float:
        """The mean squared error of an answer, on average over the workload; predicted without data."""
        return float((self._lengths**2).mean()) * self._variance

    @once
    def _lengths(self) -> Floats:
        """‖c_q‖ of each answer."""
        lengths: Floats = np.sqrt(np.maximum(self._strategy.row_squares(), 0)) / self.workload.denominator
        return lengths

    @property
    def _variance(self) -> float:
        """Of one number of the noise; for Gaussian noise a bound that is met but for e^{−2π²V}."""
        law = self._noising.law
        if isinstance(law, DiscreteGaussian):
            return float(law.variance)
        assert isinstance(law, DiscreteLaplace)
        return 0.5 / math.sinh(0.5 / float(law.scale)) ** 2

    @property
    def expected_error(self) -> float:
        """The mean absolute error of an answer, on average over the workload.

        For sums of Laplace noise it is bounded by the root of the mean square.
        """
        if self.noise == "laplace" and self._strategy.is_direct:
            return self.mechanism.expected_error_of(self._noising) * float(self._lengths.mean())
        if self.noise == "laplace":
            return math.sqrt(self._variance) * float(self._lengths.mean()) * _OUTWARDS
        one = math.sqrt(2 * self._variance / math.pi) + self._rounding
        return self._excess * one * float(self._lengths.mean()) * _OUTWARDS

    def _error(self, beta: Fraction) -> float:
        """For the answer with the most noise."""
        return float(self._reaches(beta).max())

    def _interval(self, value: Any, level: Fraction) -> Interval:
        """For each answer; floats that were rounded on the way are 2^-30 of the bound, and of the value, at most."""
        reach = self._reaches(1 - level)
        slack = np.abs(value) * (_OUTWARDS - 1)
        return value - reach - slack, value + reach + slack

    def max_error(self, beta: Number = 0.05) -> float:
        """Bound the largest error of all answers with probability 1 − `beta` or more.

        Parameters
        ----------
        beta : Number, default 0.05
            The probability that the bound may be missed, strictly between 0 and 1.

        Returns
        -------
        float
            The bound on all errors at once.

        Notes
        -----
        For Gaussian noise P[all |e_q| ≤ t] ≥ ∏ P[|e_q| ≤ t], with equality if the errors are independent (Šidák 1967),
        as they are for Laplace noise on each answer. For sums of Laplace noise it is Σ P[|e_q| > t] ≤ β.
        """
        exact = rational(beta, "beta")
        check.between(0, 1, beta=exact)
        if self.noise == "laplace" and not self._strategy.is_direct:
            return float(self._of_sums(exact, sums_of(self._strategy).reach_of_all, self._lengths.max()))
        if self.noise == "laplace":
            return self._error(per_coordinate(exact, self.workload.count))
        if not self._excess < math.inf:
            return math.inf
        deviation = math.sqrt(self._variance)
        wanted = math.log1p(-exactly_below(exact) / self._excess)
        low, high = 0.0, 1.0
        while _all_within(self._lengths, high) < wanted:
            low, high = high, 2 * high
        enough = farthest(lambda reach: _all_within(self._lengths, reach) >= wanted, high, low, _HALVINGS)
        return (deviation * enough + self._rounding * float(self._lengths.max())) * _OUTWARDS

    def _reaches(self, miss: Fraction) -> Floats:
        """How far each answer is off at most, except with probability `miss`."""
        law = self._noising.law
        if isinstance(law, DiscreteGaussian):
            return self._lengths * gaussian_reach(self._variance, self._strategy.measurements, miss)
        assert isinstance(law, DiscreteLaplace)
        if self._strategy.is_direct:
            return self._lengths * (float(law.quantile(1 - miss / 2)) * _OUTWARDS)
        return np.asarray(self._of_sums(miss, sums_of(self._strategy).reaches, self._lengths))

    def _of_sums(self, miss: Fraction, far: Callable[[Fraction, float], Any], lengths: Any) -> Any:
        """The better of two ways from continuous noise, with the reach `far`, to that of the lattice (matrix.md)."""
        law = self._noising.law
        assert isinstance(law, DiscreteLaplace)
        scale = float(law.scale) / self.workload.denominator
        return np.minimum(scale * far(miss, 0.5), scale * far(miss * (1 - _UNSEEN), 1) + _SHIFT * lengths) * _OUTWARDS

    @property
    def _excess(self) -> float:
        return _excess(self._variance, self._strategy.measurements)

    @property
    def _rounding(self) -> float:
        """½‖c‖₁ ≤ ½√m for ‖c‖ = 1: what rounding m numbers can do to an answer."""
        return math.sqrt(self._strategy.measurements) / 2


def gaussian_reach(variance: float, measurements: int, miss: Fraction, rounding: float = 0.5) -> float:
    """How far c·Z is from 0 for ‖c‖ = 1 and Gaussian noise Z on ℤ^m, except with probability `miss` (matrix.md).

    `rounding` is by how much each of the m = `measurements` numbers may be off: ½ where nothing else is rounded.
    """
    excess = _excess(variance, measurements)
    far = -float(scipy.special.ndtri(float(miss) / 2 / excess / _OUTWARDS))
    return (math.sqrt(variance) * far + rounding * math.sqrt(measurements)) * _OUTWARDS


def _excess(variance: float, measurements: int) -> float:
    """κ: an event is at most κ times likelier under the noise than under rounded Gaussian noise (matrix.md)."""
    small = 1 / (24 * variance)
    if not small < 1:
        return math.inf
    return math.exp(-measurements * math.log1p(-small))


def _all_within(lengths: Floats, distance: float) -> float:
    """ln ∏ P[|N| ≤ distance/length]."""
    with np.errstate(divide="ignore"):
        missed = 2 * np.exp(scipy.special.log_ndtr(-distance / np.maximum(lengths, 1e-300)))
        return float(np.log1p(-np.minimum(missed, 1)).sum())


# ----------------------------------------------------------------------- choosing


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a strategy with a noise would do."""

    strategy: str
    noise: str
    mean_squared_error: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The strategies for a workload at a budget, the best first; `print` shows a table."""

    predictions: tuple[Prediction, ...]

    def __getitem__(self, place: int) -> Prediction:
        return self.predictions[place]

    def __len__(self) -> int:
        return len(self.predictions)

    def __str__(self) -> str:
        best = self.predictions[0].mean_squared_error
        lines = [f"{'strategy':<14} {'noise':<9} {'mean squared error':>18} {'times the best':>15}"]
        for each in self.predictions:
            error = each.mean_squared_error
            lines.append(f"{each.strategy:<14} {each.noise:<9} {error:>18.4g} {error / best:>15.3g}")
        return "\n".join(lines)


def compare_strategies(
    workload: Workload, *, epsilon: Number, delta: Number | None = None, adjacency: Adjacency = ADD_REMOVE
) -> Comparison:
    """Predict the error of each strategy of the matrix mechanism at a budget; touches no data.

    Parameters
    ----------
    workload : Workload
        The queries, such as `dp.Workload.prefix(100)`.
    epsilon : Number
        The privacy budget ε > 0.
    delta : Number, optional
        The budget δ for Gaussian noise, such as 1e-6.
    adjacency : Adjacency, default ADD_REMOVE
        `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

    Returns
    -------
    Comparison
        The strategies with their errors, the best first; `print` it for a table.

    Examples
    --------
    >>> import dither as dp
    >>> print(dp.mechanisms.compare_strategies(dp.Workload.prefix(64), epsilon=1))
    strategy       noise     mean squared error  times the best
    tree of 2      laplace                34.41               1
    ...
    cells          laplace                59.84            1.74
    answers        laplace                 8192             238
    """
    exact = rational(epsilon, "epsilon")
    check.positive(epsilon=exact)
    is_replaced(adjacency)
    return Comparison(tuple(_predictions(workload, exact, failure(delta, None, None), adjacency, None)))


def _predictions(
    workload: Workload, epsilon: Fraction, delta: Fraction | None, adjacency: Adjacency, noise: str | None
) -> list[Prediction]:
    found = []
    for kind in _noises(delta, noise):
        share = delta if kind == "gaussian" else None
        for name in names(workload.queries, gaussian=kind == "gaussian"):
            built = MatrixMechanism(
                workload, epsilon=epsilon, delta=share, strategy=name, noise=kind, adjacency=adjacency
            )
            found.append(Prediction(name, kind, built.mean_squared_error))
    return sorted(found, key=lambda each: each.mean_squared_error)


def _noises(delta: Fraction | None, noise: str | None) -> list[str]:
    """The noises that may be used: Laplace always, Gaussian where there is a δ."""
    if noise not in (None, "laplace", "gaussian"):
        raise ParameterError(f"noise must be laplace or gaussian, got noise={noise!r}.")
    if noise == "gaussian" and delta is None:
        raise ParameterError("Gaussian noise needs a delta. Give delta=..., or noise='laplace'.")
    if noise is not None:
        return [noise]
    return ["laplace"] if delta is None else ["laplace", "gaussian"]
