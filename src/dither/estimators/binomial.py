"""Where the mean of a population lies, from that of a sample of values between 0 and 1: the binomial law inverted.

For a share the interval of Clopper and Pearson (1934) is exact: of n independent rows a binomial number fulfil the
condition, and each end is the share at which what was seen, or more, has half of the probability to miss. For other
values the binomial law is an assumption on the safe side: among all laws on [0, 1] with a given mean it has the largest
variance, μ(1 − μ).

Fewer rows mean a wider interval, so a count that is not known exactly counts as the smallest plausible one.
"""

from __future__ import annotations

import numpy as np
import scipy

from dither.estimators.records import Floats

__all__ = ["binomial_between"]


def binomial_between(low: Floats, high: Floats, count: Floats, miss: float) -> tuple[Floats, Floats]:
    """Both ends of the mean of the population, missed with probability `miss`: that of the rows is in [low, high]."""
    rows = np.maximum(count, 1.0)
    least, most = rows * np.clip(low, 0.0, 1.0), rows * np.clip(high, 0.0, 1.0)
    some, not_all = np.maximum(least, 1e-300), np.maximum(rows - most, 1e-300)
    below = scipy.special.betaincinv(some, rows - least + 1, miss / 2)
    above = scipy.special.betaincinv(most + 1, not_all, 1 - miss / 2)
    return np.where(least > 0, below, 0.0), np.where(most < rows, above, 1.0)
