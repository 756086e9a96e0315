"""An array with a budget: every estimate of it is charged to a ledger before it is drawn.

The functions of `dp.stats` know their cost beforehand, and no ledger. `BudgetedArray` has an account in a ledger, as
`dp.Dataset` has, and asks them in its place:

1. **Rehearse.** The estimator is asked about one public record, 0. A parameter that is refused is refused here, and
   nothing is charged. Its guarantee is the cost: it follows from the parameters alone.
2. **Charge** that cost, durably. If too little is left, nothing is charged and nothing is drawn.
3. **Draw**, and write down the outcome. Whatever fails now stays charged, is said in the same words, and is counted:
   after `failures_allowed` failures no question is taken until the owner resumes.

**Privacy.** All releases together keep the budget: charges add up exactly, whatever earlier answers led to a question
(`dither.accounting.filters`). An estimate whose guarantee is not the one that was charged is not given.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from operator import length_hint
from typing import Any, Concatenate, ParamSpec

from dither.adjacency import ADD_REMOVE, Adjacency
from dither.errors import EngineError, LedgerError, ParameterError
from dither.estimators.answer import Estimate
from dither.estimators.counts import count, histogram, mode, top
from dither.estimators.extremes import max, min
from dither.estimators.moments import mean, std, sum, variance
from dither.estimators.quantiles import median, quantile
from dither.estimators.records import checked_adjacency, is_replace
from dither.events import Stated
from dither.guarantees import ApproxDP, PureDP
from dither.ledger import Ledger
from dither.ledger.budget import Amounts, Budget
from dither.noise.tape import noise_is_removed

__all__ = ["BudgetedArray"]

_Options = ParamSpec("_Options")
_ESTIMATORS: tuple[Callable[..., Any], ...] = (
    count, histogram, max, mean, median, min, mode, quantile, std, sum, top, variance
)  # fmt: skip
_PUBLIC_RECORD = (0,)


@dataclass(frozen=True, init=False, repr=False)
class BudgetedArray:
    """An array with a privacy budget that a ledger keeps.

    Parameters
    ----------
    data : array or sequence
        The records, one entry per person: what the functions of `dp.stats` take.
    identity : str
        The name of the account in the ledger. The same records must always have the same name.
    ledger : str, os.PathLike or Ledger
        Where charges are recorded: the path of a file, "postgresql://...", ":memory:" for tests, or an open ledger.
    budget : PureDP, ApproxDP or None, default None
        What all releases together may cost. It is given once and kept in the ledger; leave it out when the ledger has
        it.
    adjacency : Adjacency, default ADD_REMOVE
        Which datasets are neighbours. An estimate under another one is refused.

    Raises
    ------
    LedgerConflict
        If the ledger has another budget for this identity.
    LedgerError
        If the budget is left out and the ledger does not have it, or the ledger cannot be used.

    Examples
    --------
    >>> import dither as dp
    >>> incomes = [18_000, 25_500, 31_000, 42_000, 96_000] * 400
    >>> paid = dp.stats.BudgetedArray(incomes, identity="incomes", ledger=":memory:", budget=dp.PureDP(1))
    >>> release = paid.release(dp.stats.mean, epsilon=0.25, bounds=(0, 10**6))
    >>> str(paid.remaining["epsilon"])
    '3/4'
    """

    data: Any
    ledger: Ledger
    account: str
    adjacency: Adjacency

    def __init__(
        self,
        data: Any,
        *,
        identity: str,
        ledger: str | os.PathLike[str] | Ledger,
        budget: Budget | None = None,
        adjacency: Adjacency = ADD_REMOVE,
    ) -> None:
        known = checked_adjacency(adjacency)
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger, create=budget is not None)
        account = book.named(identity)
        stated = book.account(account).budget if budget is None else budget
        book.open_account(account, stated._under(known))
        for name, value in {"data": data, "ledger": book, "account": account, "adjacency": known}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """The name of the account: nothing of the records."""
        return f"BudgetedArray(identity={self.account!r})"

    @property
    def remaining(self) -> Amounts:
        """What is left of the budget, exactly."""
        return self.ledger.account(self.account).remaining

    def release(
        self, estimator: Callable[Concatenate[Any, _Options], Estimate], *args: _Options.args, **kwargs: _Options.kwargs
    ) -> Estimate:
        """Charge the ledger, durably, then estimate.

        Parameters
        ----------
        estimator : function
            One of `dp.stats`: count, histogram, max, mean, median, min, mode, quantile, std, sum, top, variance.
        *args : Any
            What it takes after the data, such as the probability of a quantile.
        **kwargs : Any
            Its options, such as `epsilon` and `bounds`.

        Returns
        -------
        Estimate
            The release.

        Raises
        ------
        OverBudget
            If less is left than it costs; nothing is charged.
        ParameterError
            If a parameter is refused; nothing is charged.
        EngineError
            If there is no answer after the charge; what was charged stays charged.
        """
        if not any(estimator is known for known in _ESTIMATORS):
            names = ", ".join(known.__name__ for known in _ESTIMATORS)
            raise ParameterError(f"estimator must be one of dp.stats: {names}. Others do not state their cost.")
        # Under replace-one the number of records is public: that there are none is refused now, not after the charge.
        is_empty = is_replace(self.adjacency) and length_hint(self.data, 1) == 0
        cost = estimator(() if is_empty else _PUBLIC_RECORD, *args, **kwargs).guarantee
        if not isinstance(cost, PureDP | ApproxDP) or cost.adjacency != self.adjacency:
            raise ParameterError(f"the budget is for {self.adjacency}, and this costs {cost}. State that adjacency.")
        values = (cost.stated_epsilon, cost.stated_delta) if isinstance(cost, ApproxDP) else (cost.stated_epsilon,)
        event = Stated(type(cost).__name__, values, self.adjacency)
        charge = self.ledger.charge(self.account, event, cost, f"stats.{estimator.__name__}", awaits_outcome=True)
        answer = None
        with suppress(Exception):  # what went wrong may depend on the records, and is forgotten
            answer = estimator(self.data, *args, **kwargs)
        is_given = answer is not None and answer.guarantee == cost and noise_is_removed() == charge.entry.noise_removed
        with suppress(LedgerError):  # an attempt without an outcome counts as a failure
            (self.ledger.answered if is_given else self.ledger.failed)(charge)
        if answer is None or not is_given:
            raise EngineError(
                "the estimate was charged and could not be made; what was charged stays charged. Check that the data "
                "are one column of numbers or names."
            )
        return answer
