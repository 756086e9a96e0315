"""Sets of counting queries that are asked together, and the strategies that answer them."""

from dither.workloads.workload import Workload

__all__ = ["Workload"]
