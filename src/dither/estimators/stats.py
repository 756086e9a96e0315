"""Private statistics of an array: `dp.stats.mean(x, epsilon=1)` and so on.

Each function takes an array of records (a list, NumPy array, or a series of pandas, Polars or Arrow), one record per
person, and returns an `Estimate`: a release with its cost, its interval, and how the budget was split. They do not
charge a ledger: `BudgetedArray` does, and asks them after that.

>>> import dither as dp
>>> incomes = [18_000, 25_500, 31_000, 42_000, 96_000] * 400
>>> release = dp.stats.median(incomes, epsilon=1, bounds=(0, 10**9))
>>> 20_000 < release.value < 60_000
True
"""

from dither.estimators.budgeted import BudgetedArray
from dither.estimators.compare import compare
from dither.estimators.counts import count, histogram, mode, top
from dither.estimators.extremes import max, min
from dither.estimators.moments import covariance, mean, std, sum, variance
from dither.estimators.quantiles import median, quantile
from dither.estimators.unbounded import unbounded_mean, unbounded_median

__all__ = [
    "BudgetedArray",
    "compare",
    "count",
    "covariance",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "quantile",
    "std",
    "sum",
    "top",
    "unbounded_mean",
    "unbounded_median",
    "variance",
]
