"""Names of files as DuckDB must be given them: it takes every name for a pattern.

A file may be called `visits[1].csv`. As a pattern that is another file, and `visits*.csv` is several: rows would be
counted twice, and a person have more than the limits say. In a name that is written here each sign of a pattern stands
for itself, as a class of one sign, so the name matches one path and no other.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from dither.errors import ParameterError

__all__ = ["exact"]

_SIGNS: Final = frozenset("*?[")


def exact(path: Path) -> str:
    """The pattern that matches this absolute path alone."""
    name = str(path)
    if os.sep == "/" and "\\" in name:
        raise ParameterError(
            f"the path {name!r} has a backslash, which DuckDB takes for a separator of folders. Rename it."
        )
    try:
        name.encode()
    except UnicodeEncodeError:  # the bytes of the name are no text
        is_text = False
    else:
        is_text = True
    if not is_text:
        raise ParameterError(f"the name of the file {name!r} is not UTF-8. Rename it.")
    return "".join(f"[{sign}]" if sign in _SIGNS else sign for sign in name)
