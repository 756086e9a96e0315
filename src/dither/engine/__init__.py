"""Query → plan → release."""

from dither.engine.aggregate import count, count_people, mean, std, sum, variance
from dither.engine.dataset import Dataset

__all__ = ["Dataset", "count", "count_people", "mean", "std", "sum", "variance"]
