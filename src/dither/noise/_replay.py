"""The test door: run code on a recorded stream of bits instead of fresh randomness.

It opens only in a process that was started with ``DITHER_TEST_DOOR=open`` in its environment, and the import rules
let no room but `audit` come near it. Production code therefore cannot reach it by accident: it would take both an
import that the build refuses and a setting that nobody has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from dither.errors import EntropyError
from dither.noise import entropy

__all__ = ["replaying"]

_WAS_OPEN_AT_START = os.environ.get("DITHER_TEST_DOOR") == "open"


@contextmanager
def replaying(source: entropy.Source) -> Iterator[None]:
    """Let every draw inside the block, in every thread, take its bits from `source`."""
    if not _WAS_OPEN_AT_START:
        raise EntropyError(
            "the test door is shut: recorded randomness is not private. "
            "Only a test run started with DITHER_TEST_DOOR=open may open it."
        )
    if entropy._stand_in is not None:
        raise EntropyError("the test door is open already. Close the first replay before the second.")
    entropy._stand_in = source
    try:
        yield
    finally:
        entropy._stand_in = None
