"""How results reach the pictures that show them, though these stand above them.

Guarantees, releases and plans can draw themselves; the drawing is done by `dither.plots`, which imports all of them.
So that no package imports upwards, the top hands `plots` down: `dither/__init__.py` says how it is loaded, and it is
loaded when something is first drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

__all__ = ["Views", "views"]


@dataclass
class Views:
    """The modules that show results; each is loaded when it is first used."""

    _loaders: dict[str, Callable[[], ModuleType]] = field(default_factory=dict)

    def provide(self, **loaders: Callable[[], ModuleType]) -> None:
        """Hand modules down. Called once, by the package itself."""
        self._loaders.update(loaders)

    @property
    def plots(self) -> Any:
        """Pictures and reports: `dither.plots`."""
        return self._loaders["plots"]()

    @property
    def html(self) -> Any:
        """Tables and sentences, as text and for notebooks: `dither.plots.html`."""
        return self._loaders["html"]()


views = Views()
