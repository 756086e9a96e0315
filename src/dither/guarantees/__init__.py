"""Privacy guarantees: how hard neighbouring datasets are to tell apart.

Six kinds of guarantee answer the same questions (`Guarantee`), and so does the profile of any pair of distributions
(`dither.pairs.ProfileOf`). They convert into each other where a theorem allows it (`to_*`), and decide when
one implies another. Two finite distributions can be compared directly (`dither.guarantees.finite`).
"""

from dither.guarantees.approximate import ApproxDP, PureDP, TVStable
from dither.guarantees.attacker import best_guess, largest_posterior
from dither.guarantees.conversions import to_approx, to_gaussian, to_renyi, to_tv, to_zcdp
from dither.guarantees.finite import (
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
from dither.guarantees.gaussian import GaussianDP
from dither.guarantees.given_laws import loss_of, normalised
from dither.guarantees.guarantee import Guarantee
from dither.guarantees.loss import BadSet, Loss
from dither.guarantees.renyi import ZCDP, RenyiDP

__all__ = [
    "ZCDP",
    "ApproxDP",
    "BadSet",
    "GaussianDP",
    "Guarantee",
    "Loss",
    "PrivacyLoss",
    "PureDP",
    "RenyiDP",
    "TVStable",
    "ThreeForms",
    "best_guess",
    "hockey_stick",
    "indistinguishable",
    "largest_posterior",
    "loss_of",
    "multiplicative_distance",
    "normalised",
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
