"""Questions asked one after the other, with answers that hold on the population (claim C28)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dither.adaptive.examples import Examples
from dither.adaptive.mean import within_unit
from dither.adaptive.promise import Promise
from dither.adaptive.routes import Route, Splitting
from dither.adaptive.sample import Sample
from dither.adaptive.turns import Turns
from dither.errors import OverBudget, ParameterError
from dither.exact import Number, check, rational
from dither.guarantees import Guarantee
from dither.mechanisms import Release
from dither.mechanisms.released import Interval
from dither.noise import UniformBelow
from dither.noise.tape import answered

__all__ = ["Oracle", "OracleAnswer"]


@dataclass(frozen=True, slots=True, repr=False)
class OracleAnswer(Release):
    """The answer to one question of an `Oracle`; `.value` estimates the mean over the population.

    Parameters
    ----------
    value : float
        The estimate, between 0 and 1.
    event : Event
        What was done, in exact numbers.
    guarantee : Guarantee
        What this answer alone reveals about one row.
    mechanism : Mechanism
        The mechanism that answered.
    route : Route
        The method and its theorem.
    noise_removed : bool
        Whether this is an exact answer, made in a test by `dither.testing`: then it is not private.
    """

    route: Route = field(repr=False)

    def interval(self, level: Number = 0.95) -> Interval:
        """Compute bounds on the mean over the population.

        The intervals of all answers of the oracle hold at once with probability `level` or more, over the sample and
        the noise. Their width is chosen for the confidence of the oracle, and holds for other levels too.

        Parameters
        ----------
        level : Number, default 0.95
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        tuple of (float, float)
            Lower and upper bound, within [0, 1].
        """
        miss = 1 - _level(level)
        return within_unit(Fraction(self.value), Fraction(self.route.error(miss)))

    def sample_interval(self, level: Number = 0.95) -> Interval:
        """Compute bounds on the mean over the rows that were used, for this answer alone.

        Parameters
        ----------
        level : Number, default 0.95
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        tuple of (float, float)
            Lower and upper bound, within [0, 1].
        """
        return within_unit(Fraction(self.value), self.route.sample_reach(1 - _level(level)))


class Oracle:
    """OracleAnswer adaptively chosen statistical queries about the population that a sample was drawn from.

    A query is a function of one row with values in [0, 1]; each may depend on all answers before. All answers together
    are within `accuracy` of the means over the population, except with probability 1 − `confidence`. The best of four
    methods is used; `print(oracle)` shows them with their theorems and the rows that each would need.

    Parameters
    ----------
    sample : array or table
        The rows, which must be independent draws from the population: an array with one row per entry, or a table
        (pandas, Polars or Arrow).
    queries : int
        How many queries may be asked in all.
    accuracy : Number, optional
        The largest error of any answer, strictly between 0 and 1. By default the smallest that can be guaranteed.
    confidence : Number, default 0.95
        The probability with which all answers are that accurate.
    method : {"gaussian", "laplace", "splitting", "rounding"}, optional
        "gaussian" and "laplace" noise are also differentially private; "splitting" into fresh rows and "rounding" of
        exact answers hide nothing. By default the one with the best accuracy.
    adaptive : bool, default True
        False if all queries are fixed in advance and given at once to `ask_all`: then a union bound suffices.
    sigma : Number, optional
        The standard deviation of Gaussian noise on each answer, instead of a method (claim C22). What is promised
        follows from it, and may be nothing but an accuracy of 1.
    epsilon : Number, optional
        The ε of all answers together, instead of a method: each gets Laplace noise of scale queries/(rows · ε).
    examples : array or table, optional
        Rows that anyone may see, on which every query is tried first. By default some of the same columns and types,
        with numbers from 0 to 1, are made up.

    Attributes
    ----------
    promise : Promise
        What is guaranteed, by which theorem, beside what other methods would guarantee.

    Raises
    ------
    ParameterError
        If these rows do not suffice for `accuracy`; the message states how many would.

    Notes
    -----
    Claim C28; transfer.md has the theorem. What goes wrong on the examples is refused, and costs nothing. What goes
    wrong on the sample is not refused: see `ask`. So a refusal reveals nothing about the sample.

    Examples
    --------
    >>> import dither as dp
    >>> import numpy as np
    >>> oracle = dp.Oracle(np.arange(20000) % 2, accuracy=0.05, queries=30)
    >>> answer = oracle.ask(lambda x: x == 1)
    >>> low, high = answer.interval()
    >>> low < 0.5 < high, high - low < 0.1, oracle.left
    (True, True, 29)
    >>> dp.Oracle(np.arange(20000) % 2, queries=30, sigma=0.01).guarantee.tv() < 0.02
    True
    >>> dp.Oracle.needed(accuracy=0.05, queries=1000)
    140392
    """

    __slots__ = ("_asked", "_examples", "_order", "_sample", "_turns", "promise")

    promise: Promise

    def __init__(
        self,
        sample: Any,
        *,
        queries: int,
        accuracy: Number | None = None,
        confidence: Number = 0.95,
        method: str | None = None,
        adaptive: bool = True,
        sigma: Number | None = None,
        epsilon: Number | None = None,
        examples: Any = None,
    ) -> None:
        self._sample = Sample.of(sample)
        self._examples = Examples.of(self._sample, examples)
        self.promise = Promise.best(
            self._sample.rows,
            queries=queries,
            accuracy=accuracy,
            confidence=confidence,
            method=method,
            adaptive=adaptive,
            sigma=sigma,
            epsilon=epsilon,
        )
        self._asked = 0
        self._turns = Turns("an oracle")
        # Fresh rows are independent only if their order says nothing: a table may be sorted.
        self._order = _shuffled(self.rows) if isinstance(self.promise.route, Splitting) else None

    @staticmethod
    def needed(
        *,
        queries: int,
        accuracy: Number,
        confidence: Number = 0.95,
        method: str | None = None,
        adaptive: bool = True,
    ) -> int:
        """Compute how many rows suffice, before there is any data.

        Parameters
        ----------
        queries : int
            How many queries are to be asked.
        accuracy : Number
            The largest error of any answer, strictly between 0 and 1.
        confidence : Number, default 0.95
            The probability with which all answers are that accurate.
        method : {"gaussian", "laplace", "splitting", "rounding"}, optional
            The method; by default the one that needs the fewest rows.
        adaptive : bool, default True
            Whether queries may depend on earlier answers.

        Returns
        -------
        int
            The number of rows.
        """
        return Promise.needed(
            queries=queries, accuracy=accuracy, confidence=confidence, method=method, adaptive=adaptive
        )

    # ---------------------------------------------------------------- accounts

    @property
    def rows(self) -> int:
        """The number n of rows of the sample."""
        return self._sample.rows

    @property
    def asked(self) -> int:
        """How many questions were answered."""
        return self._asked

    @property
    def left(self) -> int:
        """How many more questions may be asked."""
        return self.promise.queries - self._asked

    @property
    def guarantee(self) -> Guarantee:
        """What all answers together reveal about one row, under replace-one; `guarantee.tv()` is the TV stability."""
        return self.promise.route.guarantee

    @property
    def spent(self) -> Guarantee:
        """What the answers so far would reveal, had their number been fixed in advance; the guarantee is `guarantee`.

        Every answer costs the same, so their number is the whole account: μ² add up for Gaussian noise, ε for Laplace.
        """
        return self.promise.route.mean.composed(self._asked)

    # ------------------------------------------------------------------ asking

    def ask(self, query: Any) -> OracleAnswer:
        """OracleAnswer one query, which may depend on all answers before.

        Refused before the sample is looked at, and free: a query that returns values outside [0, 1], NaN or another
        number of values than rows on the examples, raises there, or returns something else for a row when it is asked
        about it alone or in another order. After `queries` answers everything is refused, and so is a question asked by
        a query while it is evaluated.

        On the sample nothing is refused. Values are clamped to [0, 1]; a row where the query raises or returns no
        number counts as 0, and so does NaN. The answer is about this query, and what is seen of it depends on the
        sample through the noisy mean alone.

        Parameters
        ----------
        query : callable or Expression
            A function of the whole sample that returns a value in [0, 1] for each row; or, for a table, an expression
            such as `dp.col("age") >= 65`.

        Returns
        -------
        OracleAnswer
            `.value` estimates the mean of the query over the population, `.interval()` bounds it.

        Raises
        ------
        OverBudget
            If no question is left.
        ParameterError
            If the query is refused on the examples, or the oracle was built with `adaptive=False`.
        """
        if not self.promise.route.is_adaptive:
            raise ParameterError(
                "this oracle was made for queries that are fixed in advance (adaptive=False). Give them to ask_all."
            )
        with self._turns:
            return self._answer([query])[0]

    def ask_all(self, queries: Iterable[Any]) -> list[OracleAnswer]:
        """OracleAnswer a list of queries; if one of them is refused, none is answered.

        With `adaptive=False` it may be called once: a second list could depend on the answers to the first.

        Parameters
        ----------
        queries : iterable of callable or Expression
            The queries, as in `ask`.

        Returns
        -------
        list of OracleAnswer
            One answer for each query, in their order.

        Raises
        ------
        OverBudget
            If they are more than are left, or fixed queries were answered already.
        """
        listed = list(queries)  # before the turn: what makes the list may ask for itself
        with self._turns:
            if self._asked and not self.promise.route.is_adaptive:
                raise OverBudget("queries that are fixed in advance come in one list, and it was answered already.")
            return self._answer(listed)

    def _answer(self, queries: list[Any]) -> list[OracleAnswer]:
        """All are tried on the examples, then counted (there is no refund once the sample was touched), then drawn."""
        if not len(queries) <= self.left:
            raise OverBudget(
                f"{len(queries)} queries were asked, but only {self.left} of queries={self.promise.queries} are left. "
                "Make an oracle of fresh rows."
            )
        functions = [self._examples.checked(query) for query in queries]
        first = self._asked
        self._asked += len(queries)
        parts = [self._rows_of(first + number).settled(function) for number, function in enumerate(functions)]
        route = self.promise.route
        mean = route.mean
        return [OracleAnswer(route.told(mean.drawn(each)), mean.event, mean.guarantee, mean, route) for each in parts]

    def _rows_of(self, number: int) -> Sample:
        """All rows, or those of this question and of no other."""
        if self._order is None:
            return self._sample
        size = self.promise.route.mean.rows
        return self._sample.take(self._order[number * size : (number + 1) * size])

    def __str__(self) -> str:
        return str(self.promise)

    def __repr__(self) -> str:
        route = self.promise.route
        return (
            f"Oracle(rows={self.rows}, queries={self.promise.queries}, accuracy={self.promise.accuracy:.4g}, "
            f"confidence={float(self.promise.confidence)}, method={route.name!r}, left={self.left})"
        )

    def __reduce__(self) -> NoReturn:
        raise ParameterError("an oracle cannot be copied or stored: a copy would be asked beyond the promise.")


def _level(level: Number) -> Fraction:
    exact = rational(level, "level")
    check.between(0, 1, level=exact)
    return exact


def _shuffled(rows: int) -> NDArray[np.int64]:
    """All rows in an order drawn at random; two keys of 62 bits are hardly ever the same, and nothing rests on it."""
    keys = answered(lambda: UniformBelow(1 << 62).sample(rows), "keys", rows)
    return np.argsort(keys).astype(np.int64)
