"""Exact noise: one law per file, each with its probabilities, its sampler and its proof."""

from dither.noise.bernoulli import Bernoulli, BernoulliExp
from dither.noise.discrete_gaussian import DiscreteGaussian
from dither.noise.discrete_laplace import DiscreteLaplace
from dither.noise.geometric import Geometric
from dither.noise.gumbel import Gumbel
from dither.noise.lattice import Grid, add_integers
from dither.noise.law import Law
from dither.noise.power_law import PowerLaw
from dither.noise.staircase import DiscreteStaircase
from dither.noise.steepest import Steepest
from dither.noise.student_t import StudentT
from dither.noise.uniform import UniformBelow

__all__ = [
    "Bernoulli",
    "BernoulliExp",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteStaircase",
    "Geometric",
    "Grid",
    "Gumbel",
    "Law",
    "PowerLaw",
    "Steepest",
    "StudentT",
    "UniformBelow",
    "add_integers",
]
