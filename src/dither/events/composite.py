"""Events made of events: sampled, tested, composed, repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, check_monotone, common
from dither.errors import ParameterError
from dither.events.leaves import GaussianNoise, LaplaceNoise, Leaf, Noun, check_count
from dither.events.rules import check_sampled
from dither.exact import check, in_words

__all__ = [
    "MAX_DEPTH",
    "MAX_PARTS",
    "Composed",
    "Composite",
    "Either",
    "Event",
    "FixedSizeSampled",
    "PoissonSampled",
    "Repeated",
    "TestAndRelease",
    "walk",
]

MAX_DEPTH = 32
"""How deep events may be nested."""

MAX_PARTS = 100_000
"""How many events one event may hold in all."""


class Composite(Noun):
    """An event made of events."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Event, ...]:
        """The events it is made of."""
        raise NotImplementedError

    @property
    def adjacency(self) -> Adjacency | None:
        """The adjacency that all parts share."""
        return common(part.adjacency for part in self.parts)

    def _check_parts(self) -> None:
        for part in self.parts:
            if not isinstance(part, Noun):
                raise ParameterError(f"expected an event, got the type {type(part).__name__}.")
        size = 1
        for depth, _ in (inside for part in self.parts for inside in walk(part, depth=2)):
            size += 1
            if depth > MAX_DEPTH or size > MAX_PARTS:
                raise ParameterError(
                    f"an event may hold {MAX_PARTS} events, nested {MAX_DEPTH} deep; this one holds more. "
                    "Say Repeated(event, times) instead of a list."
                )
        common(part.adjacency for part in self.parts)


@dataclass(frozen=True, slots=True)
class TestAndRelease(Composite):
    """A noisy distance was compared with `threshold`; if it was larger, `answer` was released (claim C20).

    `test` is the noise on the distance to the nearest dataset whose local sensitivity exceeds the one that
    `answer` states; that distance has sensitivity 1. A release is unsafe only at distance 0.
    """

    __test__ = False  # pytest: a noun of the library, not a test case

    test: Event
    threshold: Fraction
    answer: Event

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
    """`event` was run on a random part of the data, each record kept independently with probability `rate`.

    Neighbours add or remove a record: if the event leaves its adjacency unsaid, that is what it becomes. Records
    are kept or left one by one, so other adjacencies are refused: several records of a person are sampled more often.
    So are events for which nobody is no input (`dither.events.rules`).
    """

    event: Event
    rate: Fraction

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
        """The adjacency of the event, which adds or removes."""
        return self.event.adjacency or ADD_REMOVE

    def __str__(self) -> str:
        return f"on a Poisson sample of rate {in_words(self.rate)}: {self.event}"


@dataclass(frozen=True, slots=True)
class FixedSizeSampled(Composite):
    """`event` was run on `sample` records drawn without replacement from the `population`.

    Neighbours replace a record: if the event leaves its adjacency unsaid, that is what it becomes. Records are
    drawn one by one, so adjacencies that may change several of them are refused; so are monotone scores, which a
    replaced record does not have. A sample of a sample is drawn from as many records as the first one holds.
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
        """The adjacency of the event, which replaces."""
        return self.event.adjacency or REPLACE_ONE

    def __str__(self) -> str:
        return f"on {self.sample} of {self.population} records drawn without replacement: {self.event}"


@dataclass(frozen=True, slots=True)
class Composed(Composite):
    """All of `events` were done, on the same data, each with its own randomness."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))
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
    """`event` was done `times` times, on the same data, each with its own randomness."""

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
    """One of two events was done, or will be: which one is fixed in advance, and depends neither on the data nor on
    earlier answers. So a mechanism speaks that has not yet been told whether its value is an integer.
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


Event: TypeAlias = Leaf | TestAndRelease | PoissonSampled | FixedSizeSampled | Composed | Repeated | Either
"""Any event."""


def walk(event: Event, depth: int = 1) -> Iterator[tuple[int, Event]]:
    """The event and all those inside it, each with its depth; the event itself has depth 1."""
    yield depth, event
    if isinstance(event, Composite):
        for part in event.parts:
            yield from walk(part, depth + 1)


def _samples_in(event: Event) -> Iterator[FixedSizeSampled]:
    """The samples of a fixed size that are drawn from what the event sees, without those drawn from them."""
    if isinstance(event, FixedSizeSampled):
        yield event
    elif isinstance(event, Composite):
        for part in event.parts:
            yield from _samples_in(part)


def _check_sampled(sampled: PoissonSampled | FixedSizeSampled) -> None:
    leaves = {type(inside).__name__ for _, inside in walk(sampled.event) if not isinstance(inside, Composite)}
    check_sampled(type(sampled).__name__, sampled.event.adjacency, sorted(leaves))
