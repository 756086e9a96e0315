"""Each number of the library that a claim looks at, bent by 5 % up and by 5 % down, turns that claim red.

What a claim looks at is traced, not listed: every function, method or property of the library that code of a claim
calls itself. A new call joins by being made. What 5 % cannot show stands in docs/bent_library.md, with its slack.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dither.audit import claims
from dither.audit.claims import Claim, Evidence, Figure
from dither.exact import Ball
from dither.mechanisms import propose_test_release
from dither.mechanisms.tested_calibration import Split, gaussian_textbook
from tests.claims.bending import bent, looked_at, noticed, turns_red

PAGE = Path(__file__).parents[2] / "docs" / "bent_library.md"
BENDS = {"up": Fraction(105, 100), "down": Fraction(95, 100)}
REFUSES = {
    ("C5", "Gaussian.__init__"): "epsilon",
    ("C6", "Gaussian.__init__"): "epsilon",
    ("C26", "Gaussian.__init__"): "delta",
    ("C26", "Histogram.__init__"): "delta",
}
"""Constructors that a claim asks whether they refuse, and the argument that is bent."""
NUMBERS = (int, float, Fraction, Ball, np.ndarray, np.generic)
EVER = Fraction(100)
"""How far is far: a claim that stays green at so many times as much never turns red."""


@dataclass(frozen=True)
class Green:
    """A row of the page: a bend that its claim does not show."""

    claim: str
    name: str
    way: str
    red_from: str

    @property
    def is_no_number(self) -> bool:
        return self.red_from == "no number"

    def farther(self) -> list[tuple[Fraction, bool]]:
        """Bends beyond 5 %, and whether each is red: a little less and a little more than what was measured."""
        if self.red_from == "never":
            return [(EVER if self.way == "up" else 1 / EVER, False)]
        measured = Fraction(self.red_from) - 1
        return [(1 + measured * Fraction(97, 100), False), (1 + measured * Fraction(103, 100), True)]


def listed() -> list[Green]:
    row = re.compile(r"^\| \[(\w+)\]\(claims\.md#\w+\) \| `([^`]+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
    return [Green(*found.groups()) for found in row.finditer(PAGE.read_text(encoding="utf-8"))]


LISTED = listed()
AT_NIGHT = ("C11", "C13", "C19", "C20", "C21", "C30", "C31")
"""Together they take more than twice as long as all others."""


@pytest.mark.parametrize(
    "claim",
    [pytest.param(each, marks=[pytest.mark.nightly] * (each.id in AT_NIGHT), id=each.id) for each in claims.ALL],
)
def test_a_bent_library_is_noticed(claim: Claim) -> None:
    found = looked_at(claim)
    assert found, f"{claim.id} asks nothing of the library"
    known = {row.name for row in LISTED if row.claim == claim.id}
    assert known <= {name for _, name in found}, "what is not called needs no row"
    for (file, name), answers in sorted(found.items()):
        rows = {row.way: row for row in LISTED if (row.claim, row.name) == (claim.id, name)}
        if any(row.is_no_number for row in rows.values()):
            assert not any(issubclass(answer, NUMBERS) for answer in answers), f"{name} answers with a number"
            continue
        for way, by in BENDS.items():
            red = noticed(claim, file, name, by, REFUSES.get((claim.id, name)))
            assert red == (way not in rows), f"{claim.id}, {name} bent {way} by 5 %: red is {red}"


@pytest.mark.parametrize(
    "row", [row for row in LISTED if not row.is_no_number], ids=lambda row: f"{row.name} {row.way}"
)
def test_the_slack_is_as_measured(row: Green) -> None:
    claim = claims.find(row.claim)
    (file,) = (file for file, name in looked_at(claim) if name == row.name)
    for by, is_red in row.farther():
        assert noticed(claim, file, row.name, by) == is_red, by


QUICK = [
    ("C1", "guarantees/finite.py", "tail_condition"),
    ("C9", "mechanisms/randomized_response.py", "RandomizedResponse.estimate"),
    ("C12", "mechanisms/selection.py", "Exponential.probabilities"),
    ("C14", "mechanisms/selection.py", "_Selecting.probabilities"),
    ("C16", "mechanisms/mechanism.py", "Mechanism.error"),
    ("C20", "mechanisms/propose_test_release.py", "ProposeTestRelease.expected_error"),
    ("C20", "mechanisms/propose_test_release.py", "ProposeTestRelease.split"),
    ("C20", "pairs/tested.py", "TestedPair.profile"),
    ("C27", "guarantees/attacker.py", "largest_posterior"),
    ("C28", "guarantees/guarantee.py", "Guarantee.tv"),
    ("C32", "noise/tail_bounds.py", "normal_tail_bound"),
]


@pytest.mark.parametrize("way", BENDS)
@pytest.mark.parametrize(("id", "file", "name"), QUICK)
def test_what_once_stayed_green_is_noticed(id: str, file: str, name: str, way: str) -> None:
    """On every commit: claims that were blind to what they speak of."""
    assert noticed(claims.find(id), file, name, BENDS[way])


LESS: dict[str, tuple[tuple[str, str], Callable[[Fraction, Fraction], Split]]] = {
    "T = ln(1/δ)/ε₁": (
        ("laplace", "textbook"),
        lambda epsilon, delta: Split(math.floor(-math.log(delta) / (epsilon / 2)), epsilon / 2, epsilon / 2),
    ),
    "10 % less Gaussian noise on the answer": (
        ("gaussian", "textbook"),
        lambda epsilon, delta: replace(
            gaussian_textbook(epsilon, delta), answer=gaussian_textbook(epsilon, delta).answer / Fraction(9, 10) ** 2
        ),
    ),
    "10 % less Gaussian noise on the distance": (
        ("gaussian", "textbook"),
        lambda epsilon, delta: replace(
            gaussian_textbook(epsilon, delta), test=gaussian_textbook(epsilon, delta).test * Fraction(9, 10) ** 2
        ),
    ),
}


@pytest.mark.parametrize("name", LESS)
def test_a_test_with_too_little_noise_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them left C20 green once."""
    rule, split = LESS[name]
    monkeypatch.setitem(propose_test_release._RULES, rule, split)
    assert turns_red(claims.find("C20"))


def test_the_bend_itself_bends() -> None:
    """A control: an unbent library is green, and numbers of all kinds are bent."""
    assert not turns_red(claims.find("C4"))
    assert bent(1.0, BENDS["up"]) == pytest.approx(1.05)
    assert bent((Fraction(1), True, 30), BENDS["down"]) == (Fraction(95, 100), False, 28)


def test_an_error_is_no_verdict() -> None:
    """A claim that cannot be computed has not noticed anything."""

    numbers: dict[str, Fraction] = {}

    def broken() -> Iterator[Evidence]:
        yield Figure("of nothing", numbers["of no claim"])

    with pytest.raises(KeyError):
        turns_red(Claim("X1", "nowhere", "A claim.", "x", broken))


def test_what_is_listed_is_a_claim() -> None:
    """A claim that is gone, or never was, exempts nothing; every row of the page is read."""
    assert {row.claim for row in LISTED} <= {claim.id for claim in claims.ALL}
    assert len(LISTED) == len(re.findall(r"^\| \[", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)) > 0
    assert {row.way for row in LISTED} <= {"both ways", *BENDS}
