"""The text of a question in the ledger: what was asked and who is protected, so written that they come apart one way.

An entry holds "question; unit". A text literal, or a name, may hold "; " as well, so the unit is written without any
semicolon: the last "; " stands before it, whatever the question says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["aggregates_text", "charged_text", "in_quotes", "question_and_unit"]

_SEPARATOR: Final = "; "
_ESCAPES: Final = {"\\": "\\\\", ";": "\\x3b"}
_MEANT: Final = {written: meant for meant, written in _ESCAPES.items()}


def charged_text(question: str, unit: str) -> str:
    r"""Both as one text for an entry of the ledger.

    >>> charged_text("n = count()", "add or remove one person (by id)")
    'n = count(); add or remove one person (by id)'
    >>> question_and_unit(charged_text("where (city == 'a; b')", "one person (by c; d)"))
    ("where (city == 'a; b')", 'one person (by c; d)')
    """
    written = re.sub(r"[;\\]", lambda found: _ESCAPES[found[0]], unit)
    return f"{question}{_SEPARATOR}{written}"


def question_and_unit(text: str) -> tuple[str, str]:
    """What `charged_text` was given; no other question and unit have this text."""
    question, _, unit = text.rpartition(_SEPARATOR)
    return question, re.sub(r"\\\\|\\x3b", lambda found: _MEANT[found[0]], unit)


def in_quotes(name: str) -> str:
    """A name as a question says it: as it is, or in quotes where it could be read as other words of the question.

    >>> in_quotes("spend"), in_quotes("spend = count(), n")
    ('spend', "'spend = count(), n'")
    """
    return name if name.isidentifier() else repr(name)


def aggregates_text(aggregates: Mapping[str, object]) -> str:
    """What is asked of each group, as a question says it."""
    return ", ".join(f"{in_quotes(name)} = {aggregate}" for name, aggregate in aggregates.items())
