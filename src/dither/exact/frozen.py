"""How a frozen dataclass gets its fields: the only place that goes round `frozen=True`.

A frozen dataclass that checks or rounds what it is given sets its fields itself, once, while it is made.
"""

from __future__ import annotations

from typing import Any

__all__ = ["set_fields"]


def set_fields(instance: Any, /, **fields: Any) -> None:
    """Set the fields of a frozen dataclass that is being made.

    It is called in `__init__` and `__post_init__` only.

    Parameters
    ----------
    instance : Any
        The dataclass.
    **fields : Any
        The values by the names of the fields.

    Examples
    --------
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
        object.__setattr__(instance, name, value)
