"""Refine until the bracket is narrow: choose tilt, window and step, compose from both sides, look, repeat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from dither.accounting.delta_and_epsilon import DeltaCurve, nothing, read_above, read_below
from dither.accounting.loss_law import LossLaw, from_above, from_below
from dither.accounting.regridded import convolved_below, sampled_atoms, sampled_below
from dither.accounting.saddle import Saddle, Sketch, saddle_for_delta, saddle_for_epsilon, sketch
from dither.accounting.tilted import Underflow, compose_laws
from dither.pairs.between import BetweenPair
from dither.pairs.bounded import AtMostPair
from dither.pairs.pair import Pair

__all__ = [
    "MOST_POINTS",
    "Bracket",
    "Group",
    "LossWindow",
    "delta_bracket",
    "epsilon_bracket",
    "plan_for_delta",
    "upper_delta",
    "upper_epsilon",
]

MOST_POINTS = 1 << 21
"""The largest lattice: about 200 MB. A bracket that would need more is returned as wide as it is."""

_MOST_ROUNDS = 6
_MANY = 100  # releases from which the saddle point is a good guide
_IGNORED = 1e-10
_FEW = 24  # laws for which it pays to look for the largest step
_FORESEEN = 0.5
_ALL_ATOMS = 1e-6  # what rounding of their places foresees stays below that
_STUCK = 0.9  # of the width before: a finer lattice does not help
_OF_ATOMS = 1e-4  # of ε
_SEVERAL = 4  # copies of a law whose sum has no large atoms
_MET = 1e-9
_SHRINKING = 0.6  # of the width that is asked for


class Group(NamedTuple):
    """`times` independent copies of one pair."""

    pair: Pair
    times: int


class Bracket(NamedTuple):
    """Two numbers between which the exact answer lies.

    Parameters
    ----------
    lower : float
        Never above the exact answer.
    upper : float
        Never below the exact answer.
    """

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """The distance between both ends."""
        return self.upper - self.lower

    def is_within(self, relative: float) -> bool:
        """Decide whether the bracket is narrow.

        Parameters
        ----------
        relative : float
            The largest width, relative to the upper end.

        Returns
        -------
        bool
            Whether it is at most that wide.
        """
        return self.upper - self.lower <= relative * self.upper


Groups: TypeAlias = tuple[Group, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LossWindow:
    """Everything that is composed, sketched, with the tilt and window of the question that is asked."""

    sketches: Sequence[Sketch]
    saddle: Saddle

    @property
    def is_exact(self) -> bool:
        """Whether a finer lattice closes the gap between the two sides."""
        return all(one.pair.is_exact or _lies_between(one.pair) for one in self.sketches)

    @property
    def has_gap(self) -> bool:
        """Whether of some pair it is only known between which two it lies."""
        return any(isinstance(one.pair, BetweenPair | AtMostPair) for one in self.sketches)

    def has_free_atoms(self, step: float) -> bool:
        """Whether a pair has atoms that lie on no lattice of this step: from below they are lowered by up to a step."""
        return any(self._is_on_sample(one) or (one.count < _SEVERAL and one.misses(step)) for one in self.sketches)

    @property
    def steepness(self) -> float:
        """How far ln δ moves with ε: by the tilt, or where losses are narrow by the inverse of their spread."""
        return 1 + self.saddle.tilt + 1 / max(self.saddle.deviation, 1e-12)

    @property
    def releases(self) -> int:
        """How many laws are convolved."""
        return sum(one.count for one in self.sketches)

    def step_for(self, epsilon_error: float) -> float:
        """A step for which the bracket on ε should be about `epsilon_error` wide.

        Per release the two laws differ by at most h²/2 in the variance of the loss, by less where the law is narrower
        than h, and by half of that in its mean; tilted by λ the sum moves by ½(1 + λ) times the variance. So that is
        enough, and as long as the sketches foresee no more, a larger step is.
        """
        atoms = self.sketches[0].pair.atoms if len(self.sketches) == 1 else None
        spacing = atoms.spacing if atoms else 0.0
        if spacing > 0 and self._foreseen(spacing) <= _ALL_ATOMS * epsilon_error:
            return self.fitted(spacing)
        # A law on a lattice has each loss off by a step at most: where a sum of few atoms is tilted to its end, that is
        # far more than what the variances need.
        enough = epsilon_error / (4 * self.releases)
        step = max(math.sqrt(2 * epsilon_error / (self.releases * (1 + self.saddle.tilt))), enough)
        if len(self.sketches) <= _FEW:
            while step < self.saddle.deviation / 8 and self._foreseen(2 * step) <= _FORESEEN * epsilon_error:
                step *= 2
        return self.fitted(min(step, max(self.saddle.deviation / 4, enough)))

    def _foreseen(self, step: float) -> float:
        """How wide the bracket on ε will be, as far as the sketches say."""
        tilt = self.saddle.tilt
        return (1 + tilt) / 2 * math.fsum(one.count * one.moved_by(step, tilt) for one in self.sketches)

    def step_below(self, step: float, relative: float) -> float:
        """A step for laws from below, so fine that fitting their atoms to the lattice costs a part of `relative`.

        Shrinking a law whose losses vary by s_j by a share r_j shrinks the sum by about Σ s_j² r_j / Σ s_j².
        """
        variances = [one.count * one.deviation**2 for one in self.sketches]
        total = math.fsum(variances)
        for _ in range(_MOST_ROUNDS):
            lost = math.fsum(v * self._shrinkage(one, step) for v, one in zip(variances, self.sketches, strict=True))
            lost /= total
            if lost <= _SHRINKING * relative or self.is_finest(step):
                break
            step = self.fitted(step * max(0.9 * _SHRINKING * relative / lost, 0.1))
        return step

    def _shrinkage(self, one: Sketch, step: float) -> float:
        return 0.0 if self._is_apart(one, step) else one.shrinkage(step)

    @property
    def widest(self) -> float:
        """How long the lattice has to be."""
        return max(self.saddle.right - self.saddle.left, *(one.high - one.low for one in self.sketches))

    def fitted(self, step: float) -> float:
        """A step near this one that keeps the lattice below its limit and meets the atoms."""
        step = max(step, self.widest / (0.9 * MOST_POINTS))
        lattices = [(one.count * atoms.spacing, atoms.spacing) for one in self.sketches if (atoms := one.pair.atoms)]
        if not lattices:
            return step
        spacing = max(lattices)[1]
        return spacing / math.floor(spacing / step) if spacing > step else spacing * math.floor(step / spacing)

    def is_finest(self, step: float) -> bool:
        """Whether the lattice cannot be made much finer."""
        return self.fitted(step / 2) > step / 1.2

    def read(self, step: float, *, above: bool) -> DeltaCurve:
        """The composed profile from above or from below."""
        try:
            composed = compose_laws([self._law(one, step, above=above) for one in self.sketches], self.saddle)
        except Underflow:
            return nothing(above=above)
        return (read_above if above else read_below)(composed, self.saddle.epsilon)

    def _law(self, one: Sketch, step: float, *, above: bool) -> tuple[LossLaw, int]:
        """The law of one pair on the lattice, and how often it occurs."""
        if above:
            return from_above(one.pair, step, one.low, one.high), one.count
        error = _OF_ATOMS * max(self.saddle.epsilon, 1e-3 * self.saddle.deviation)
        if self._is_on_sample(one) and (whole := sampled_below(one, step, self.saddle.tilt, error)):
            return whole, 1
        if self._is_apart(one, step) and (whole := convolved_below(one, step, self.saddle.tilt)):
            return whole, 1
        return from_below(one.pair, step, one.low, one.high), one.count

    def _is_on_sample(self, one: Sketch) -> bool:
        """Whether it is noise on a lattice, on a sample, whose atoms are further apart than a few steps."""
        return one.pair.atoms is None and sampled_atoms(one.pair, one.low, one.high) is not None

    def _is_apart(self, one: Sketch, step: float) -> bool:
        """Whether the copies of a law are composed on a lattice of its own: its atoms do not meet the common one."""
        if len(self.sketches) == 1 or one.count < _SEVERAL:
            return False
        return one.shrinkage(step) > _MET or one.misses(step)

    def wider(self) -> LossWindow:
        """The same plan with twice the window."""
        half = (self.saddle.right - self.saddle.left) / 2
        return replace(self, saddle=replace(self.saddle, left=self.saddle.left - half, right=self.saddle.right + half))


def _lies_between(pair: Pair) -> bool:
    """Whether both of what a pair lies between are exact, so that a finer lattice closes all but that gap."""
    return isinstance(pair, AtMostPair) and pair.above.is_exact and pair.below.is_exact


def plan_for_delta(groups: Groups, delta: float) -> LossWindow:
    """The plan for ε(δ)."""
    sketches = _sketches(groups, delta)
    return LossWindow(sketches, saddle_for_delta(sketches, delta))


def plan_for_epsilon(groups: Groups, epsilon: float) -> LossWindow:
    """The plan for δ(ε). Which losses can be ignored depends on δ, so it is estimated twice."""
    sketches = _sketches(groups, 1e-12)
    saddle = saddle_for_epsilon(sketches, epsilon)
    likely = math.exp(max(min(saddle.log_delta, 0.0), -600.0))
    if likely < 1e-10:
        sketches = _sketches(groups, likely)
        saddle = saddle_for_epsilon(sketches, epsilon)
    return LossWindow(sketches, saddle)


def _sketches(groups: Groups, delta: float) -> list[Sketch]:
    total = sum(group.times for group in groups)
    return [sketch(group.pair, group.times, delta * _IGNORED / total, len(groups)) for group in groups]


def epsilon_bracket(plan: LossWindow, delta_low: float, delta_high: float, relative: float) -> Bracket:
    """A bracket around ε(δ), for a δ between two neighbouring floats, `relative` wide if the lattice allows it."""
    step = plan.step_for(relative * max(plan.saddle.epsilon, 1e-3 * plan.saddle.deviation))
    best = Bracket(0.0, math.inf)
    for _ in range(_MOST_ROUNDS):
        upper = plan.read(step, above=True).epsilon(delta_low)
        below = plan.step_below(step, relative)
        lower = plan.read(below, above=False).epsilon(delta_high) if upper > 0 else 0.0
        before = best
        best = Bracket(max(best.lower, lower), min(best.upper, max(upper, 0.0)))
        if best.is_within(relative) or plan.is_finest(step):
            break
        if best.upper < math.inf and not plan.is_exact:
            break
        if plan.has_gap and best.lower and best.width > _STUCK * before.width:
            break
        if not (math.isfinite(upper) and math.isfinite(lower)):
            plan = plan.wider()
            if math.isfinite(upper):  # the law from below lost what is needed: one of few points loses the last of them
                step = plan.fitted(step / 2)
            continue
        gain = 0.8 * math.sqrt(relative * best.upper / (best.upper - best.lower))
        step = plan.fitted(step * min(max(gain, 0.1), 0.5))
    return best


def upper_epsilon(plan: LossWindow, delta: float, error: float) -> float:
    """An upper bound on ε(δ), off by about `error`; one pass, unless the narrow window misses the answer."""
    return _upper_epsilon(plan, delta, plan.step_for(error))


def _upper_epsilon(plan: LossWindow, delta: float, step: float) -> float:
    found = math.inf
    if plan.releases >= _MANY:
        narrow = replace(plan, saddle=plan.saddle.narrowed()).read(step, above=True)
        found = narrow.epsilon(delta)
        found = math.inf if found == narrow.first else found
    if found == math.inf:
        found = plan.read(step, above=True).epsilon(delta)
    return max(found, 0.0)


def upper_delta(groups: Groups, low: float, relative: float, most_points: int = MOST_POINTS) -> float:
    """An upper bound on δ(ε) for an ε of at least `low`, about `relative` above it; one pass.

    With fewer points than that needs the bound is wider, and holds.
    """
    plan = plan_for_epsilon(groups, low)
    step = max(plan.step_for(relative / plan.steepness), plan.widest / (0.9 * most_points))
    return min(plan.read(plan.fitted(step), above=True).delta(low), 1.0)


def delta_bracket(groups: Groups, low: float, high: float, relative: float) -> Bracket:
    """A bracket around δ(ε), for an ε between two neighbouring floats."""
    plan = plan_for_epsilon(groups, low)
    step = plan.step_for(relative / (1 + plan.saddle.tilt))
    best = Bracket(0.0, 1.0)
    for _ in range(_MOST_ROUNDS):
        upper = plan.read(step, above=True).delta(low)
        below = plan.step_below(step, relative / (1 + max(plan.saddle.tilt * plan.saddle.epsilon, 0.0)))
        lower = plan.read(below, above=False).delta(high)
        before = best
        best = Bracket(max(best.lower, lower), min(best.upper, upper))
        if best.is_within(relative) or plan.is_finest(step) or not plan.is_exact:
            break
        if plan.has_gap and best.lower and best.width > _STUCK * before.width:
            break
        gain = 0.8 * math.sqrt(relative * best.upper / (best.upper - best.lower))
        step = plan.fitted(step * min(max(gain, 0.1), 0.5))
    return best
