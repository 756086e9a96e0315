"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

__all__ = ["JSON"]

JSON: TypeAlias = Annotated[bool, typer.Option("--json", help="The result as JSON on the standard output.")]
