"""Events made of events: sampled, tested, composed, repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, check_monotone
from dither.errors import ParameterError
from dither.events.added_noise import GaussianNoise, LaplaceNoise, MixtureOfGaussians, SmoothNoise, StaircaseNoise
from dither.events.container import Composite, leaves_of, walk
from dither.events.derived import GroupOf, RepeatAndSelect, ReplaceOne, ShuffledReports
from dither.events.event import Stated, check_count, check_sampled
from dither.events.matrix_noise import MatrixNoise, TreeNoise
from dither.events.noisy_choices import FiniteAnswer, RandomizedAnswer, Selection, SparseVectorRun
from dither.events.samples import BallsInBinsSampled, TruncatedPoissonSampled, WithReplacementSampled, check_not_drawn
from dither.exact import Number, check, in_words, set_fields

__all__ = [
    "BallsInBinsSampled",
    "Composed",
    "Either",
    "Event",
    "FixedSizeSampled",
    "GroupOf",
    "Leaf",
    "MatrixNoise",
    "MixtureOfGaussians",
    "PoissonSampled",
    "RepeatAndSelect",
    "Repeated",
    "ReplaceOne",
    "ShuffledReports",
    "TestAndRelease",
    "TreeNoise",
    "TruncatedPoissonSampled",
    "WithReplacementSampled",
]


@dataclass(frozen=True, slots=True)
class TestAndRelease(Composite):
    """Propose-test-release: an answer is released only if a noisy distance passes a threshold.

    Parameters
    ----------
    test : LaplaceNoise or GaussianNoise
        The noise on the distance to the nearest dataset whose local sensitivity exceeds the one that `answer` states.
        Its sensitivity is at least 1, that of a distance between datasets.
    threshold : Number
        The answer is released if the noisy distance is larger than this.
    answer : Event
        What is done to release the answer.

    Raises
    ------
    ParameterError
        If `test` is not Laplace or Gaussian noise, or states a sensitivity below 1.
    AdjacencyMismatch
        If `test` and `answer` hold under different adjacencies.

    Notes
    -----
    A release is unsafe only at distance 0, so δ grows by the probability that noise alone passes the threshold (claim
    C20; Dwork and Lei 2009).

    Examples
    --------
    >>> print(TestAndRelease(LaplaceNoise(2), threshold=30, answer=LaplaceNoise(4)))
    test and release: [Laplace noise of scale 2 on a value of sensitivity 1]; if above 30: [Laplace noise of scale 4 on
    a value of sensitivity 1]
    """

    __test__ = False  # pytest: an event, not a test case

    test: Event
    threshold: Fraction
    answer: Event

    if TYPE_CHECKING:  # any number is made exact

        def __init__(self, test: Event, threshold: Number, answer: Event) -> None: ...

    def __post_init__(self) -> None:
        self._exact("threshold")
        self._check_parts()
        if not isinstance(self.test, LaplaceNoise | GaussianNoise):
            raise ParameterError(f"test must be Laplace or Gaussian noise, got {type(self.test).__name__}.")
        size = self.test.sensitivity if isinstance(self.test, LaplaceNoise) else self.test.sensitivity_squared
        if size < 1:
            raise ParameterError(
                f"test must state a sensitivity of at least 1, that of a distance between datasets; got '{self.test}'."
            )

    @property
    def parts(self) -> tuple[Event, ...]:
        """The test and the answer."""
        return (self.test, self.answer)

    def __str__(self) -> str:
        return f"test and release: [{self.test}]; if above {in_words(self.threshold)}: [{self.answer}]"


@dataclass(frozen=True, slots=True)
class PoissonSampled(Composite):
    """An event on a Poisson sample: each record is kept independently with probability `rate`.

    Parameters
    ----------
    event : Event
        What is done with the sample. Its adjacency must add or remove one record, or be unstated; it then becomes
        `dp.adjacency.ADD_REMOVE`.
    rate : Number
        The sampling probability, in [0, 1].

    Raises
    ------
    ParameterError
        If `rate` is no probability, or `event` contains randomized response, which cannot hide that a record is
        missing.
    AdjacencyMismatch
        If `event` holds under an adjacency that replaces, or that changes several records at once: several records of a
        person are sampled more often.

    Examples
    --------
    >>> print(PoissonSampled(GaussianNoise.of(scale=3), rate="0.01"))
    on a Poisson sample of rate 0.01: Gaussian noise of standard deviation 3 on a value of sensitivity 1
    """

    event: Event
    rate: Fraction

    if TYPE_CHECKING:  # any number is made exact

        def __init__(self, event: Event, rate: Number) -> None: ...

    def __post_init__(self) -> None:
        self._exact("rate")
        check.probability(rate=self.rate)
        self._check_parts()
        _check_sampled(self)

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event that saw the sample."""
        return (self.event,)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the event, which adds or removes; `ADD_REMOVE` if it is unstated there."""
        return self.event.adjacency or ADD_REMOVE

    def __str__(self) -> str:
        return f"on a Poisson sample of rate {in_words(self.rate)}: {self.event}"


@dataclass(frozen=True, slots=True)
class FixedSizeSampled(Composite):
    """An event on a sample of fixed size, drawn without replacement.

    Parameters
    ----------
    event : Event
        What is done with the sample. Its adjacency must replace one record, or be unstated; it then becomes
        `dp.adjacency.REPLACE_ONE`. If it samples again, its population must be `sample`.
    sample : int
        The number of records in the sample.
    population : int
        The number of records from which they are drawn; at least `sample` and 1.

    Raises
    ------
    ParameterError
        If a number is out of range, `event` relies on monotone scores, which a replaced record does not have, or an
        inner sample is drawn from another number of records.
    AdjacencyMismatch
        If `event` holds under an adjacency that adds or removes, or that changes several records at once.

    Examples
    --------
    >>> print(FixedSizeSampled(LaplaceNoise(2), sample=100, population=10_000))
    on 100 of 10000 records drawn without replacement: Laplace noise of scale 2 on a value of sensitivity 1
    """

    event: Event
    sample: int
    population: int

    def __post_init__(self) -> None:
        check_count(0, sample=self.sample)
        check_count(max(1, self.sample), population=self.population)
        self._check_parts()
        _check_sampled(self)
        for _, inside in walk(self.event):
            check_monotone(getattr(inside, "monotone", False), self.adjacency)
        for inner in _samples_in(self.event):
            if inner.population != self.sample:
                raise ParameterError(
                    f"a sample of {self.sample} records was sampled again, as if it were {inner.population}. "
                    "The population of the inner sample must be the size of the outer one."
                )

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event that saw the sample."""
        return (self.event,)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the event, which replaces; `REPLACE_ONE` if it is unstated there."""
        return self.event.adjacency or REPLACE_ONE

    def __str__(self) -> str:
        return f"on {self.sample} of {self.population} records drawn without replacement: {self.event}"


@dataclass(frozen=True, slots=True)
class Composed(Composite):
    """Several events on the same data, each with its own randomness.

    Parameters
    ----------
    events : tuple of Event
        The events, in order; at least one. They must hold under the same adjacency.

    Raises
    ------
    ParameterError
        If there is no event, or there are too many.
    AdjacencyMismatch
        If events hold under different adjacencies.

    Examples
    --------
    >>> print(Composed((LaplaceNoise(2), LaplaceNoise(4))))
    (1) Laplace noise of scale 2 on a value of sensitivity 1; (2) Laplace noise of scale 4 on a value of sensitivity 1
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        set_fields(self, events=tuple(self.events))
        if not self.events:
            raise ParameterError("events must not be empty. Give at least one event.")
        self._check_parts()

    @property
    def parts(self) -> tuple[Event, ...]:
        """The events, in order."""
        return self.events

    def __str__(self) -> str:
        return "; ".join(f"({index}) {event}" for index, event in enumerate(self.events, start=1))


@dataclass(frozen=True, slots=True)
class Repeated(Composite):
    """The same event several times on the same data, each time with its own randomness.

    Parameters
    ----------
    event : Event
        What is repeated.
    times : int
        How often; at least 1.

    Raises
    ------
    ParameterError
        If `times` is not a whole number of at least 1.

    Examples
    --------
    >>> print(Repeated(LaplaceNoise(50), times=1000))
    1000 times: Laplace noise of scale 50 on a value of sensitivity 1
    """

    event: Event
    times: int

    def __post_init__(self) -> None:
        check_count(1, times=self.times)
        self._check_parts()

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event that was repeated."""
        return (self.event,)

    def __str__(self) -> str:
        return f"{self.times} times: {self.event}"


@dataclass(frozen=True, slots=True)
class Either(Composite):
    """One of two events; which one depends neither on the data nor on earlier answers.

    Its cost is that of the worse one. Mechanisms use it as long as it is open whether the value will be an integer.

    Parameters
    ----------
    first : Event
        One possibility.
    second : Event
        The other one, under the same adjacency.

    Raises
    ------
    AdjacencyMismatch
        If the events hold under different adjacencies.

    Examples
    --------
    >>> print(Either(LaplaceNoise(2), GaussianNoise.of(scale=3)))
    either [Laplace noise of scale 2 on a value of sensitivity 1] or [Gaussian noise of standard deviation 3 on
    a value of sensitivity 1]
    """

    first: Event
    second: Event

    def __post_init__(self) -> None:
        self._check_parts()

    @property
    def parts(self) -> tuple[Event, ...]:
        """Both events."""
        return (self.first, self.second)

    def __str__(self) -> str:
        return f"either [{self.first}] or [{self.second}]"


Leaf: TypeAlias = (
    LaplaceNoise
    | GaussianNoise
    | MixtureOfGaussians
    | StaircaseNoise
    | RandomizedAnswer
    | Selection
    | SparseVectorRun
    | SmoothNoise
    | MatrixNoise
    | TreeNoise
    | Stated
    | FiniteAnswer
)
"""An event that is not made of others."""

Event: TypeAlias = (
    Leaf
    | TestAndRelease
    | PoissonSampled
    | FixedSizeSampled
    | WithReplacementSampled
    | TruncatedPoissonSampled
    | BallsInBinsSampled
    | ShuffledReports
    | RepeatAndSelect
    | ReplaceOne
    | GroupOf
    | Composed
    | Repeated
    | Either
)
"""Any event."""


def _samples_in(event: Event) -> Iterator[FixedSizeSampled]:
    """The samples of a fixed size that are drawn from what the event sees, without those drawn from them."""
    if isinstance(event, FixedSizeSampled):
        yield event
    elif isinstance(event, Composite):
        for part in event.parts:
            yield from _samples_in(part)


def _check_sampled(sampled: PoissonSampled | FixedSizeSampled) -> None:
    check_not_drawn(sampled.event)
    check_sampled(type(sampled).__name__, sampled.event.adjacency, leaves_of(sampled.event))
