"""Properties that are computed once and kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

__all__ = ["once", "shared"]

Value = TypeVar("Value")


class once(Generic[Value]):  # noqa: N801  (used like a decorator)
    """As `functools.cached_property`, without the lock that it holds in Python 3.11.

    That lock is one for all instances of a class, and a child forked while another thread computes would wait for
    it for ever. Two threads may compute the same value here; both get the one that was kept first.
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
    """As `once`, for all instances that are equal: a calibration that was made needs not be made again.

    The value must follow from what instances are compared by, and be the same for ever. The last 512 are kept.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        super().__init__(lru_cache(maxsize=512)(compute))
