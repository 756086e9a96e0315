"""The auditor itself: what it must find, what it must never say, what it refuses.

False alarms. Each attack on a private target here runs at alpha = 1e-11 and there are fewer than 150 of them, so that
fewer than one run in 10^8 alarms.
"""

from __future__ import annotations

import collections
import math
import warnings
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dither as dp
from dither.audit import attack, support
from dither.audit.attack.curve import Allowed, epsilon_at_least
from dither.audit.attack.neighbours import FAMILIES, candidates
from dither.audit.attack.outcomes import as_rows, lowest_bits
from dither.audit.attack.target import AttackTarget
from dither.audit.zoo.additive import gaussian_float, laplace_float
from dither.errors import ParameterError
from dither.noise import DiscreteLaplace, entropy
from tests.mechanisms.entropy_use import nothing_drawn
from tests.noise.fit import ALARM


def _laplace(scale: Any) -> dp.Laplace:
    return dp.Laplace(sensitivity=1, scale=scale)


# --------------------------------------------------- what must never be said


@pytest.mark.parametrize("samples", [400, 3_000, 20_000])
def test_a_mechanism_exactly_at_its_claim_is_never_accused(samples: int) -> None:
    """Over many runs; and no lower bound is above the truth."""
    for _ in range(10):
        verdict = attack(_laplace(1), (0, 1), 1, samples=samples, alpha=ALARM)
        assert not verdict.violated
        assert 0 <= verdict.lower_bound <= 1
        assert verdict.samples <= samples


def test_a_smaller_claim_of_the_same_mechanism_falls() -> None:
    """The negative control of the test above: with 10 % less the claim is false, and that is seen."""
    assert attack(_laplace(1), (0, 1), "0.9", samples=300_000, alpha=ALARM).violated


def test_what_does_not_depend_on_the_input_is_never_accused() -> None:
    """Even of ε = 0, for numbers, vectors of many entries, texts, and an answer that never changes."""
    noise = dp.Laplace(sensitivity=1, scale=3)
    for answer in (
        lambda data, runs: noise.release(np.zeros(runs, dtype=np.int64)).value,
        lambda data, runs: noise.release(np.zeros((runs, 12), dtype=np.int64)).value,
        lambda data, runs: ["ab"[int(x) % 2] for x in noise.release(np.zeros(runs, dtype=np.int64)).value],
        lambda data, runs: [None] * runs,
    ):
        verdict = attack(AttackTarget("blind", answer), (0, 1), 0, samples=4_000, alpha=ALARM)
        assert not verdict.violated
        assert verdict.lower_bound == 0


def test_an_answer_is_read_alike_whatever_stands_beside_it() -> None:
    """Else a rare neighbour in the batch, an object among numbers, would change how all others are read."""
    alone = as_rows(np.array([[1, 2], [3, 4]]))
    for rare in (None, 2**70, "none", 1j):
        beside = np.empty((3, 2), dtype=object)
        beside[:] = [[1, 2], [3, 4], [rare, 0]]
        assert np.array_equal(as_rows(beside)[:2, :2], alone)
    assert np.array_equal(as_rows(np.array([[1, 2], [3, 4]], dtype=complex)), alone)
    assert np.array_equal(as_rows(np.ma.masked_array([[1, 2], [3, 4]])), alone)
    masked = np.ma.masked_equal(np.array([[1, 2], [3, 4], [5, 6]]), 5)
    assert np.array_equal(as_rows(masked)[:2], alone)


def test_noise_where_integers_end_is_not_accused() -> None:
    """Some batches of it are of int64 and others of objects."""
    for _ in range(3):
        verdict = attack(dp.Laplace(sensitivity=1, epsilon=4), (2**63 - 3, 2**63 - 2), samples=20_000, alpha=ALARM)
        assert not verdict.violated


class _Nameless:
    """Its repr is its place in memory."""


def test_places_in_memory_are_no_answer() -> None:
    """Keys and members are ordered by what they are."""
    kept: list[Any] = []

    def constant(data: int) -> Any:
        kept.extend(_Nameless() for _ in range(data))  # one input moves what comes after it in memory
        return {_Nameless(): 1, _Nameless(): 2}, {_Nameless(), "a"}

    assert len({tuple(as_rows([constant(n % 3)])[0]) for n in range(300)}) == 1


def test_what_is_remembered_from_run_to_run_does_not_accuse() -> None:
    """A function that counts its runs and ignores its input: no coin falls with the counter."""
    runs = [0]

    def counting(data: int) -> int:
        runs[0] += 1
        return runs[0] // 5_000 % 2

    assert not attack(counting, (0, 1), "0.1", samples=20_000, alpha=ALARM).violated


def test_a_right_function_of_records_is_not_tried_on_other_neighbours() -> None:
    """[0, 0, 0] and [1, 0, 0] are neighbours as counts, and as records one is replaced."""

    def counts(rows: list[int]) -> list[Any]:
        return [sum(row == value for row in rows) + DiscreteLaplace(1).sample() for value in range(3)]

    with pytest.raises(ParameterError, match=r"does not answer on a number\. Describe its inputs"):
        attack(counts, epsilon=1, samples=2_000)
    assert not attack(counts, "add or remove", 1, samples=2_000, alpha=ALARM).violated


def test_equal_texts_are_one_answer_whatever_their_type() -> None:
    """Else a private choice would be accused that gives the true answer as a str and a drawn one as numpy has it."""
    assert as_rows(["a"]) == as_rows([np.str_("a")]) != as_rows(["b"])
    assert as_rows([b"a"]) == as_rows([np.bytes_(b"a")]) != as_rows(["a"])


# ------------------------------------------------------------ what is found


class _Colour(Enum):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize(
    "answers",
    [
        (_Colour.RED, _Colour.BLUE),
        (1j, 2j),
        (date(2020, 1, 1), date(2020, 1, 2)),
        (np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
        ({"a": None}, {"b": None}),
        ((), ("x",)),
        (float("nan"), float("inf")),
        (10**400, -(10**400)),
    ],
    ids=["names", "complex numbers", "dates", "moments", "keys", "nothing", "no numbers", "huge"],
)
def test_answers_of_any_kind_are_told_apart(answers: tuple[Any, Any]) -> None:
    assert attack(lambda data: answers[data], (0, 1), samples=1_000).violated


def test_what_has_no_name_but_its_address_is_its_type() -> None:
    """Else where an object lies in memory would tell the inputs apart."""
    here, there = object(), object()
    assert as_rows([here]) == as_rows([there]) != as_rows([print])


@pytest.mark.parametrize("answer", [(), [], (math.inf, -math.inf), (1.7e308, 1.7e308), math.nan], ids=repr)
def test_answers_that_are_no_numbers_do_no_harm(answer: Any) -> None:
    with warnings.catch_warnings(action="error"):
        assert not attack(lambda data: answer, (0, 1), samples=1_000, alpha=ALARM).violated


class _State:
    """Says nothing of itself."""

    def __init__(self, value: Any) -> None:
        self.value = value


_NESTED: list[Any] = []
_NESTED.append(_NESTED)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda x: map(float, [x]),
        lambda x: (each for each in [x, 1]),
        lambda x: collections.deque([x]),
        lambda x: _State([x]),
        lambda x: pa.array([x]),
        lambda x: pa.table({"x": [x]}),
        lambda x: pd.Series([x / 2**30]),
        lambda x: pd.DataFrame({"x": [x], "y": ["a"]}),
        lambda x: pl.Series([x]),
        lambda x: pl.DataFrame({"x": [x]}),
        lambda x: np.ma.masked_array([1, 2], [x, 0]),
        lambda x: complex(1, x / 2**30),
        lambda x: np.timedelta64(x, "D"),
        lambda x: {"a": {"b": [x]}},
    ],
)
def test_what_an_answer_holds_is_seen(wrapped: Any) -> None:
    assert attack(wrapped, (0, 1), 1, samples=1_000).violated


@pytest.mark.parametrize("odd", [_NESTED, Decimal("sNaN"), np.datetime64("NaT"), _State(_NESTED), 10**400, b""])
def test_odd_answers_do_no_harm(odd: Any) -> None:
    assert not attack(lambda data: odd, (0, 1), 0, samples=400).violated


def test_a_coroutine_is_refused() -> None:
    async def later(data: int) -> int:
        return data

    with pytest.raises(ParameterError, match="plain function that awaits it"):
        attack(later, (0, 1), 1, samples=400)


def test_inputs_are_the_same_for_every_run() -> None:
    """A target that uses up what it is given, or changes it, is seen as it is on its first run."""

    def pops(rows: list[Any]) -> int:
        total = 0
        while rows:
            total += rows.pop()[0]
        return total

    class Batches:
        def many(self, frame: pd.DataFrame, size: int) -> list[int]:
            shown = frame.shape[1]
            for name in list(frame):
                del frame[name]
            return [shown] * size

    assert attack(pops, ([[1]] * 3, [[1]] * 4), 1, samples=1_000).violated
    assert attack(Batches(), (pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [1], "y": [2]})), 1, samples=1_000).violated
    with pytest.raises(ParameterError, match=r"only once\. Give a list"):
        attack(sum, (iter([1]), iter([1, 1])), 1, samples=1_000)


def test_a_target_that_exits_is_refused() -> None:
    def leaves(data: int) -> None:
        raise SystemExit(0)

    with pytest.raises(ParameterError, match="raised a SystemExit"):
        attack(leaves, (0, 1), 1, samples=400)


def test_two_inputs_are_two() -> None:
    with pytest.raises(ParameterError, match="two different inputs"):
        support(float, (0, 0))


def test_the_bound_is_at_the_claimed_delta() -> None:
    """With probability 1/4 the input is told, else nothing: (0, 1/4)-DP, and no ε at all is true at δ = 0."""

    def tells(data: int, runs: int) -> Any:
        return np.where(entropy.current().words(runs) < 2**62, data, -1)

    target, claim = AttackTarget("tells", tells), dp.ApproxDP(1, "1/4")
    bound = attack(target, (0, 1), claim=claim, samples=4_000, alpha=ALARM)
    assert (bound.delta, bound.lower_bound) == (Fraction(1, 4), 0)
    assert attack(target, (0, 1), claim=claim, delta=0, samples=4_000).lower_bound > 1


def test_a_large_claim_is_no_trouble() -> None:
    assert not attack(lambda data: data, (0, 1), 10**6, samples=1_000).violated


def test_noise_that_is_five_percent_too_small_is_seen() -> None:
    verdict = attack(_laplace("0.95"), (0, 1), 1)
    assert verdict.violated
    assert verdict.samples <= 300_000
    assert 1 < verdict.lower_bound <= 1 / 0.95


@pytest.mark.nightly
def test_noise_that_is_one_percent_too_small_is_seen() -> None:
    assert attack(_laplace("0.99"), (0, 1), 1, samples=12_000_000).violated


@pytest.mark.parametrize("claim", [dp.ZCDP("0.5"), dp.GaussianDP(1), dp.PureDP(6)], ids=repr)
def test_a_curve_that_is_kept_stands(claim: Any) -> None:
    """σ = 1 is ½-zCDP and 1-GDP; it is not 6-DP, but that takes more runs to see than are made."""
    gaussian = dp.Gaussian(sensitivity=1, sigma=1)
    assert not attack(gaussian, (0.0, 1.0), claim=claim, samples=20_000, alpha=ALARM).violated


@pytest.mark.parametrize("claim", [dp.ZCDP("0.2"), dp.GaussianDP("0.9"), dp.ApproxDP(1, "0.09")], ids=repr)
def test_a_curve_that_is_too_small_falls(claim: Any) -> None:
    """δ(1) of σ = 1 is 0.127. It is ½-zCDP, but events that are likely enough to be seen show only about 0.3."""
    assert attack(dp.Gaussian(sensitivity=1, sigma=1), (0.0, 1.0), claim=claim).violated


def test_a_plain_function_is_run_and_its_neighbours_are_found() -> None:
    def tells(data: Any) -> str:
        return "one" if data == 1 else "other"

    verdict = attack(tells, samples=2_000)
    assert verdict.violated
    assert {verdict.witness.likelier, verdict.witness.other} & {1}
    assert verdict.target == "tells"


def test_the_witness_can_be_checked() -> None:
    verdict = attack(_laplace("0.5"), (0, 1), 1, samples=20_000)
    witness, target = verdict.witness, _laplace("0.5")
    fresh = [
        witness.event.holds(as_rows(target.release(np.full(20_000, data)).value)).mean()
        for data in (witness.likelier, witness.other)
    ]
    assert fresh[0] > math.e * fresh[1]
    assert witness.hits * witness.other_runs > math.e * witness.other_hits * witness.runs
    assert verdict.as_dict()["violated"] is True
    assert "VIOLATED" in str(verdict)


@pytest.mark.parametrize("broken", [laplace_float, gaussian_float], ids=lambda broken: str(broken.__name__))
def test_a01_textbook_samplers_in_floating_point_are_seen_at_once(broken: Any) -> None:
    found = support(AttackTarget("float", broken))
    assert found.has_leak
    assert found.grids[0] < found.grids[1]
    assert found.verdict.samples <= 20_000


def test_a01_numbers_in_a_list_are_looked_at_too() -> None:
    found = support(AttackTarget("list", lambda data, runs: [[0.5, float(x)] for x in laplace_float(data, runs)]))
    assert found.has_leak


@pytest.mark.parametrize("ours", [dp.Laplace(sensitivity=1, epsilon=1), dp.Gaussian(sensitivity=1, sigma=1)], ids=repr)
def test_a01_ours_lie_on_one_grid(ours: Any) -> None:
    found = support(ours, alpha=ALARM)
    assert not found.has_leak
    assert found.grids[0] == found.grids[1]


def test_the_lowest_bits_of_a_mechanism_are_held_to_its_own_promise() -> None:
    """0 and 1 have other lowest bits: with little noise they tell much, and as much as was promised."""
    ours = dp.Laplace(sensitivity=1, epsilon=3)
    assert not support(ours, (0, 1), alpha=ALARM).has_leak
    assert support(ours, (0, 1), epsilon=1).has_leak


# ----------------------------------------------------------------- the parts


def test_what_a_claim_allows() -> None:
    half = Fraction(1, 2)
    assert Allowed(dp.PureDP(1)).is_exceeded(half, Fraction(18, 100))
    assert not Allowed(dp.PureDP(1)).is_exceeded(half, Fraction(19, 100))
    assert Allowed(dp.ApproxDP(1, "0.1")).is_exceeded(half, Fraction(14, 100))
    assert not Allowed(dp.ApproxDP(1, "0.1")).is_exceeded(half, Fraction(15, 100))
    assert Allowed(dp.GaussianDP(1)).is_exceeded(half, Fraction(15, 100))  # Φ(−1) = 0.1587
    assert not Allowed(dp.GaussianDP(1)).is_exceeded(half, Fraction(16, 100))
    assert epsilon_at_least(half, Fraction(1, 4), Fraction(0)) == pytest.approx(math.log(2))
    assert epsilon_at_least(half, half, Fraction(0)) == 0


def test_answers_become_rows() -> None:
    rows = as_rows([3, None, (1, "x"), [1.5, 2.5], {"b": 1}, np.array([1, 2])])
    assert rows[0, 0] == 3
    assert rows[1, 0] < -1e8
    assert rows[3, :3].tolist() == [2, 1.5, 2.5]
    assert np.isnan(rows[0, 1])
    assert as_rows([None])[0, 0] == as_rows([None])[0, 0] != as_rows(["x"])[0, 0]
    assert lowest_bits(np.array([0.1]))[0] == -55


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_pairs(name: str) -> None:
    for left, right in candidates(name):
        assert left != right


def test_pairs_of_answers_and_records_are_neighbours() -> None:
    for left, right in candidates("answers"):
        assert max(abs(a - b) for a, b in zip(left, right, strict=True)) == 1
    for left, right in candidates("counts"):
        assert sum(abs(a - b) for a, b in zip(left, right, strict=True)) == 1
    for left, right in candidates("replace"):
        assert sum(a != b for a, b in zip(left, right, strict=True)) == 1
    for left, right in candidates("add or remove"):
        assert right[:-1] == left


@pytest.mark.parametrize("samples", [400, 501, 640])
def test_many_pairs_and_few_runs_keep_to_them(samples: int) -> None:
    verdict = attack(_laplace(1), [(0, 1)] * 20, 1, samples=samples, alpha=ALARM)
    assert not verdict.violated
    assert verdict.samples <= samples


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples": 0},
        {"samples": 1.5},
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": float("nan")},
        {"epsilon": float("nan")},
        {"epsilon": -1},
        {"delta": 2, "epsilon": 1},
        {"neighbours": "strangers"},
        {"neighbours": 3},
        {"neighbours": []},
        {"neighbours": [(0, 1)] * 40, "samples": 799},
        {"epsilon": 1, "claim": dp.PureDP(1)},
        {"claim": 1},
        {"claim": dp.PureDP(1), "delta": -1},
        {"delta": 2},
    ],
    ids=repr,
)
def test_bad_requests_are_refused_before_anything_is_drawn(wrong: dict[str, Any]) -> None:
    with nothing_drawn(), pytest.raises(ParameterError):
        attack(_laplace(1), **{"neighbours": (0, 1), **wrong})


def test_what_cannot_be_run_is_refused() -> None:
    with pytest.raises(ParameterError, match="function of one input"):
        attack(3, (0, 1))
    with pytest.raises(ParameterError, match="one answer for each"):
        attack(AttackTarget("short", lambda data, runs: [1]), (0, 1))

    with pytest.raises(ParameterError, match="one answer for each"):
        attack(AttackTarget("single", lambda data, runs: 1.0), (0, 1))
    with pytest.raises(ParameterError, match="pair"):
        support(_laplace(1), "real")

    def picky(data: Any) -> Any:
        raise TypeError

    with pytest.raises(ParameterError, match="raised a TypeError"):
        attack(picky, (0, 1))

    with pytest.raises(ParameterError, match="does not answer on a number"):
        attack(picky)
