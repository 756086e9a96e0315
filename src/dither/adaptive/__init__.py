"""Answers to adaptively chosen questions that hold on the population (claim C28).

The same noise that hides a row keeps an analyst from fooling herself: what an answer cannot tell about one row of the
sample, it cannot overfit. `Oracle` answers statistical queries until its promise is spent; `ReusableHoldout` checks
findings of a training set, and spends only on those that turn out to be overfitted. transfer.md has the theorem.
"""

from dither.adaptive.holdout import Check, ReusableHoldout
from dither.adaptive.oracle import Oracle, OracleAnswer
from dither.adaptive.promise import Candidate, Promise

__all__ = ["Candidate", "Check", "Oracle", "OracleAnswer", "Promise", "ReusableHoldout"]
