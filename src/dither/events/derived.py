"""Events made of one event: shuffled, repeated until the best is selected, or seen by other neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, check_monotone
from dither.errors import AdjacencyMismatch, ParameterError
from dither.events.container import Composite, leaves_of, walk
from dither.events.event import check_adjacency, check_count
from dither.events.samples import check_not_drawn
from dither.exact import Number, check, in_words

if TYPE_CHECKING:
    from dither.events.composite import Event

__all__ = ["GroupOf", "RepeatAndSelect", "ReplaceOne", "ShuffledReports"]

_MOST_STEPS = 1000
_LARGEST_SHAPE = 1000
_MOST_REPORTS = 10**12
_LARGEST_MEAN = 10**9


@dataclass(frozen=True, slots=True)
class ShuffledReports(Composite):
    """One report of each record, randomized by itself, all of them shuffled before anyone sees them.

    Parameters
    ----------
    event : Event
        How one record is randomized: of bounded loss, under an adjacency that replaces one record, or an unstated one;
        it then becomes `dp.adjacency.REPLACE_ONE`. It may depend on the reports before it.
    reports : int
        The number of reports, 1 to 10^12; public. Batches in a random order are such reports too, of one batch each.

    Raises
    ------
    ParameterError
        If `reports` is out of range, or `event` relies on monotone scores or samples.
    AdjacencyMismatch
        If `event` holds under an adjacency that adds or removes records.

    Notes
    -----
    Each other report hides the one that differs with probability e^{−ε₀}, where ε₀ is the largest loss of one report,
    and 2/(e^{ε₀} + 1) for randomized response (Feldman, McMillan and Talwar 2023). It is an upper bound.

    Examples
    --------
    >>> from dither.events import RandomizedAnswer
    >>> print(ShuffledReports(RandomizedAnswer("1/2"), reports=1000))
    1000 shuffled reports: randomized response over 2 answers that keeps the true one with probability 0.5
    """

    event: Event
    reports: int

    def __post_init__(self) -> None:
        check_count(1, reports=self.reports)
        if not self.reports <= _MOST_REPORTS:
            raise ParameterError(f"reports must be at most 10^12, got reports={self.reports}.")
        self._check_parts()
        check_not_drawn(self.event)
        known = self.event.adjacency
        if known is not None and known.change != "replace":
            raise AdjacencyMismatch(
                f"shuffled reports are accounted for where a record is replaced, but the event holds under '{known}'. "
                "State its sensitivity under 'replace'."
            )
        for kind in leaves_of(self.event):
            check_adjacency(kind, self.adjacency)
        for _, inside in walk(self.event):
            check_monotone(getattr(inside, "monotone", False), self.adjacency)

    @property
    def parts(self) -> tuple[Event, ...]:
        """How one record is randomized."""
        return (self.event,)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the event, which replaces; `REPLACE_ONE` if it is unstated there."""
        return self.event.adjacency or REPLACE_ONE

    def __str__(self) -> str:
        return f"{self.reports} shuffled reports: {self.event}"


@dataclass(frozen=True, slots=True)
class RepeatAndSelect(Composite):
    """An event repeated a random number of times, of which only the best output is released.

    That is how parameters may be tuned. "Best" is decided from the output alone, such as by a score that it holds.

    Parameters
    ----------
    event : Event
        One run.
    shape : Number, optional
        The shape η of a negative binomial number of runs, at least 1 run: above −1 and at most 1000; 1 is the geometric
        law, 0 the logarithmic one. If it is left out, the number of runs has a Poisson law.
    stop : Number, optional
        The parameter γ of the negative binomial law, in (0, 1]: with shape 1 the probability to stop after each run.
    mean : Number, optional
        The mean of the Poisson law; with probability e^{−mean} there is no run and no output.

    Raises
    ------
    ParameterError
        If not exactly `shape` and `stop`, or `mean`, are given, or a number is out of range.

    Notes
    -----
    What is selected has δ′(ε) ≤ E[K]·δ(ε − c): see pairs/selected.py for c and the proof. It is an upper bound; ε₀-DP
    becomes (η + 2)ε₀-DP (Liu and Talwar 2019; Papernot and Steinke 2022).

    Examples
    --------
    >>> from dither.events import LaplaceNoise
    >>> print(RepeatAndSelect(LaplaceNoise(2), shape=1, stop="0.1"))
    the best of a negative binomial number of runs (shape 1, stop 0.1): Laplace noise of scale 2 on a value of
    sensitivity 1
    >>> print(RepeatAndSelect(LaplaceNoise(2), mean=10))
    the best of a Poisson number of runs (mean 10): Laplace noise of scale 2 on a value of sensitivity 1
    """

    event: Event
    shape: Fraction | None = None
    stop: Fraction | None = None
    mean: Fraction | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self, event: Event, shape: Number | None = ..., stop: Number | None = ..., mean: Number | None = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        self._exact("shape", "stop", "mean")
        self._check_parts()
        given = [name for name in ("shape", "stop", "mean") if getattr(self, name) is not None]
        if given not in (["shape", "stop"], ["mean"]):
            raise ParameterError(f"give shape and stop, or mean alone; got {', '.join(given) or 'none of them'}.")
        if self.shape is not None and not -1 < self.shape <= _LARGEST_SHAPE:
            raise ParameterError(f"shape must be above -1 and at most {_LARGEST_SHAPE}, got {in_words(self.shape)}.")
        if self.stop is not None and not Fraction(1, 10**18) <= self.stop <= 1:
            raise ParameterError(f"stop must be in (0, 1], and at least 1e-18; got {in_words(self.stop)}.")
        if self.mean is not None:
            check.positive(mean=self.mean)
            if not self.mean <= _LARGEST_MEAN:
                raise ParameterError(f"mean must be at most {_LARGEST_MEAN}, got {in_words(self.mean)}.")

    @property
    def parts(self) -> tuple[Event, ...]:
        """One run."""
        return (self.event,)

    def __str__(self) -> str:
        if self.shape is None or self.stop is None:
            assert self.mean is not None, "checked above"
            return f"the best of a Poisson number of runs (mean {in_words(self.mean)}): {self.event}"
        law = f"shape {in_words(self.shape)}, stop {in_words(self.stop)}"
        return f"the best of a negative binomial number of runs ({law}): {self.event}"


@dataclass(frozen=True, slots=True)
class ReplaceOne(Composite):
    """An event that was stated for a record that comes or goes, for neighbours that replace one by another.

    Parameters
    ----------
    event : Event
        Its adjacency must be `ADD_REMOVE`, or unstated: its sensitivity is about one record that comes or goes.

    Raises
    ------
    AdjacencyMismatch
        If `event` holds under another adjacency.

    Notes
    -----
    To replace is to remove and to add. Poisson-sampled Gaussian noise gets its tight pair, and other samples a bound
    between what one and what two steps cost: see pairs/poisson_replaced.py.

    Examples
    --------
    >>> from dither.events import GaussianNoise, PoissonSampled
    >>> print(ReplaceOne(PoissonSampled(GaussianNoise.of(1), "0.01")))
    where one record is replaced: on a Poisson sample of rate 0.01: Gaussian noise of standard deviation 1 on a value of
    sensitivity 1
    """

    event: Event

    def __post_init__(self) -> None:
        self._check_parts()
        if self.event.adjacency not in (None, ADD_REMOVE):
            raise AdjacencyMismatch(
                f"ReplaceOne is about an event stated for a record that comes or goes, but it holds under "
                f"'{self.event.adjacency}'. Use its own guarantee, or GroupOf for several steps."
            )
        for kind in leaves_of(self.event):
            check_adjacency(kind, ADD_REMOVE)
        for _, inside in walk(self.event):
            check_monotone(getattr(inside, "monotone", False), REPLACE_ONE)

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event, stated for a record that comes or goes."""
        return (self.event,)

    @property
    def adjacency(self) -> Adjacency:
        """`REPLACE_ONE`."""
        return REPLACE_ONE

    def __str__(self) -> str:
        return f"where one record is replaced: {self.event}"


@dataclass(frozen=True, slots=True)
class GroupOf(Composite):
    """An event as a group sees it: between datasets that are several steps apart, all of the same kind.

    Parameters
    ----------
    event : Event
        What was done, stated for one step: a record that comes or goes, or one that is replaced.
    size : int
        How many records come, or go, or are replaced; 1 to 1000.

    Raises
    ------
    ParameterError
        If `size` is out of range, or the event holds a group already.

    Notes
    -----
    Its adjacency is unstated, as its neighbours are `size` steps apart. Poisson-sampled Gaussian noise becomes a
    mixture of Gaussians, which is tight (Ganesh 2024); see pairs/groups.py for the rest.

    Examples
    --------
    >>> from dither.events import LaplaceNoise
    >>> print(GroupOf(LaplaceNoise(2), size=3))
    for a group of 3: Laplace noise of scale 2 on a value of sensitivity 1
    """

    event: Event
    size: int

    def __post_init__(self) -> None:
        check_count(1, size=self.size)
        if not self.size <= _MOST_STEPS:
            raise ParameterError(f"size must be at most {_MOST_STEPS}, got size={self.size}.")
        self._check_parts()
        if any(isinstance(inside, GroupOf) for _, inside in walk(self.event)):
            raise ParameterError(
                "a group cannot be made of groups. Give one GroupOf whose size is the product of the sizes."
            )

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event, stated for one step."""
        return (self.event,)

    @property
    def adjacency(self) -> Adjacency | None:
        """None: neighbours are `size` steps apart."""
        return None

    def __str__(self) -> str:
        return f"for a group of {self.size}: {self.event}"
