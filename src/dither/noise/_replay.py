"""The test switch: run code on a recorded stream of bits instead of fresh randomness.

It is on only if ``DITHER_TEST_DOOR=open`` stood in the environment when `entropy` was first imported, and the import
rules let no package but `audit` and `testing` come near it. Production code therefore cannot reach it by accident: it
would take both an import that the build refuses and a setting that nobody has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dither.errors import EntropyError
from dither.noise import entropy, tape

__all__ = ["one_call", "recording", "replaying", "without_noise"]


@contextmanager
def replaying(source: entropy.BitSource) -> Iterator[None]:
    """Let every draw inside the block, in every thread, take its bits from `source`."""
    if not entropy.DOOR_MAY_OPEN:
        raise EntropyError(
            "the test switch is off: recorded randomness is not private. "
            "Only a test run started with DITHER_TEST_DOOR=open may use it."
        )
    if entropy._stand_in is not None:
        raise EntropyError("the test switch is in use already. Close the first replay before the second.")
    entropy._stand_in = source
    try:
        yield
    finally:
        entropy._stand_in = None


@contextmanager
def recording(source: entropy.BitSource, laid_in: tape.Tape) -> Iterator[None]:
    """As `replaying`, and every call that draws is answered by the tape."""
    with replaying(source):
        tape._tape = laid_in
        try:
            yield
        finally:
            tape._tape = None


@contextmanager
def one_call(source: entropy.BitSource) -> Iterator[None]:
    """Let a call inside of `replaying` take its bits from a source of its own: samplers that count their draws, until
    a table pays, count those of the call alone, as how many there were before may depend on data."""
    before, entropy._stand_in = entropy._stand_in, source
    try:
        yield
    finally:
        entropy._stand_in = before


@contextmanager
def without_noise(source: entropy.BitSource, laid_in: tape.Tape) -> Iterator[None]:
    """As `recording`, by a tape that adds no noise: what is released inside says so."""
    with recording(source, laid_in):
        tape._is_noise_removed = True
        try:
            yield
        finally:
            tape._is_noise_removed = False
