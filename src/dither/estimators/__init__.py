"""Estimators: count, sum, mean, variance, quantiles, histogram and more, as functions of an array (`dither.stats`)."""

from dither.estimators import stats
from dither.estimators.answer import Estimate
from dither.estimators.solving import Option, Solution, solve

__all__ = ["Estimate", "Option", "Solution", "solve", "stats"]
