"""JSON that means one thing: no key twice, no NaN, no infinity, decimals exactly as they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NoReturn

from dither.errors import ParameterError
from dither.exact import is_unicode

__all__ = ["read_object"]

_DEEPEST = 8
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All but tab and newline."""
_NUMBERS = ("epsilon", "delta", "rho", "level")


def read_object(body: bytes) -> dict[str, Any]:
    """The object that a request holds. Prices may be texts too, so that no program rounds them."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_once, parse_float=Decimal, parse_constant=_no_constant
        )
    except ParameterError:
        raise
    except (UnicodeDecodeError, ValueError, ArithmeticError, RecursionError):
        raise ParameterError("the request is not JSON in UTF-8.") from None
    if not isinstance(value, dict):
        raise ParameterError('the request must be a JSON object such as {"sql": "SELECT ...", "epsilon": "0.5"}.')
    if _depth(value) > _DEEPEST:
        raise ParameterError(f"the request is nested more than {_DEEPEST} levels deep.")
    if not all(is_unicode(text) and not _CONTROL.search(text) for text in _texts(value)):
        raise ParameterError("a text in the request has signs that are no text: NUL, controls or half a character.")
    return {name: _number(name, each) if name in _NUMBERS else each for name, each in value.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ParameterError("the request has a key twice in one object. Say it once.")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ParameterError(f"{text} is not a number of JSON.")


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(_depth, inside), default=0)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _number(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        number = Decimal(value)
    except ArithmeticError:
        number = Decimal("nan")
    if len(value) > 100 or not number.is_finite():
        raise ParameterError(f"{name} must be a finite decimal number such as 0.5.")
    return number
