"""`dp.solve`: how much data, how much ε, for which accuracy? Touches no data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import ParameterError
from dither.exact import Number, check, in_words, rational, whole
from dither.exact.certified import exactly_above
from dither.exact.search import farthest, first_integer
from dither.mechanisms.additive import failure
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.matrix import MatrixMechanism
from dither.views import views
from dither.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Option", "Solution", "solve"]

Reach = Callable[[int, Fraction, Fraction], float]
"""How many counts the largest error of k queries is, at ε, except with probability β."""

_MISSING = ("n", "epsilon", "accuracy", "confidence", "queries")
_SMALLEST_EPSILON, _LARGEST_EPSILON = Fraction(1, 10**9), 10**6
_APPROACHES = 6
_SMALLEST_BETA = 1e-15
_SMALL = Fraction(1, 10**5)
"""What six digits of a probability would not show."""
_MOST = 1 << 40
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Option:
    """What one kind of noise gives in a solution.

    Parameters
    ----------
    noise : str
        "laplace" or "gaussian".
    strategy : str
        What the noise is added to.
    value : float
        The missing number, from the exact quantile of the largest error.
    textbook : float or None
        The same by claim C25; None where its formula is not proved, or gives nothing.
    reach : callable
        The largest error of k queries in counts, at ε, except with probability β.
    """

    noise: str
    strategy: str
    value: float
    textbook: float | None
    reach: Reach = field(repr=False)


@dataclass(frozen=True, slots=True)
class Solution:
    """Numbers that fit together: each of `queries` answers is within `accuracy` of the exact one, all at once.

    `dp.solve` returns it. Answers are shares of n records. It holds with probability `confidence` over the noise, at
    (`epsilon`, `delta`). `print(solution)` shows it as a table.

    Parameters
    ----------
    queries : int
        The number k of queries.
    n : int
        The number of records.
    epsilon : Fraction
        The privacy budget ε.
    delta : Fraction or None
        The budget δ.
    accuracy : float
        The largest error, as a share of n.
    miss : Fraction
        β, with which the accuracy may be missed; exactly, where `confidence` is a float.
    solved_for : str
        The name of the number that was missing.
    options : tuple of Option
        The missing number for each noise, the best first.
    """

    queries: int
    n: int
    epsilon: Fraction
    delta: Fraction | None
    accuracy: float
    miss: Fraction
    solved_for: str
    options: tuple[Option, ...]

    @property
    def confidence(self) -> float:
        """The probability 1 − β, below 1."""
        return min(float(1 - self.miss), math.nextafter(1, 0))

    @property
    def chance(self) -> str:
        """The confidence as text; near 1 it is written as the distance from 1."""
        return f"{self.confidence:.6g}" if self.miss > _SMALL else f"1 − {float(self.miss):.3g}"

    @property
    def noise(self) -> str:
        """The better noise."""
        return self.options[0].noise

    @property
    def strategy(self) -> str:
        """What the noise is added to."""
        return self.options[0].strategy

    @property
    def value(self) -> float:
        """The number that was missing."""
        return self.options[0].value

    def accuracies(self, epsilon: Number) -> dict[str, float]:
        """Compute the accuracy of each noise at another ε, the rest being equal.

        Parameters
        ----------
        epsilon : Number
            ε > 0.

        Returns
        -------
        dict of str to float
            The largest error by noise, as a share of n.

        Examples
        --------
        >>> at_half = solve(10, n=1000, epsilon=1).accuracies(0.5)
        >>> round(at_half["laplace"], 6)
        0.106
        """
        exact = rational(epsilon, "epsilon")
        check.positive(epsilon=exact)
        reaches = {each.noise: each.reach(self.queries, exact, self.miss) for each in self.options}
        return {noise: _share(far, self.n) for noise, far in reaches.items()}

    def trade_off(self) -> list[tuple[float, dict[str, float]]]:
        """List ε from a quarter to four times that of the solution, with the accuracies there.

        Returns
        -------
        list of (float, dict)
            ε, and the accuracy by noise.
        """
        others = [self.epsilon * Fraction(2) ** power for power in range(-2, 3)]
        return [(float(epsilon), self.accuracies(epsilon)) for epsilon in others]

    def __str__(self) -> str:
        given = {
            "queries": f"{self.queries} queries",
            "n": f"{self.n} records",
            "epsilon": f"ε = {in_words(self.epsilon)}",
            "accuracy": f"every error at most {self.accuracy:.4g} of n",
            "confidence": f"with probability {self.chance}",
        }
        share = "" if self.delta is None else f", δ = {in_words(self.delta)}"
        lines = [", ".join(given.values()) + share + f". Solved for {self.solved_for}."]
        lines.append(f"{'noise':<10} {'on':<14} {self.solved_for:>12} {'textbook':>12}")
        for each in self.options:
            printed = "-" if each.textbook is None else f"{each.textbook:.6g}"
            lines.append(f"{each.noise:<10} {each.strategy:<14} {each.value:>12.6g} {printed:>12}")
        lines.append("accuracy at other ε:")
        for epsilon, found in self.trade_off():
            lines.append(
                f"  ε = {epsilon:<10.4g}" + "".join(f" {name} {error:<10.4g}" for name, error in found.items())
            )
        return "\n".join(line.rstrip() for line in lines)

    def plot(self) -> Figure:
        """Draw accuracy against ε, for each noise.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        figure: Figure = views.plots.accuracy_by_epsilon(self)
        return figure


def solve(
    queries: Workload | int | None = None,
    *,
    accuracy: Number | None = None,
    confidence: Number | None = 0.95,
    n: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    adjacency: Adjacency = ADD_REMOVE,
) -> Solution:
    """Solve for the missing one of records, budget, accuracy, confidence and number of queries; touches no data.

    Leave out (or set to None) exactly one of `n`, `epsilon`, `accuracy`, `confidence` and `queries`.

    Parameters
    ----------
    queries : Workload or int, optional
        A `dp.Workload`, or the number k of counting queries, whatever they are: then Δ₁ ≤ k and Δ₂ ≤ √k (claim C24).
    accuracy : Number, optional
        α, the largest error of all answers, as a share of n, strictly between 0 and 1.
    confidence : Number, default 0.95
        1 − β, the probability over the noise that all answers are that accurate; None solves for it.
    n : int, optional
        The number of records.
    epsilon : Number, optional
        The privacy budget ε > 0.
    delta : Number, optional
        The budget δ: with it Gaussian noise is tried too, and the better one comes first.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours: `ADD_REMOVE` or `REPLACE_ONE` of `dp.adjacency`.

    Returns
    -------
    Solution
        All five numbers: `.value` is the missing one, `.noise` the better noise; `print` it for a table.

    Raises
    ------
    ParameterError
        If not exactly one number is missing, or no value of it fits the others.

    Notes
    -----
    The largest of k independent errors is within q with probability P[|Z| ≤ q]^k, from the distribution that is drawn:
    no union bound (claim C25). Where errors are correlated, as for a workload, the product is a bound on the safe side.
    Every answer errs to that side: n and ε are never too small, accuracy is never too good.

    Examples
    --------
    >>> import dither as dp
    >>> better = dp.solve(100, accuracy=0.01, n=100_000, delta=1e-7)
    >>> better.noise, round(better.value, 2)
    ('gaussian', 0.15)
    >>> dp.solve(100, accuracy=0.01, epsilon=1).n
    75800
    """
    asked = {"n": n, "epsilon": epsilon, "accuracy": accuracy, "confidence": confidence, "queries": queries}
    missing = [name for name, value in asked.items() if value is None]
    if len(missing) != 1:
        found = ", ".join(missing) or "none"
        raise ParameterError(f"exactly one of {', '.join(_MISSING)} must be left out (None); left out: {found}.")
    known = _Known.checked(queries, n, epsilon, accuracy, confidence)
    share = failure(delta, known.n or None, None)
    kinds = ["laplace"] if share is None else ["laplace", "gaussian"]
    tried = [_option(kind, missing[0], known, queries, share, adjacency) for kind in kinds]
    options = [option for option in tried if option is not None]
    if not options:
        raise ParameterError(
            f"no {missing[0]} keeps this promise: the other numbers ask too much. "
            "Allow a larger accuracy, n or epsilon, or fewer queries."
        )
    most_is_best = missing[0] in ("confidence", "queries")
    ranked = sorted(options, key=lambda option: -option.value if most_is_best else option.value)
    full = known.with_value(missing[0], ranked[0].value)
    failure(share, full.n, None)  # also for an n that was just found
    return Solution(
        queries=full.queries,
        n=full.n,
        epsilon=full.epsilon,
        delta=share,
        accuracy=exactly_above(full.accuracy),
        miss=full.miss,
        solved_for=missing[0],
        options=tuple(ranked),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known, exactly; 0 for the one number that is not."""

    queries: int
    n: int
    epsilon: Fraction
    accuracy: Fraction
    miss: Fraction
    """β."""

    @classmethod
    def checked(cls, queries: Any, n: Any, epsilon: Any, accuracy: Any, confidence: Any) -> _Known:
        """Each in its range."""
        count = queries.count if isinstance(queries, Workload) else queries
        for name, value in (("queries", count), ("n", n)):
            if value is not None:
                check.count(**{name: value})
        if epsilon is not None:
            check.positive(epsilon=rational(epsilon, "epsilon"))
        for name, value in (("accuracy", accuracy), ("confidence", confidence)):
            if value is not None:
                check.between(0, 1, **{name: rational(value, name)})
        return cls(
            queries=0 if count is None else whole(count),
            n=0 if n is None else whole(n),
            epsilon=Fraction(0) if epsilon is None else rational(epsilon),
            accuracy=Fraction(0) if accuracy is None else rational(accuracy),
            miss=Fraction(0) if confidence is None else 1 - rational(confidence),
        )

    def with_value(self, name: str, value: float) -> _Known:
        """With the missing number."""
        exact = Fraction(repr(float(value)))
        return _Known(
            queries=int(value) if name == "queries" else self.queries,
            n=int(value) if name == "n" else self.n,
            epsilon=exact if name == "epsilon" else self.epsilon,
            accuracy=exact if name == "accuracy" else self.accuracy,
            miss=1 - exact if name == "confidence" else self.miss,
        )


def _option(
    noise: str, missing: str, known: _Known, queries: Any, delta: Fraction | None, adjacency: Adjacency
) -> Option | None:
    """The missing number with this noise; None if there is none."""
    share = delta if noise == "gaussian" else None
    strategy = "answers"
    reach: Reach = _laplace_reach
    printed: Reach = _textbook_laplace
    if share is not None:
        reach, printed = partial(_gaussian_reach, share), partial(_textbook_gaussian, share)
    if isinstance(queries, Workload):
        built = MatrixMechanism(queries, epsilon=known.epsilon or 1, delta=share, noise=noise, adjacency=adjacency)
        strategy = built.strategy
        reach = partial(_workload_reach, queries, built.strategy, noise, share, adjacency)
    value = _solved(missing, known, reach)
    return None if value is None else Option(noise, strategy, value, _solved(missing, known, printed), reach)


# ------------------------------------------------------------------ how far errors reach


def _laplace_reach(queries: int, epsilon: Fraction, miss: Fraction) -> float:
    return Laplace(sensitivity=queries, epsilon=epsilon, dimension=queries).max_error(miss)


def _gaussian_reach(delta: Fraction, queries: int, epsilon: Fraction, miss: Fraction) -> float:
    made = Gaussian(sensitivity_squared=queries, epsilon=epsilon, delta=delta, dimension=queries)
    return made.max_error(miss)


def _workload_reach(
    workload: Workload, strategy: str, noise: str, delta: Fraction | None, adjacency: Adjacency,
    _: int, epsilon: Fraction, miss: Fraction,
) -> float:  # fmt: skip
    made = MatrixMechanism(workload, epsilon=epsilon, delta=delta, strategy=strategy, noise=noise, adjacency=adjacency)
    return made.max_error(miss)


def _textbook_laplace(queries: int, epsilon: Fraction, miss: Fraction) -> float:
    """k ln(k/β)/ε: the union bound for scale k/ε."""
    return queries * math.log(queries / miss) / float(epsilon)


def _textbook_gaussian(delta: Fraction, queries: int, epsilon: Fraction, miss: Fraction) -> float:
    """√(4k ln(1.25/δ) ln(2k/β))/ε: claim C6 and the union bound; proved for ε < 1."""
    if not epsilon < 1:
        return math.inf  # nothing is proved
    logs = math.log(Fraction(5, 4) / delta) * math.log(2 * queries / miss)
    return math.sqrt(4 * queries * logs) / float(epsilon)


# ------------------------------------------------------------------------- solving


def _solved(missing: str, known: _Known, reach: Reach) -> float | None:
    """The missing number; None if there is none."""
    k, n, epsilon, miss, goal = known.queries, known.n, known.epsilon, known.miss, known.accuracy * known.n
    if missing == "epsilon":
        return _smallest_epsilon(lambda value: reach(k, value, miss), goal)
    if missing == "queries":
        return _most_queries(lambda count: reach(count, epsilon, miss) <= goal)
    if missing == "confidence":
        return _largest_confidence(lambda value: reach(k, epsilon, value) <= goal)
    far = reach(k, epsilon, miss)
    if not far < math.inf:
        return None
    return math.ceil(Fraction(far) / known.accuracy) if missing == "n" else _share(far, n)


def _share(far: float, n: int) -> float:
    """An error in counts as a share of n records, rounded up."""
    return exactly_above(Fraction(far) / n) if far < math.inf else math.inf


def _smallest_epsilon(reach: Callable[[Fraction], float], goal: Fraction) -> float | None:
    """To five digits, upwards. Errors are nearly in proportion to 1/ε: that leads close, and then the gap is halved."""
    guess = Fraction(1, 2)
    for _ in range(_APPROACHES):
        far = reach(guess)
        if not far < math.inf:
            return None
        guess = _five_digits(guess * Fraction(max(far, 1e-3)) / goal)
        if not _SMALLEST_EPSILON < guess < _LARGEST_EPSILON:
            return None
    low, high = guess, guess
    while reach(low) <= goal:
        high, low = low, low * Fraction(99, 100)
    while reach(high) > goal:
        low, high = high, high * Fraction(101, 100)
        if not high < _LARGEST_EPSILON:
            return None
    while (middle := _five_digits((low + high) / 2)) < high:
        low, high = (low, middle) if reach(middle) <= goal else (middle, high)
    return float(high)


def _five_digits(value: Fraction) -> Fraction:
    """Rounded up."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) - 4)
    return math.ceil(value / unit) * unit


def _most_queries(holds: Callable[[int], bool]) -> float | None:
    if not holds(1):
        return None
    low, high = 1, 2
    while high < _MOST and holds(high):
        low, high = high, 2 * high
    return first_integer(lambda queries: not holds(queries), low + 1, high) - 1


def _largest_confidence(holds: Callable[[Fraction], bool]) -> float | None:
    """1 − β for the smallest β from 1e-15 up, downwards."""
    low, high = math.log(_SMALLEST_BETA), math.log(1 - 1e-9)
    if not holds(Fraction(math.exp(high))):
        return None
    log_beta = farthest(lambda log: holds(Fraction(math.exp(log))), high, low, _HALVINGS)
    return math.nextafter(1 - math.exp(log_beta), 0)
