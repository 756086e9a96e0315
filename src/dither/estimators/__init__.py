"""Estimators: count, sum, mean, variance, quantiles, histogram and more, as functions of an array (`dither.stats`)."""

from dither.estimators import stats
from dither.estimators.answer import Estimate
from dither.estimators.planning import Option, Plan, solve

__all__ = ["Estimate", "Option", "Plan", "solve", "stats"]
