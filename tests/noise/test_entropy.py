"""The one source of randomness: ranges, uniformity, re-keying, threads, signals and the test switch.

That forked workers differ, that nothing can be seeded and that nobody else draws randomness are attacks: see
tests/noise/test_attacks.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from dither.noise import DiscreteLaplace, entropy
from dither.noise.blocks import Arm
from tests.noise.fit import ALARM, p_value_of_counts

_MEBIBYTE = 1 << 20


@pytest.fixture
def stream() -> entropy.BitSource:
    """A fresh stream of this thread."""
    entropy._forget()
    return entropy.current()


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 63, 64, 65, 1000, 8 * 4096, 8 * 4096 + 1, 10**6])
def test_bits_fill_their_range(stream: entropy.BitSource, count: int) -> None:
    """Through several buffers of 4096 bytes, whose ends fall inside a draw."""
    drawn = [stream.bits(count) for _ in range(20 + 100_000 // max(count, 8))]
    assert all(0 <= x < 1 << count for x in drawn)
    if count >= 63:
        assert len(set(drawn)) == len(drawn)
        assert min(x.bit_length() for x in drawn) > count - 60, "the first digits are not 0 (2^-60 for each draw)"
    if count == 0:
        assert set(drawn) == {0}


@pytest.mark.parametrize("count", [1, 3, 8, 11])
def test_bits_are_uniform(stream: entropy.BitSource, count: int) -> None:
    values = min(1 << count, 64)
    found = np.bincount([stream.bits(count) % values for _ in range(50_000)], minlength=values)
    assert p_value_of_counts(found.tolist(), [1 / values] * values) > ALARM
    assert p_value_of_counts([0, *found.tolist()[1:]], [1 / values] * values) < ALARM


@pytest.mark.parametrize("count", [0, 1, 7, 1000, 10**5])
def test_words_have_the_size_asked_for(stream: entropy.BitSource, count: int) -> None:
    words = stream.words(count)
    assert words.dtype == np.uint64
    assert words.shape == (count,)
    assert len(np.unique(words)) == count, "64-bit words collide once in 10⁹ runs"


def test_every_bit_of_a_word_is_fair(stream: entropy.BitSource) -> None:
    words = stream.words(1 << 16)
    assert stream.word_bits == 64
    for place in range(64):
        ones = int(((words >> np.uint64(place)) & np.uint64(1)).sum())
        assert abs(ones - (1 << 15)) < 8 * 128, "eight standard deviations: 1e-15"


def test_bytes_of_words_are_uniform(stream: entropy.BitSource) -> None:
    found = np.bincount(stream.words(1 << 17).view(np.uint8), minlength=256)
    assert p_value_of_counts(found.tolist(), [1 / 256] * 256) > ALARM


def test_consecutive_draws_never_repeat(stream: entropy.BitSource) -> None:
    """Small draws from the buffer and large ones around it, in turn: no 8 bytes come twice."""
    seen: list[int] = []
    for _ in range(300):
        seen += [stream.bits(64) for _ in range(5)]
        seen += stream.words(50).tolist()
        seen += [stream.bits(8 * 5000) & (2**64 - 1)]
    assert len(set(seen)) == len(seen)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every key that is taken from the operating system."""
    taken: list[bytes] = []
    system: Callable[[int], bytes] = os.urandom

    def recorded(size: int) -> bytes:
        taken.append(system(size))
        return taken[-1]

    monkeypatch.setattr(os, "urandom", recorded)
    return taken


def test_the_key_is_replaced_after_sixteen_mebibytes(keys: list[bytes], stream: entropy.BitSource) -> None:
    for drawn in range(1, 51):
        stream.words(_MEBIBYTE // 8)
        assert len(keys) == 1 + (drawn - 1) // 16
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {32}


def test_one_large_draw_uses_several_keys(keys: list[bytes], stream: entropy.BitSource) -> None:
    words = stream.words(40 * _MEBIBYTE // 8)
    assert len(keys) == 3
    assert not np.array_equal(words[: _MEBIBYTE // 8], words[16 * _MEBIBYTE // 8 : 17 * _MEBIBYTE // 8])


def test_small_draws_are_counted_too(keys: list[bytes], stream: entropy.BitSource) -> None:
    for _ in range(40):
        stream.bits(8 * _MEBIBYTE // 2)
    assert len(keys) == 2


def test_the_key_decides_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same key twice the words are the same, so they come from nothing else."""
    monkeypatch.setattr(os, "urandom", bytes)
    entropy._forget()
    first = entropy.current().words(100)
    entropy._forget()
    assert np.array_equal(first, entropy.current().words(100))
    monkeypatch.undo()
    entropy._forget()
    assert not np.array_equal(first, entropy.current().words(100))


def test_threads_have_streams_of_their_own() -> None:
    drawn: list[tuple[int, ...]] = []
    streams: list[entropy.BitSource] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        streams.append(entropy.current())
        drawn.append(tuple(entropy.current().words(1000).tolist()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(stream) for stream in streams}) == 8
    assert len({word for words in drawn for word in words}) == 8000


def test_a_thread_keeps_its_stream() -> None:
    assert entropy.current() is entropy.current()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_a_signal_handler_that_draws_takes_nothing_twice(stream: entropy.BitSource) -> None:
    """The handler interrupts draws at arbitrary points and draws from the same stream."""
    seen: list[int] = []

    def handler(number: int, frame: object) -> None:
        seen.append(stream.bits(64))
        seen.extend(stream.words(3).tolist())

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        drawn = [stream.bits(64) for _ in range(200_000)]
        drawn += stream.words(1000).tolist()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) > 40, "the handler ran"
    assert len(set(drawn + seen)) == len(drawn) + len(seen)


_REPLAY = """
import numpy as np
from dither.errors import EntropyError
from dither.noise import UniformBelow
from dither.noise._replay import replaying

class Ones:
    word_bits = 64
    def words(self, count):
        return np.full(count, 2**64 - 1, dtype=np.uint64)
    def bits(self, count):
        return 2**count - 1

def attempt():
    with replaying(Ones()):
        return UniformBelow(256).sample(5).tolist()
"""


def _python(code: str, door: str | None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "DITHER_TEST_DOOR"}
    if door is not None:
        environment["DITHER_TEST_DOOR"] = door
    done = subprocess.run(
        [sys.executable, "-c", _REPLAY + code], env=environment, capture_output=True, text=True, check=True, timeout=600
    )
    return done.stdout.strip()


@pytest.mark.parametrize("door", [None, "", "1", "true", "OPEN"])
def test_the_test_door_is_shut(door: str | None) -> None:
    code = """
import os
os.environ["DITHER_TEST_DOOR"] = "open"  # too late
try:
    attempt()
except EntropyError as error:
    print(error)
"""
    assert _python(code, door).startswith("the test switch is off: recorded randomness is not private.")


def test_the_test_door_opens_in_a_process_that_was_started_with_it() -> None:
    code = """
print(attempt())
print(len(set(UniformBelow(2**60).sample(5).tolist())))
try:
    with replaying(Ones()):
        raise KeyError
except KeyError:
    print(len(set(UniformBelow(2**60).sample(5).tolist())))
"""
    assert _python(code, "open").splitlines() == ["[255, 255, 255, 255, 255]", "5", "5"]


def test_the_test_door_cannot_be_opened_twice() -> None:
    code = """
with replaying(Ones()):
    try:
        attempt()
    except EntropyError as error:
        print(error)
    print(UniformBelow(256).sample())
print(attempt())
"""
    first, second, third = _python(code, "open").splitlines()
    assert first.startswith("the test switch is in use already")
    assert (second, third) == ("255", "[255, 255, 255, 255, 255]")


def test_the_test_door_does_not_open_late() -> None:
    """Setting the variable after the noise was imported opens nothing, even before `_replay` is imported."""
    program = (
        "import os, dither.noise; os.environ['DITHER_TEST_DOOR'] = 'open'\n"
        "from dither.errors import EntropyError\n"
        "from dither.noise._replay import replaying\n"
        "try:\n"
        "    with replaying(None): print('opened')\n"
        "except EntropyError: print('shut')\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "DITHER_TEST_DOOR"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "shut\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_forked_while_a_table_is_laid_out_can_draw() -> None:
    """No lock of the samplers is held across a fork (functools.cached_property would hold one in Python 3.11)."""
    inside, done = threading.Event(), threading.Event()

    class Slow(DiscreteLaplace):
        def _arms(self) -> Sequence[Arm]:
            inside.set()
            done.wait(300)
            return super()._arms()

    thread = threading.Thread(target=Slow(3).sample, args=(1000,))  # few draws need no table
    thread.start()
    assert inside.wait(300)
    child = os.fork()
    if child == 0:
        signal.alarm(300)  # ends a child that waits for ever
        DiscreteLaplace(5).sample(1000)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
