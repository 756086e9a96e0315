"""Two laws side by side, with the outcomes that reveal too much."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import Number, rational
from dither.guarantees.density_loss import DensityLoss
from dither.guarantees.finite_loss import FiniteLoss
from dither.guarantees.loss import BadSet, Loss
from dither.plots.style import Axes, Figure, described, new_panels, strokes

__all__ = ["outcomes"]

_POINTS = 600
_SHOWN = 1e-4
_MOST_BARS = 400
_HIGHEST = 40.0
FloatArray = NDArray[np.float64]


def outcomes(loss: Loss, epsilon: Number | None = None) -> Figure:
    """Draw two laws and their privacy loss by outcome, and shade the bad set of an ε.

    Parameters
    ----------
    loss : Loss
        The loss of two laws, from `dp.guarantees.loss_of`.
    epsilon : Number, optional
        The ε whose bad set {y : L(y) > ε} is shaded. By default nothing is shaded.

    Returns
    -------
    matplotlib.figure.Figure
        The figure: the laws on the left, the loss on the right.

    Examples
    --------
    >>> import dither as dp
    >>> coin = dp.guarantees.loss_of(["3/4", "1/4"], ["1/4", "3/4"])
    >>> dp.plots.alt_text(dp.plots.outcomes(coin, epsilon=1))
    'Two laws and their privacy loss by outcome; outcomes with a loss above 1 have probability 0.75.'
    """
    if not isinstance(loss, FiniteLoss | DensityLoss):
        raise ParameterError(f"loss must be a loss of two laws, got the type {type(loss).__name__}. Use loss_of.")
    bad = None if epsilon is None else loss.bad_set(epsilon)
    figure, (laws, losses) = new_panels(2, 3.2)
    labels = _draw_finite(loss, laws, losses) if isinstance(loss, FiniteLoss) else _draw_densities(loss, laws, losses)
    for axes, title in ((laws, "two laws"), (losses, "privacy loss L(y)")):
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("outcome y")
    laws.legend(fontsize=8, frameon=False)
    words = "Two laws and their privacy loss by outcome"
    if bad is not None and epsilon is not None:
        _shade(bad, labels, laws, losses)
        shown = f"{float(rational(epsilon, 'epsilon')):g}"
        losses.axhline(bad.epsilon, color="0.4", linewidth=0.8)
        words += f"; outcomes with a loss above {shown} have probability {float(bad.p):.3g}"
    return described(figure, f"{words}.")


def _draw_finite(loss: FiniteLoss, laws: Axes, losses: Axes) -> dict[Any, int]:
    heavy = [max(p, q) for p, q in zip(loss.p, loss.q, strict=True)]
    least = max(heavy) * _SHOWN if len(heavy) > _MOST_BARS else 0
    shown = [at for at, mass in enumerate(heavy) if mass and mass >= least][: 4 * _MOST_BARS]
    numeric = all(isinstance(loss.outcomes[at], int | float) for at in shown)
    places: list[Any] = [loss.outcomes[at] if numeric else place for place, at in enumerate(shown)]
    for law, label, stroke in zip((loss.p, loss.q), "PQ", strokes(2), strict=True):
        laws.plot(places, [float(law[at]) for at in shown], marker="o", markersize=3, label=label, **stroke)
    heights = [min(_HIGHEST, max(-_HIGHEST, loss.loss(loss.outcomes[at]))) for at in shown]
    losses.plot(places, heights, marker="o", markersize=3, linestyle="none", color=strokes(1)[0]["color"])
    if not numeric:
        for axes in (laws, losses):
            axes.set_xticks(places, [str(loss.outcomes[at]) for at in shown], fontsize=7)
    return {loss.outcomes[at]: place for place, at in zip(places, shown, strict=True)}


def _draw_densities(loss: DensityLoss, laws: Axes, losses: Axes) -> dict[Any, int]:
    y = _where_the_mass_is(loss)
    found = [np.exp(law.log(y)) for law in (loss.first, loss.second)]
    for values, label, stroke in zip(found, "PQ", strokes(2), strict=True):
        laws.plot(y, values, label=label, **stroke)
    with np.errstate(invalid="ignore"):
        losses.plot(y, np.clip(loss.first.log(y) - loss.second.log(y), -_HIGHEST, _HIGHEST), **strokes(1)[0])
    return {}


def _where_the_mass_is(loss: DensityLoss) -> FloatArray:
    """Points between the places where both laws have become thin."""
    y = loss.line.place(np.linspace(-1, 1, 20_001)[1:-1])[0]
    heights = np.exp(np.maximum(loss.first.log(y), loss.second.log(y)))
    thick = y[heights > _SHOWN * heights[np.isfinite(heights)].max()]
    return np.linspace(float(thick[0]), float(thick[-1]), _POINTS)


def _shade(bad: BadSet, labels: dict[Any, int], *panels: Axes) -> None:
    for axes in panels:
        left, right = axes.get_xlim()
        for outcome in bad.outcomes:
            if labels:
                place = labels.get(outcome, math.nan)
                low, high = place - 0.3, place + 0.3
            else:
                low, high = max(outcome[0], left), min(outcome[1], right)
            if low < high:
                axes.axvspan(low, high, color="#D55E00", alpha=0.18, linewidth=0)
        axes.set_xlim(left, right)
