"""What is read off a text besides the text as a whole.

A text with a random part, such as a number of the run, is another one in every run. Its length, some of its letters and
the words at both ends may tell the input all the same.
"""

from __future__ import annotations

import re

__all__ = ["parts_of"]

_SHORT, _SHORT_INSIDE = 3, 12
"""Texts up to so many letters are few, or are taken for names: where they are all of an answer, and where a part."""
_FIRST_LETTERS, _LAST_LETTERS = 12, 4
_WORDS = 3
"""At each end."""
_WORD = re.compile(r"""[^\s,;:=|/()\[\]{}"']+""")
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}(\.[0-9]{1,15})?%?")
_MOST_LETTERS = 4096


def parts_of(text: str | bytes, depth: int) -> list[float | str]:
    """Always as many: the length, counts of letters, letters by their place, and words, which may be numbers.

    >>> parts_of("no", depth=0)
    []
    >>> parts_of("run 7f3a: 12 people", depth=0)[:5]
    [19.0, 4.0, 4.0, 11.0, 0.0]
    >>> parts_of("run 7f3a: 12 people", depth=0)[-6:]
    ["'run'", "'7f3a'", 12.0, "'7f3a'", 12.0, "'people'"]
    """
    if len(text) <= (_SHORT_INSIDE if depth else _SHORT):
        return []
    shown = (text if isinstance(text, str) else text.decode("latin-1"))[:_MOST_LETTERS]
    words: list[str] = _WORD.findall(shown)
    counts = (len(words), *(sum(map(kind, shown)) for kind in (str.isdigit, str.isalpha, str.isupper)))
    letters = [shown[:_FIRST_LETTERS].ljust(_FIRST_LETTERS, "\0"), shown[-_LAST_LETTERS:].rjust(_LAST_LETTERS, "\0")]
    first, last = words[:_WORDS], words[-_WORDS:]
    ends = [*first, *[""] * (_WORDS - len(first)), *[""] * (_WORDS - len(last)), *last]
    return [float(len(text)), *map(float, counts), *(float(ord(x)) for x in "".join(letters)), *map(_told, ends)]


def _told(word: str) -> float | str:
    return float(word.rstrip("%")) if _NUMBER.fullmatch(word) else repr(word)
