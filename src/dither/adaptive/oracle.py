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

    A query first meets `examples`: rows that anyone may see, such as made-up ones; without them, some of the same
    columns and types, with numbers from 0 to 1, are made up. What goes wrong there is refused, and costs nothing. What
    goes wrong on the sample is not: see `ask`. So a refusal says nothing about the sample.
    """

    __slots__ = ("_asked", "_examples", "_order", "_sample", "_turns", "promise")

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

        Refused before the sample is looked at, and free: what gives values outside [0, 1], NaN or another number of
        values than rows on the examples, raises there, or says something else about a row when it is asked about it
        alone or in another order. After `queries` answers everything is refused, and so is a question asked by a
        query while it is evaluated.

        On the sample nothing is refused. Values are cut to [0, 1]; a row where the query raises or gives no number
        counts as 0, and so does NaN. The answer is about this query, and what is seen of it depends on the sample
        through the noisy mean alone.
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
        return [Answer(route.told(mean.drawn(each)), mean.event, mean.guarantee, mean, route) for each in parts]

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
