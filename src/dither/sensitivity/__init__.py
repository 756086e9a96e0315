"""How much a statistic of the data can change: globally, locally and smoothly."""

from dither.sensitivity.degrees import DegreeHistogram, EdgeCount
from dither.sensitivity.enumeration import EnumeratedStatistic, FiniteWorld, world
from dither.sensitivity.local_and_smooth import distance_to_sensitivity, local_sensitivity, smooth_sensitivity
from dither.sensitivity.means import TrimmedMean, WinsorisedMean
from dither.sensitivity.order_statistics import Maximum, Median, Minimum, Quantile
from dither.sensitivity.search import SMOOTH_EXCESS
from dither.sensitivity.statistic import Profile, Statistic
from dither.sensitivity.triangles import Triangles

__all__ = [
    "SMOOTH_EXCESS",
    "DegreeHistogram",
    "EdgeCount",
    "EnumeratedStatistic",
    "FiniteWorld",
    "Maximum",
    "Median",
    "Minimum",
    "Profile",
    "Quantile",
    "Statistic",
    "Triangles",
    "TrimmedMean",
    "WinsorisedMean",
    "distance_to_sensitivity",
    "local_sensitivity",
    "smooth_sensitivity",
    "world",
]
