"""The public names of `dither.mechanisms`, which it takes from here when one of them is first used."""

from dither.mechanisms.finite import FiniteMechanism as FiniteMechanism
from dither.mechanisms.gaussian import Gaussian as Gaussian
from dither.mechanisms.histogram import Histogram as Histogram
from dither.mechanisms.laplace import Laplace as Laplace
from dither.mechanisms.matrix import MatrixMechanism as MatrixMechanism
from dither.mechanisms.matrix import compare_strategies as compare_strategies
from dither.mechanisms.mechanism import Mechanism as Mechanism
from dither.mechanisms.metric import MetricExponential as MetricExponential
from dither.mechanisms.no_answer import NoAnswer as NoAnswer
from dither.mechanisms.propose_test_release import ProposeTestRelease as ProposeTestRelease
from dither.mechanisms.randomized_response import Frequencies as Frequencies
from dither.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from dither.mechanisms.released import Release as Release
from dither.mechanisms.scored import ScoredSelection as ScoredSelection
from dither.mechanisms.selection import Exponential as Exponential
from dither.mechanisms.selection import NoisyMax as NoisyMax
from dither.mechanisms.selection import TopK as TopK
from dither.mechanisms.selection_error import ErrorDistribution as ErrorDistribution
from dither.mechanisms.smooth_sensitivity import SmoothSensitivity as SmoothSensitivity
from dither.mechanisms.sparse_vector import SparseVector as SparseVector
from dither.mechanisms.sparse_vector import SparseVectorSession as SparseVectorSession
from dither.mechanisms.staircase import Staircase as Staircase
from dither.noise.tail_bounds import exponential_tail as exponential_tail
from dither.noise.tail_bounds import largest_exponential_tail as largest_exponential_tail
from dither.noise.tail_bounds import normal_tail as normal_tail
from dither.noise.tail_bounds import normal_tail_bound as normal_tail_bound
