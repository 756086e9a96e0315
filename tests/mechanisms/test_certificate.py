"""Certificates: plain JSON that a stranger can read, and from which the cost can be computed again."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, person
from dither.events import from_json
from dither.guarantees import Guarantee
from dither.mechanisms import Gaussian, Histogram, Laplace, Release
from dither.pairs import ProfileOf
from tests.mechanisms.mechanism_case import Case
from tests.mechanisms.mechanism_cases import CASES


def stated(guarantee: Guarantee) -> Any:
    """The guarantee in a certificate, after a journey as text."""
    m = Laplace(sensitivity=1, epsilon=1)
    return json.loads(json.dumps(Release(1, m.event, guarantee, m).certificate()))["guarantee"]


@pytest.mark.parametrize(
    ("guarantee", "says"),
    [
        (dp.PureDP("0.1"), {"kind": "PureDP", "epsilon": "1/10"}),
        (dp.ApproxDP(1, "1e-6"), {"kind": "ApproxDP", "epsilon": "1", "delta": "1/1000000"}),
        (dp.ZCDP("0.5"), {"kind": "ZCDP", "rho": "1/2"}),
        (dp.GaussianDP.from_square(Fraction(2)), {"kind": "GaussianDP", "mu_squared": "2"}),
        (dp.TVStable("0.25"), {"kind": "TVStable", "tv": "1/4"}),
        (dp.RenyiDP({2: "0.5", 3: 1}), {"kind": "RenyiDP", "points": [["2", "1/2"], ["3", "1"]]}),
    ],
    ids=str,
)
def test_a_guarantee_is_its_kind_and_its_exact_parameters(guarantee: Guarantee, says: Any) -> None:
    assert stated(guarantee) == says


def test_who_is_protected_stands_in_the_words_of_the_event() -> None:
    release = Histogram(bins=2, epsilon=1, adjacency=person("user", max_records=3)).release([1, 2])
    certificate = release.certificate()
    assert certificate["guarantee"]["adjacency"] == certificate["event"]["adjacency"]
    assert certificate["guarantee"]["adjacency"]["column"] == "user"
    assert stated(dp.PureDP(1, adjacency=ADD_REMOVE))["adjacency"] == {"protects": "record", "change": "add or remove"}


def test_a_profile_is_that_of_the_event() -> None:
    found = Gaussian(sensitivity=1, sigma=3).release(1).certificate()["guarantee"]
    assert found == {"kind": "ProfileOf", "of": "event"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_stranger_recomputes_the_cost_from_the_certificate(case: Case) -> None:
    release = case.release(case.make(), case.value)
    certificate = json.loads(json.dumps(release.certificate()))
    says = certificate["guarantee"]
    again = rebuilt(says, certificate["event"])
    for epsilon in case.epsilons:
        assert again.delta(epsilon) == pytest.approx(release.guarantee.delta(epsilon), rel=1e-6, abs=1e-15)
    assert (says["kind"] == "ProfileOf") == isinstance(release.guarantee, ProfileOf)


def rebuilt(says: dict[str, Any], event: dict[str, Any]) -> Any:
    """The guarantee, by someone who has the certificate only."""
    if says["kind"] == "ProfileOf":
        return dp.compose([from_json(json.dumps(event))])
    rest = {name: value for name, value in says.items() if name not in ("kind", "adjacency")}
    if says["kind"] == "GaussianDP":
        return dp.GaussianDP.from_square(Fraction(rest["mu_squared"]))
    if says["kind"] == "RenyiDP":
        return dp.RenyiDP(dict(rest["points"]))
    return getattr(dp, says["kind"])(**rest)
