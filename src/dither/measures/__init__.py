"""Privacy guarantees: how hard neighbouring datasets are to tell apart.

Six kinds of guarantee and the profile of any pair of distributions answer the same questions (`Guarantee`),
convert into each other where a theorem allows it (`to_*`), and decide when one implies another. Two finite
distributions can be compared directly (`dither.measures.finite`).
"""

from dither.measures.approximate import ApproxDP, PureDP, TVStable
from dither.measures.attacker import best_guess, largest_posterior
from dither.measures.conversions import to_approx, to_gaussian, to_renyi, to_tv, to_zcdp
from dither.measures.finite import (
    PrivacyLoss,
    ThreeForms,
    hockey_stick,
    indistinguishable,
    multiplicative_distance,
    privacy_loss,
    pure_three_ways,
    tail_condition,
    total_variation,
)
from dither.measures.gaussian import GaussianDP
from dither.measures.guarantee import Guarantee
from dither.measures.profile import ProfileOf
from dither.measures.renyi import ZCDP, RenyiDP

__all__ = [
    "ZCDP",
    "ApproxDP",
    "GaussianDP",
    "Guarantee",
    "PrivacyLoss",
    "ProfileOf",
    "PureDP",
    "RenyiDP",
    "TVStable",
    "ThreeForms",
    "best_guess",
    "hockey_stick",
    "indistinguishable",
    "largest_posterior",
    "multiplicative_distance",
    "privacy_loss",
    "pure_three_ways",
    "tail_condition",
    "to_approx",
    "to_gaussian",
    "to_renyi",
    "to_tv",
    "to_zcdp",
    "total_variation",
]
