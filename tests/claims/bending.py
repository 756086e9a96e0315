"""One number of the library at a time, bent in memory: what a claim calls, and whether it notices."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import dither
from dither.audit.claims import Claim, Point
from dither.exact import Ball, once, precision

ROOT = Path(dither.__file__).parent
CLAIMS, NOT_LOOKED_AT = "audit/claims/", ("audit/", "exact/", "errors.py", "adjacency.py", "views.py")
ONCE = "exact/frozen.py"
BITS = 192
KEPT = (
    *("scale", "variance", "keep", "square", "rho", "mu", "mu_squared", "threshold"),
    *("epsilon", "stated_epsilon", "comparison_epsilon", "delta", "stated_delta"),
)
"""Where a constructor keeps what it was given or calibrated to."""


@cache
def place(file: str) -> str:
    """The path within the library, or nothing."""
    path = Path(file)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""


def looked_at(claim: Claim) -> dict[tuple[str, str], set[type]]:
    """The file and the name of all that a claim calls of the library itself, with the types of the answers.

    Finalizers are called by the garbage collector, in the middle of anything.
    """
    found: dict[tuple[str, str], set[type]] = {}

    def watch(frame: FrameType, event: str, answer: Any) -> None:
        if event == "return" and (caller := _caller(frame)) and place(caller.f_code.co_filename).startswith(CLAIMS):
            here = place(frame.f_code.co_filename)
            name = frame.f_code.co_qualname
            if here and not here.startswith(NOT_LOOKED_AT) and "<" not in name and not name.endswith(".__del__"):
                found.setdefault((here, name), set()).add(type(answer))

    forget()
    sys.setprofile(watch)
    try:
        claim.check()
    finally:
        sys.setprofile(None)
    return found


def _caller(frame: FrameType) -> FrameType | None:
    """Who asked, also for a property that is computed once, which `once` calls."""
    caller = frame.f_back
    return caller.f_back if caller and place(caller.f_code.co_filename) == ONCE else caller


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
        more = round(abs(value) * abs(by - 1))
        return value + (1 if by > 1 else -1) * max(1, more)
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
            if isinstance(kept, float | Fraction | np.ndarray | Ball | tuple) or each.name in (
                "value",
                "pair",
                "scores",
            ):
                object.__setattr__(value, each.name, bent(kept, by))
    return value


def bend(patch: pytest.MonkeyPatch, file: str, name: str, by: Fraction, given: str | None = None) -> None:
    """Replace one function, method or property of the library, wherever it is known.

    A constructor keeps another number than it should; with `given` it is that argument which is another one.
    """
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
        patch.setattr(owner, last, _asked_otherwise(kept, by, given) if given else _keeps_otherwise(kept, by))
    elif isinstance(kept, classmethod):
        patch.setattr(owner, last, classmethod(lambda cls, *args, **kw: bent(kept.__func__(cls, *args, **kw), by)))
    elif isinstance(kept, staticmethod):
        patch.setattr(owner, last, staticmethod(lambda *args, **kw: bent(kept.__func__(*args, **kw), by)))
    elif callable(kept):
        patch.setattr(owner, last, lambda self, *args, **kw: bent(kept(self, *args, **kw), by))
    else:
        patch.setattr(owner, last, property(lambda self: bent(kept.__get__(self, type(self)), by)), raising=False)


def _keeps_otherwise(kept: Callable[..., None], by: Fraction) -> Callable[..., None]:
    def build(self: Any, *args: Any, **kw: Any) -> None:
        kept(self, *args, **kw)
        for name in list(getattr(self, "__dict__", ())):  # what was computed with the number as it was
            if any(isinstance(vars(each).get(name), once) for each in type(self).__mro__):
                del self.__dict__[name]
        for name in KEPT:
            value = self.__dict__.get(name) if hasattr(self, "__dict__") else getattr(self, name, None)
            if isinstance(value, Fraction):
                # Part of what is kept may be a probability, and stays below 1.
                object.__setattr__(self, name, min(value * by, (1 + value) / 2) if name == "keep" else value * by)

    return build


def _asked_otherwise(kept: Callable[..., None], by: Fraction, given: str) -> Callable[..., None]:
    def build(self: Any, *args: Any, **kw: Any) -> None:
        kept(self, *args, **{**kw, given: Fraction(kw[given]) * by})

    return build


def turns_red(claim: Claim) -> bool:
    """Whether a point does not hold. A claim that cannot be computed says nothing: its error is raised."""
    with precision(BITS):
        return any(isinstance(each, Point) and not each.holds() for each in claim.evidence())


def noticed(claim: Claim, file: str, name: str, by: Fraction, given: str | None = None) -> bool:
    """Whether a claim is red in a library with one number bent."""
    with pytest.MonkeyPatch.context() as patch:
        forget()
        bend(patch, file, name, by, given)
        try:
            return turns_red(claim)
        finally:
            forget()
