"""How a frozen dataclass gets its fields: the only place that goes round `frozen=True`.

A frozen dataclass that checks or rounds what it is given sets its fields itself, once, while it is made; what follows
from its fields and takes time is computed once and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

__all__ = ["once", "set_fields", "shared"]

Value = TypeVar("Value")


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


class once(Generic[Value]):  # noqa: N801  (used like a decorator)
    """A property that is computed once: `functools.cached_property` without the lock that it holds in Python 3.11.

    That lock is one for all instances of a class, and a child forked while another thread computes would wait for it
    for ever. Two threads may compute the same value here; both get the one that was kept first.

    Parameters
    ----------
    compute : callable
        The method that computes the value.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        # Not reached again for this instance: its own attribute comes first from now on.
        value: Value = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value


class shared(once[Value]):  # noqa: N801  (used like a decorator)
    """A property that is computed once for all instances that are equal.

    A calibration that was made needs not be made again. The last 512 values are kept.

    Parameters
    ----------
    compute : callable
        The method that computes the value, which must follow from what instances are compared by.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        super().__init__(lru_cache(maxsize=512)(compute))
