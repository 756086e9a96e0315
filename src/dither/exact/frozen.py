"""How a frozen noun gets its fields: the only place that goes round `frozen=True`.

A frozen dataclass that checks or rounds what it is given sets its fields itself, once, while it is made.
"""

from __future__ import annotations

from typing import Any

__all__ = ["set_fields"]


def set_fields(noun: Any, /, **fields: Any) -> None:
    """Set the fields of a noun that is being made; never called from outside of `__init__` and `__post_init__`.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Half:
    ...     of: int
    ...
    ...     def __post_init__(self) -> None:
    ...         set_fields(self, of=self.of // 2)
    >>> Half(8)
    Half(of=4)
    """
    for name, value in fields.items():
        object.__setattr__(noun, name, value)
