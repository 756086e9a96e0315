"""Events on samples that are drawn in other ways: with replacement, cut to a size, or thrown into bins."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, check_monotone
from dither.errors import ParameterError
from dither.events.added_noise import GaussianNoise
from dither.events.container import Composite, leaves_of, walk
from dither.events.event import check_count, check_sampled
from dither.exact import Number, check, in_words

if TYPE_CHECKING:
    from dither.events.composite import Event

__all__ = ["BallsInBinsSampled", "TruncatedPoissonSampled", "WithReplacementSampled", "check_not_drawn"]

_MOST_BATCHES = 10**6


@dataclass(frozen=True, slots=True)
class WithReplacementSampled(Composite):
    """An event on a sample that is drawn with replacement: a record may be in it several times.

    Parameters
    ----------
    event : Event
        What is done with the sample. Its adjacency must replace one record, or be unstated; it then becomes
        `dp.adjacency.REPLACE_ONE`. Its sensitivity is about one place of the sample.
    sample : int
        The number of draws; at least 1.
    population : int
        The number of records from which each is drawn; at least 1.

    Raises
    ------
    ParameterError
        If a number is out of range, or `event` relies on monotone scores or samples again.
    AdjacencyMismatch
        If `event` holds under an adjacency that adds or removes, or that changes several records at once.

    Notes
    -----
    A record is drawn K ~ Bin(sample, 1/population) times. Given K = k, data that differ in the record give samples that
    differ in k places, so what one place costs is taken k-fold (Balle, Barthe and Gaboardi 2018, Theorem 10). It is an
    upper bound.

    Examples
    --------
    >>> from dither.events import LaplaceNoise
    >>> print(WithReplacementSampled(LaplaceNoise(2), sample=100, population=10_000))
    on 100 draws with replacement from 10000 records: Laplace noise of scale 2 on a value of sensitivity 1
    """

    event: Event
    sample: int
    population: int

    def __post_init__(self) -> None:
        check_count(1, sample=self.sample, population=self.population)
        self._check_parts()
        check_not_drawn(self.event)
        check_sampled(type(self).__name__, self.event.adjacency, leaves_of(self.event))
        for _, inside in walk(self.event):
            check_monotone(getattr(inside, "monotone", False), self.adjacency)
            if type(inside).__name__ == "FixedSizeSampled":
                raise ParameterError("what is drawn with replacement cannot be sampled again. Draw the sample at once.")

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event that saw the sample."""
        return (self.event,)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the event, which replaces; `REPLACE_ONE` if it is unstated there."""
        return self.event.adjacency or REPLACE_ONE

    def __str__(self) -> str:
        return f"on {self.sample} draws with replacement from {self.population} records: {self.event}"


@dataclass(frozen=True, slots=True)
class TruncatedPoissonSampled(Composite):
    """Gaussian noise on a sum over a Poisson sample that is cut to a fixed size, as fixed batches in hardware are.

    Parameters
    ----------
    event : GaussianNoise
        The noise on the sum, and how far one record moves the sum. Its adjacency must add or remove one record, or be
        unstated; it then becomes `dp.adjacency.ADD_REMOVE`.
    rate : Number
        The probability q with which each record is drawn, 0 to 1.
    batch : int
        The largest number of records that are kept. If more are drawn, a random subset of this size is.
    population : int
        The number of records in the larger of two neighbouring datasets; it is public.

    Raises
    ------
    ParameterError
        If a number is out of range, or `event` is not Gaussian noise on real numbers.
    AdjacencyMismatch
        If `event` holds under another adjacency than one that adds or removes a record.

    Notes
    -----
    While fewer than `batch` others are drawn, a record comes to them or does not. Else it takes the place of another,
    and moves the sum by twice as much at most (Ganesh 2025; the proof is in pairs/truncated.py).

    Examples
    --------
    >>> print(TruncatedPoissonSampled(GaussianNoise.of(2), rate="0.01", batch=120, population=10_000))
    on a Poisson sample of rate 0.01 of 10000 records, cut to 120: Gaussian noise of standard deviation 2 on a value of
    sensitivity 1
    """

    event: Event
    rate: Fraction
    batch: int
    population: int

    if TYPE_CHECKING:  # any number is made exact

        def __init__(self, event: Event, rate: Number, batch: int, population: int) -> None: ...

    def __post_init__(self) -> None:
        self._exact("rate")
        check.probability(rate=self.rate)
        check_count(1, batch=self.batch, population=self.population)
        self._check_parts()
        _check_gaussian(self.event, "TruncatedPoissonSampled")
        check_sampled(type(self).__name__, self.event.adjacency, leaves_of(self.event))

    @property
    def parts(self) -> tuple[Event, ...]:
        """The noise on the sum."""
        return (self.event,)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the event, which adds or removes; `ADD_REMOVE` if it is unstated there."""
        return self.event.adjacency or ADD_REMOVE

    def __str__(self) -> str:
        return (
            f"on a Poisson sample of rate {in_words(self.rate)} of {self.population} records, cut to {self.batch}: "
            f"{self.event}"
        )


@dataclass(frozen=True, slots=True)
class BallsInBinsSampled(Composite):
    """An epoch of Gaussian noise on sums over batches, each record in one batch: thrown there by itself, at random.

    Parameters
    ----------
    event : GaussianNoise
        The noise on the sum of each batch, and how far one record moves it. Its adjacency must add or remove one
        record, or be unstated; it then becomes `dp.adjacency.ADD_REMOVE`.
    batches : int
        The number of batches, 1 to 10^6; each sees its records only, and may be used in any way that the answers
        before it suggest.

    Raises
    ------
    ParameterError
        If `batches` is out of range, or `event` is not Gaussian noise on real numbers.
    AdjacencyMismatch
        If `event` holds under another adjacency than one that adds or removes a record.

    Notes
    -----
    It costs what one batch without sampling costs, however many there are: an upper bound, by joint convexity. What
    hiding the place saves is not accounted for (the worst neighbours are known: Chua, Ghazi, Harrison, Leeman, Kamath,
    Kumar, Manurangsi, Sinha and Zhang 2024). Several epochs are repetitions.

    Examples
    --------
    >>> print(BallsInBinsSampled(GaussianNoise.of(2), batches=100))
    an epoch of 100 batches, each record in a random one: Gaussian noise of standard deviation 2 on a value of
    sensitivity 1
    """

    event: Event
    batches: int

    def __post_init__(self) -> None:
        check_count(1, batches=self.batches)
        if not self.batches <= _MOST_BATCHES:
            raise ParameterError(f"batches must be at most {_MOST_BATCHES}, got batches={self.batches}.")
        self._check_parts()
        _check_gaussian(self.event, "BallsInBinsSampled")
        check_sampled(type(self).__name__, self.event.adjacency, leaves_of(self.event))

    @property
    def parts(self) -> tuple[Event, ...]:
        """The noise on the sum of a batch."""
        return (self.event,)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the event, which adds or removes; `ADD_REMOVE` if it is unstated there."""
        return self.event.adjacency or ADD_REMOVE

    def __str__(self) -> str:
        return f"an epoch of {self.batches} batches, each record in a random one: {self.event}"


def check_not_drawn(event: Event) -> None:
    """Refuse to sample what says by itself which records it sees, or how its neighbours differ.

    Parameters
    ----------
    event : Event
        What would be done with a sample.

    Raises
    ------
    ParameterError
        If it holds such an event.
    """
    for _, inside in walk(event):
        if type(inside).__name__ in _DRAWN:
            raise ParameterError(
                f"{type(inside).__name__} says by itself how records are drawn or how neighbours differ, so it cannot "
                "be done on a sample. Sample the event inside it."
            )


_DRAWN = frozenset(
    {
        "WithReplacementSampled",
        "TruncatedPoissonSampled",
        "BallsInBinsSampled",
        "ShuffledReports",
        "ReplaceOne",
        "GroupOf",
    }
)


def _check_gaussian(event: Event, kind: str) -> None:
    if not isinstance(event, GaussianNoise) or event.step is not None:
        raise ParameterError(f"{kind} is accounted for with Gaussian noise on real numbers; got: {event}.")
