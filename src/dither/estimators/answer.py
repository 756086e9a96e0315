"""What an estimator gives back: a release that knows its interval and how its budget was split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events import Composed, Event, Stated
from dither.exact import Number, check, rational
from dither.guarantees import PureDP
from dither.mechanisms.certificate import NOT_PRIVATE
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.views import views

__all__ = ["Estimate", "Spent", "budget", "shares"]


@dataclass(frozen=True, slots=True, repr=False)
class Estimate(Release):
    """A private estimate of `dp.stats`: a release with its interval and the split of its budget.

    All of it may be published.

    Parameters
    ----------
    value : Any
        The estimate.
    event : Event
        What was done, in exact numbers.
    guarantee : Guarantee
        What it cost, never less than the truth.
    mechanism : Mechanism
        The mechanism of the last step.
    name : str
        The name of the estimator.
    split : mapping of str to Fraction
        The part of ε that each step spent; together they are ε.
    found : mapping of str to Any
        What the steps before the last released, such as the range to which the data were clamped.
    covers : str
        What the interval contains with its probability.
    bars : callable, optional
        The interval at a level, from released numbers alone; None if there is none.
    noise_removed : bool
        Whether this is an exact answer, made in a test by `dither.testing`: then it is not private.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.stats.mean([20, 30, 40] * 500, epsilon=1, bounds=(0, 100))
    >>> release.covers
    "the mean of the data, clamped to the range found['clip']"
    >>> sum(release.split.values())
    Fraction(1, 1)
    """

    name: str = ""
    split: Mapping[str, Fraction] = field(default_factory=dict)
    found: Mapping[str, Any] = field(default_factory=dict)
    covers: str = ""
    bars: Callable[[Fraction], Interval] | None = field(default=None, repr=False)

    def interval(self, level: Number = 0.95) -> Interval:
        """Compute bounds that contain what `covers` states with probability `level` or more.

        Parameters
        ----------
        level : Number, default 0.95
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        tuple
            Lower and upper bound: two numbers, or two of the shape of the value.

        Raises
        ------
        ParameterError
            If no budget was kept for an interval; the message states what to do.
        """
        exact = rational(level, "level")
        check.between(0, 1, level=exact)
        if self.bars is None:
            raise ParameterError(f"this {self.name} kept no budget for an interval. {self.covers}")
        return self.bars(exact)

    def __str__(self) -> str:
        """Two lines: the estimate with its 95 % interval, and what it cost."""
        answer: str = views.html.estimate_line(self)
        warning = f" {NOT_PRIVATE}" if self.noise_removed else ""
        return f"{answer}{warning}\ncosts {self.guarantee}"

    def _terms(self) -> dict[str, Any]:
        """As for any release, under the name of the estimator, and with the split of the budget."""
        # (Zero-argument super() knows no class with slots.)
        split = {step: str(part) for step, part in self.split.items()}
        return {**Release._terms(self), "mechanism": f"stats.{self.name}", "split": split}


@dataclass
class Spent:
    """The steps of one estimator, in order: what each was for, its share of ε, what it says it did."""

    adjacency: Adjacency
    split: dict[str, Fraction] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    known: int | None = None
    """How many steps come before the first one that depends on an answer; None if all are known beforehand."""

    after_known: Fraction = Fraction(0)
    """What was spent after these."""

    def choose(self) -> None:
        """From here on, which steps there are depends on what was released."""
        self.known = len(self.events) if self.known is None else self.known

    def record(self, step: str, epsilon: Fraction, event: Event) -> None:
        """One more step."""
        self.split[step] = self.split.get(step, Fraction(0)) + epsilon
        self.after_known += epsilon if self.known is not None else 0
        self.events.append(event)

    def estimate(self, name: str, value: Any, mechanism: Mechanism, **said: Any) -> Estimate:
        """The release: its guarantee is the sum of the shares (claim C3)."""
        events = self.events if self.known is None else [*self.events[: self.known], self._rest]
        event = events[0] if len(events) == 1 else Composed(tuple(events))
        guarantee = PureDP(sum(self.split.values(), Fraction(0)), adjacency=self.adjacency)
        return Estimate(value, event, guarantee, mechanism, name, dict(self.split), **said)

    @property
    def _rest(self) -> Event:
        """Steps that an answer chose, as what they share: their ε. What was done says less than what might have been.

        (A mean of about 500/ε records: with the steps of a search δ(0.95 ε) seems to be 3e-4, and is 1e-2.)
        """
        return Stated("PureDP", (self.after_known,), self.adjacency)


def budget(epsilon: Number) -> Fraction:
    """ε, exactly and positive."""
    exact = rational(epsilon, "epsilon")
    check.positive(epsilon=exact)
    return exact


def shares(epsilon: Fraction, **parts: int) -> dict[str, Fraction]:
    """ε split in proportion to `parts`, without a remainder."""
    whole = sum(parts.values())
    return {step: epsilon * part / whole for step, part in parts.items()}
