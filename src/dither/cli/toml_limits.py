"""Limits written into the [unit] of a description; all else stays as it was."""

from __future__ import annotations

import re
from pathlib import Path

from dither.engine.suggestion import Suggestion
from dither.errors import ParameterError

__all__ = ["with_limits", "write_limits"]

_SECTION = re.compile(r"\s*\[")


def write_limits(file: Path, found: Suggestion) -> None:
    """Write the limits of a suggestion into a description."""
    entries = ", ".join(str(entry.number) for entry in found.entries)
    names = ("max_groups", "max_rows_per_group")
    limits = {name: (found.unit.stated(name), f"suggested: entry {entries} of the ledger") for name in names}
    try:
        file.write_text(with_limits(file.read_text(encoding="utf-8"), limits), encoding="utf-8")
    except OSError:
        raise ParameterError(
            f"the limits cannot be written to {str(file)!r}; they were paid for. Write them yourself: "
            + ", ".join(f"{name} = {limit}" for name, (limit, _) in limits.items())
        ) from None


def with_limits(text: str, limits: dict[str, tuple[int, str]]) -> str:
    """The text with these keys in its section [unit], in the place of what stood there, in a comment or not."""
    lines = text.split("\n")
    first = next(at for at, line in enumerate(lines) if re.match(r"\s*\[\s*unit\s*\]", line))
    last = next((at for at in range(first + 1, len(lines)) if _SECTION.match(lines[at])), len(lines))
    kept = [line for line in lines[first + 1 : last] if not re.match(rf"\s*#?\s*({'|'.join(limits)})\s*=", line)]
    while kept and not kept[-1].strip():
        kept.pop()
    made = [f"{name} = {limit}  # {words}" for name, (limit, words) in limits.items()]
    return "\n".join([*lines[: first + 1], *kept, *made, "", *lines[last:]])
