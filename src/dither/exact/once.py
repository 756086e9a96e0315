"""Properties that are computed once and kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

__all__ = ["once", "shared"]

Value = TypeVar("Value")


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
