"""Student's t law on the integers: heavy tails, and a Gaussian in the limit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact import Number, set_fields
from dither.exact.powers import StudentTDecay
from dither.noise.law import lattice_scale
from dither.noise.power_law import PowerDecayLaw, tail_exponent

__all__ = ["StudentT"]


@dataclass(frozen=True, init=False)
class StudentT(StudentTDecay, PowerDecayLaw):
    """Student's t noise on the integers: P[X = x] ∝ (1 + (x/s)²/ν)^{−(ν+1)/2}.

    Parameters
    ----------
    scale : Number
        s, in lattice steps, between 2^-200 and 2^900.
    degrees : Number
        ν, the degrees of freedom, from 0.01 to 10^6. There is a mean for ν > 1 and a variance for ν > 2; ν = 1 is the
        Cauchy law.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Noise for smooth sensitivity (Bun and Steinke 2019). Sampled exactly: noise/student_t.md and noise/rejection.md have
    the proof.

    Examples
    --------
    >>> StudentT(10, 3).quantile(0.975)
    32
    """

    scale: Fraction
    degrees: Fraction

    def __init__(self, scale: Number, degrees: Number) -> None:
        set_fields(self, scale=lattice_scale(scale), degrees=tail_exponent(degrees, "degrees", least=0))
