"""The first draws of a law, which need no table: exact on every stream of bits, and the law of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.exact import Ball, ball, precision
from dither.noise import DiscreteGaussian, DiscreteLaplace, Geometric, direct_samplers, entropy
from dither.noise.blocks import COARSE
from dither.noise.direct_samplers import DirectGaussian, DirectGeometric, DirectLaplace
from dither.noise.entropy import BitSource
from dither.noise.law import Integers, integer_array
from dither.noise.rejection import RejectionLaw
from tests.every_stream import RecordedBits, every_stream
from tests.noise.fit import ALARM, p_value

_DIGITS = 4
"""Of a uniform number that are drawn at once: far too few, so that every step of production is taken."""


def _exact(real: Callable[[], Ball]) -> Fraction:
    with precision(200):
        mantissa, exponent = real().mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.fixture(params=[2.0**-40, 2.0], ids=["doubles", "balls only"])
def margin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_samplers, "COARSE", replace(COARSE, margin=request.param))


Attempt = Callable[[BitSource], int | None]


def _single(law: DirectGeometric | DirectLaplace | DirectGaussian) -> Attempt:
    return law._attempt


def _in_a_vector(law: DirectGeometric | DirectLaplace | DirectGaussian) -> Attempt:
    """A round of its own, as vectors play it."""

    def attempt(source: BitSource) -> int | None:
        found = law._attempts(source, 1).tolist()
        assert len(found) <= 1
        return found[0] if found else None

    return attempt


both = pytest.mark.parametrize("path", [_single, _in_a_vector], ids=["single", "vector"])


@both
@pytest.mark.usefixtures("margin")
@pytest.mark.parametrize("scale", ["0.3", "1.2", "3", "6.9"])
def test_a_round_of_the_geometric_law_has_exact_probabilities(scale: str, path: Callable[..., Attempt]) -> None:
    """2^-k · e^{−x/t} · (1 − p) for each x, as direct_samplers.md has it."""
    law = DirectGeometric(Fraction(scale))
    run = (1 << law._bits) / law.scale
    longest, digits, most = (14, 3, Fraction(1, 20)) if path is _in_a_vector else (15, _DIGITS, Fraction(1, 40))
    outcomes = every_stream(path(law), longest, digits)
    assert outcomes.undecided < most
    reached = [x for x in outcomes.mass if isinstance(x, int)]
    assert len(reached) >= 3
    for x in reached:
        wanted = _exact(lambda x=x: ball(-x / law.scale).exp() * -ball(-run).expm1() / (1 << law._bits))  # type: ignore[misc]
        assert outcomes.allows(x, wanted), x


@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
def test_runs_beyond_all_that_are_listed_are_drawn_anew(monkeypatch: pytest.MonkeyPatch, vector: bool) -> None:
    monkeypatch.setattr(direct_samplers, "_RARE", 0.2)
    law = DirectGeometric(Fraction(3))
    assert len(law._powers) < 3
    runs = (lambda source: int(law._all_runs(source, 1)[0])) if vector else law._runs
    outcomes = every_stream(runs, 16, _DIGITS)
    assert outcomes.undecided < Fraction(1, 10)
    assert max(x for x in outcomes.mass if isinstance(x, int)) > len(law._powers)
    run = (1 << law._bits) / law.scale
    for x in outcomes.mass:
        assert isinstance(x, int)
        assert outcomes.allows(x, _exact(lambda x=x: ball(-x * run).exp() * -ball(-run).expm1())), x  # type: ignore[misc]


def test_a_sign_of_nothing_is_rejected() -> None:
    outcomes = every_stream(DirectLaplace(Fraction(1, 2))._attempt, 15, _DIGITS)
    assert outcomes.mass[None] > 0
    assert abs(outcomes.mass[0] - outcomes.mass[None]) <= outcomes.undecided, "either sign"
    assert outcomes.mass[1] == outcomes.mass[-1]


class _Given:
    """Stands for the magnitudes or the proposals of Laplace noise."""

    def __init__(self, x: int, scale: Fraction = Fraction(1), dtype: type = np.int64) -> None:
        self.x, self.scale, self.dtype = x, scale, dtype

    def draw(self, source: BitSource) -> int:
        return self.x

    def _attempts(self, source: BitSource, count: int) -> Any:
        return np.array([self.x] * count, dtype=self.dtype)


@both
@pytest.mark.parametrize("magnitude", [0, 1, 7])
@pytest.mark.parametrize("dtype", [np.int64, object])
def test_a_magnitude_has_a_fair_sign_but_for_nothing(magnitude: int, path: Callable[..., Attempt], dtype: type) -> None:
    law = DirectLaplace(Fraction(1))
    law.__dict__["_magnitude"] = _Given(magnitude, dtype=dtype)
    outcomes = every_stream(path(law), 4, 1)
    assert outcomes.mass == {magnitude: Fraction(1, 2), -magnitude or None: Fraction(1, 2)}


@both
@pytest.mark.usefixtures("margin")
@pytest.mark.parametrize("variance", ["0.1", "2", "30.5"])
@pytest.mark.parametrize("x", [0, 1, -2, 5])
@pytest.mark.parametrize("dtype", [np.int64, object])
def test_gaussian_proposals_are_accepted_with_exact_probabilities(
    variance: str, x: int, path: Callable[..., Attempt], dtype: type
) -> None:
    law = DirectGaussian(Fraction(variance))
    scale = law._proposal.scale
    law.__dict__["_proposal"] = _Given(x, scale, dtype)
    outcomes = every_stream(path(law), 14, _DIGITS)
    assert outcomes.undecided < Fraction(1, 1000)
    exponent = Fraction(x * x) / (2 * law.variance) - abs(x) / scale + law.variance / (2 * scale**2)
    assert outcomes.allows(x, _exact(lambda: ball(-exponent).exp()))


@pytest.mark.parametrize("distance", [0, 3, 40, 99, 160, 1000])
def test_the_chance_of_a_gaussian_proposal_is_right_to_42_bits(distance: int) -> None:
    """direct_samplers.md counts on 2^-43, for noise of every width."""
    for variance in (Fraction(1, 7), Fraction(20), Fraction(10**4 + 1, 3), Fraction(2**900)):
        law = DirectGaussian(variance)
        at = distance * max(1, int(law._proposal.scale) // 40)
        chance = law._chance(at)
        assert chance is not None
        with precision(200):
            assert abs(law._exactly(at) - Ball(chance)) < Ball(2) ** -43
    assert DirectGaussian(Fraction(2**900))._chance(1 << 1001) is None


_KINDS: list[Callable[[Fraction], RejectionLaw]] = [Geometric, DiscreteLaplace, DiscreteGaussian.from_sigma]


@pytest.mark.statistical
@pytest.mark.parametrize("scale", ["0.6", "1", "3.7", "1000", str(2**70)])
@pytest.mark.parametrize("kind", _KINDS, ids=["geometric", "Laplace", "Gaussian"])
def test_first_draws_follow_the_law(kind: Callable[[Fraction], RejectionLaw], scale: str) -> None:
    """15 p-values more beside those that fit.py counts; the control is the law of 25 % more noise."""
    law, wider = kind(Fraction(scale)), kind(Fraction(scale) * Fraction(5, 4))
    first, source = law._direct(), entropy.current()
    assert first is not None
    samples = integer_array([first.draw(source) for _ in range(10_000)])
    assert p_value(samples, law) > ALARM
    assert p_value(samples, wider) < ALARM


def test_a_table_takes_over_and_a_stream_that_is_repeated_gives_the_same() -> None:
    """What is drawn follows from the law and the bits, whatever was drawn before."""
    digits, length = int.from_bytes(bytes(range(7, 256)) * 40), 8 * 249 * 40
    law = DiscreteLaplace("7/3")

    def drawn() -> list[int]:
        source = RecordedBits(digits, length)
        return [law._draw(source) for _ in range(120)]

    before = drawn()
    assert len(set(before)) > 5
    assert drawn() == before
    assert DiscreteLaplace("7/3")._first is law._first, "equal laws share their first draws"
    assert law._single is DiscreteLaplace("7/3")._single


def test_short_vectors_need_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    law = DiscreteGaussian("123.456")
    for _ in range(10):
        law.sample(10)
        assert law.sample(100).shape == (100,)
        assert law.sample((51, 5)).dtype == np.int64
        law.__dict__.pop("_single", None)  # of vectors of 10, which soon are single draws from a table
    monkeypatch.setattr(DiscreteGaussian, "_many", None)
    law.sample(100)
    assert "_single" not in law.__dict__
    with pytest.raises(TypeError, match="not callable"):
        law.sample(256)


class _Scripted(DirectGeometric):
    """Plays the rounds it was told, a batch at a time."""

    def _attempts(self, source: BitSource, count: int) -> Integers:
        asked, batches = self.__dict__["asked"], self.__dict__["batches"]
        asked.append(count)
        return integer_array(batches.pop(0))


def test_short_vectors_are_the_first_accepted_rounds_in_their_order() -> None:
    law = _Scripted(Fraction(1))
    far = 1 << 70
    law.__dict__.update(asked=[], batches=[[1, 2], [], [3, far, 5, 6], [7]])
    assert law.draw_many(RecordedBits(0, 0), 5).tolist() == [1, 2, 3, far, 5]
    assert law.__dict__["asked"] == [34, 30, 30]
    assert law.__dict__["batches"] == [[7]]
    assert law.draw_many(RecordedBits(0, 0), 0).tolist() == []


@pytest.mark.parametrize("bits", [3, 54, 55, 70])
def test_runs_that_leave_machine_integers_do_not_wrap(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run of 2^-180 goes so far."""
    law = DirectGeometric(Fraction(2) ** (bits + 1))
    assert law._bits == bits
    monkeypatch.setattr(DirectGeometric, "_all_runs", lambda self, source, count: np.full(count, 1 << 10))
    monkeypatch.setattr(DirectGeometric, "_runs", lambda self, source: 1 << 10)
    drawn = law._attempts(entropy.current(), 100)
    assert len(drawn) > 50
    assert all(x >> bits == 1 << 10 for x in drawn.tolist())
    assert (drawn.dtype == object) == (bits > 50)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", ["0.6", "3.7", "1000", str(2**54), str(2**70)])
@pytest.mark.parametrize("kind", _KINDS, ids=["geometric", "Laplace", "Gaussian"])
def test_short_vectors_follow_the_law(kind: Callable[[Fraction], RejectionLaw], scale: str) -> None:
    """15 p-values more beside those that fit.py counts; the control is the law of 25 % more noise."""
    law, wider = kind(Fraction(scale)), kind(Fraction(scale) * Fraction(5, 4))
    samples = np.concatenate([law.sample(200) for _ in range(50)])
    assert p_value(samples, law) > ALARM
    assert p_value(samples, wider) < ALARM
