"""Partition selection: the threshold above which a bin that was found in the data may be shown.

`mechanisms/histogram.py` applies it to arrays, `engine/noisy_groups.py` to groups of tables.

A neighbour moves m counts by one. Let M(D) be: add noise to the counts that are not 0, show those that reach T.
Between neighbours D and D′, let j′ of the moved counts go from 0 to 1, so that only M(D′) may show these bins, and j
from 1 to 0. Each of them is shown with probability p = P[1 + X ≥ T]. The other m − j − j′ moved counts are positive in
both, and what is shown of the bins that both have is a post-processing of noisy counts: its profile is at most
δ_{m−j−j′}, that of the noise when m − j − j′ counts move by one. The noises are independent. So with r = 1 − p, for
every set S of outputs,

    P[M(D′) ∈ S] − e^ε P[M(D) ∈ S] ≤ (1 − r^{j′}) + r^{j′} δ_{m−j−j′}(ε + (j − j′) ln r):

outputs that show one of the j′ new bins have probability 1 − r^{j′} under D′ in all; the others are the shared outcome,
of weight r^{j′} against r^{j}. The guarantee is the largest of these over j and j′: at most `max_bins` each, and under
add/remove not both positive.

For Laplace noise of ε in all, δ_i vanishes from iε/m on. If p ≤ 1 − e^{−ε/m}, every such term vanishes and δ is
1 − (1 − p)^{max_bins}; a bin of its own for each of the person's counts attains it, so no smaller threshold will do.
For one bin under add/remove and any noise, δ is max(δ₁(ε), p): the two failures do not add up. (The usual analysis,
Korolova, Kenthapadi, Mishra and Ntoulas 2009, and its Gaussian form add them.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dither.errors import ParameterError
from dither.exact import Ball, ball, precision
from dither.exact.search import first_integer
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.gaussian_calibration import line_profile
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.lattice_gaussian import dominating_mu_squared
from dither.noise.law import SymmetricLaw
from dither.pairs.gaussian import GaussianPair

__all__ = ["Discovery"]

_BITS = 160
_MOST_CASES = 1_000
_LARGEST = 1 << 80


@dataclass(frozen=True)
class Discovery:
    """Bins are shown from `threshold` on: (ε, δ)-DP, and not for a smaller one."""

    law: SymmetricLaw
    epsilon: Fraction
    delta: Fraction
    moves: int
    max_bins: int
    threshold: int

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, mechanism: Laplace | Gaussian, epsilon: Fraction, delta: Fraction, max_bins: int) -> Discovery:
        """The smallest threshold for this noise and budget: doubled until it is enough, then halved."""
        noising = mechanism.for_integers
        assert noising is not None
        square = mechanism.sensitivity_squared if isinstance(mechanism, Gaussian) else mechanism.sensitivity

        def at(threshold: int) -> Discovery:
            return cls(noising.law, epsilon, delta, int(square), max_bins, threshold)

        if sum(1 for _ in at(1)._cases()) > _MOST_CASES:
            raise ParameterError(
                f"max_bins={max_bins} is too many for Gaussian noise on bins that are discovered. Use noise='laplace'."
            )
        low, high = 0, 1
        while not at(high).is_enough():
            low, high = high, 2 * high
            if high > _LARGEST:
                raise ParameterError("no threshold keeps this budget. Ask for a larger epsilon or delta.")
        enough = first_integer(lambda threshold: at(threshold).is_enough(), low + 1, high)
        return at(enough)

    def is_enough(self) -> bool:
        """Whether (ε, δ)-DP is certain."""
        with precision(_BITS):
            return all(bool(self._case(lost, new) <= ball(self.delta)) for lost, new in self._cases())

    def _cases(self) -> Iterator[tuple[int, int]]:
        """(j, j′): how many bins only D has, and only D′. (0, 0) is the noise alone, which was made for the budget."""
        if not hasattr(self.law, "variance"):
            yield 0, self.max_bins  # Laplace: the worst case is known
            return
        for lost in range(self.max_bins + 1):
            for new in range(self.max_bins + 1):
                if lost + new and (self.moves > self.max_bins or not lost or not new):
                    yield lost, new

    def _case(self, lost: int, new: int) -> Ball:
        """(1 − r^{j′}) + r^{j′} δ_{m−j−j′}(ε + (j − j′) ln r)."""
        log_kept = (-self._passes()).log1p()
        kept = (new * log_kept).exp()
        if not hasattr(self.law, "variance"):
            return 1 - kept if -log_kept <= ball(self.epsilon / self.moves) else Ball(1)
        return 1 - kept + kept * self._profile(self.moves - lost - new, ball(self.epsilon) + (lost - new) * log_kept)

    def _passes(self) -> Ball:
        """p = P[1 + X ≥ T] = P[X > T − 2]."""
        return self.law.tail(self.threshold - 2)

    def _profile(self, moves: int, epsilon: Ball) -> Ball:
        """δ_i of Gaussian noise: exact for one count, by lattice_gaussian.md for more."""
        variance: Fraction = self.law.variance  # type: ignore[attr-defined]
        if not moves:
            return (-epsilon.expm1()).max(Ball(0))
        if moves == 1:
            return line_profile(variance, 1, epsilon)
        square = dominating_mu_squared(variance, Fraction(moves), moves)
        return Ball(1) if square is None else GaussianPair(square).profile(epsilon)
