"""A holdout that can be used again: findings of a training set are checked on it, and only overfitting costs.

Thresholdout (Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015): the answer is the mean on the training set as
long as it is close to the mean on the holdout; if it is not, the finding is overfitted, the holdout answers, and one of
a fixed number of such answers is spent. The rules of holdout_rules.py decide what is close and how the holdout answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from dither.adaptive.holdout_rules import RULES, NoisyRule, RoundedRule, Rule
from dither.adaptive.mean import QueryMean, within_unit
from dither.adaptive.sample import Sample
from dither.adaptive.turns import Turns
from dither.errors import OverBudget, ParameterError
from dither.exact import Number, check, in_words, rational
from dither.guarantees import Guarantee

__all__ = ["Check", "ReusableHoldout"]

_MOST_CHECKS = 10**6


@dataclass(frozen=True, slots=True)
class Check:
    """What the holdout reveals about one finding.

    Parameters
    ----------
    value : float
        The mean on the training set, or the holdout's answer if that is overfitted; an estimate for the population.
    is_overfit : bool
        Whether the mean on the training set is far from that on the holdout.
    rule : Rule
        The rule that decided, with its theorem.
    """

    value: float
    is_overfit: bool
    rule: Rule = field(repr=False)

    def interval(self, level: Number = 0.95) -> tuple[float, float]:
        """Compute bounds on the mean over the population; those of all checks hold at once.

        Parameters
        ----------
        level : Number, default 0.95
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        tuple of (float, float)
            Lower and upper bound, within [0, 1].
        """
        exact = rational(level, "level")
        check.between(0, 1, level=exact)
        return within_unit(Fraction(self.value), Fraction(self.rule.error(1 - exact)))


class ReusableHoldout:
    """Check findings of a training set on a holdout that can be used many times.

    `check(query)` returns the mean of a query on the training set as long as it is within about `threshold` of its mean
    on the holdout, and the holdout's own answer otherwise; only the latter uses up the holdout. Queries may depend on
    the training set in any way, and on all checks before.

    Parameters
    ----------
    train : array or table
        The training set, which the analyst knows.
    holdout : array or table
        Independent draws from the population, independent of the training set too, with the same columns.
    threshold : Number
        How far apart the two means may be, strictly between 0 and 1.
    checks : int
        How many findings may be checked in all.
    max_overfit : int
        How many of them may turn out to be overfitted.
    confidence : Number, default 0.95
        The probability with which all answers are within `accuracy` of the population.
    method : {"sparse vector", "rounding"}, optional
        "sparse vector": its answers are also differentially private for the rows of the holdout (not for those of the
        training set). "rounding" draws no noise and hides nothing. By default the one with the better bound.

    Attributes
    ----------
    rule : Rule
        What counts as overfitted, and what is guaranteed; `print(holdout)` names the theorem.

    Raises
    ------
    ParameterError
        If the holdout has too few rows to guarantee anything.

    Notes
    -----
    Thresholdout (Dwork, Feldman, Hardt, Pitassi, Reingold and Roth 2015). A query is refused, free, for what it does on
    the training set; on the holdout nothing is refused, as for `Oracle`.

    Examples
    --------
    >>> import dither as dp
    >>> import numpy as np
    >>> train, fresh = np.zeros(1000), np.arange(40000) % 2
    >>> holdout = dp.ReusableHoldout(train, fresh, threshold=0.1, checks=1000, max_overfit=3)
    >>> found = holdout.check(lambda x: x == 0)  # always so in the training set, half of the time otherwise
    >>> found.is_overfit, 0.4 < found.value < 0.6, holdout.left
    (True, True, 2)
    """

    __slots__ = ("_checked", "_confidence", "_holdout", "_overfit", "_session", "_train", "_turns", "rule")

    rule: Rule

    def __init__(
        self,
        train: Any,
        holdout: Any,
        *,
        threshold: Number,
        checks: int,
        max_overfit: int,
        confidence: Number = 0.95,
        method: str | None = None,
    ) -> None:
        self._train, self._holdout = Sample.of(train, "train"), Sample.of(holdout, "holdout")
        if not self._train.is_like(self._holdout):
            raise ParameterError("train and holdout must be of one kind, with the same columns in the same order.")
        limit, self._confidence = rational(threshold, "threshold"), rational(confidence, "confidence")
        check.between(0, 1, threshold=limit, confidence=self._confidence)
        check.count(checks=checks, max_overfit=max_overfit)
        if not max_overfit <= checks <= _MOST_CHECKS:
            raise ParameterError(
                f"max_overfit must be at most checks, and checks at most {_MOST_CHECKS:,}; "
                f"got max_overfit={max_overfit}, checks={checks}."
            )
        beta = 1 - self._confidence
        sizes = (self._holdout.rows, limit, int(checks), int(max_overfit), beta)
        self.rule = min((rule.best(*sizes) for rule in _known(method)), key=lambda rule: rule.error(beta))
        if not self.accuracy < 1:
            raise ParameterError(
                f"a holdout of {self._holdout.rows:,} rows promises nothing for checks={checks} and "
                f"max_overfit={max_overfit}. Give more rows or fewer checks."
            )
        self._checked = self._overfit = 0
        self._turns = Turns("a holdout")
        self._session = self.rule.start()

    @property
    def accuracy(self) -> float:
        """How far an answer may lie from the population; all hold at once with the confidence that was asked for."""
        return self.rule.error(1 - self._confidence)

    @property
    def checked(self) -> int:
        """How many findings were checked."""
        return self._checked

    @property
    def left(self) -> int:
        """How many more may turn out to be overfitted."""
        return self.rule.max_overfit - self._overfit

    @property
    def guarantee(self) -> Guarantee:
        """What all answers reveal about one row of the holdout, under replace-one."""
        return self.rule.guarantee

    def check(self, query: Any) -> Check:
        """Check whether a finding is overfitted, and estimate its mean over the population.

        Parameters
        ----------
        query : callable or Expression
            As for `Oracle.ask`, with the training set as examples.

        Returns
        -------
        Check
            `.is_overfit`, `.value` and `.interval()`.

        Raises
        ------
        OverBudget
            If all checks, or all overfitted ones, are used up.
        """
        with self._turns:
            self._check_open()
            function, shown = self._train.tried(query, "the training set")
            self._checked += 1
            trained = QueryMean.exact(self._train.rows).drawn(shown)
            parts = self._holdout.settled(function)
            held = QueryMean.exact(self._holdout.rows).drawn(parts)
            if not self._session.ask(abs(trained - held)):
                return Check(float(trained), False, self.rule)
            self._overfit += 1
            return Check(self.rule.answer(parts), True, self.rule)

    def _check_open(self) -> None:
        if not self.left:
            raise OverBudget(
                f"the holdout is spent: {self._overfit} findings were overfitted, as max_overfit="
                f"{self.rule.max_overfit} says. Make another of fresh rows."
            )
        if self._checked >= self.rule.checks:
            raise OverBudget(
                f"the holdout is spent: {self._checked} findings were checked, as checks={self.rule.checks} says. "
                "Make another of fresh rows."
            )

    def __str__(self) -> str:
        return (
            f"{self.rule.checks:,} checks, {self.rule.max_overfit} of them overfitted, on {self._holdout.rows:,} rows: "
            f"each answer within {self.accuracy:.4g} of the population, all with probability "
            f"{in_words(self._confidence)}. By {self.rule.theorem}."
        )

    def __reduce__(self) -> NoReturn:
        raise ParameterError("a holdout cannot be copied or stored: a copy would be asked beyond the promise.")


def _known(method: str | None) -> list[type[NoisyRule | RoundedRule]]:
    found = [rule for rule in RULES if method in (None, rule.name)]
    if not found:
        names = ", ".join(rule.name for rule in RULES)
        raise ParameterError(f"method must be one of {names}, or None for the best; got method={method!r}.")
    return found
