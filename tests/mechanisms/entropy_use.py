"""Whether randomness was used: the source is swapped for one that counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.noise import entropy

__all__ = ["nothing_drawn"]


class _Refusing:
    """A source that must not be asked."""

    word_bits = 64

    def words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError(f"{count} words were drawn")

    def bits(self, count: int) -> int:
        raise AssertionError(f"{count} bits were drawn")


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Fail if anything inside the block draws."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entropy, "_stand_in", _Refusing())
        yield
