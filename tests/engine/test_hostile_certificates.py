"""Certificates made to be expensive: each is accepted or refused with bounded work, and the sentence says the bound."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import dither as dp
from dither.engine import read_certificate
from dither.errors import CertificateError, ParameterError
from dither.events import (
    Composed,
    Either,
    Event,
    GaussianNoise,
    GroupOf,
    LaplaceNoise,
    PoissonSampled,
    RandomizedAnswer,
    Repeated,
    ShuffledReports,
    SmoothNoise,
    StaircaseNoise,
    Stated,
    TestAndRelease,
    TreeNoise,
    WithReplacementSampled,
    from_json,
    to_json,
)
from dither.mechanisms.certificate import digest, stated

ONE = Fraction(1)


def certificate(event: Event, epsilon: Any = 1, delta: Any = "1e-6") -> dict[str, Any]:
    """As a forger writes it: any event, any promise."""
    promise = dp.ApproxDP(epsilon, delta, adjacency=event.adjacency)
    says = {
        "dither_certificate": 1,
        "version": "1.0",
        "mechanism": "Gaussian",
        "unit": "unsaid" if event.adjacency is None else str(event.adjacency),
        "event": json.loads(to_json(event)),
        "guarantee": stated(promise),
    }
    return {**says, "digest": digest(says)}


def whole(variance: int) -> GaussianNoise:
    return GaussianNoise(variance=Fraction(variance), step=ONE)


def nested(event: Event, depth: int) -> Event:
    for _ in range(depth):
        event = PoissonSampled(event, Fraction(1, 2))
    return event


def verdict(says: dict[str, Any]) -> str:
    """Accepted, with its figures computed, or the part that is refused."""
    try:
        checked = dp.check_certificate(says)
    except CertificateError as error:
        return error.part
    return "accepted" if all(found >= 0 for found in checked.epsilons.values()) else "wrong"


HOSTILE: dict[str, Event] = {
    "200 Gaussians on the line": Composed(tuple(GaussianNoise(variance=Fraction(20_000 + at)) for at in range(200))),
    "200 Gaussians on the integers": Composed(tuple(whole(20_000 + at) for at in range(200))),
    "256 sampled Gaussians": Composed(
        tuple(PoissonSampled(GaussianNoise(variance=Fraction(20 + at)), Fraction(1, 100)) for at in range(256))
    ),
    "a lattice of 10^100 steps": LaplaceNoise(Fraction(10**100), Fraction(10**90), ONE),
    "a Gaussian lattice of 10^24 steps": GaussianNoise(
        variance=Fraction(10**24), sensitivity_squared=Fraction(10**40), step=ONE
    ),
    "a thousand million million times": Repeated(LaplaceNoise(Fraction(10**9), step=ONE), 10**18),
    "samples of samples": nested(LaplaceNoise(ONE, step=ONE), 20),
    "a tail of 300 digits": SmoothNoise("polynomial", Fraction(1, 10), Fraction(3), Fraction(10**300 + 1)),
    "a threshold of 10^33": TestAndRelease(
        LaplaceNoise(Fraction(10**30), step=ONE), Fraction(10**33), LaplaceNoise(ONE)
    ),
    "5,000 orders": Stated("RenyiDP", tuple(x for at in range(5000) for x in (Fraction(at + 2), Fraction(1, 10)))),
    "one of two, a thousand times": Repeated(Either(GaussianNoise(variance=Fraction(10)), whole(10)), 1000),
    "one of two, twenty different": Composed(
        tuple(Either(GaussianNoise(variance=Fraction(1000 + at)), whole(1000 + at)) for at in range(20))
    ),
    "10^17 answers": Composed(tuple(Repeated(RandomizedAnswer(Fraction(1, 2), 10**17 + at), 9) for at in range(99))),
    "99 staircases": Composed(tuple(Repeated(StaircaseNoise(ONE, Fraction(1, 3 + at)), 99) for at in range(99))),
    "10^12 shuffled reports": ShuffledReports(RandomizedAnswer(Fraction(1, 2)), 10**12),
    "10^9 shuffled reports, a million times": Repeated(ShuffledReports(LaplaceNoise(ONE), 10**9), 10**6),
    "a group of 1000 of bounded loss, a million times": Repeated(
        GroupOf(StaircaseNoise(ONE, Fraction(1, 3)), 1000), 10**6
    ),
    "a thousand draws with replacement, a million times": Repeated(
        WithReplacementSampled(StaircaseNoise(ONE, Fraction(1, 3)), 1000, 100), 10**6
    ),
    "a tree over 10^9 epochs": TreeNoise(variance=ONE, steps=10**9, participations=10**9),
    "40 smooth noises": Composed(tuple(SmoothNoise("laplace", Fraction(1, 10 + at), Fraction(30)) for at in range(40))),
}


@pytest.mark.parametrize("event", HOSTILE.values(), ids=list(HOSTILE))
def test_e66_expensive_certificates_are_decided(event: Event) -> None:
    """No time is asserted here; on the old code several of these took minutes, and one never ended."""
    for epsilon, delta in ((1, "1e-6"), ("1e-6", "1e-9")):
        assert verdict(certificate(event, epsilon, delta)) in ("accepted", "guarantee", "event")


def test_e66_many_different_releases_are_refused_with_the_cap() -> None:
    many = Composed(tuple(whole(20_000 + at) for at in range(257)))
    with pytest.raises(CertificateError, match=r"event: .*256 different releases are composed at most.* has 257"):
        dp.check_certificate(certificate(many))
    alike = Composed(tuple(GaussianNoise(variance=Fraction(10**6 + at)) for at in range(300)))
    assert dp.check_certificate(certificate(alike)).guarantee is not None


def test_e66_a_charge_of_many_different_releases_is_refused_with_the_cap(tmp_path: Any) -> None:
    from dither.ledger import Ledger

    ledger = Ledger(tmp_path / "x.ledger")
    ledger.open_account("x", dp.ApproxDP(10, "1e-3"))
    many = Composed(tuple(whole(20_000 + at) for at in range(257)))
    with pytest.raises(ParameterError, match="256 different releases"):
        ledger.charge("x", many, dp.ApproxDP(1, "1e-6"), "?")
    assert ledger.account("x").charges == 0
    ledger.close()


def test_e66_a_profile_of_many_different_releases_is_not_composed() -> None:
    many = Composed(tuple(whole(20_000 + at) for at in range(257)))
    says = certificate(many)
    says["guarantee"] = {"kind": "ProfileOf", "of": "event"}
    del says["digest"]
    assert dp.check_certificate({**says, "digest": digest(says)}).epsilons == {}


def test_e66_long_texts_are_refused_by_their_length() -> None:
    with pytest.raises(CertificateError, match="at most 2,000,000 characters"):
        read_certificate('{"a": "' + "x" * 2_000_000 + '"}')


def test_e66_a_repeated_key_among_many_is_found_in_one_pass() -> None:
    text = "{" + ",".join(f'"{at}":1' for at in range(150_000)) + ',"149999":1}'
    with pytest.raises(ParameterError, match="the key '149999' appears twice"):
        from_json(text)


def test_what_holds_is_still_accepted_near_its_bound() -> None:
    """Calibrated to the last digits, few and many: the one pass, and where needed the refined bracket, show it."""
    for count in (1, 2, 12):
        events = Composed(tuple(whole(4000 * count + at) for at in range(count)))
        exact = dp.compose([events]).delta(Fraction(1, 10))
        assert dp.check_certificate(certificate(events, "0.1", exact * (1 + 1e-9))).guarantee is not None
        with pytest.raises(CertificateError, match="not shown to cost at most"):
            dp.check_certificate(certificate(events, "0.1", exact * 0.9))
