"""Which mechanisms there are, so that none is forgotten."""

from __future__ import annotations

import inspect
from typing import Any

import dither.mechanisms
from dither.mechanisms import Mechanism

__all__ = ["names_of_mechanisms"]


def names_of_mechanisms() -> set[str]:
    """All classes in dither that can be built as a mechanism, and all that are public."""
    public = {found for found in vars(dither.mechanisms).values() if inspect.isclass(found)}
    wanted = _below(Mechanism) | {found for found in public if issubclass(found, Mechanism) and found is not Mechanism}
    return {kind.__name__ for kind in wanted}


def _below(kind: type[Any]) -> set[type[Any]]:
    found = {each for child in kind.__subclasses__() for each in (child, *_below(child))}
    return {each for each in found if each.__module__.startswith("dither.") and not inspect.isabstract(each)}
