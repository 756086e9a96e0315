"""Parquet files as no library writes them: the footer is read, changed and written back (Thrift, compact protocol).

A column keeps its bytes and gets another type, so that it can hold any value that a careless writer may put there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["annotated", "in_utc", "local"]

_STRUCT, _BYTE, _I32, _TRUE, _FALSE = 12, 3, 5, 1, 2
_END = b"PAR1"
_CONVERTED, _SCALE, _PRECISION, _LOGICAL = 6, 7, 8, 10


def annotated(path: Path, converted: int | None = None, logical: Any = None, decimal: Any = None) -> None:
    """Give the first column of a file a converted type, a logical type, or a decimal's (scale, precision)."""
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer, end = _read(content[-8 - size : -8], 0, _STRUCT)
    assert end == size
    assert _written(_STRUCT, footer) == content[-8 - size : -8]
    element = footer[2][1][1][1]
    for field in (_CONVERTED, _SCALE, _PRECISION, _LOGICAL):
        element.pop(field, None)
    if converted is not None:
        element[_CONVERTED] = (_I32, converted)
    if decimal is not None:
        element[_SCALE], element[_PRECISION] = ((_I32, each) for each in decimal)
    if logical is not None:
        element[_LOGICAL] = (_STRUCT, logical)
    changed = _written(_STRUCT, footer)
    path.write_bytes(content[: -8 - size] + changed + len(changed).to_bytes(4, "little") + _END)


def local(unit: int) -> dict[int, Any]:
    """What TIME and TIMESTAMP hold: of no zone, in milliseconds (1), microseconds (2) or nanoseconds (3)."""
    return {1: (_FALSE, False), 2: (_STRUCT, {unit: (_STRUCT, {})})}


def in_utc(unit: int) -> dict[int, Any]:
    """The same, adjusted to UTC."""
    return {1: (_TRUE, True), 2: (_STRUCT, {unit: (_STRUCT, {})})}


def _number(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _of_number(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _of_number(value >> 7)


def _signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _of_signed(value: int) -> bytes:
    return _of_number(2 * value if value >= 0 else -2 * value - 1)


def _read(content: bytes, at: int, of: int) -> tuple[Any, int]:
    if of in (_TRUE, _FALSE):
        return of == _TRUE, at
    if of == _BYTE:
        return content[at], at + 1
    if of in (4, _I32, 6):
        value, at = _number(content, at)
        return _signed(value), at
    if of == 7:
        return content[at : at + 8], at + 8
    if of == 8:
        size, at = _number(content, at)
        return content[at : at + size], at + size
    return _read_list(content, at) if of in (9, 10) else _read_struct(content, at)


def _read_list(content: bytes, at: int) -> tuple[Any, int]:
    size, of = content[at] >> 4, content[at] & 15
    at += 1
    if size == 15:
        size, at = _number(content, at)
    found = []
    for _ in range(size):
        value, at = (content[at] == 1, at + 1) if of in (_TRUE, _FALSE) else _read(content, at, of)
        found.append(value)
    return (of, found), at


def _read_struct(content: bytes, at: int) -> tuple[dict[int, Any], int]:
    found: dict[int, Any] = {}
    field = 0
    while content[at]:
        step, of = content[at] >> 4, content[at] & 15
        at += 1
        if step:
            field += step
        else:
            coded, at = _number(content, at)
            field = _signed(coded)
        value, at = _read(content, at, of)
        found[field] = (of, value)
    return found, at + 1


def _written(of: int, value: Any) -> bytes:
    if of in (_TRUE, _FALSE):
        return b""
    if of == _BYTE:
        return bytes([value])
    if of in (4, _I32, 6):
        return _of_signed(value)
    if of == 7:
        return bytes(value)
    if of == 8:
        return _of_number(len(value)) + bytes(value)
    return _written_list(*value) if of in (9, 10) else _written_struct(value)


def _written_list(of: int, values: list[Any]) -> bytes:
    size = bytes([min(len(values), 15) << 4 | of]) + (_of_number(len(values)) if len(values) >= 15 else b"")
    is_truth = of in (_TRUE, _FALSE)
    return size + b"".join(bytes([1 if each else 2]) if is_truth else _written(of, each) for each in values)


def _written_struct(fields: dict[int, Any]) -> bytes:
    found, last = b"", 0
    for field in sorted(fields):
        of, value = fields[field]
        of = (_TRUE if value else _FALSE) if of in (_TRUE, _FALSE) else of
        step = field - last
        found += (bytes([step << 4 | of]) if step < 16 else bytes([of]) + _of_signed(field)) + _written(of, value)
        last = field
    return found + b"\0"
