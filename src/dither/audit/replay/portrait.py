"""A portrait: everything that a result shows, as it was when it was made: values, types, shapes, names and order.

It is made of tuples, texts, bytes and types alone, so that a result which is used again does not change the portrait of
what it was. Two portraits are equal if nothing tells the two results apart, to the last bit (−0 is not 0). What cannot
be looked into is never called equal, nor different: it is refused.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cached_property
from types import CellType, CodeType, FunctionType, MappingProxyType, ModuleType, NoneType
from typing import Any, Final

import numpy as np

from dither.audit.replay.frames import can_change, frame_portrait, is_frame
from dither.errors import LedgerError, ParameterError
from dither.mechanisms.certificate import digest

__all__ = ["input_portrait", "portrait", "same"]

_PLAIN: Final = frozenset({NoneType, bool, int, str, bytes, date})
_OF_THE_RUN: Final = frozenset({"at", "spent", "charges"})
"""Of an entry of the ledger, beside its number and hashes: when it was made, and what was spent up to then. (What this
run spends is its cost.) Question, key, account, who asked, event and cost are shown to others, and are compared."""
_OF_PYTHON: Final = frozenset({"__dict__", "__weakref__", "__module__", "_abc_impl"})
_CANNOT_CHANGE: Final = 1 << 8
"""Of the flags of a class: Py_TPFLAGS_IMMUTABLETYPE. No class that is written in Python has it."""
_MOST_CIRCLES: Final = 1_000
"""So many parts may be a whole again that they are in. In a figure all parts know each other: there is no end to it."""
_NOTHING: Final = ("nothing",)


def portrait(result: Any) -> Any:
    """Everything that is shown of a result; refused if it cannot be looked into."""
    try:
        return _deep_enough(_Painter(), result)
    except _Hidden as hidden:
        within = "" if hidden.kind is type(result) else f": a {hidden.kind.__name__} in it cannot be looked into"
        raise ParameterError(
            f"results of the type {type(result).__name__} cannot be compared{within}. "
            "Let the pipeline return numbers, texts, lists, arrays, tables or releases."
        ) from None


def input_portrait(data: Any) -> Any:
    """What can be changed in place: containers, arrays and frames. All else is itself, whatever it holds."""
    try:
        return _deep_enough(_Keeper(), data)
    except _Hidden as hidden:
        raise ParameterError(
            f"nobody can see whether a {hidden.kind.__name__} in the input is changed. Give a table of Arrow."
        ) from None


def same(left: Any, right: Any) -> bool:
    """Whether two things, as they are now, show the same."""
    return left is right or bool(portrait(left) == portrait(right))


def _deep_enough(painter: _Painter, value: Any) -> Any:
    try:
        return painter.paint(value)
    except RecursionError:
        raise ParameterError("what is nested this deep cannot be compared. Let the pipeline flatten it.") from None


class _Hidden(Exception):
    """Something in a result cannot be looked into. It keeps the class alone, and no data."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.kind = type(value)


class _Painter:
    """Paints a value, and in it each part; a part that is the whole again is its place on the way."""

    def __init__(self) -> None:
        self._way: dict[int, int] = {}
        self._circles = 0

    def paint(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return kind, value
        if kind is float:
            return kind, value.hex()
        if id(value) in self._way:
            self._circles += 1
            if self._circles > _MOST_CIRCLES:
                raise _Hidden(value)
            return "again", self._way[id(value)]
        self._way[id(value)] = len(self._way)
        try:
            return self._whole(kind, value)
        finally:
            del self._way[id(value)]

    def all(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(map(self.paint, values))

    def _whole(self, kind: type, value: Any) -> Any:
        if isinstance(value, type):
            return self._class(value)
        if kind in (list, tuple, set, frozenset):  # the order in which a set is shown may depend on how it came in
            return kind, self.all(value)
        if kind is dict:
            return kind, self.pairs(_lasting(value))
        if kind is np.ndarray or isinstance(value, np.generic):
            is_plain = value.dtype.kind in "biufcmM"
            return kind, value.dtype, value.shape, value.tobytes() if is_plain else self.paint(value.tolist())
        return self._frame(value) if is_frame(value) else self._other(value)

    def pairs(self, value: Mapping[Any, Any]) -> tuple[Any, ...]:
        return tuple((self.paint(name), self.paint(each)) for name, each in value.items())

    def _frame(self, value: Any) -> Any:
        try:
            return self.paint(type(value)), frame_portrait(value, self.paint, _Painter().paint)
        except (ParameterError, RecursionError, _Hidden):
            raise
        except Exception:  # what a library says of values that it cannot convert has them in it
            raise _Hidden(value) from None

    def _other(self, value: Any) -> Any:
        for kinds, parts in ((_entries(), _of_entry), *_PARTS):
            if isinstance(value, kinds):
                return self.paint(type(value)), self.all(parts(value))
        if isinstance(value, ModuleType | CodeType):
            return value
        if is_dataclass(value):
            shown = {each.name: getattr(value, each.name, _NOTHING) for each in fields(value)}
            return self.paint(type(value)), self.pairs(shown)
        return self.paint(type(value)), self.paint(_reduced(value))

    def _class(self, value: type) -> Any:
        """A class that is Python's own, or that a module holds, is itself. One that is made is what it is made of."""
        if value.__flags__ & _CANNOT_CHANGE:
            return value
        place: Any = sys.modules.get(value.__module__)
        for part in value.__qualname__.split("."):
            place = getattr(place, part, None)
        if place is value:
            return value
        own = {name: each for name, each in vars(value).items() if name not in _OF_PYTHON}
        return "class", value.__module__, value.__qualname__, self.all(value.__bases__), self.pairs(own)


class _Itself:
    """An object that is not looked into: equal to itself alone. It is kept alive, so that no other gets its place."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other._value is self._value

    __hash__ = None  # type: ignore[assignment]


class _Keeper(_Painter):
    """Paints what can be changed in place."""

    def _whole(self, kind: type, value: Any) -> Any:
        if isinstance(value, type):
            return _Itself(value)
        if isinstance(value, list | tuple | set | frozenset | deque):
            return kind, self.all(value)
        if isinstance(value, dict):
            return kind, self.pairs(value)
        if isinstance(value, bytearray):
            return kind, bytes(value)
        return super()._whole(kind, value)

    def _frame(self, value: Any) -> Any:
        return super()._frame(value) if can_change(value) else _Itself(value)

    def _other(self, value: Any) -> Any:
        return _Itself(value)


# ----------------------------------------------------------------------- what things are made of


def _lasting(value: dict[Any, Any]) -> dict[Any, Any]:
    """A certificate without the number and hash of its entry, which has the time in it, and without its digest.

    Only if the digest is that of the rest: other dictionaries are compared whole.
    """
    entry = value.get("ledger_entry")
    if "dither_certificate" not in value or not isinstance(entry, dict) or entry.keys() != {"number", "hash"}:
        return value
    rest = {name: each for name, each in value.items() if name != "digest"}
    try:
        is_certificate = digest(rest) == value.get("digest")
    except (TypeError, ValueError):
        return value
    return {name: each for name, each in rest.items() if name != "ledger_entry"} if is_certificate else value


def _of_error(error: BaseException) -> tuple[Any, ...]:
    """All that a traceback prints, with the error that it shows above this one."""
    before = error.__cause__ if error.__suppress_context__ else error.__context__
    return str(error), error.args, vars(error), before


def _of_function(function: FunctionType) -> tuple[Any, ...]:
    """The same code, around the same values: what an interval is computed from, say."""
    cells = list(function.__closure__ or ())
    return function.__code__, cells, function.__defaults__, function.__kwdefaults__, vars(function)


def _of_cell(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # nothing is in it
        return ()


def _entries() -> Any:
    """The class of entries of the ledger. Who has one has loaded it, and the database that comes with it."""
    module = sys.modules.get("dither.ledger.entry")
    return () if module is None else module.Entry


def _of_entry(entry: Any) -> tuple[Any, ...]:
    try:
        content = {name: each for name, each in entry.content.items() if name not in _OF_THE_RUN}
    except LedgerError:
        return entry.kind, entry.account, entry.body
    return entry.kind, entry.account, content


def _reduced(value: Any) -> Any:
    """What Python itself takes an object for when it copies one: how it is made, and its state.

    An object that Python cannot copy has a state that nobody sees: it is refused.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = value.__reduce_ex__(4)
        if isinstance(told, str):
            return told
        made, given, *more = told
        state, *items = more or [None]
        return [made, given, _stated(value, state), *(None if each is None else list(each) for each in items[:2])]
    except Exception:
        raise _Hidden(value) from None


def _stated(value: Any, state: Any) -> Any:
    """Without what was computed from the rest and is kept, as on one side nobody may have asked for it yet."""
    if not isinstance(state, dict):
        return state
    kept = {name for owner in type(value).__mro__ for name, each in vars(owner).items() if _is_cached(each)}
    return {name: each for name, each in state.items() if name not in kept}


def _is_cached(attribute: object) -> bool:
    return isinstance(attribute, cached_property)


_PARTS: Final[tuple[tuple[Any, Callable[[Any], Iterable[Any]]], ...]] = (
    (complex, lambda value: (value.real, value.imag)),
    (BaseException, _of_error),
    (FunctionType, _of_function),
    (CellType, _of_cell),
    (MappingProxyType, lambda value: (dict(value),)),
    (property, lambda value: (value.fget, value.fset, value.fdel, value.__doc__)),
    (classmethod | staticmethod, lambda value: (value.__func__,)),
)
