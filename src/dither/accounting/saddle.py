"""Where the answer will lie: the exponential tilt, the window and the lattice step, from a rough sketch of each law.

Everything here only guesses. A bad guess makes a bracket wider; it cannot make it wrong.

With K(λ) = Σ_j k_j ln E[e^{λL_j}] the sum X of all losses, tilted by e^{λX}, has mean K′(λ) and variance K″(λ).
The tilt whose mean is the ε we look for makes the far tail of X the centre of the tilted law, where a Fourier
transform has relative accuracy. Treating the tilted law as normal with deviation s gives

    δ(ε) ≈ e^{K(λ) − λε} · ½[erfcx(λs/√2) − erfcx((1+λ)s/√2)],   ε = K′(λ)

(the saddle-point estimate; Esscher 1932, Daniels 1954).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy

from dither.accounting.loss_law import convex_below, span
from dither.pairs.pair import FloatArray, Pair, Tails

__all__ = ["Saddle", "Sketch", "saddle_at", "saddle_for_delta", "saddle_for_epsilon", "sketch"]

_LEFT_MASS = 1e-13
_WINDOW = math.log(1e10)
_LARGEST_EXPONENT = 300.0
_NODES = 160
_FEWER_NODES = 24
_MANY = 48  # different laws, from which each may be sketched more roughly
_BATCH = 64
_MISFIT = 1e-6  # of a step
_SMALLEST_DEVIATION = 1e-9  # of a sum that does not vary at all


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """A rough law of the loss of one pair, `count` times: masses at a few hundred losses inside [low, high]."""

    pair: Pair
    count: int
    low: float
    high: float
    losses: FloatArray
    log_masses: FloatArray

    @property
    def deviation(self) -> float:
        """The standard deviation of one loss, roughly."""
        masses = np.exp(self.log_masses)
        mean = float(np.sum(masses * self.losses))
        return math.sqrt(max(float(np.sum(masses * (self.losses - mean) ** 2)), 1e-300))

    def log_mgf(self, tilt: float) -> float:
        """K(λ) of one loss, roughly."""
        exponents = tilt * self.losses + self.log_masses
        top = float(exponents.max())
        return top + math.log(float(np.exp(exponents - top).sum()))

    def moved_by(self, step: float, tilt: float, *, at_zero: bool = False) -> float:
        """How much the variances of the laws from above and from below differ on a lattice of this step, tilted.

        From above a loss is split between the two lattice points around it, from below it is moved to the nearest. The
        lattice meets the atoms, or has its points at whole steps.
        """
        exponents = tilt * self.losses + self.log_masses
        masses = np.exp(exponents - exponents.max())
        anchor = 0.0 if at_zero or self.pair.atoms is None else self.pair.atoms.anchor
        places = (self.losses - anchor) / step
        places = places - np.floor(places)
        squares = places * (1 - places) + np.minimum(places, 1 - places) ** 2
        return step * step * float(np.sum(masses * squares)) / float(np.sum(masses))

    def shrinkage(self, step: float) -> float:
        """By what share the distance of the atoms shrinks in a law from below on a lattice of this step."""
        atoms = self.pair.atoms
        if atoms is None:
            return 0.0
        shrunk = self.pair.shrunk(step).atoms
        return 0.0 if shrunk is None else max(1 - shrunk.spacing / atoms.spacing, 0.0)

    def misses(self, step: float) -> bool:
        """Whether the atoms of a law from below are several steps apart, and no whole number of them."""
        atoms = self.pair.atoms if self.pair.atoms is None else self.pair.shrunk(step).atoms
        steps = 0.0 if atoms is None else atoms.spacing / step
        return steps > 1 and abs(steps - round(steps)) > _MISFIT


@dataclass(frozen=True, slots=True)
class Saddle:
    """The tilt λ, the answer ε it is centred on, the deviation s of the tilted sum and a window that holds it.

    `log_delta` is the estimate of ln δ(ε); `theta_left` < 0 < `theta_right` give the best Chernoff bounds on what
    lies outside the window.
    """

    tilt: float
    epsilon: float
    deviation: float
    left: float
    right: float
    log_delta: float
    theta_left: float
    theta_right: float

    def narrowed(self) -> Saddle:
        """A smaller window, good enough from above, where the losses that count weigh e^{−λ(x−ε)}.

        What lies right of it weighs less than 1e-12, and what wraps around the circle only adds to the bound: most
        of it lands left of ε, where nothing is read, and at most about 1e-7 of the tilted mass goes once around.
        """
        left = self.epsilon - 5 * self.deviation
        once_around = self.right - 7 / self.theta_right - (self.epsilon - left)
        right = max(self.epsilon + max(5 * self.deviation, 28 / max(self.tilt, 1e-9)), once_around)
        return replace(self, left=max(self.left, left), right=min(self.right, right))


@lru_cache(maxsize=4)
def _unit_nodes(count: int) -> FloatArray:
    near, even = np.geomspace(1e-6, 0.5, count), np.linspace(0, 1, count)
    nodes: FloatArray = np.unique(np.concatenate([[-1e-6], near, 1 - near, even]))
    return nodes


def _nodes(low: float, high: float, count: int) -> FloatArray:
    """Losses inside [low, high], dense at both ends and around 0, where most losses of a small sample lie."""
    width = max(high - low, 1e-9 * (1 + abs(low)))
    nodes = _unit_nodes(count) * width + low
    if not (low < 0 < high and math.isfinite(width)) or count < _NODES:
        return nodes
    near = np.geomspace(1e-6, 0.5, count // 4)
    inside: FloatArray = np.unique(np.concatenate([nodes, low * near, [0.0], high * near]))
    return inside


def sketch(pair: Pair, count: int, right: float, among: int = 1) -> Sketch:
    """The sketch of `count` copies of one of `among` pairs, ignoring losses beyond a probability of about `right`."""
    low, high = span(pair, _LEFT_MASS / count, right)
    nodes = _nodes(low, high, _NODES if among < _MANY else _FEWER_NODES)
    tails = pair.tails(nodes) if pair.is_exact else _tails_of_bound(pair, nodes)
    p = -np.diff(tails.p, append=0.0)
    q = -np.diff(tails.scaled_q * np.exp(np.clip(-nodes, -700, 700)), append=0.0)
    good = (p > 0) & (q > 0)
    if not good.any():  # no finite loss at all
        return Sketch(pair, count, low, high, np.array([low]), np.array([-600.0]))
    losses = np.clip(np.log(p[good]) - np.log(q[good]), nodes[good], np.append(nodes[1:], nodes[-1])[good])
    return Sketch(pair, count, low, high, losses, np.log(p[good]))


def _tails_of_bound(pair: Pair, losses: FloatArray) -> Tails:
    """Roughly the tails of the law whose profile is the upper bound: δ′(ε) = −e^ε Q[L > ε]."""
    dots = convex_below(np.minimum.accumulate(pair.dots(losses)), losses)
    with np.errstate(divide="ignore", invalid="ignore"):  # where two losses are the same float
        scaled_q = np.maximum(-np.nan_to_num(np.gradient(dots, losses)), 0.0)
    return Tails(np.minimum(dots + scaled_q, 1.0), scaled_q, 0.0)


def saddle_for_delta(sketches: Sequence[Sketch], delta: float) -> Saddle:
    """The saddle of the ε at which the composed profile falls to `delta`."""
    goal = math.log(delta)
    return _saddle(sketches, lambda moments: moments.log_delta - goal)


def saddle_for_epsilon(sketches: Sequence[Sketch], epsilon: float) -> Saddle:
    """The saddle of the composed profile at a given ε; not tilted if ε lies left of the mean."""
    return _saddle(sketches, lambda moments: epsilon - moments.mean)


@dataclass(frozen=True, slots=True, eq=False)
class _TiltedMoments:
    """K, K′ and K″ at each of several tilts."""

    tilts: FloatArray
    log_mgf: FloatArray
    mean: FloatArray
    variance: FloatArray

    @property
    def log_delta(self) -> FloatArray:
        """The saddle-point estimate of ln δ(K′(λ))."""
        deviation = np.sqrt(self.variance / 2)
        shape = 0.5 * (scipy.special.erfcx(self.tilts * deviation) - scipy.special.erfcx((1 + self.tilts) * deviation))
        found: FloatArray = self.log_mgf - self.tilts * self.mean + np.log(np.maximum(shape, 1e-300))
        return found


def _saddle(sketches: Sequence[Sketch], excess: Callable[[_TiltedMoments], FloatArray]) -> Saddle:
    """The saddle at the tilt where `excess`, which decreases, changes its sign; 0 if it is negative there."""
    largest = _largest_tilt(sketches)
    tilts = np.concatenate([[0.0], np.geomspace(largest * 1e-7, largest, 40)])
    for _ in range(3):
        below = excess(_moments(sketches, tilts)) < 0
        index = int(np.argmax(below)) if below.any() else len(tilts) - 1
        if index == 0:
            break
        tilts = np.linspace(tilts[index - 1], tilts[index], 9)
    return saddle_at(sketches, 0.0 if index == 0 else float(tilts[4]))


def saddle_at(sketches: Sequence[Sketch], tilt: float) -> Saddle:
    """The saddle of a given tilt."""
    found = _moments(sketches, np.array([tilt]))
    deviation = max(math.sqrt(max(float(found.variance[0]), 0.0)), _SMALLEST_DEVIATION)
    left, right, *thetas = _window(sketches, tilt, deviation, _largest_tilt(sketches))
    return Saddle(tilt, float(found.mean[0]), deviation, left, right, float(found.log_delta[0]), *thetas)


def _largest_tilt(sketches: Sequence[Sketch]) -> float:
    return _LARGEST_EXPONENT / max(max(abs(s.low), abs(s.high), 1e-6) for s in sketches)


def _moments(sketches: Sequence[Sketch], tilts: FloatArray) -> _TiltedMoments:
    mean, variance, log_mgf = (np.zeros(len(tilts)) for _ in range(3))
    for at in range(0, len(sketches), _BATCH):
        counts, losses, log_masses = _table(sketches[at : at + _BATCH])
        exponents = tilts[:, None, None] * losses + log_masses
        top = exponents.max(axis=2)
        weights = np.exp(exponents - top[:, :, None])
        total = weights.sum(axis=2)
        first = (weights * losses).sum(axis=2) / total
        second = (weights * (losses * losses)).sum(axis=2) / total
        mean += first @ counts
        variance += np.maximum(second - first * first, 0.0) @ counts
        log_mgf += (top + np.log(total)) @ counts
    return _TiltedMoments(tilts, log_mgf, mean, variance)


def _table(sketches: Sequence[Sketch]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Counts, losses and logarithms of masses, one sketch per row; short rows are filled up with nothing."""
    longest = max(len(one.losses) for one in sketches)
    losses, log_masses = np.zeros((len(sketches), longest)), np.full((len(sketches), longest), -np.inf)
    for row, one in enumerate(sketches):
        losses[row, : len(one.losses)] = one.losses
        log_masses[row, : len(one.losses)] = one.log_masses
    return np.array([float(one.count) for one in sketches]), losses, log_masses


def _window(
    sketches: Sequence[Sketch], tilt: float, deviation: float, largest: float
) -> tuple[float, float, float, float]:
    """Losses outside of which the tilted sum lies with probability below about 1e-10, and the θ that show it."""
    thetas = np.minimum(np.geomspace(0.2, 32, 16) / deviation, largest)
    log_mgf = _moments(sketches, np.concatenate([[tilt], tilt + thetas, tilt - thetas])).log_mgf
    rising, falling = np.split(log_mgf[1:] - log_mgf[0] + _WINDOW, 2)
    rights, lefts = rising / thetas, -falling / thetas
    right, left = int(np.argmin(rights)), int(np.argmax(lefts))
    least, most = sum(one.count * one.low for one in sketches), sum(one.count * one.high for one in sketches)
    return (
        max(float(lefts[left]), least),
        min(float(rights[right]), most),
        -float(thetas[left]),
        float(thetas[right]),
    )
