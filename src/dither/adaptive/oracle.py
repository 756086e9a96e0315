"""Questions asked one after the other, with answers that hold on the population (claim C28)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dither.adaptive.mean import within_unit
from dither.adaptive.promise import Promise
from dither.adaptive.routes import Route, Splitting
from dither.adaptive.sample import Sample
from dither.adaptive.turns import Turns
from dither.errors import OverBudget, ParameterError
from dither.exact import Number, check, rational
from dither.measures import Guarantee
from dither.mechanisms import Release
from dither.mechanisms.released import Interval
from dither.noise import UniformBelow
from dither.noise.tape import answered

__all__ = ["Answer", "Oracle"]


@dataclass(frozen=True, slots=True)
class Answer(Release):
    """The answer to one question; `value` estimates the mean over the population."""

    route: Route = field(repr=False)

    def interval(self, level: Number = 0.95) -> Interval:
        """Bounds on the mean over the population.

        The intervals of all answers of the oracle hold at once with probability `level` or more, over the sample and
        the noise. Their width is chosen for the confidence of the oracle, and holds for other levels too.
        """
        miss = 1 - _level(level)
        return within_unit(Fraction(self.value), Fraction(self.route.error(miss)))

    def sample_interval(self, level: Number = 0.95) -> Interval:
        """Bounds on the mean over the rows that were used, for this answer alone, with probability `level` or more."""
        return within_unit(Fraction(self.value), self.route.sample_reach(1 - _level(level)))


class Oracle:
    """Answers adaptively chosen statistical queries about the population that `sample` was drawn from.

    A query is a function of one row with values in [0, 1], given as a function of the whole sample that returns a value
    for each row, or as an expression (`dp.col("age") >= 65`) if the sample is a table. Up to `queries` of them may be
    asked, each after the answers before. Except with probability 1 − `confidence`, all answers are within `accuracy` of
    the means over the population; with `accuracy=None`, within whatever can be promised. `promise` says how, by which
    theorem, what other ways would give and how many rows each would need. If these rows do not suffice, the
    constructor refuses and says how many would.

    The rows must be independent draws from the population. The best of four methods is used, or the `method` that is
    named: "gaussian" and "laplace" noise (also differentially private), "splitting" into fresh rows and "rounding" of
    exact answers (both of which hide nothing). With `adaptive=False` all queries are given at once to `ask_all`, and a
    union bound does.

    >>> import numpy as np
    >>> oracle = Oracle(np.arange(20000) % 2, accuracy=0.05, queries=30)
    >>> answer = oracle.ask(lambda x: x == 1)
    >>> low, high = answer.interval()
    >>> low < 0.5 < high, high - low < 0.1, oracle.left
    (True, True, 29)
    >>> Oracle.needed(accuracy=0.05, queries=1000)
    140392

    What a query must not do, and what is checked: see `ask`. A query that is refused costs nothing. That it was
    refused is still a bit about the sample: the promise is made for analysts who do not ask questions in order to
    have them refused. `refused` counts them.
    """

    __slots__ = ("_asked", "_order", "_refused", "_sample", "_turns", "promise")

    promise: Promise
    """What is promised, by which theorem, beside what other ways would promise."""

    def __init__(
        self,
        sample: Any,
        *,
        queries: int,
        accuracy: Number | None = None,
        confidence: Number = 0.95,
        method: str | None = None,
        adaptive: bool = True,
    ) -> None:
        self._sample = Sample.of(sample)
        self.promise = Promise.best(
            self._sample.rows,
            queries=queries,
            accuracy=accuracy,
            confidence=confidence,
            method=method,
            adaptive=adaptive,
        )
        self._asked = 0
        self._refused = 0
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
        """How many rows suffice, by the best method or by the one that is named; found before there is any data."""
        return Promise.needed(
            queries=queries, accuracy=accuracy, confidence=confidence, method=method, adaptive=adaptive
        )

    # ---------------------------------------------------------------- accounts

    @property
    def rows(self) -> int:
        """n."""
        return self._sample.rows

    @property
    def asked(self) -> int:
        """How many questions were answered."""
        return self._asked

    @property
    def left(self) -> int:
        """How many more may be asked."""
        return self.promise.queries - self._asked

    @property
    def refused(self) -> int:
        """How many questions were refused after they had been tried on the sample."""
        return self._refused

    @property
    def guarantee(self) -> Guarantee:
        """What all answers together reveal about one row, under replace-one; `guarantee.tv()` is the TV stability."""
        return self.promise.route.guarantee

    @property
    def spent(self) -> Guarantee:
        """What the answers so far would reveal, had their number been fixed in advance; the promise is `guarantee`.

        Every answer costs the same, so their number is the whole account: μ² add up for Gaussian noise, ε for Laplace.
        """
        return self.promise.route.mean.composed(self._asked)

    # ------------------------------------------------------------------ asking

    def ask(self, query: Any) -> Answer:
        """The answer to one question, which may depend on all answers before.

        Refused before anything is drawn or counted, and without a word about the rows: values outside [0, 1], NaN,
        another number of values than rows, exceptions inside the query, and queries that say something else about a row
        when they are asked about fewer rows in another order. After `queries` answers everything is refused, and so is
        a question asked by a query while it is evaluated.
        """
        if not self.promise.route.is_adaptive:
            raise ParameterError(
                "this oracle was made for queries that are fixed in advance (adaptive=False). Give them to ask_all."
            )
        with self._turns:
            return self._answer([query])[0]

    def ask_all(self, queries: Iterable[Any]) -> list[Answer]:
        """The answers to a list of questions; if one of them is refused, none is answered.

        With `adaptive=False` it may be called once: a second list could depend on the answers to the first.
        """
        listed = list(queries)  # before the turn: what makes the list may ask for itself
        with self._turns:
            if self._asked and not self.promise.route.is_adaptive:
                raise OverBudget("queries that are fixed in advance come in one list, and it was answered already.")
            return self._answer(listed)

    def _answer(self, queries: list[Any]) -> list[Answer]:
        """All are evaluated, then counted, then drawn."""
        if not len(queries) <= self.left:
            raise OverBudget(
                f"{len(queries)} queries were asked, but only {self.left} of queries={self.promise.queries} are left. "
                "Make an oracle of fresh rows."
            )
        parts = [self._evaluated(query, self._asked + number) for number, query in enumerate(queries)]
        self._asked += len(queries)
        route = self.promise.route
        mean = route.mean
        return [Answer(route.told(mean.drawn(each)), mean.event, mean.guarantee, mean, route) for each in parts]

    def _evaluated(self, query: Any, number: int) -> NDArray[np.int64]:
        sample = self._sample
        if self._order is not None:  # the rows of this question, and of no other
            size = self.promise.route.mean.rows
            sample = sample.take(self._order[number * size : (number + 1) * size])
        try:
            return sample.numerators(query)
        except ParameterError:
            self._refused += 1
            raise

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
