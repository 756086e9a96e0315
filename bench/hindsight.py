"""The error of a mean that was clamped to the range that turned out best: nobody can know it beforehand."""

import numpy as np

from bench.accuracy_case import Data

LEVELS = np.concatenate([[0.0], np.geomspace(1e-6, 0.5, 40)])


def best_clip(data: Data) -> float:
    """The smallest root mean squared error over ranges between two records, all of ε spent on the mean.

    Under add/remove U = Σ(x − l) and V = Σ(h − x) each get the noise of one sum, and the mean is l + (h − l)·U/(U + V);
    under replace-one Σx gets it. Clamping adds its bias.
    """
    ordered, setting = np.sort(data.values), data.setting
    n = len(ordered)
    first = np.unique(ordered[np.floor(LEVELS * (n - 1)).astype(int)])[:, None]
    last = np.unique(ordered[np.ceil((1 - LEVELS) * (n - 1)).astype(int)])[None, :]
    before = np.concatenate([[0.0], np.cumsum(ordered)])
    below, above = np.searchsorted(ordered, first), np.searchsorted(ordered, last)
    clamped = (below * first + before[above] - before[below] + (n - above) * last) / n
    width = last - first
    share = np.clip((clamped - first) / np.where(width > 0, width, 1), 0, 1)
    spread = (1 - share) ** 2 + share**2 if setting.change == "add or remove" else 1.0
    noise = 2 * (width / (n * setting.epsilon)) ** 2 * spread
    squared = np.where(width >= 0, noise + (clamped - before[-1] / n) ** 2, np.inf)
    return float(np.sqrt(squared.min()))
