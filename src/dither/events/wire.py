"""Events as JSON text and back, without losing a digit.

The text is one object: its version, the kind of the event, its fields in order. Exact numbers are text
("1/3"), counts are integers, an event inside an event is an object. Fields that are None are left out, so
equal events have equal text and the ledger may hash it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from fractions import Fraction
from typing import Any, NoReturn

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events.added_noise import GaussianNoise, LaplaceNoise, MixtureOfGaussians, SmoothNoise, StaircaseNoise
from dither.events.composite import (
    BallsInBinsSampled,
    Composed,
    Either,
    Event,
    FixedSizeSampled,
    GroupOf,
    MatrixNoise,
    PoissonSampled,
    RepeatAndSelect,
    Repeated,
    ReplaceOne,
    ShuffledReports,
    TestAndRelease,
    TreeNoise,
    TruncatedPoissonSampled,
    WithReplacementSampled,
)
from dither.events.container import MAX_DEPTH
from dither.events.event import EventBase, Stated
from dither.events.noisy_choices import FiniteAnswer, RandomizedAnswer, Selection, SparseVectorRun
from dither.exact import rational

__all__ = ["VERSION", "from_json", "strict_object", "to_json"]

VERSION = 1
"""The version of the text. It grows when a field changes its meaning; other versions are refused."""

_LONGEST_TEXT = 50_000_000
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        LaplaceNoise,
        GaussianNoise,
        MixtureOfGaussians,
        StaircaseNoise,
        RandomizedAnswer,
        Selection,
        SparseVectorRun,
        SmoothNoise,
        MatrixNoise,
        TreeNoise,
        Stated,
        FiniteAnswer,
        TestAndRelease,
        PoissonSampled,
        FixedSizeSampled,
        WithReplacementSampled,
        TruncatedPoissonSampled,
        BallsInBinsSampled,
        ShuffledReports,
        RepeatAndSelect,
        ReplaceOne,
        GroupOf,
        Composed,
        Repeated,
        Either,
    )
}


def to_json(event: Event) -> str:
    """Write an event as one line of JSON, without losing a digit.

    Parameters
    ----------
    event : Event
        The event.

    Returns
    -------
    str
        The JSON text; equal events have equal text. `from_json` reads it back.

    Raises
    ------
    ParameterError
        If `event` is not an event.

    Examples
    --------
    >>> to_json(LaplaceNoise("1/3"))
    '{"dither_event":1,"kind":"LaplaceNoise","scale":"1/3","sensitivity":"1"}'
    """
    if type(event) not in _KINDS.values():
        raise ParameterError(f"expected an event, got the type {type(event).__name__}.")
    return json.dumps({"dither_event": VERSION, **_write(event)}, ensure_ascii=False, separators=(",", ":"))


def _write(value: Any) -> Any:
    if isinstance(value, EventBase | Adjacency):
        record: Any = value
        named = ((field.name, getattr(record, field.name)) for field in fields(record))
        written = {name: _write(each) for name, each in named if each is not None}
        return {"kind": type(value).__name__, **written} if isinstance(value, EventBase) else written
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_write(item) for item in value]
    return value if isinstance(value, bool | str) else int(value)


def from_json(text: str) -> Event:
    """Read an event from JSON text.

    It is read strictly: unknown, repeated or missing fields, bare decimals and events that could not be built are
    refused. The same event may be written in several ways (spaces, the order of fields, "2/4" for "1/2"): hash or
    compare ``to_json(from_json(text))``, which is the same for equal events.

    Parameters
    ----------
    text : str
        The JSON text, as `to_json` writes it.

    Returns
    -------
    Event
        The event, equal to the one that was written.

    Raises
    ------
    ParameterError
        If `text` is anything else than an event of this version.

    Examples
    --------
    >>> to_json(from_json(' {"scale": "2/4", "kind": "LaplaceNoise", "dither_event": 1}'))
    '{"dither_event":1,"kind":"LaplaceNoise","scale":"1/2","sensitivity":"1"}'
    """
    content = strict_object(text, "an event")
    version = content.pop("dither_event", None)
    if type(version) is not int or version != VERSION:
        raise ParameterError(f"dither_event must be {VERSION}, got {version!r}. Read it with a matching dither.")
    event: Event = _read_event(content, "event", 1)
    return event


def strict_object(text: str, what: str) -> dict[str, Any]:
    """Read the JSON object in `text`, named `what` in messages: no key twice, no bare decimals, no NaN."""
    if not isinstance(text, str):
        raise ParameterError(f"{what} is read from JSON text, got the type {type(text).__name__}.")
    if len(text) > _LONGEST_TEXT:
        raise ParameterError(f"{what} is JSON text of at most {_LONGEST_TEXT} characters.")
    try:
        content = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse, parse_float=_refuse)
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{what} must be valid JSON: {type(error).__name__}.") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{what} must be a JSON object.")
    return content


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ParameterError(f"the key {twice!r} appears twice in one object. Keep one.")
    return found


def _refuse(number: str) -> NoReturn:
    raise ParameterError(f'exact numbers are written as text, such as "1/3"; got the bare number {number}.')


def _read_event(content: Any, name: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ParameterError(f"an event may be nested {MAX_DEPTH} deep, and this one is deeper.")
    if not isinstance(content, dict):
        raise ParameterError(f"{name} must be an object with a kind, got the type {type(content).__name__}.")
    rest = dict(content)
    kind = rest.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ParameterError(f"unknown kind of event {kind!r}. Known kinds: {', '.join(_KINDS)}.")
    return _read_fields(_KINDS[kind], rest, depth)


def _read_fields(record: type[Any], content: Mapping[str, Any], depth: int) -> Any:
    known = {field.name: field for field in fields(record)}
    if unknown := sorted(content.keys() - known.keys()):
        raise ParameterError(f"{record.__name__} has no field {unknown[0]!r}. Its fields: {', '.join(known)}.")
    missing = [name for name, field in known.items() if field.default is MISSING and name not in content]
    if missing:
        raise ParameterError(f"{record.__name__} lacks the field {missing[0]!r}. Its fields: {', '.join(known)}.")
    return record(**{name: _reader(known[name])(value, name, depth) for name, value in content.items()})


def _read_exact(value: Any, name: str, depth: int) -> Fraction:
    if not isinstance(value, str):
        raise ParameterError(f'{name} must be an exact number written as text, such as "1/3"; got {value!r}.')
    return rational(value, name)


def _read_int(value: Any, name: str, depth: int) -> int:
    if type(value) is not int:
        raise ParameterError(f"{name} must be a whole number, got {value!r}.")
    return value


def _read_bool(value: Any, name: str, depth: int) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be true or false, got {value!r}.")
    return value


def _read_text(value: Any, name: str, depth: int) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be text, got {value!r}.")
    return value


def _read_adjacency(value: Any, name: str, depth: int) -> Adjacency:
    if not isinstance(value, dict):
        raise ParameterError(f"{name} must be an object, got {value!r}.")
    found: Adjacency = _read_fields(Adjacency, value, depth)
    return found


def _list_of(read: Callable[[Any, str, int], Any]) -> Callable[[Any, str, int], Any]:
    def read_list(value: Any, name: str, depth: int) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ParameterError(f"{name} must be a list, got the type {type(value).__name__}.")
        return tuple(read(item, name, depth) for item in value)

    return read_list


def _read_part(value: Any, name: str, depth: int) -> Any:
    return _read_event(value, name, depth + 1)


# A field of a new type must say here how it is read; a test builds every kind.
_READERS: dict[str, Callable[[Any, str, int], Any]] = {
    "Fraction": _read_exact,
    "int": _read_int,
    "bool": _read_bool,
    "str": _read_text,
    "Adjacency": _read_adjacency,
    "Event": _read_part,
    "tuple[Event, ...]": _list_of(_read_part),
    "tuple[Fraction, ...]": _list_of(_read_exact),
}


def _reader(field: Field[Any]) -> Callable[[Any, str, int], Any]:
    """How a field is read, by its annotation; None is never written, so "X | None" reads as X."""
    return _READERS[str(field.type).removesuffix(" | None")]
