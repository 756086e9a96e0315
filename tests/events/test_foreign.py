"""Events of other libraries: read as ours, or refused by name."""

import math
import sys
from dataclasses import make_dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.errors import ParameterError
from dither.events import (
    Composed,
    FixedSizeSampled,
    GaussianNoise,
    LaplaceNoise,
    MatrixNoise,
    MixtureOfGaussians,
    PoissonSampled,
    RandomizedAnswer,
    RepeatAndSelect,
    Repeated,
    Selection,
    Stated,
    TreeNoise,
    TruncatedPoissonSampled,
    WithReplacementSampled,
    from_dp_accounting,
    from_opacus,
    to_dp_accounting,
)
from dither.exact.negative_binomial import mean_repetitions


def google(name: str, **values: Any) -> Any:
    """An event with the name and the fields that dp_accounting 0.6 gives it."""
    return make_dataclass(name, values)(**values)


GAUSSIAN = google("GaussianDpEvent", noise_multiplier=1.5)
OURS = GaussianNoise.of(Fraction(3, 2), adjacency=ADD_REMOVE)

KNOWN: list[tuple[Any, Any]] = [
    (GAUSSIAN, OURS),
    (google("LaplaceDpEvent", noise_multiplier=2.0), LaplaceNoise(2, adjacency=ADD_REMOVE)),
    (
        google("DiscreteLaplaceDpEvent", noise_parameter=0.25, sensitivity=3),
        LaplaceNoise(4, 3, step=1, adjacency=ADD_REMOVE),
    ),
    (google("EpsilonDeltaDpEvent", epsilon=1.0, delta=1e-6), Stated("ApproxDP", (1, "1e-6"), ADD_REMOVE)),
    (google("ZCDpEvent", rho=0.1, xi=0.0), Stated("ZCDP", ("0.1",), ADD_REMOVE)),
    (google("ZCDpEvent", rho=0.1, xi=0.25), Stated("ZCDP", ("0.1", "0.25"), ADD_REMOVE)),
    (
        google(
            "TruncatedSubsampledGaussianDpEvent",
            dataset_size=100,
            sampling_probability=0.1,
            truncated_batch_size=20,
            noise_multiplier=1.5,
        ),
        TruncatedPoissonSampled(OURS, "0.1", 20, 100),
    ),
    (google("RepeatAndSelectDpEvent", event=GAUSSIAN, mean=10.0, shape=1.0), RepeatAndSelect(OURS, 1, "0.1")),
    (google("RepeatAndSelectDpEvent", event=GAUSSIAN, mean=10.0, shape=math.inf), RepeatAndSelect(OURS, mean=10)),
    (google("SelfComposedDpEvent", event=GAUSSIAN, count=7), Repeated(OURS, 7)),
    (
        google("ComposedDpEvent", events=[GAUSSIAN, google("NoOpDpEvent"), GAUSSIAN]),
        Composed((OURS, OURS)),
    ),
    (google("PoissonSampledDpEvent", sampling_probability=0.01, event=GAUSSIAN), PoissonSampled(OURS, "0.01")),
]


@pytest.mark.parametrize(
    ("theirs", "ours"), KNOWN, ids=[f"{at}-{type(each[0]).__name__}" for at, each in enumerate(KNOWN)]
)
def test_known_events_become_ours(theirs: Any, ours: Any) -> None:
    assert from_dp_accounting(theirs) == ours


def test_samples_of_a_fixed_size_are_about_replacement() -> None:
    theirs = google("SampledWithoutReplacementDpEvent", source_dataset_size=100, sample_size=10, event=GAUSSIAN)
    ours = GaussianNoise.of(Fraction(3, 2), adjacency=REPLACE_ONE)
    assert from_dp_accounting(theirs, REPLACE_ONE) == FixedSizeSampled(ours, 10, 100)
    with pytest.raises(ParameterError, match="REPLACE_ONE"):
        from_dp_accounting(theirs)


def test_draws_with_replacement_are_about_replacement() -> None:
    theirs = google("SampledWithReplacementDpEvent", source_dataset_size=100, sample_size=10, event=GAUSSIAN)
    ours = GaussianNoise.of(Fraction(3, 2), adjacency=REPLACE_ONE)
    assert from_dp_accounting(theirs, REPLACE_ONE) == WithReplacementSampled(ours, 10, 100)
    with pytest.raises(ParameterError, match="REPLACE_ONE"):
        from_dp_accounting(theirs)


def test_the_mean_of_runs_is_rounded_up() -> None:
    theirs = google("RepeatAndSelectDpEvent", event=GAUSSIAN, mean=10.0, shape=0.5)
    ours = from_dp_accounting(theirs)
    assert isinstance(ours, RepeatAndSelect)
    assert ours.shape is not None
    assert ours.stop is not None
    assert 10 <= float(mean_repetitions(ours.shape, ours.stop)) <= 10.000001


@pytest.mark.parametrize(("counts", "depth"), [(1, 1), (2, 2), (3, 2), (4, 3), ([3, 8, 2], 4)])
def test_a_tree_has_as_many_levels_as_a_record_has_nodes(counts: Any, depth: int) -> None:
    theirs = google("SingleEpochTreeAggregationDpEvent", noise_multiplier=2.0, step_counts=counts)
    assert from_dp_accounting(theirs, None) == GaussianNoise(variance=4, sensitivity_squared=depth)
    with pytest.raises(ParameterError, match="adjacency=None"):
        from_dp_accounting(theirs)


def test_randomized_response_is_about_replacement_too() -> None:
    theirs = google("RandomizedResponseDpEvent", noise_parameter=0.25, num_buckets=4)
    assert from_dp_accounting(theirs, REPLACE_ONE) == RandomizedAnswer(Fraction("0.75"), 4, adjacency=REPLACE_ONE)
    with pytest.raises(ParameterError, match="REPLACE_ONE"):
        from_dp_accounting(theirs)


def test_a_mixture_is_rounded_to_the_safe_side() -> None:
    """What is missing to 1 moves farthest; what is too much is taken from the least amount."""

    def mixture(*shares: float) -> Any:
        return from_dp_accounting(
            google(
                "MixtureOfGaussiansDpEvent",
                standard_deviation=2.0,
                sensitivities=[1.0, 0.0, 3.0],
                sampling_probs=shares,
            )
        )

    assert mixture(0.25, 0.5, 0.25) == MixtureOfGaussians(
        variance=4, sensitivities=(0, 1, 3), probabilities=("1/2", "1/4", "1/4"), adjacency=ADD_REMOVE
    )
    tiny = Fraction(1, 10**12)
    assert mixture(0.25, 0.5, 0.249999999999).probabilities == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    assert mixture(0.250000000001, 0.5, 0.25).probabilities == (
        Fraction(1, 2) - tiny,
        Fraction(1, 4) + tiny,
        Fraction(1, 4),
    )
    for shares in ((0.25, 0.5, 0.3), (0.1, 0.1, 0.1), (0.0, 0.0, 0.0)):
        with pytest.raises(ParameterError, match="sum to 1"):
            mixture(*shares)


class Google:
    """Builds what has the names and fields of dp_accounting 0.6, in their order."""

    FIELDS: ClassVar = {
        "GaussianDpEvent": ("noise_multiplier",),
        "LaplaceDpEvent": ("noise_multiplier",),
        "DiscreteLaplaceDpEvent": ("noise_parameter", "sensitivity"),
        "MixtureOfGaussiansDpEvent": ("standard_deviation", "sensitivities", "sampling_probs"),
        "RandomizedResponseDpEvent": ("noise_parameter", "num_buckets"),
        "EpsilonDeltaDpEvent": ("epsilon", "delta"),
        "ZCDpEvent": ("rho", "xi"),
        "TruncatedSubsampledGaussianDpEvent": (
            "dataset_size",
            "sampling_probability",
            "truncated_batch_size",
            "noise_multiplier",
        ),
        "RepeatAndSelectDpEvent": ("event", "mean", "shape"),
        "SingleEpochTreeAggregationDpEvent": ("noise_multiplier", "step_counts"),
        "SampledWithReplacementDpEvent": ("source_dataset_size", "sample_size", "event"),
        "SelfComposedDpEvent": ("event", "count"),
        "ComposedDpEvent": ("events",),
        "PoissonSampledDpEvent": ("sampling_probability", "event"),
        "SampledWithoutReplacementDpEvent": ("source_dataset_size", "sample_size", "event"),
    }

    def __getattr__(self, name: str) -> Any:
        if name not in self.FIELDS:
            raise AttributeError(name)
        fields = self.FIELDS[name]
        return lambda *values: google(
            name, **({"xi": 0.0} if name == "ZCDpEvent" else {}) | dict(zip(fields, values, strict=name != "ZCDpEvent"))
        )


SAMPLED = PoissonSampled(GaussianNoise.of(Fraction("1.5"), adjacency=ADD_REMOVE), "0.01")
CARRIED = [
    LaplaceNoise(2, adjacency=ADD_REMOVE), LaplaceNoise(4, 3, step=1, adjacency=ADD_REMOVE),
    GaussianNoise.of(Fraction("1.5"), adjacency=ADD_REMOVE),
    MixtureOfGaussians(variance=4, sensitivities=(0, 1), probabilities=("0.75", "0.25"), adjacency=ADD_REMOVE),
    Stated("ApproxDP", (1, "1e-6"), ADD_REMOVE), Stated("ZCDP", ("0.1",), ADD_REMOVE),
    Stated("ZCDP", ("0.1", "0.5"), ADD_REMOVE), RepeatAndSelect(SAMPLED, mean=10), RepeatAndSelect(SAMPLED, 1, "0.25"),
    TruncatedPoissonSampled(GaussianNoise.of(2, adjacency=ADD_REMOVE), "0.25", 20, 100),
    SAMPLED, Repeated(SAMPLED, 7), Composed((SAMPLED, LaplaceNoise(2, adjacency=ADD_REMOVE))),
]  # fmt: skip


@pytest.mark.parametrize("event", CARRIED, ids=lambda event: type(event).__name__)
def test_what_is_carried_over_comes_back(event: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", SimpleNamespace(dp_event=Google()))
    assert from_dp_accounting(to_dp_accounting(event)) == event


def test_what_is_about_replacement_comes_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", SimpleNamespace(dp_event=Google()))
    for event in (
        RandomizedAnswer(Fraction("0.75"), 4, adjacency=REPLACE_ONE),
        FixedSizeSampled(GaussianNoise.of(2, adjacency=REPLACE_ONE), 10, 100),
        WithReplacementSampled(GaussianNoise.of(2, adjacency=REPLACE_ONE), 10, 100),
    ):
        assert from_dp_accounting(to_dp_accounting(event), REPLACE_ONE) == event


def test_matrices_and_trees_become_noise_on_what_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", SimpleNamespace(dp_event=Google()))
    tree = to_dp_accounting(TreeNoise(variance=4, steps=8))
    assert (tree.noise_multiplier, tree.step_counts) == (2.0, 8)
    assert from_dp_accounting(tree, None) == GaussianNoise(variance=4, sensitivity_squared=4)
    assert to_dp_accounting(TreeNoise(variance=36, steps=4, participations=2, separation=4)).noise_multiplier <= 6
    assert to_dp_accounting(MatrixNoise(variance=16, coefficients=(1, 1, 1, 1), steps=9)).noise_multiplier == 2


@given(st.fractions(min_value=Fraction(1, 1000), max_value=1000), st.fractions(min_value=Fraction(1, 9), max_value=9))
def test_noise_is_never_overstated(variance: Fraction, square: Fraction) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "dp_accounting", SimpleNamespace(dp_event=Google()))
        multiplier = Fraction(
            to_dp_accounting(GaussianNoise(variance=variance, sensitivity_squared=square)).noise_multiplier
        )
    assert multiplier**2 <= variance / square
    assert multiplier**2 >= variance / square * Fraction(10**15 - 4, 10**15)


def test_what_they_do_not_have_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", SimpleNamespace(dp_event=Google()))
    for event in (
        GaussianNoise(variance=4, step=1),
        Stated("GaussianDP", (1,)),
        Selection(2),
        Repeated(Selection(2), 3),
    ):
        with pytest.raises(ParameterError, match="no counterpart"):
            to_dp_accounting(event)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match="pip install dp-accounting"):
        to_dp_accounting(SAMPLED)


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (google("NonPrivateDpEvent"), "NonPrivateDpEvent"),
        (google("UnsupportedDpEvent"), "UnsupportedDpEvent"),
        (google("ComposedDpEvent", events=[GAUSSIAN, google("NonPrivateDpEvent")]), "NonPrivateDpEvent"),
        (google("GaussianDpEvent", noise_multiplier=0.0), "greater than 0"),
        (google("GaussianDpEvent", noise_multiplier=float("nan")), "noise_multiplier"),
        (google("PoissonSampledDpEvent", sampling_probability=1.5, event=GAUSSIAN), "rate"),
        (google("SelfComposedDpEvent", event=GAUSSIAN, count=0), "times"),
        ("GaussianDpEvent", "str of dp_accounting"),
    ],
    ids=["none", "unsupported", "inside", "no noise", "nan", "rate", "count", "a word"],
)
def test_what_has_no_counterpart_is_refused_by_name(theirs: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        from_dp_accounting(theirs)


def test_the_history_of_opacus() -> None:
    step = PoissonSampled(GaussianNoise.of(Fraction("1.1"), adjacency=ADD_REMOVE), "0.01")
    whole = Repeated(GaussianNoise.of(2, adjacency=ADD_REMOVE), 3)
    assert from_opacus([(1.1, 0.01, 500)]) == Repeated(step, 500)
    assert from_opacus([(1.1, 0.01, 500), (2, 1, 3)]) == Composed((Repeated(step, 500), whole))
    assert dp.compose([from_opacus([(2, 1, 3)])]).epsilon(1e-6) == dp.compose([whole]).epsilon(1e-6)


@pytest.mark.parametrize(
    "entry", [(0, 0.1, 5), (1, -0.1, 5), (1, 1.5, 5), (1, 0.1, 0), (float("nan"), 0.1, 5)], ids=str
)
def test_an_entry_out_of_range_is_refused(entry: Any) -> None:
    with pytest.raises(ParameterError):
        from_opacus([entry])


@pytest.mark.parametrize("history", ["x", [1.1], [(1.1, 0.01)], [None]])
def test_a_history_of_something_else_has_its_sentence(history: Any) -> None:
    with pytest.raises(ParameterError, match="each entry of the history must be"):
        from_opacus(history)
