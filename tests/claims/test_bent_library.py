"""Each number of the library that a claim looks at, bent by 5 %, turns that claim red.

What a claim looks at is traced, not listed: every function, method or property of the library that code of a claim
calls itself. A new call joins by being made. What 5 % cannot show stands in `SLACK`, with the reason.
"""

import copy
import math
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import dither
from dither.audit import claims
from dither.audit.claims import Claim, Point
from dither.exact import Ball, precision
from dither.mechanisms import propose_test_release
from dither.mechanisms.tested_calibration import Split, gaussian_textbook

ROOT = Path(dither.__file__).parent
CLAIMS, NOT_LOOKED_AT = "audit/claims/", ("audit/", "exact/", "errors.py", "adjacency.py", "views.py")
BENDS = (Fraction(105, 100), Fraction(95, 100))
BITS = 192
FIELDS = ("scale", "variance", "keep", "square", "rho", "epsilon", "delta", "mu", "threshold")
"""Where a constructor keeps what it was calibrated to."""

BUILDERS = {
    "compose": "a composition; its epsilon and delta are bent by themselves",
    "GaussianRoute.best": "a route; its error is asked",
    "RandomizedResponse.guarantee": "a guarantee; its epsilon is bent by itself",
    "PureDP.__init__": "a guarantee; what it answers is bent by itself",
    "ApproxDP.__init__": "a guarantee; what it answers is bent by itself",
    "GaussianDP.__init__": "a guarantee; what it answers is bent by itself",
    "Histogram.__init__": "keeps its noise in a mechanism of its own, of which the scale is compared",
    "Gaussian.__init__": "its variance is compared in C29; elsewhere it is asked whether it refuses",
    "_Selecting.__init__": "its scale is compared in C12; elsewhere it is asked for bounds, which are bent",
    "SparseVector.__init__": "its event is composed, and the ε of that is bent",
    "SparseVector.event": "an event; its cost is bent by itself",
    "SmoothSensitivity.__init__": "its scale, smoothness and mean error are bent by themselves",
    "Workload.marginals": "a workload; its sensitivities are bent by themselves",
    "Workload.matrix": "a workload; its sensitivities are bent by themselves",
    "Workload.prefix": "a workload; its sensitivities are bent by themselves",
    "Pieces.of": "pieces; their scores and weights are asked",
    "Scores.of": "scores; their gaps and weights are asked",
}
"""What gives no number itself."""

SLACK: dict[tuple[str, str], str] = {
    ("D5", "Law.pmf"): "only ratios of probabilities are used",
    ("D6", "Law.pmf"): "only ratios of probabilities are used",
    ("D6", "MetricExponential.probabilities"): "only ratios of probabilities are used",
    ("C30", "Law.cdf"): "only ratios of probabilities are used",
    ("C30", "Law.pmf"): "only ratios of probabilities are used",
    ("C30", "Law.tail"): "only ratios of probabilities are used",
    ("C2", "Law.pmf"): "only ratios of probabilities are used",
    ("C10", "Law.pmf"): "only ratios of probabilities are used",
    ("C12", "Scores.weight"): "only ratios of weights are used",
    ("C34", "hockey_stick"): "the claim is that it is far more than 1/10; compared in D2",
    ("C1", "LaplacePair.profile"): "the theorem has slack there; the profile itself is compared in C2",
    ("C5", "largest_mu_squared"): "a figure beside the claim; compared in C29",
    ("C6", "largest_mu_squared"): "a figure beside the claim; compared in C29",
    ("C29", "largest_mu_squared"): "both sides of the comparison are made of it; tests/mechanisms compare it",
    ("C7", "GaussianPair.profile"): "the theorem has slack of 5.68 at least; the profile itself is compared in D3",
    ("C8", "GaussianPair.profile"): "the claim is that it is positive",
    ("C19", "worst_profile"): "the theorem has slack: 0.03 to 4 % of δ is used; (a) and the tight noise are compared",
    ("C20", "GaussianPair.profile"): "the theorem has slack of 6.59 at least; the profile itself is compared in D3",
    ("C20", "LaplacePair.profile"): "the theorem has slack of 6.59 at least; the profile itself is compared in C2",
    ("C20", "DiscreteGaussianPair.tail"): "the test is calibrated by it, so that both sides move alike",
    ("C20", "distance_to_sensitivity"): "the claim is by how much it moves; compared in C17",
    ("C21", "Estimate.interval"): "the interval at 1 − 1e-9 is wide; its ends are tested in tests/estimators",
    ("C21", "ProposeTestRelease.needed_distance"): "the theorem has slack of 1.6 there; compared in C20",
    ("C21", "distance_to_sensitivity"): "the scale is one of two to an octave; compared in C17",
    ("C28", "Route.error"): "the theorem has slack; the error of a route is checked in tests/adaptive",
    ("C28", "printed"): "a figure beside the claim",
    ("C29", "Composition.epsilon"): "composition is far cheaper than kε; compared in C3",
}
"""What 5 % cannot show, and why."""


@cache
def place(code: CodeType) -> str:
    """The file within the library, or nothing."""
    path = Path(code.co_filename)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""


def looked_at(claim: Claim) -> set[tuple[str, str]]:
    """The file and the name of all that a claim calls of the library itself."""
    found: set[tuple[str, str]] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_back and place(frame.f_back.f_code).startswith(CLAIMS):
            here = place(frame.f_code)
            if here and not here.startswith(NOT_LOOKED_AT) and "<" not in frame.f_code.co_qualname:
                found.add((here, frame.f_code.co_qualname))

    forget()
    sys.setprofile(watch)
    try:
        claim.check()
    finally:
        sys.setprofile(None)
    return found


def forget() -> None:
    """Empty all caches of the library: what was computed with a bent number is not to stay."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("dither"):
            for each in list(vars(module).values()):
                if hasattr(each, "cache_clear") and getattr(each, "__module__", "").startswith("dither"):
                    each.cache_clear()
                for inner in vars(each).values() if isinstance(each, type) else ():
                    kept = getattr(inner, "_compute", getattr(inner, "__func__", inner))
                    if hasattr(kept, "cache_clear"):
                        kept.cache_clear()


def bent(value: Any, by: Fraction) -> Any:
    """A number, or all numbers of an answer, times `by`; a yes for a no."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + (1 if by > 1 else -1) * max(1, round(abs(value) / 20))
    if isinstance(value, Fraction):
        return value * by
    if isinstance(value, float):
        return value * float(by) if math.isfinite(value) else value
    if isinstance(value, Ball):
        return value * Ball(by.numerator) / by.denominator
    if isinstance(value, np.ndarray):
        return value * float(by)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(bent(each, by) for each in value))
    if isinstance(value, list | tuple):
        return type(value)(bent(each, by) for each in value)
    if isinstance(value, dict):
        return {key: bent(each, by) for key, each in value.items()}
    return _bent_fields(value, by)


def _bent_fields(value: Any, by: Fraction) -> Any:
    """An object whose fields are the answer, such as an estimate or a loss law."""
    if is_dataclass(value) and not isinstance(value, type):
        value = copy.copy(value)  # it may be kept in a cache
        for each in fields(value):
            kept = getattr(value, each.name)
            if isinstance(kept, float | Fraction | np.ndarray | Ball | tuple) or each.name == "value":
                object.__setattr__(value, each.name, bent(kept, by))
    return value


def bend(patch: pytest.MonkeyPatch, file: str, name: str, by: Fraction) -> None:
    """Replace one function, method or property of the library, wherever it is known."""
    module = sys.modules["dither." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")]
    *owners, last = name.split(".")
    if not owners:
        kept: Any = vars(module)[last]
        for each in list(sys.modules.values()):
            known: Any = vars(each).get(last)
            if getattr(each, "__name__", "").startswith("dither") and known is kept:
                patch.setattr(each, last, lambda *args, **kw: bent(kept(*args, **kw), by))
        return
    owner = vars(module)[owners[0]]
    kept = vars(owner)[last]
    if last == "__init__":
        patch.setattr(owner, last, calibrated_otherwise(kept, by))
    elif isinstance(kept, classmethod):
        patch.setattr(owner, last, classmethod(lambda cls, *args, **kw: bent(kept.__func__(cls, *args, **kw), by)))
    elif isinstance(kept, staticmethod):
        patch.setattr(owner, last, staticmethod(lambda *args, **kw: bent(kept.__func__(*args, **kw), by)))
    elif callable(kept):
        patch.setattr(owner, last, lambda self, *args, **kw: bent(kept(self, *args, **kw), by))
    else:
        patch.setattr(owner, last, property(lambda self: bent(kept.__get__(self, type(self)), by)), raising=False)


def calibrated_otherwise(kept: Callable[..., None], by: Fraction) -> Callable[..., None]:
    def build(self: Any, *args: Any, **kw: Any) -> None:
        kept(self, *args, **kw)
        for name in FIELDS:
            value = self.__dict__.get(name) if hasattr(self, "__dict__") else getattr(self, name, None)
            if isinstance(value, Fraction):
                object.__setattr__(self, name, value * by)

    return build


def turns_red(claim: Claim) -> bool:
    """Whether a point does not hold, or the claim cannot even be computed."""
    with precision(BITS):
        try:
            return any(isinstance(each, Point) and not each.holds() for each in claim.evidence())
        except Exception:  # a library that is bent may refuse what it did not
            return True


def noticed(claim: Claim, file: str, name: str) -> bool:
    for by in BENDS:
        with pytest.MonkeyPatch.context() as patch:
            forget()
            bend(patch, file, name, by)
            red = turns_red(claim)
        forget()
        if red:
            return True
    return False


@pytest.mark.nightly
@pytest.mark.parametrize("claim", claims.ALL, ids=lambda claim: claim.id)
def test_a_bent_library_is_noticed(claim: Claim) -> None:
    for file, name in sorted(looked_at(claim)):
        if name not in BUILDERS and (claim.id, name) not in SLACK:
            assert noticed(claim, file, name), f"{claim.id} stays green with {name} bent by 5 %"


QUICK = [
    ("C1", "guarantees/finite.py", "tail_condition"),
    ("C9", "mechanisms/randomized_response.py", "RandomizedResponse.estimate"),
    ("C12", "mechanisms/selection.py", "Exponential.probabilities"),
    ("C14", "mechanisms/selection.py", "_Selecting.probabilities"),
    ("C16", "mechanisms/mechanism.py", "Mechanism.error"),
    ("C20", "mechanisms/propose_test_release.py", "ProposeTestRelease.expected_error"),
    ("C20", "mechanisms/propose_test_release.py", "ProposeTestRelease.split"),
    ("C27", "guarantees/attacker.py", "largest_posterior"),
    ("C28", "guarantees/guarantee.py", "Guarantee.tv"),
    ("C32", "noise/tail_bounds.py", "normal_tail_bound"),
]


@pytest.mark.parametrize(("id", "file", "name"), QUICK)
def test_what_once_stayed_green_is_noticed(id: str, file: str, name: str) -> None:
    """On every commit: claims that were blind to what they speak of."""
    assert noticed(claims.find(id), file, name)


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
    assert bent(1.0, BENDS[0]) == pytest.approx(1.05)
    assert bent((Fraction(1), True, 30), BENDS[1]) == (Fraction(95, 100), False, 28)


def test_what_is_exempt_exists() -> None:
    """A claim that is gone, or never was, exempts nothing."""
    assert {id for id, _ in SLACK} <= {claim.id for claim in claims.ALL}
    assert all(reason for reason in (*SLACK.values(), *BUILDERS.values()))
