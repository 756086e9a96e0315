"""The web stack is an extra: what is missing is named before anything is opened."""

from __future__ import annotations

from types import ModuleType

from dither.errors import MissingPackage

__all__ = ["application"]


def application() -> ModuleType:
    """`dither.web.app`."""
    try:
        from dither.web import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "dither":
            raise
        raise MissingPackage("the service needs more packages. Install them: pip install 'dither[server]'.") from None
    return app
