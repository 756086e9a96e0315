"""Strategies: which sums get noise, so that the answers to a workload put together from them are as exact as can be."""

from dither.workloads.strategies.choice import named, names
from dither.workloads.strategies.strategy import Strategy

__all__ = ["Strategy", "named", "names"]
