"""A text cut into words, numbers, days, quoted texts and signs, and a reader that walks along them.

2024-01-31, four digits and two and two without spaces, is a day; 2024 - 01 - 31 is a difference, and so is any other
row of digits with signs between.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, TypeVar

from dither.errors import ParameterError
from dither.exact import rational

__all__ = ["Reader", "Token", "tokens"]

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<day>(?<![0-9]-)[0-9]{4}-[0-9]{2}-[0-9]{2}(?![\w.]|-[0-9]))
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))
    | (?P<word>[^\W\d]\w*)
    | '(?P<text>(?:[^']|'')*)'
    | "(?P<name>(?:[^"]|"")+)"
    | (?P<sign>==|!=|<>|<=|>=|[-+*/()\[\],=<>])
    | (?P<end>$)
    )""",
    re.VERBOSE,
)
_LONGEST = 20_000
_DEEPEST = 40
_SHOWN = 200
"""How much of a text an error repeats."""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text: its `kind` is number, day, word, text ('…'), name ("…"), sign or end; quotes are taken off."""

    kind: str
    text: str
    at: int
    """The character of the text where it starts, from 0."""


def tokens(text: str) -> list[Token]:
    """The pieces, the last of kind end.

    >>> [(each.kind, each.text) for each in tokens("age>=18, city='L''Aquila'")][1:5]
    [('sign', '>='), ('number', '18'), ('sign', ','), ('word', 'city')]
    """
    if len(text) > _LONGEST:
        raise ParameterError(f"an expression has at most {_LONGEST} characters.")
    found: list[Token] = []
    at = 0
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise ParameterError(_complaint(text, start, "this cannot start anything; texts stand in '...'"))
        kind = match.lastgroup
        quote = {"text": "'", "name": '"'}.get(kind, "")
        written = match[kind].replace(quote * 2, quote) if quote else match[kind]
        found.append(Token(kind, written, match.start(kind) - len(quote)))
        at = match.end()
    return found


class Reader:
    """A place in a text, and what may follow there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._next = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        """What comes next."""
        return self._tokens[self._next]

    @property
    def second(self) -> Token:
        """What comes after the next one."""
        return self._tokens[min(self._next + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        """The next token, and go on."""
        token = self.next
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def sees(self, *texts: str) -> bool:
        """Whether these words (in any case) or signs come next, one after the other."""
        coming = self._tokens[self._next : self._next + len(texts)]
        return [_plain(token) for token in coming] == list(texts)

    def accept(self, *texts: str) -> str | None:
        """The next word or sign if it is one of these; then go on."""
        return _plain(self.take()) if _plain(self.next) in texts else None

    def expect(self, text: str) -> None:
        """Go on over this sign, or refuse."""
        if self.accept(text) is None:
            self.refuse(f"{text!r} is expected here")

    def refuse(self, why: str) -> NoReturn:
        """Say what is wrong, and where."""
        raise ParameterError(_complaint(self._text, self.next.at, why))

    def nested(self, read: Callable[[], _Value]) -> _Value:
        """What `read` gives one level further inside; a text that is nested too deeply is refused."""
        self._depth += 1
        if self._depth > _DEEPEST:
            self.refuse(f"this is nested more than {_DEEPEST} levels deep")
        found = read()
        self._depth -= 1
        return found

    def whole(self, read: Callable[[], _Value]) -> _Value:
        """What `read` gives, if nothing is left after it."""
        found = read()
        if self.next.kind != "end":
            self.refuse("this is not expected here; a column that is no plain word stands in double quotes")
        return found

    def identifier(self, what: str) -> str:
        """A name: a word, or anything in double quotes."""
        if self.next.kind not in ("word", "name"):
            self.refuse(f"{what} is expected here")
        return self.take().text

    def number(self) -> Fraction:
        """A number with its sign, exactly."""
        sign = "-" if self.accept("-") else ""
        if self.next.kind != "number":
            self.refuse("a number is expected here")
        return rational(sign + self.take().text, "a number")

    def listed(self, read: Callable[[], _Value]) -> list[_Value]:
        """Values between square brackets, separated by commas."""
        self.expect("[")
        found = [read()]
        while self.accept(","):
            found.append(read())
        self.expect("]")
        return found


def _plain(token: Token) -> str | None:
    """The word or sign, or None if it is a value."""
    return token.text.lower() if token.kind in ("word", "sign") else None


def _complaint(text: str, at: int, why: str) -> str:
    shown = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
    where = f"at its end: {shown}" if at >= len(text) else f"at character {at + 1} of {shown}"
    return f"{why}, {where}."
