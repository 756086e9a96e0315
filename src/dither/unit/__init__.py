"""The privacy unit, and how much a statistic of the data can change: globally, locally and smoothly."""

from dither.unit.contribution import Person, Rows
from dither.unit.graph import Triangles
from dither.unit.means import TrimmedMean, WinsorisedMean
from dither.unit.order import Maximum, Median, Minimum, Quantile
from dither.unit.search import SMOOTH_EXCESS
from dither.unit.smooth import distance_to_sensitivity, local_sensitivity, smooth_sensitivity
from dither.unit.statistic import Profile, Statistic
from dither.unit.workload import Workload

__all__ = [
    "SMOOTH_EXCESS",
    "Maximum",
    "Median",
    "Minimum",
    "Person",
    "Profile",
    "Quantile",
    "Rows",
    "Statistic",
    "Triangles",
    "TrimmedMean",
    "WinsorisedMean",
    "Workload",
    "distance_to_sensitivity",
    "local_sensitivity",
    "smooth_sensitivity",
]
