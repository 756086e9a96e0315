"""Profile, trade-off curve and privacy loss of guarantees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dither.adjacency import Adjacency, common
from dither.errors import ParameterError
from dither.exact import Number
from dither.guarantees import Guarantee, Loss
from dither.mechanisms import Mechanism, ScoredSelection
from dither.pairs import ProfileOf
from dither.pairs.pair import Pair
from dither.plots.style import Axes, Figure, described, new_axes, strokes

__all__ = ["Drawable", "draw", "loss", "profile", "tradeoff"]

_SMALLEST_DELTA = 1e-12
_LARGEST_EPSILON = 50.0
_INFINITE_LOSS = 1e6
_POINTS = 200
_LONGEST_LABEL = 48
_THIN = 1.0  # lines that show no guarantee


@runtime_checkable
class Drawable(Protocol):
    """What can be drawn as a curve: a guarantee, or a composition."""

    @property
    def adjacency(self) -> Adjacency | None:
        """Which datasets are neighbours."""

    def epsilon(self, delta: Number, /) -> float:
        """Compute the smallest ε at δ.

        Parameters
        ----------
        delta : Number
            δ between 0 and 1.

        Returns
        -------
        float
            ε(δ).
        """

    def delta(self, epsilon: Number, /) -> float:
        """Compute the smallest δ at ε.

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        float
            δ(ε).
        """

    def beta(self, alpha: Number, /) -> float:
        """Compute the smallest type II error at type I error α.

        Parameters
        ----------
        alpha : Number
            α between 0 and 1.

        Returns
        -------
        float
            β(α).
        """


Curve: TypeAlias = "Drawable | Mechanism | ScoredSelection | Pair | Loss"
"""What the pictures of this file take."""


def draw(
    kind: str, *guarantees: Curve, label: str | None = None, ax: Axes | None = None, upto: float | None = None
) -> Figure:
    """Draw one kind of curve of guarantees.

    Parameters
    ----------
    kind : {"profile", "tradeoff", "loss"}
        The curve: see the functions of these names.
    *guarantees : Drawable, Mechanism, ScoredSelection, Pair or Loss
        Guarantees, compositions, mechanisms, pairs or losses, under the same adjacency.
    label : str, optional
        The name of the curve in the legend, if one thing is drawn; by default what it says of itself.
    ax : matplotlib.axes.Axes, optional
        Where to draw, beside other curves; a new figure by default.
    upto : float, optional
        The largest number to show on the horizontal axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    kinds: dict[str, Callable[..., Figure]] = {"profile": profile, "tradeoff": tradeoff, "loss": loss}
    if kind not in kinds:
        raise ParameterError(f"kind must be one of {', '.join(kinds)}; got kind={kind!r}.")
    return kinds[kind](*guarantees, label=label, ax=ax, upto=upto)


def profile(*guarantees: Curve, label: str | None = None, ax: Axes | None = None, upto: float | None = None) -> Figure:
    """Draw the privacy profile δ(ε) of guarantees; lower is better.

    δ(ε) is how likely a privacy loss beyond ε is, weighted by how far beyond.

    Parameters
    ----------
    *guarantees : Drawable, Mechanism, ScoredSelection, Pair or Loss
        Guarantees, compositions, mechanisms, pairs or losses, under the same adjacency.
    label : str, optional
        The name of the curve in the legend, if one thing is drawn; by default what it says of itself.
    ax : matplotlib.axes.Axes, optional
        Where to draw, beside other curves; a new figure by default.
    upto : float, optional
        The largest number to show on the horizontal axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; `figure.savefig("profile.png")` stores it.

    Examples
    --------
    >>> import dither as dp
    >>> figure = dp.plots.profile(dp.PureDP(1), dp.GaussianDP(1))
    >>> dp.plots.alt_text(figure)
    'Privacy profile, δ against ε, of PureDP(epsilon=1); GaussianDP(mu=1).'
    """
    known = _checked(guarantees)
    figure, axes = new_axes("Privacy profile", "ε", "δ(ε)", ax)
    grid = np.linspace(0, _end(upto) or _widest(known), _POINTS)
    for guarantee, name, stroke in _named_strokes(known, label, axes):
        values = np.array(_deltas(guarantee, grid))
        axes.plot(grid, np.where(values > 0, values, math.nan), label=name, **_any(stroke))
    axes.set_yscale("log")
    axes.set_ylim(_SMALLEST_DELTA, 2)
    axes.set_xlim(left=0)
    axes.legend(fontsize=8, frameon=False)
    return described(figure, f"Privacy profile, δ against ε, of {_named(known)}.")


def tradeoff(*guarantees: Curve, label: str | None = None, ax: Axes | None = None, upto: float | None = None) -> Figure:
    """Draw the trade-off curve β(α) of guarantees; higher is better.

    β(α) is the part of members that any attack misses at a false alarm rate α.

    Parameters
    ----------
    *guarantees : Drawable, Mechanism, ScoredSelection, Pair or Loss
        Guarantees, compositions, mechanisms, pairs or losses, under the same adjacency.
    label : str, optional
        The name of the curve in the legend, if one thing is drawn; by default what it says of itself.
    ax : matplotlib.axes.Axes, optional
        Where to draw, beside other curves; a new figure by default.
    upto : float, optional
        The largest number to show on the horizontal axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    known = _checked(guarantees)
    figure, axes = new_axes("Trade-off curve", "type I error α (false alarms)", "type II error β(α) (misses)", ax)
    end = min(_end(upto) or 1.0, 1.0)
    grid = end * np.concatenate([[0.0], np.geomspace(1e-4, 0.05, 40), np.linspace(0.06, 1, 95)])
    if ax is None:
        axes.plot([0, 1], [1, 0], color="0.6", linewidth=0.8, label="perfect privacy")
    for guarantee, name, stroke in _named_strokes(known, label, axes):
        axes.plot(grid, [guarantee.beta(float(alpha)) for alpha in grid], label=name, **_any(stroke))
    axes.set_xlim(0, end)
    axes.set_ylim(0, 1)
    axes.legend(fontsize=8, frameon=False, loc="upper right")
    return described(figure, f"Trade-off between false alarms and misses of any attack on {_named(known)}.")


def loss(*guarantees: Curve, label: str | None = None, ax: Axes | None = None, upto: float | None = None) -> Figure:
    """Draw how likely each privacy loss is, for the worst pair of outputs that each guarantee allows.

    Parameters
    ----------
    *guarantees : Drawable, Mechanism, ScoredSelection, Pair or Loss
        Guarantees, compositions, mechanisms, pairs or losses, under the same adjacency.
    label : str, optional
        The name of the curve in the legend, if one thing is drawn; by default what it says of itself.
    ax : matplotlib.axes.Axes, optional
        Where to draw, beside other curves; a new figure by default.
    upto : float, optional
        The largest number to show on the horizontal axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    known = _checked(guarantees)
    width = _bin_width(known, _end(upto))
    grid = np.arange(_POINTS // 2 + 1, dtype=np.float64) * width
    figure, axes = new_axes("Privacy loss", "privacy loss L", f"probability within {width:.2g}", ax)
    for guarantee, name, stroke in _named_strokes(known, label, axes):
        losses, masses = loss_masses(guarantee, grid)
        (leak,) = _deltas(guarantee, [_INFINITE_LOSS])
        shown = name + (f" and L = ∞: {leak:.2g}" if leak > _SMALLEST_DELTA else "")
        axes.step(losses, masses, where="mid", label=shown, **_any(stroke))
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    return described(figure, f"How likely each privacy loss is, for {_named(known)}.")


def loss_masses(guarantee: Drawable, grid: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The losses ±grid and the probability at each.

    A chord of u ↦ δ(ln u) between neighbouring points belongs to a loss that lives on the grid (Doroshenko,
    Ghazi, Kamath, Kumar and Manurangsi 2022): where its slope rises by s there is mass u·s. Below 0 the
    profile is δ(−ε) = 1 − e^{−ε} + e^{−ε} δ(ε).
    """
    right = np.array(_deltas(guarantee, grid))
    other = guarantee.swapped() if isinstance(guarantee, Loss) else None  # all others hold in both orders
    back = right if other is None else np.array(_deltas(other, grid))
    left = -np.expm1(-grid) + np.exp(-grid) * back
    losses = np.concatenate([-grid[:0:-1], grid])
    deltas, odds = np.concatenate([left[:0:-1], right]), np.exp(losses)
    slopes = np.concatenate([[-1.0], np.diff(deltas) / np.diff(odds), [0.0]])
    masses = np.maximum(odds * np.diff(slopes), 0.0)
    return losses, masses


def _checked(guarantees: tuple[Curve, ...]) -> tuple[Drawable, ...]:
    if not guarantees:
        raise ParameterError("there is nothing to draw. Give at least one guarantee.")
    known = tuple(map(_drawable, guarantees))
    common(guarantee.adjacency for guarantee in known)
    return known


def _drawable(thing: Curve) -> Drawable:
    """What a thing promises: the guarantee of a mechanism, the profile of a pair, or itself."""
    if isinstance(thing, Pair):
        return ProfileOf(thing)
    if isinstance(thing, Mechanism | ScoredSelection):
        return thing.guarantee
    if not isinstance(thing, Drawable):
        raise ParameterError(
            f"expected a guarantee, a mechanism, a pair or a loss, got the type {type(thing).__name__}."
        )
    return thing


def _deltas(guarantee: Drawable, epsilons: Iterable[float]) -> list[float]:
    """δ at each ε: all at once where a guarantee can do that."""
    points = [float(epsilon) for epsilon in epsilons]
    return guarantee.deltas(points) if isinstance(guarantee, Guarantee) else [guarantee.delta(at) for at in points]


def _named_strokes(
    guarantees: tuple[Drawable, ...], label: str | None, axes: Axes
) -> Iterator[tuple[Drawable, str, dict[str, object]]]:
    """Each guarantee with its name and a line that none of the picture has yet."""
    if label is not None and len(guarantees) > 1:
        raise ParameterError("label names one curve. Draw several one by one on the same ax.")
    taken = sum(line.get_linewidth() > _THIN for line in axes.get_lines())
    for guarantee, stroke in zip(guarantees, strokes(taken + len(guarantees))[taken:], strict=True):
        yield guarantee, _label(guarantee) if label is None else label, stroke


def _end(upto: float | None) -> float | None:
    if upto is not None and not 0 < upto < math.inf:
        raise ParameterError(f"upto must be a positive number, got upto={upto}.")
    return upto


def _widest(guarantees: tuple[Drawable, ...], delta: float = _SMALLEST_DELTA) -> float:
    """The largest ε worth showing: where the last profile that falls below `delta` does so."""
    ends = [guarantee.epsilon(delta) for guarantee in guarantees]
    stated = [float(getattr(guarantee, "stated_epsilon", 0)) * 1.5 for guarantee in guarantees]
    widest = max((end for end in [*ends, *stated] if end < math.inf), default=0.0)
    return min(widest or 1.0, _LARGEST_EPSILON)


def _bin_width(guarantees: tuple[Drawable, ...], upto: float | None) -> float:
    """A bin of the loss picture; a stated ε falls on the middle of one, as all its mass is there."""
    if upto is not None:
        return 2 * upto / _POINTS
    width = 2.2 * _widest(guarantees, 1e-4) / _POINTS
    stated = max(float(getattr(guarantee, "stated_epsilon", 0)) for guarantee in guarantees)
    return stated / round(stated / width) if stated >= width else width


def _named(guarantees: tuple[Drawable, ...]) -> str:
    return "; ".join(map(_label, guarantees))


def _label(guarantee: Drawable) -> str:
    text = str(guarantee)
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def _any(stroke: dict[str, object]) -> dict[str, Any]:
    return dict(stroke)
