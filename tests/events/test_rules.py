"""Every leaf × adjacency × sampling: what the table of events/event.py allows is sound, and all else is refused."""

from __future__ import annotations

import itertools
import math
import typing
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

import dither as dp
from dither import events
from dither.accounting import compose
from dither.adjacency import ADD_REMOVE, EDGE, REPLACE_ONE, VERTEX, Adjacency, person
from dither.errors import ParameterError
from dither.events import Event, from_json, to_json
from tests.oracle import samples as oracle

ONE, HALF = Fraction(1), Fraction(1, 2)
CHANGES = ("add or remove", "replace")
ADJACENCIES = [
    None,
    ADD_REMOVE,
    REPLACE_ONE,
    VERTEX,
    EDGE,
    Adjacency("vertex", "replace"),
    Adjacency("edge", "replace"),
    *(person("user", most, change) for most in (None, 1, 3) for change in CHANGES),
]
Make = Callable[[Adjacency | None], Event]

# Each way in which a leaf can be said, and a mechanism on bits that does what it says.
WAYS: dict[str, tuple[Make, oracle.Mechanism]] = {
    "LaplaceNoise": (
        lambda a: events.LaplaceNoise(ONE, adjacency=a),
        lambda sample: oracle.in_cells(oracle.laplace_cdf, sum(sample)),
    ),
    "LaplaceNoise on integers": (
        lambda a: events.LaplaceNoise(ONE, step=ONE, adjacency=a),
        oracle.lattice(lambda x: math.exp(-abs(x))),
    ),
    "GaussianNoise": (
        lambda a: events.GaussianNoise(variance=ONE, adjacency=a),
        lambda sample: oracle.in_cells(oracle.normal_cdf, sum(sample)),
    ),
    "GaussianNoise on integers": (
        lambda a: events.GaussianNoise(variance=ONE, step=ONE, adjacency=a),
        oracle.lattice(lambda x: math.exp(-x * x / 2)),
    ),
    "MixtureOfGaussians": (
        lambda a: events.MixtureOfGaussians(
            variance=ONE, sensitivities=(0, 1, 2), probabilities=(HALF, "1/4", "1/4"), adjacency=a
        ),
        oracle.moved_at_random({0: 0.5, 1: 0.25, 2: 0.25}),
    ),
    "MatrixNoise": (
        lambda a: events.MatrixNoise(variance=ONE, coefficients=(1, HALF), steps=2, adjacency=a),
        lambda sample: oracle.in_cells(oracle.normal_cdf, sum(sample) * math.sqrt(1.25)),
    ),
    "TreeNoise": (
        lambda a: events.TreeNoise(variance=ONE, steps=2, adjacency=a),
        lambda sample: oracle.in_cells(oracle.normal_cdf, sum(sample) * math.sqrt(2)),
    ),
    "StaircaseNoise": (
        lambda a: events.StaircaseNoise(ONE, HALF, adjacency=a),
        lambda sample: oracle.in_cells(oracle.staircase_cdf(1.0, 0.5), sum(sample)),
    ),
    "RandomizedAnswer": (lambda a: events.RandomizedAnswer(HALF, adjacency=a), oracle.responses(0.5)),
    "Selection": (
        lambda a: events.Selection(ONE, adjacency=a),
        oracle.winner(lambda d: 1 / (1 + math.exp(d))),
    ),
    "Selection by exponential noise": (
        lambda a: events.Selection(ONE, "exponential", adjacency=a),
        oracle.winner(lambda d: math.exp(-d) / 2),
    ),
    "Selection by Laplace noise": (
        lambda a: events.Selection(ONE, "laplace", adjacency=a),
        oracle.winner(lambda d: (1 / 2 + d / 4) * math.exp(-d)),
    ),
    "Selection of monotone scores": (
        lambda a: events.Selection(ONE, monotone=True, adjacency=a),
        oracle.winner(lambda d: 1 / (1 + math.exp(d))),
    ),
    "SparseVectorRun": (lambda a: events.SparseVectorRun(ONE, 2 * ONE, adjacency=a), oracle.first_above(1.0, 2.0)),
    "SparseVectorRun of monotone answers": (
        lambda a: events.SparseVectorRun(ONE, 2 * ONE, monotone=True, adjacency=a),
        oracle.first_above(1.0, 2.0),
    ),
    "SmoothNoise": (
        lambda a: events.SmoothNoise("laplace", HALF, 2 * ONE, adjacency=a),
        lambda sample: oracle.in_cells(oracle.laplace_cdf, sum(sample), 2 * math.exp(sum(sample) / 2)),
    ),
    "SmoothNoise of Gaussian kind": (
        lambda a: events.SmoothNoise("gaussian", HALF, 2 * ONE, adjacency=a),
        lambda sample: oracle.in_cells(oracle.normal_cdf, sum(sample), 2 * math.exp(sum(sample) / 2)),
    ),
    "FiniteAnswer": (lambda a: events.FiniteAnswer(("3/4", "1/4"), ("1/4", "3/4"), a), oracle.tell_tale(math.log(3))),
    "Stated": (lambda a: events.Stated("PureDP", (ONE,), a), oracle.tell_tale(1.0)),
}


def kind(way: str) -> str:
    return way.split()[0]


def may_be_said(way: str, adjacency: Adjacency | None) -> bool:
    """The table in the docs, written down once more."""
    if adjacency is None:
        return True
    if kind(way) == "RandomizedAnswer":
        is_one = adjacency.protects != "person" or adjacency.max_records == 1
        return adjacency.change == "replace" and is_one
    return ("monotone" not in way and kind(way) != "MixtureOfGaussians") or adjacency.change == "add or remove"


def may_be_sampled(way: str, adjacency: Adjacency | None, change: str) -> bool:
    if kind(way) == "FiniteAnswer" and adjacency is None:
        return False  # nothing says that data without a person is an input
    sampled = adjacency or Adjacency("record", change)
    is_one = sampled.protects == "record" or (sampled.protects == "person" and sampled.max_records == 1)
    return sampled.change == change and is_one and may_be_said(way, sampled)


def wrapped(event: Event) -> Iterator[Event]:
    """The event, alone and inside others: nothing hides in a composite."""
    yield event
    yield events.Repeated(event, 2)
    yield events.Composed((event, event))
    yield events.Either(event, event)
    yield events.Composed((events.LaplaceNoise(ONE, adjacency=event.adjacency), events.Repeated(event, 3)))
    yield events.TestAndRelease(events.LaplaceNoise(ONE, adjacency=event.adjacency), ONE, event)


def test_every_kind_of_event_has_its_rule_and_its_case() -> None:
    """By registry: a new event without an entry in the table, or without a case here, fails."""
    from dither.events.event import LEAVES, SAMPLINGS
    from dither.events.wire import _KINDS

    leaves = {leaf.__name__ for leaf in typing.get_args(events.Leaf)}
    composites = {part.__name__ for part in typing.get_args(events.Event)} - leaves
    assert set(LEAVES) == leaves == {kind(way) for way in WAYS}
    assert set(_KINDS) == leaves | composites
    assert set(SAMPLINGS) == {name for name in composites if name.endswith("Sampled")}
    derived = {"ShuffledReports", "RepeatAndSelect", "ReplaceOne", "GroupOf"}
    assert composites == {*SAMPLINGS, *derived, "TestAndRelease", "Composed", "Repeated", "Either"}


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_leaves_are_said_where_their_mechanism_holds(way: str, adjacency: Adjacency | None) -> None:
    make, _ = WAYS[way]
    if may_be_said(way, adjacency):
        event = make(adjacency)
        assert from_json(to_json(event)) == event
        return
    with pytest.raises(ParameterError):
        make(adjacency)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_samples_are_said_where_their_mechanism_holds(way: str, adjacency: Adjacency | None) -> None:
    make, _ = WAYS[way]
    if not may_be_said(way, adjacency):
        return
    for event, change in itertools.product(wrapped(make(adjacency)), CHANGES):
        sampled: Callable[[Any], Event] = (
            (lambda e: events.PoissonSampled(e, HALF))
            if change == "add or remove"
            else (lambda e: events.FixedSizeSampled(e, 1, 2))
        )
        if may_be_sampled(way, adjacency, change):
            assert sampled(event).adjacency == (adjacency or Adjacency("record", change))
            assert from_json(to_json(sampled(event))) == sampled(event)
        else:
            with pytest.raises(ParameterError):
                sampled(event)


def cases() -> Iterator[tuple[str, str, int]]:
    for way, change in itertools.product(WAYS, CHANGES):
        if may_be_said(way, Adjacency("record", change)):
            yield from ((way, change, size) for size in (1, 2, 3))


@pytest.mark.parametrize(("way", "change", "size"), list(cases()))
def test_whatever_is_allowed_costs_at_least_what_the_worst_neighbours_lose(way: str, change: str, size: int) -> None:
    """All datasets of up to three records, all samples, both directions, once and twice on one sample."""
    make, mechanism = WAYS[way]
    event = make(Adjacency("record", change))
    runs = [(event, mechanism)]
    if kind(way) in ("RandomizedAnswer", "Selection", "Stated", "FiniteAnswer") or way == "LaplaceNoise on integers":
        runs.append((events.Repeated(event, 2), oracle.twice(mechanism)))
    for done, law in runs:
        for whole, sampled in samplings(done, law, change, size):
            composed = compose([whole], relative_width=0.01)
            for epsilon in (0.0, 0.25, 0.75, 1.5):
                found = composed.delta(epsilon)
                for one, other in oracle.neighbours(change, size):
                    for first, second in ((one, other), (other, one)):
                        true = oracle.delta(sampled(first), sampled(second), epsilon)
                        assert found >= true - 1e-7, (epsilon, first, second)


def samplings(
    event: Event, mechanism: oracle.Mechanism, change: str, size: int
) -> Iterator[tuple[Event, oracle.Mechanism]]:
    """The event on all data and on samples of it, with the law of each."""
    yield event, mechanism
    if change == "add or remove":
        for rate in (Fraction(1, 10), HALF):
            law = _remembered(lambda data, rate=rate: oracle.mixed(mechanism, oracle.poisson(data, rate)))
            yield events.PoissonSampled(event, rate), law
        return
    for sample in range(size + 1):
        law = _remembered(lambda data, sample=sample: oracle.mixed(mechanism, oracle.fixed_size(data, sample)))
        yield events.FixedSizeSampled(event, sample, size), law


def _remembered(law: Callable[..., oracle.Chances]) -> oracle.Mechanism:
    known: dict[oracle.Data, oracle.Chances] = {}

    def once(data: oracle.Data) -> oracle.Chances:
        if data not in known:
            known[data] = law(data)
        return known[data]

    return once


def test_nobody_gives_no_answer() -> None:
    """Why randomized response is refused there: with one person less there is one answer less, and all is lost."""
    mechanism = oracle.responses(0.5)
    assert oracle.delta(mechanism((1,)), mechanism(()), 50.0) == pytest.approx(1.0)
    rate = Fraction(1, 100)
    some, none = (oracle.mixed(mechanism, oracle.poisson(data, rate)) for data in ((1,), ()))
    assert oracle.delta(some, none, 50.0) == pytest.approx(0.01)
    response = dp.RandomizedResponse(answers=["no", "yes"], keep=HALF)
    with pytest.raises(ParameterError, match="how many answered"):
        events.PoissonSampled(response.event, rate=rate)
    text = '{"dither_event":1,"kind":"PoissonSampled","event":{"kind":"RandomizedAnswer","keep":"1/2"},"rate":"1/100"}'
    with pytest.raises(ParameterError, match="how many answered"):
        from_json(text)


def test_a_sample_of_a_sample_is_drawn_from_what_the_first_one_holds() -> None:
    """5 of 100 after 20 were drawn is 5 of 20: the rate of the inner sample was five times too small."""
    inner = events.FixedSizeSampled(events.LaplaceNoise(ONE), 5, 20)
    assert events.FixedSizeSampled(inner, 20, 100).adjacency == REPLACE_ONE
    for wrong in (events.FixedSizeSampled(events.LaplaceNoise(ONE), 5, 100), events.Repeated(inner, 2)):
        with pytest.raises(ParameterError, match="sampled again"):
            events.FixedSizeSampled(wrong, 21, 100)
