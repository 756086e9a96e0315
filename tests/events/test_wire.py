"""Events survive being written and read, whatever they say."""

from dataclasses import fields
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither import events
from dither.adjacency import ADD_REMOVE, EDGE, REPLACE_ONE, VERTEX, Adjacency, person
from dither.errors import ParameterError
from dither.events import Event

pytestmark = pytest.mark.property

exact = st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**12)
share = st.fractions(0, 1, max_denominator=10**9)
small = st.integers(1, 10**6)


def leaves(adjacency: Adjacency | None) -> st.SearchStrategy[Event]:
    """Any leaf under one adjacency."""
    where = st.just(adjacency)
    monotone = st.just(False) if adjacency is not None and adjacency.change == "replace" else st.booleans()
    step = st.one_of(st.none(), exact)
    lattice = st.tuples(exact, small).map(lambda pair: {"step": pair[0], "sensitivity": pair[0] * pair[1]})
    square = st.tuples(exact, small).map(
        lambda pair: {"step": pair[0], "sensitivity_squared": (pair[0] * pair[1]) ** 2}
    )
    response = st.builds(events.RandomizedAnswer, share.filter(lambda x: x < 1), st.integers(2, 99), where)
    mixture = st.builds(
        lambda variance, p, small, large: events.MixtureOfGaussians(
            variance=variance, sensitivities=(small, large), probabilities=(p, 1 - p), adjacency=adjacency
        ),
        exact, share.filter(lambda x: 0 < x < 1), exact, exact,
    )  # fmt: skip
    table = st.builds(lambda p, q: events.FiniteAnswer((p, 1 - p), (q, 1 - q), adjacency), share, share)
    return st.one_of(
        table,
        *([mixture] if adjacency is None or adjacency.change == "add or remove" else []),
        *([response] if adjacency in RESPONDING else []),
        st.builds(events.LaplaceNoise, exact, exact, adjacency=where),
        st.builds(lambda scale, grid: events.LaplaceNoise(scale, **grid, adjacency=adjacency), exact, lattice),
        st.builds(events.GaussianNoise, variance=exact, sensitivity_squared=exact, adjacency=where),
        st.builds(lambda scale, grid: events.GaussianNoise(variance=scale, **grid, adjacency=adjacency), exact, square),
        st.builds(events.StaircaseNoise, exact, share.filter(bool), exact, adjacency=where),
        st.builds(
            events.Selection,
            exact,
            st.sampled_from(["gumbel", "exponential", "laplace"]),
            exact,
            monotone,
            st.one_of(st.none(), small),
            where,
        ),
        st.builds(events.SparseVectorRun, exact, exact, small, exact, monotone, where),
        st.builds(events.SmoothNoise, st.sampled_from(["laplace", "gaussian"]), exact, exact, adjacency=where),
        st.builds(events.SmoothNoise, st.just("polynomial"), exact, exact, exact.map(lambda x: 1 + x), exact, where),
        st.builds(events.SmoothNoise, st.just("steepest"), exact, exact, st.integers(3, 65), st.none(), where),
        st.builds(
            lambda variance, first, second, counts: events.MatrixNoise(
                variance=variance,
                coefficients=(first, second),
                steps=counts[0],
                participations=counts[1],
                separation=2,
                adjacency=adjacency,
            ),
            exact,
            exact,
            exact,
            st.tuples(small, small),
        ),
        st.builds(events.TreeNoise, variance=exact, steps=small, sensitivity_squared=exact, adjacency=where),
        st.builds(events.Stated, st.just("ZCDP"), st.tuples(exact, exact), where),
        st.builds(events.Stated, st.just("ApproxDP"), st.tuples(exact, share), where),
        st.builds(events.Stated, st.just("RenyiDP"), st.tuples(exact.map(lambda x: 1 + x), exact), where),
        st.builds(
            events.TestAndRelease,
            st.builds(events.LaplaceNoise, exact, adjacency=where),
            exact,
            st.builds(events.LaplaceNoise, exact, step.map(lambda _: Fraction(1)), adjacency=where),
        ),
    )


def derived(leaf: Event) -> list[Event]:
    """What is made of a leaf, where it may be."""
    noise = events.GaussianNoise(variance=3, adjacency=leaf.adjacency)
    made: list[Event] = [
        events.GroupOf(leaf, 3),
        events.RepeatAndSelect(leaf, "0.5", "0.25"),
        events.RepeatAndSelect(leaf, mean="2.5"),
    ]
    if leaf.adjacency in (None, ADD_REMOVE):
        made += [events.TruncatedPoissonSampled(noise, "0.25", 3, 9), events.BallsInBinsSampled(noise, 7)]
        if not (isinstance(leaf, events.RandomizedAnswer) or getattr(leaf, "monotone", False)):
            made.append(events.ReplaceOne(leaf))
    is_replaced = leaf.adjacency in (None, REPLACE_ONE) and not getattr(leaf, "monotone", False)
    if is_replaced and not isinstance(leaf, events.MixtureOfGaussians):
        made.append(events.ShuffledReports(leaf, 10))
        if not (isinstance(leaf, events.FiniteAnswer) and leaf.adjacency is None):
            made.append(events.WithReplacementSampled(leaf, 3, 10))
    return made


def trees(adjacency: Adjacency | None) -> st.SearchStrategy[Event]:
    """Events of events."""

    def grow(inner: st.SearchStrategy[Event]) -> st.SearchStrategy[Event]:
        return st.one_of(
            st.builds(events.Repeated, inner, small),
            st.builds(events.Either, inner, inner),
            st.builds(events.Composed, st.lists(inner, min_size=1, max_size=4).map(tuple)),
        )

    return st.recursive(leaves(adjacency), grow, max_leaves=12)


ONE_ANSWER = person("user_id", 1, "replace")
ADJACENCIES = [None, ADD_REMOVE, REPLACE_ONE, VERTEX, EDGE, person("user_id"), person('Kürzel "x"\n', 3), ONE_ANSWER]
RESPONDING = [None, REPLACE_ONE, ONE_ANSWER]  # each person gives one answer, so nobody can be missing
any_event = st.one_of([trees(adjacency) for adjacency in ADJACENCIES])


@given(st.one_of([leaves(adjacency) for adjacency in ADJACENCIES]))
def test_what_is_made_of_one_event_comes_back_too(leaf: Event) -> None:
    for event in derived(leaf):
        test_there_and_back.hypothesis.inner_test(event)  # type: ignore[attr-defined]


@given(any_event)
def test_there_and_back(event: Event) -> None:
    text = events.to_json(event)
    again = events.from_json(text)
    assert again == event
    assert events.to_json(again) == text
    assert hash(again) == hash(event)
    assert type(again) is type(event)
    for _, part in events.walk(again):
        assert not any(isinstance(getattr(part, field.name), float) for field in fields(part))
    assert "Fraction" not in str(event)
    assert "None" not in str(event)


@given(leaves(None), share, st.integers(0, 50), st.integers(50, 99))
def test_sampled_events_say_their_adjacency(leaf: Event, rate: Fraction, sample: int, population: int) -> None:
    sampled: list[Event] = []
    if isinstance(leaf, events.FiniteAnswer):
        for build in (lambda: events.PoissonSampled(leaf, rate), lambda: events.FixedSizeSampled(leaf, 1, 50)):
            with pytest.raises(ParameterError, match="does not say which datasets"):
                build()
        return
    if isinstance(leaf, events.RandomizedAnswer):
        with pytest.raises(ParameterError, match="how many answered"):
            events.PoissonSampled(leaf, rate)
    else:
        sampled.append(events.PoissonSampled(leaf, rate))
    if getattr(leaf, "monotone", False) or isinstance(leaf, events.MixtureOfGaussians):
        with pytest.raises(ParameterError, match=r"monotone|added or removed"):
            events.FixedSizeSampled(leaf, sample, population)
    else:
        sampled.append(events.FixedSizeSampled(leaf, sample, population))
    for event in sampled:
        assert event.adjacency == (ADD_REMOVE if isinstance(event, events.PoissonSampled) else REPLACE_ONE)
        assert events.from_json(events.to_json(event)) == event
