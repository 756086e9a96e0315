"""Ibis with the compiler of one engine: its package of compilers would load those of all twenty.

They take a third of the time in which Ibis is loaded, which a short command feels. The package that takes the place of
`ibis.backends.sql.compilers` loads each compiler when it is asked for, under the same names; everything else is Ibis's.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any, Final

__all__ = ["load_compilers_when_asked"]

_PACKAGE: Final = "ibis.backends.sql.compilers"


class _Compilers(ModuleType):
    """The package, whose modules and classes are found when they are looked up."""

    def __getattr__(self, name: str) -> Any:
        file = f"{_PACKAGE}.{name.removesuffix('Compiler').lower()}"
        if name.startswith("__") or importlib.util.find_spec(file) is None:
            raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")
        module = importlib.import_module(file)
        return getattr(module, name) if name.endswith("Compiler") else module


def load_compilers_when_asked() -> None:
    """Put the package in place, unless Ibis has loaded its own."""
    if _PACKAGE in sys.modules:
        return
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.submodule_search_locations is None:  # another Ibis, which loads what it likes
        return
    package = _Compilers(_PACKAGE)
    package.__spec__ = spec
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[_PACKAGE] = package
    importlib.import_module("ibis.backends.sql").compilers = package  # type: ignore[attr-defined]
