"""Events at their borders: what is refused, and how each sentence reads."""

import json
from fractions import Fraction
from typing import Any

import pytest

from dither import events
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, person
from dither.errors import AdjacencyMismatch, NotANumberError, ParameterError
from dither.events import (
    Composed,
    Either,
    FiniteAnswer,
    FixedSizeSampled,
    GaussianNoise,
    LaplaceNoise,
    MixtureOfGaussians,
    PoissonSampled,
    RandomizedAnswer,
    Repeated,
    Selection,
    SmoothNoise,
    SparseVectorRun,
    StaircaseNoise,
    Stated,
    TestAndRelease,
)

LAPLACE = LaplaceNoise(Fraction(2))
HALF = Fraction(1, 2)
MONOTONE = Selection(Fraction(2), monotone=True)
SCALES = {"threshold_scale": 1, "query_scale": 1}


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (LAPLACE, "Laplace noise of scale 2 on a value of sensitivity 1"),
        (
            LaplaceNoise(HALF, Fraction(3), Fraction(1), ADD_REMOVE),
            "Laplace noise of scale 0.5 on the lattice of step 1 on a value of sensitivity 3, "
            "under 'add or remove one record'",
        ),
        (
            GaussianNoise(variance=Fraction(5), sensitivity_squared=Fraction(2)),
            "Gaussian noise of standard deviation √5 on a value of sensitivity √2",
        ),
        (GaussianNoise.of(3, HALF), "Gaussian noise of standard deviation 3 on a value of sensitivity 0.5"),
        (
            StaircaseNoise(Fraction(1), Fraction(1, 3)),
            "staircase noise for epsilon 1 with steps split at 1/3 on a value of sensitivity 1",
        ),
        (
            RandomizedAnswer(Fraction(3, 4)),
            "randomized response over 2 answers that keeps the true one with probability 0.75",
        ),
        (
            Selection(Fraction(2), "exponential", monotone=True, candidates=10),
            "selection of the best among 10 by monotone scores of sensitivity 1 with exponential noise of scale 2",
        ),
        (
            MixtureOfGaussians(variance=4, sensitivities=(0, "1.5"), probabilities=("0.9", "0.1")),
            "Gaussian noise of standard deviation 2 on a value that a record moves by one of 2 amounts, at most 1.5",
        ),
        (
            SparseVectorRun(Fraction(2), Fraction(8), 2),
            "sparse vector until 2 above, answers of sensitivity 1, Laplace noise of scale 2 on the threshold "
            "and 8 on each answer",
        ),
        (
            SmoothNoise("polynomial", Fraction(1, 10), Fraction(10), Fraction(4)),
            "polynomial noise with tail exponent 4 of 10 times the 0.1-smooth sensitivity",
        ),
        (Stated("ApproxDP", (Fraction(1), Fraction(1, 10**6))), "a stated ApproxDP(1, 1e-06)"),
        (
            TestAndRelease(LAPLACE, Fraction(20), LAPLACE),
            f"test and release: [{LAPLACE}]; if above 20: [{LAPLACE}]",
        ),
        (PoissonSampled(LAPLACE, Fraction(1, 100)), f"on a Poisson sample of rate 0.01: {LAPLACE}"),
        (FixedSizeSampled(LAPLACE, 10, 99), f"on 10 of 99 records drawn without replacement: {LAPLACE}"),
        (Composed((LAPLACE, LAPLACE)), f"(1) {LAPLACE}; (2) {LAPLACE}"),
        (Repeated(LAPLACE, 7), f"7 times: {LAPLACE}"),
        (Either(LAPLACE, MONOTONE), f"either [{LAPLACE}] or [{MONOTONE}]"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_sentences(event: events.Event, sentence: str) -> None:
    assert str(event) == sentence
    assert events.from_json(events.to_json(event)) == event


MIXED: dict[str, Any] = {"variance": 1, "sensitivities": (0, 1), "probabilities": (HALF, HALF)}
BAD: list[tuple[type[Any], dict[str, Any], str]] = [
    (LaplaceNoise, {"scale": 0}, "scale must be greater than 0"),
    (LaplaceNoise, {"scale": 1, "sensitivity": 0}, "sensitivity must be greater than 0"),
    (LaplaceNoise, {"scale": 1, "sensitivity": HALF, "step": 1}, "multiple of the lattice step"),
    (LaplaceNoise, {"scale": 1, "step": 0}, "step must be greater than 0"),
    (GaussianNoise, {"variance": -1}, "variance must be greater than 0"),
    (GaussianNoise, {"variance": 1, "sensitivity_squared": 2, "step": 1}, "no squared distance"),
    (GaussianNoise, {"variance": 1, "dimension": 0}, "dimension must be at least 1"),
    (StaircaseNoise, {"epsilon": 1, "fraction": 2}, "fraction must lie between"),
    (RandomizedAnswer, {"keep": 1}, "below 1"),
    (MixtureOfGaussians, {**MIXED, "variance": 0}, "variance must be greater than 0"),
    (MixtureOfGaussians, {**MIXED, "sensitivities": (1,)}, "same length"),
    (MixtureOfGaussians, {**MIXED, "sensitivities": (), "probabilities": ()}, "same length"),
    (MixtureOfGaussians, {**MIXED, "sensitivities": (-1, 1)}, "negative"),
    (MixtureOfGaussians, {**MIXED, "sensitivities": (0, 0)}, "largest_sensitivity must be greater than 0"),
    (MixtureOfGaussians, {**MIXED, "probabilities": (HALF, Fraction(1, 3))}, "must sum to 1"),
    (MixtureOfGaussians, {**MIXED, "probabilities": (0, 1)}, "smallest_probability must be greater than 0"),
    (MixtureOfGaussians, {**MIXED, "probabilities": (float("nan"), 1)}, "probabilities"),
    (MixtureOfGaussians, {**MIXED, "adjacency": REPLACE_ONE}, "added or removed"),
    (FiniteAnswer, {"p": (1,), "q": (HALF, HALF)}, "same length"),
    (FiniteAnswer, {"p": (), "q": ()}, "same length"),
    (FiniteAnswer, {"p": (1,) * 1001, "q": (1,) * 1001}, "same length"),
    (FiniteAnswer, {"p": (1,), "q": (HALF,)}, "must sum to 1"),
    (FiniteAnswer, {"p": (2, -1), "q": (HALF, HALF)}, "negative"),
    (RandomizedAnswer, {"keep": HALF, "answers": 1}, "answers must be at least 2"),
    (RandomizedAnswer, {"keep": HALF, "answers": True}, "answers must be a whole number"),
    (Selection, {"scale": 1, "noise": "gauss"}, "noise must be one of"),
    (Selection, {"scale": 1, "monotone": 1}, "monotone must be True or False"),
    (Selection, {"scale": 1, "monotone": True, "adjacency": REPLACE_ONE}, "monotone=True needs a change that adds"),
    (SparseVectorRun, {**SCALES, "monotone": 1}, "monotone must be True or False"),
    (SparseVectorRun, {**SCALES, "monotone": True, "adjacency": person("id", change="replace")}, "monotone=True needs"),
    (FixedSizeSampled, {"event": MONOTONE, "sample": 1, "population": 2}, "monotone=True needs"),
    (FixedSizeSampled, {"event": Repeated(MONOTONE, 2), "sample": 1, "population": 2}, "monotone=True needs"),
    (Selection, {"scale": 1, "candidates": 0}, "candidates must be at least 1"),
    (SparseVectorRun, {"threshold_scale": 1, "query_scale": 1, "max_above": 0}, "max_above must be at least 1"),
    (SmoothNoise, {"noise": "laplace", "smoothness": 1, "scale": 1, "exponent": 2}, "exponent belongs to"),
    (SmoothNoise, {"noise": "polynomial", "smoothness": 1, "scale": 1}, "exponent belongs to"),
    (SmoothNoise, {"noise": "polynomial", "smoothness": 1, "scale": 1, "exponent": 1}, "greater than 1"),
    (SmoothNoise, {"noise": "steepest", "smoothness": 1, "scale": 1, "exponent": 2}, "from 3 to 65"),
    (SmoothNoise, {"noise": "steepest", "smoothness": 1, "scale": 1, "exponent": "7/2"}, "from 3 to 65"),
    (SmoothNoise, {"noise": "laplace", "smoothness": 1, "scale": 1, "lattice_loss": -1}, "lattice_loss"),
    (Stated, {"measure": "RDP", "values": (1,)}, "measure must be one of"),
    (Stated, {"measure": "ApproxDP", "values": (1,)}, "has the values"),
    (Stated, {"measure": "PureDP", "values": ()}, "has the values"),
    (Stated, {"measure": "PureDP", "values": (-1,)}, "must not be negative"),
    (Stated, {"measure": "TVStable", "values": (2,)}, "tv must lie between"),
    (Stated, {"measure": "RenyiDP", "values": (1, 1)}, "greater than 1"),
    (PoissonSampled, {"event": LAPLACE, "rate": 2}, "rate must lie between"),
    (FixedSizeSampled, {"event": LAPLACE, "sample": 3, "population": 2}, "population must be at least 3"),
    (FixedSizeSampled, {"event": LAPLACE, "sample": -1, "population": 2}, "sample must be at least 0"),
    (Composed, {"events": ()}, "must not be empty"),
    (Composed, {"events": (1,)}, "expected an event"),
    (Either, {"first": LAPLACE, "second": 1}, "expected an event"),
    (Repeated, {"event": LAPLACE, "times": 0}, "times must be at least 1"),
    (Repeated, {"event": None, "times": 1}, "expected an event"),
    (Repeated, {"event": LAPLACE, "times": 10**5000}, "times must be at most"),
    (PoissonSampled, {"event": None, "rate": HALF}, "expected an event"),
    (LaplaceNoise, {"scale": 1, "adjacency": "record"}, "adjacency must come from"),
    (Stated, {"measure": "PureDP", "values": (1,), "adjacency": "record"}, "adjacency must come from"),
    (Stated, {"measure": "PureDP", "values": (Fraction(3**400, 2**640),)}, "bits"),
    (TestAndRelease, {"test": RandomizedAnswer(HALF), "threshold": 1, "answer": LAPLACE}, "test must be"),
]


@pytest.mark.parametrize(("kind", "given", "message"), BAD, ids=lambda value: getattr(value, "__name__", ""))
def test_bad_events(kind: type[Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        kind(**given)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, None, "x", "1e999"], ids=repr)
def test_scales_are_numbers(bad: Any) -> None:
    for make in (
        lambda: LaplaceNoise(bad),
        lambda: Selection(bad),
        lambda: PoissonSampled(LAPLACE, bad),
        lambda: Stated("PureDP", (bad,)),
    ):
        with pytest.raises((NotANumberError, TypeError)):
            make()


def test_numbers_too_long_to_read_back_are_refused() -> None:
    with pytest.raises(ParameterError, match="bits"):
        LaplaceNoise(Fraction(3**400, 2**640))
    assert events.from_json(events.to_json(LaplaceNoise(Fraction("1e-300")))).scale == Fraction("1e-300")  # type: ignore[union-attr]


def written(**changes: Any) -> str:
    return json.dumps({"dither_event": 1, "kind": "LaplaceNoise", "scale": "2", "sensitivity": "1"} | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "valid JSON"),
        ("{", "valid JSON"),
        ("[]", "JSON object"),
        ("null", "JSON object"),
        ("[" * 100_000, "valid JSON"),
        (written(dither_event=2), "dither_event must be 1"),
        (written(dither_event=True), "dither_event must be 1"),
        (written(dither_event="1"), "dither_event must be 1"),
        ('{"kind":"LaplaceNoise","scale":"2"}', "dither_event must be 1"),
        (written(kind="Laplace"), "unknown kind of event 'Laplace'. Known kinds: LaplaceNoise"),
        (written(kind=3), "unknown kind"),
        (written(colour="red"), "has no field 'colour'. Its fields: scale"),
        ('{"dither_event":1,"kind":"LaplaceNoise","sensitivity":"1"}', "lacks the field 'scale'"),
        ('{"dither_event":1,"kind":"LaplaceNoise","scale":"2","scale":"3"}', "'scale' appears twice"),
        (written(scale=2), "exact number written as text"),
        (written(scale=2.5), "bare number 2.5"),
        ('{"dither_event":1,"kind":"LaplaceNoise","scale":NaN}', "bare number NaN"),
        (written(scale="nan"), "one finite number"),
        (written(scale="1/0"), "divide by zero"),
        (written(scale="-1"), "greater than 0"),
        (written(scale=None), "exact number written as text"),
        (written(adjacency="records"), "adjacency must be an object"),
        (written(adjacency={"protects": "cat", "change": "replace"}), "protects must be one of"),
        (written(kind="Repeated"), "has no field"),
        (written(kind="Composed", events={}), "has no field"),
        ('{"dither_event":1,"kind":"Composed","events":{}}', "events must be a list"),
        ('{"dither_event":1,"kind":"Composed","events":[]}', "must not be empty"),
        ('{"dither_event":1,"kind":"Composed","events":[1]}', "object with a kind"),
        ('{"dither_event":1,"kind":"RandomizedAnswer","keep":"1/2","answers":true}', "whole number"),
        ('{"dither_event":1,"kind":"RandomizedAnswer","keep":"1/2","answers":' + "9" * 5000 + "}", "valid JSON"),
        ('{"dither_event":1,"kind":"Selection","scale":"1","monotone":1}', "true or false"),
        ('{"dither_event":1,"kind":"Selection","scale":"1","noise":1}', "must be text"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        events.from_json(text)


def test_text_must_be_text() -> None:
    with pytest.raises(ParameterError, match="JSON text"):
        events.from_json(b"{}")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="expected an event"):
        events.to_json("LaplaceNoise")  # type: ignore[arg-type]


def test_depth_and_size_are_capped() -> None:
    deep: events.Event = LAPLACE
    for _ in range(31):
        deep = Repeated(deep, 1)
    assert events.from_json(events.to_json(deep)) == deep
    with pytest.raises(ParameterError, match="nested 32 deep"):
        Repeated(deep, 1)
    inner = '{"kind":"LaplaceNoise","scale":"1"}'
    for _ in range(400):
        inner = '{"kind":"Repeated","times":1,"event":' + inner + "}"
    with pytest.raises(ParameterError, match="nested 32 deep"):
        events.from_json('{"dither_event":1,' + inner[1:])
    many = Composed((LAPLACE,) * 99_999)
    with pytest.raises(ParameterError, match="100000 events"):
        Composed((many, LAPLACE))


def test_adjacency_is_shared_or_refused() -> None:
    added, replaced = LaplaceNoise(HALF, adjacency=ADD_REMOVE), LaplaceNoise(HALF, adjacency=REPLACE_ONE)
    assert Composed((added, added)).adjacency == ADD_REMOVE
    assert Repeated(LAPLACE, 2).adjacency is None
    assert PoissonSampled(LAPLACE, HALF).adjacency == ADD_REMOVE
    assert FixedSizeSampled(LAPLACE, 1, 2).adjacency == REPLACE_ONE
    for parts in (
        (added, replaced),
        (added, LAPLACE),
        (PoissonSampled(LAPLACE, HALF), FixedSizeSampled(LAPLACE, 1, 2)),
    ):
        with pytest.raises(AdjacencyMismatch, match="cannot combine"):
            Composed(parts)
    with pytest.raises(AdjacencyMismatch, match="Poisson sampling"):
        PoissonSampled(replaced, HALF)
    with pytest.raises(AdjacencyMismatch, match="fixed-size sampling"):
        FixedSizeSampled(added, 1, 2)
    somebody = LaplaceNoise(HALF, adjacency=person("user_id"))
    with pytest.raises(AdjacencyMismatch, match="one record"):
        PoissonSampled(somebody, HALF)


def test_text_of_version_1_never_changes() -> None:
    """Golden: a ledger written today must be read tomorrow."""
    event = Composed((Repeated(GaussianNoise.of(3, adjacency=ADD_REMOVE), 5), Selection(HALF, adjacency=ADD_REMOVE)))
    where = '"adjacency":{"protects":"record","change":"add or remove"}'
    assert events.to_json(event) == (
        '{"dither_event":1,"kind":"Composed","events":[{"kind":"Repeated","event":{"kind":"GaussianNoise",'
        f'"variance":"9","sensitivity_squared":"1","dimension":1,{where}}},"times":5}},'
        f'{{"kind":"Selection","scale":"1/2","noise":"gumbel","sensitivity":"1","monotone":false,{where}}}]}}'
    )


@pytest.mark.parametrize("protects", ["person", "person with several", "vertex", "edge"])
@pytest.mark.parametrize("sampling", ["Poisson", "fixed size"])
def test_sampling_records_protects_records_only(protects: str, sampling: str) -> None:
    """A person with three records is in a sample more often than each of them."""
    change = "add or remove" if sampling == "Poisson" else "replace"
    several = {"person": person("user", change=change), "person with several": person("user", 3, change)}
    adjacency = several.get(protects) or Adjacency(protects, change)
    event = LaplaceNoise(Fraction(1), adjacency=adjacency)
    sample = (lambda: PoissonSampled(event, HALF)) if sampling == "Poisson" else (lambda: FixedSizeSampled(event, 1, 2))
    with pytest.raises(AdjacencyMismatch, match="one record"):
        sample()


@pytest.mark.parametrize("change", ["add or remove", "replace"])
def test_a_person_with_one_record_may_be_sampled(change: str) -> None:
    for adjacency in (Adjacency("record", change), person("user", 1, change)):
        event = LaplaceNoise(Fraction(1), adjacency=adjacency)
        whole = PoissonSampled(event, HALF) if change == "add or remove" else FixedSizeSampled(event, 1, 2)
        assert whole.adjacency == adjacency
