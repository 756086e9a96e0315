"""What is promised: guarantees that say how hard neighbouring datasets are to tell apart."""

from dither.measures.approximate import ApproxDP, PureDP, TVStable
from dither.measures.gaussian import GaussianDP
from dither.measures.guarantee import Guarantee
from dither.measures.renyi import ZCDP, RenyiDP

__all__ = ["ZCDP", "ApproxDP", "GaussianDP", "Guarantee", "PureDP", "RenyiDP", "TVStable"]
