"""Sparse vector: questions asked one after the other, of which only those above a threshold cost (claim C30)."""

from __future__ import annotations

import math
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dither.adjacency import Adjacency, check_monotone
from dither.errors import ParameterError
from dither.events import Composed, Event, LaplaceNoise, Repeated, SparseVectorRun
from dither.exact import Ball, Number, ball, check, once, rational, set_fields
from dither.exact.certified import above, exactly_above
from dither.guarantees import Guarantee, PureDP
from dither.mechanisms.additive import described
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.noise import DiscreteLaplace, Grid
from dither.noise.tape import answered

__all__ = ["SparseVector", "SparseVectorSession"]

_SPLIT_DIGITS = 1 << 20
_LARGEST_COUNT = 10**9


@dataclass(frozen=True, init=False, repr=False)
class SparseVector(Mechanism):
    """Sparse vector: compare values with a threshold, noisily, and pay only for those above it.

    Values can be asked one after the other, each chosen after the answers before. The session ends after `max_above`
    values were above; any number below costs nothing more.

    Parameters
    ----------
    threshold : Number
        T, the public threshold, in the unit of the values.
    epsilon : Number
        The privacy budget ε₁ + ε₂ > 0 of all comparisons.
    max_above : int, default 1
        c, how many values may be above before the session ends.
    sensitivity : Number, default 1
        Δ, the most that any value can move between neighbours.
    monotone : bool, default False
        Whether a change of the data moves all values in the same direction, as adding or removing a record does with
        counts: then half the noise suffices. An `adjacency` that replaces is refused with it.
    answer_epsilon : Number, optional
        ε₃: with it, each value above is also released with fresh noise, at ε₃ in all.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: `sensitivity` alone defines them.

    Attributes
    ----------
    comparison_epsilon : Fraction
        ε₁ + ε₂, as given in `epsilon`.

    Raises
    ------
    ParameterError
        If a number is out of range.

    Notes
    -----
    Threshold T + ρ with ρ ~ Lap(Δ/ε₁), drawn once; value + ν with fresh ν ~ Lap(2cΔ/ε₂), or Lap(cΔ/ε₂) for `monotone`
    values; above means value + ν ≥ T + ρ (claim C30). ε₁ : ε₂ = 1 : (2c)^{2/3}, or 1 : c^{2/3}, has the smallest
    variance of the comparison (Lyu, Su and Li 2017, Algorithm 7 and section 4.2). Answers have noise Lap(cΔ/ε₃), as
    floats of the grid, also where the value is an integer, since the noise is chosen before any value is seen. Noise
    and values live on a public dyadic grid. Proof: sparse_vector.md.

    Examples
    --------
    >>> import dither as dp
    >>> session = dp.SparseVector(threshold=500, epsilon=1).start()
    >>> session.ask(3), session.ask(90000)
    (False, True)
    >>> session.ask(7)
    Traceback (most recent call last):
    dither.errors.ParameterError: the sparse vector has stopped after 1 above...
    """

    threshold: Fraction
    sensitivity: Fraction
    max_above: int
    monotone: bool
    comparison_epsilon: Fraction
    answer_epsilon: Fraction | None
    adjacency: Adjacency | None

    def __init__(
        self,
        *,
        threshold: Number,
        epsilon: Number,
        max_above: int = 1,
        sensitivity: Number = 1,
        monotone: bool = False,
        answer_epsilon: Number | None = None,
        adjacency: Adjacency | None = None,
    ) -> None:
        exact = {name: rational(x, name) for name, x in (("sensitivity", sensitivity), ("epsilon", epsilon))}
        check.positive(**exact)
        check.count(max_above=max_above)
        if max_above > _LARGEST_COUNT:
            raise ParameterError(f"max_above must be at most {_LARGEST_COUNT}, got max_above={max_above}.")
        check_monotone(monotone, adjacency)
        answer = None if answer_epsilon is None else rational(answer_epsilon, "answer_epsilon")
        if answer is not None:
            check.positive(answer_epsilon=answer)
        values = {
            "threshold": rational(threshold, "threshold"),
            "sensitivity": exact["sensitivity"],
            "max_above": int(max_above),
            "monotone": monotone,
            "comparison_epsilon": exact["epsilon"],
            "answer_epsilon": answer,
            "adjacency": adjacency,
        }
        set_fields(self, **values)
        _ = self.event

    def __repr__(self) -> str:
        return described(
            self,
            threshold=self.threshold,
            epsilon=self.comparison_epsilon,
            max_above=self.max_above,
            sensitivity=self.sensitivity,
            monotone=self.monotone or None,
            answer_epsilon=self.answer_epsilon,
        )

    # ------------------------------------------------------------------- cost

    @property
    def _factor(self) -> int:
        """How many times Δ/ε₂ the noise on a value is: 2c, or c for monotone values."""
        return (1 if self.monotone else 2) * self.max_above

    @once
    def _split(self) -> tuple[Fraction, Fraction]:
        """(ε₁, ε₂): any split that adds up is private, so the best one may be rounded."""
        share = Fraction(round(_SPLIT_DIGITS / (1 + self._factor ** (2 / 3))) or 1, _SPLIT_DIGITS)
        return share * self.comparison_epsilon, (1 - share) * self.comparison_epsilon

    @once
    def grid(self) -> Grid:
        """The public grid of noise and values: at least 2^40 steps to the smaller scale."""
        return Grid.for_scale(min(self.sensitivity / self._split[0], self._factor * self.sensitivity / self._split[1]))

    @once
    def _steps(self) -> int:
        """The sensitivity in steps, after rounding to the grid."""
        return self.grid.l1_steps(self.sensitivity)

    @once
    def _threshold_noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self._steps / self._split[0])

    @once
    def _query_noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self._factor * self._steps / self._split[1])

    @once
    def _answer_noise(self) -> DiscreteLaplace | None:
        if self.answer_epsilon is None:
            return None
        return DiscreteLaplace(self.max_above * self._steps / self.answer_epsilon)

    @property
    def event(self) -> Event:
        """The comparisons, and the noisy answers if there are any."""
        step = self.grid.step
        comparisons = SparseVectorRun(
            self._threshold_noise.scale * step,
            self._query_noise.scale * step,
            self.max_above,
            self._steps * step,
            self.monotone,
            self.adjacency,
        )
        if self._answer_noise is None:
            return comparisons
        answer = LaplaceNoise(self._answer_noise.scale * step, self._steps * step, step, self.adjacency)
        return Composed((comparisons, Repeated(answer, self.max_above)))

    @property
    def epsilon(self) -> Fraction:
        """The privacy budget of the whole session: ε₁ + ε₂ + ε₃."""
        return self.comparison_epsilon + (self.answer_epsilon or 0)

    @property
    def guarantee(self) -> Guarantee:
        """Pure ε-DP for the whole session."""
        return PureDP(self.epsilon, adjacency=self.adjacency)

    # ---------------------------------------------------------------- release

    def start(self) -> SparseVectorSession:
        """Draw the noise of the threshold and wait for questions; the whole cost is spent here.

        Returns
        -------
        SparseVectorSession
            Ask it one value after the other.
        """
        return SparseVectorSession(self)

    def release(self, value: Any) -> Release:
        """Compare each value in turn until the session ends.

        Parameters
        ----------
        value : number, list, tuple or array
            The exact values, in the order in which they are asked.

        Returns
        -------
        Release
            `.value` is the list of answers, as `SparseVectorSession.ask` gives them; it ends with the last one above.
        """
        if isinstance(value, np.ndarray) and value.ndim != 1:
            raise ParameterError(
                "the values must be a list or an array of one dimension, one number for each question."
            )
        steps = [_in_steps(self.grid, x) for x in (value if isinstance(value, list | tuple | np.ndarray) else [value])]
        session, answers = self.start(), []
        for x in steps:
            if session.is_finished:
                break
            answers.append(session._answer(x))
        return Release(answers, self.event, self.guarantee, self)

    @property
    def expected_error(self) -> float:
        """A bound on E|ν − ρ|, by the root of its mean square: how near the threshold an answer may be wrong."""
        step = self.grid.step
        return above(lambda: ball(step) * (_variance(self._query_noise) + _variance(self._threshold_noise)).sqrt())

    def _error(self, beta: Fraction) -> float:
        """Values this far from the threshold are answered rightly with probability 1 − β each: |ν| + |ρ| is smaller."""
        level = 1 - beta / 4  # two noises, two sides
        steps = self._query_noise.quantile(level) + self._threshold_noise.quantile(level)
        return exactly_above((steps + 1) * self.grid.step)  # value and threshold are rounded by half a step each

    def _interval(self, value: Any, level: Any) -> Interval:
        """For each answer, bounds on the value it was given for."""
        ends = [self._ends(answer, Fraction(1 - level)) for answer in value]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def _ends(self, answer: Any, beta: Fraction) -> tuple[float, float]:
        if isinstance(answer, float):
            assert self._answer_noise is not None
            radius = Fraction(self._answer_noise.quantile(1 - beta / 2)) * self.grid.step + self.grid.step / 2
            return -exactly_above(radius - Fraction(answer)), exactly_above(Fraction(answer) + radius)
        radius = Fraction(self._error(beta))
        if answer:
            return -exactly_above(radius - self.threshold), math.inf
        return -math.inf, exactly_above(self.threshold + radius)


class SparseVectorSession:
    """Questions to one sparse vector, asked one after the other; `SparseVector.start` returns it.

    It cannot be copied, nor asked in another process: both would continue with the same threshold noise, beyond what
    was paid for.

    Parameters
    ----------
    mechanism : SparseVector
        Its parameters; the noise of the threshold is drawn at once.
    """

    __slots__ = ("_above", "_lock", "_mechanism", "_process", "_threshold")

    def __init__(self, mechanism: SparseVector) -> None:
        self._mechanism = mechanism
        self._above = 0
        self._process = os.getpid()
        self._lock = threading.Lock()
        threshold = _in_steps(mechanism.grid, mechanism.threshold)
        noise = answered(mechanism._threshold_noise.sample, "threshold", None, mechanism=mechanism)
        self._threshold = threshold + noise

    @property
    def is_finished(self) -> bool:
        """Whether `max_above` values were above, so that no more can be asked."""
        return self._above >= self._mechanism.max_above

    @property
    def left(self) -> int:
        """How many more values may be above."""
        return self._mechanism.max_above - self._above

    def ask(self, value: Any) -> bool | float | None:
        """Compare one value with the threshold; it may depend on all answers before.

        Parameters
        ----------
        value : number
            The exact value.

        Returns
        -------
        bool or float or None
            Whether the value is above. With `answer_epsilon`: its noisy value if it is, else None.

        Raises
        ------
        ParameterError
            If the session has ended, or belongs to another process.
        """
        return self._answer(_in_steps(self._mechanism.grid, value))

    def _answer(self, steps: int) -> bool | float | None:
        mechanism = self._mechanism
        with self._lock:  # two threads must not both get the last answer
            self._check_open()
            is_above = answered(lambda: self._is_above(steps), "comparison", steps, mechanism=mechanism)
            self._above += is_above
        if mechanism._answer_noise is None:
            return is_above
        return answered(lambda: self._told(steps), "told", steps, mechanism=mechanism) if is_above else None

    def _is_above(self, steps: int) -> bool:
        return steps + self._mechanism._query_noise.sample() >= self._threshold

    def _told(self, steps: int) -> float:
        mechanism = self._mechanism
        assert mechanism._answer_noise is not None
        return mechanism.grid.to_float(steps + mechanism._answer_noise.sample())

    def _check_open(self) -> None:
        if os.getpid() != self._process:
            raise ParameterError("a session belongs to the process that started it. Start another, at its own price.")
        if self.is_finished:
            raise ParameterError(
                f"the sparse vector has stopped after {self._above} above, as max_above={self._mechanism.max_above} "
                "says. Start another session, at its own price."
            )

    def __reduce__(self) -> NoReturn:
        raise ParameterError("a session cannot be copied or stored: a copy would be asked at no price. Start another.")


def _in_steps(grid: Grid, value: Any) -> int:
    """The value rounded to the grid; anything but one finite number is refused."""
    steps = grid.round(value)
    if np.ndim(steps) or isinstance(value, bool | np.bool_):
        raise ParameterError("the value must be one number. Ask one question at a time.")
    return int(steps)


def _variance(law: DiscreteLaplace) -> Ball:
    """1/(2 sinh²(1/2t)), t = scale."""
    return 1 / (2 * ball(1 / (2 * law.scale)).sinh() ** 2)
