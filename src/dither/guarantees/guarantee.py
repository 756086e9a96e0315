"""What every guarantee can answer, and to which side it errs.

A guarantee is a bound for each pair (P, Q) of output distributions on neighbouring datasets, in both orders. Its
questions are answered for the worst pair that satisfies it:

* `delta(epsilon)`: the privacy profile δ(ε) = sup E_P[(1 − e^{ε−L})₊], L = ln dP/dQ (claim D3), rounded up;
* `epsilon(delta)`: the smallest ε ≥ 0 with δ(ε) ≤ δ, rounded up, ∞ if there is none;
* `tv()`: the total variation distance δ(0), rounded up;
* `beta(alpha)`: the trade-off curve, the smallest type II error of any test between P and Q at type I error α,
  rounded down;
* `renyi(order)`: the Rényi divergence of that order, rounded up, ∞ if it may be infinite.

So privacy is never overstated. Sides are certified in ball arithmetic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dither.adjacency import Adjacency, common
from dither.errors import ParameterError
from dither.exact import Ball, Number, check, in_words, rational
from dither.exact.certified import above
from dither.views import views

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Guarantee"]


class Guarantee(ABC):
    """What every privacy guarantee can answer about outputs on neighbouring datasets.

    Answers never overstate privacy: `delta`, `epsilon`, `tv` and `renyi` are rounded up, `beta` is rounded down.

    Attributes
    ----------
    adjacency : Adjacency or None
        Which datasets are neighbours; None leaves it unstated.
    """

    __slots__ = ()

    adjacency: Adjacency | None

    # The questions, with their borders checked. What each kind of guarantee knows is below.

    def delta(self, epsilon: Number) -> float:
        """Compute the smallest δ for which (ε, δ)-DP is certain.

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        float
            δ(ε), never below the truth; 1 if nothing better is known.
        """
        exact = rational(epsilon, "epsilon")
        check.nonnegative(epsilon=exact)
        return min(1.0, self._delta(exact))

    def deltas(self, epsilons: Iterable[Number]) -> list[float]:
        """Compute δ at many ε, as curves need it.

        Parameters
        ----------
        epsilons : iterable of Number
            Where δ is asked for, each at least 0.

        Returns
        -------
        list of float
            δ(ε) of each, never below the truth.

        Examples
        --------
        >>> from dither.guarantees import ApproxDP
        >>> ApproxDP(1, 1e-6).deltas([1, 2])
        [1e-06, 1e-06]
        """
        return [self.delta(epsilon) for epsilon in epsilons]

    def epsilon(self, delta: Number) -> float:
        """Compute the smallest ε for which (ε, δ)-DP is certain.

        Parameters
        ----------
        delta : Number
            δ between 0 and 1; 0 asks for pure DP.

        Returns
        -------
        float
            ε(δ), never below the truth; ∞ if there is none.
        """
        exact = rational(delta, "delta")
        check.probability(delta=exact)
        return 0.0 if exact == 1 else max(0.0, self._epsilon(exact))

    def tv(self) -> float:
        """Compute the total variation distance δ(0): the advantage of the best attacker.

        Returns
        -------
        float
            The distance, never below the truth.
        """
        return self.delta(0)

    def beta(self, alpha: Number) -> float:
        """Compute the smallest type II error (false negative rate) of any test at type I error `alpha`.

        Parameters
        ----------
        alpha : Number
            The type I error (false positive rate), between 0 and 1.

        Returns
        -------
        float
            β(α), never above the truth.
        """
        exact = rational(alpha, "alpha")
        check.probability(alpha=exact)
        return max(0.0, self._beta(exact))

    def true_positive_rate(self, false_positive_rate: Number) -> float:
        """Bound the true positive rate of every membership inference attack at a false positive rate.

        Parameters
        ----------
        false_positive_rate : Number
            The false positive rate (FPR) of the attack, between 0 and 1.

        Returns
        -------
        float
            1 − β(FPR), never below the truth; for (ε, δ)-DP at most e^ε·FPR + δ (claim C27).

        Examples
        --------
        >>> from dither.guarantees import ApproxDP
        >>> ApproxDP(1, 1e-6).true_positive_rate(0.01)
        0.0271838182...
        """
        least = self.beta(false_positive_rate)
        return above(lambda: 1 - Ball(least))

    def renyi(self, order: Number) -> float:
        """Compute the Rényi divergence of an order.

        Parameters
        ----------
        order : Number
            The order α > 1.

        Returns
        -------
        float
            The divergence, never below the truth; ∞ if it may be infinite.
        """
        exact = rational(order, "order")
        if not exact > 1:
            raise ParameterError(f"order must be greater than 1, got order={exact}.")
        return self._renyi(exact)

    def implies(self, other: Guarantee) -> bool:
        """Decide whether everything that satisfies this guarantee certainly satisfies `other` too.

        Parameters
        ----------
        other : Guarantee
            The guarantee to compare with, under the same adjacency.

        Returns
        -------
        bool
            True is proved. False means that it does not follow, or that it could not be decided.
        """
        if not isinstance(other, Guarantee):
            raise ParameterError(f"other must be a guarantee, got the type {type(other).__name__}.")
        common([self.adjacency, other.adjacency])
        return self.is_perfect() or other._is_implied_by(self)

    def under(self, adjacency: Adjacency | None) -> Self:
        """State the adjacency of a guarantee that leaves it unstated; a stated one cannot be changed.

        Parameters
        ----------
        adjacency : Adjacency or None
            Which datasets are neighbours.

        Returns
        -------
        Guarantee
            The same guarantee with this adjacency.

        Examples
        --------
        >>> from dither.adjacency import ADD_REMOVE
        >>> from dither.guarantees import PureDP
        >>> PureDP(1).under(ADD_REMOVE)
        PureDP(epsilon=1, adjacency='add or remove one record')
        """
        if self.adjacency is not None:
            common([self.adjacency, adjacency])
        return self._under(adjacency)

    def group(self, size: int) -> Guarantee:
        """Compute what is promised to a group: between datasets that are `size` steps apart.

        Parameters
        ----------
        size : int
            How many records, persons, edges or vertices differ; at least 1.

        Returns
        -------
        Guarantee
            A guarantee of the same kind. Its adjacency is unstated, as its neighbours are `size` steps apart.

        Raises
        ------
        ParameterError
            If no rule is known for this kind of guarantee.

        Notes
        -----
        With k = `size`: ε becomes kε; (ε, δ) becomes (kε, δ(e^{kε} − 1)/(e^ε − 1)) by adding up k steps (Dwork and Roth
        2014, Theorem 2.2 and its proof); μ becomes kμ (Dong, Roth and Su 2022, Theorem 2.14); ρ becomes k²ρ (Bun and
        Steinke 2016, Proposition 1.9); tv becomes k·tv, by the triangle inequality. Each step may go either way:
        one record may come as another goes. Of a group that all comes, or all goes, less is lost on a Poisson sample:
        that is `dither.events.GroupOf`.

        Examples
        --------
        >>> from dither.guarantees import ApproxDP, PureDP
        >>> PureDP("0.1").group(5), ApproxDP("0.1", "1e-6").group(2)
        (PureDP(epsilon=0.5), ApproxDP(epsilon=0.2, delta=2.10517...e-06))
        """
        check.count(size=size)
        return self._group(int(size))

    def plot(
        self, kind: str = "profile", *, label: str | None = None, ax: Any = None, upto: Number | None = None
    ) -> Any:
        """Draw the guarantee.

        Parameters
        ----------
        kind : {"profile", "tradeoff", "loss"}, default "profile"
            The curve: δ(ε), β(α), or the privacy loss.
        label : str, optional
            Its name in the legend; by default what the guarantee says of itself.
        ax : matplotlib.axes.Axes, optional
            Where to draw it, beside other curves; a new figure by default.
        upto : Number, optional
            The largest ε, false alarm rate or loss to show; by default as far as there is something to see.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; `figure.savefig("profile.png")` stores it.
        """
        end = None if upto is None else float(rational(upto, "upto"))
        return views.plots.draw(kind, self, label=label, ax=ax, upto=end)

    # What each kind of guarantee knows.

    @abstractmethod
    def _profile(self, epsilon: Fraction) -> Ball:
        """A ball for δ(ε), or for an upper bound on it, at the working precision."""

    def _delta(self, epsilon: Fraction) -> float:
        """An upper bound on δ(ε)."""
        return above(lambda: self._profile(epsilon))

    @abstractmethod
    def _epsilon(self, delta: Fraction) -> float:
        """An upper bound on ε(δ), for 0 ≤ δ < 1; it may be negative where the truth is 0."""

    @abstractmethod
    def _beta(self, alpha: Fraction) -> float:
        """A lower bound on β(α); it may be negative where the truth is 0."""

    @abstractmethod
    def _renyi(self, order: Fraction) -> float:
        """An upper bound on the Rényi divergence."""

    def _group(self, size: int) -> Guarantee:
        """What holds between datasets that are `size` steps apart."""
        raise ParameterError(
            f"no rule for groups is known of a {type(self).__name__}. Convert it first: "
            "dither.guarantees.to_approx(guarantee, delta)."
        )

    def _rho(self) -> Fraction | None:
        """ρ of the zCDP that follows from the parts of the guarantee, if it has parts and one follows."""
        return None

    def _mu_squared(self) -> Fraction | None:
        """μ² of the Gaussian DP that follows from its parts, likewise."""
        return None

    @abstractmethod
    def _is_implied_by(self, other: Guarantee) -> bool:
        """Whether `other` certainly implies this guarantee; `other` is not perfect."""

    @abstractmethod
    def _under(self, adjacency: Adjacency | None) -> Self:
        """A copy with this adjacency."""

    @abstractmethod
    def _parameters(self) -> Mapping[str, object]:
        """The arguments that would build it again."""

    @abstractmethod
    def is_perfect(self) -> bool:
        """Decide whether outputs do not depend on the data at all.

        Returns
        -------
        bool
            Whether the guarantee has cost 0.
        """

    def __repr__(self) -> str:
        shown = {
            name: in_words(value) if isinstance(value, Fraction) else value
            for name, value in self._parameters().items()
        }
        if self.adjacency is not None:
            shown["adjacency"] = repr(str(self.adjacency))
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in shown.items())})"
