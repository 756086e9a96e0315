"""Strategies: which sums get noise, so that the answers to a workload put together from them are as exact as can be."""

from dither.mechanisms.strategies.choice import named, names
from dither.mechanisms.strategies.strategy import Strategy

__all__ = ["Strategy", "named", "names"]
