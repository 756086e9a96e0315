"""A ball becomes a float in a stated direction, and the working precision is kept."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
from fractions import Fraction

import pytest
from flint import arb, ctx

from dither.exact import Ball, ball, lower, precision, upper

_LARGEST = sys.float_info.max
_SMALLEST = math.ulp(0.0)


@pytest.mark.parametrize(
    ("number", "below", "above"),
    [
        (ball(0), 0.0, 0.0),
        (ball(1), 1.0, 1.0),
        (ball(-3), -3.0, -3.0),
        (ball(2**53 + 1), 2.0**53, 2.0**53 + 2),
        (ball(-(2**53) - 1), -(2.0**53) - 2, -(2.0**53)),
        (ball(10**400), _LARGEST, math.inf),
        (ball(-(10**400)), -math.inf, -_LARGEST),
        (ball(Fraction(1, 2**1074)), _SMALLEST, _SMALLEST),
        (ball(Fraction(3, 2**1075)), _SMALLEST, 2 * _SMALLEST),
        (ball(Fraction(1, 2**1075)), 0.0, _SMALLEST),
        (ball(Fraction(-1, 10**400)), -_SMALLEST, 0.0),
        (arb("nan"), -math.inf, math.inf),
        (arb("inf"), -math.inf, math.inf),
        (arb("-inf"), -math.inf, math.inf),
        (arb(0, ball(10**400)), -math.inf, math.inf),
    ],
)
def test_outward_rounding(number: Ball, below: float, above: float) -> None:
    assert (lower(number), upper(number)) == (below, above)


def test_a_ball_that_knows_little_gives_a_wide_interval() -> None:
    assert lower(arb(1, 0.5)) <= 0.5
    assert upper(arb(1, 0.5)) >= 1.5


def test_directions_hold_at_a_lower_precision_than_the_balls() -> None:
    with precision(400):
        third = ball(Fraction(1, 3))
    assert Fraction(lower(third)) < Fraction(1, 3) < Fraction(upper(third))
    assert upper(third) - lower(third) <= 2 * math.ulp(1 / 3)


def test_more_precision_makes_the_ball_smaller() -> None:
    radii = []
    for bits in (64, 128, 256):
        with precision(bits):
            radii.append(float(ball(1).exp().rad()))
    assert radii[0] > radii[1] > radii[2] > 0


def test_precision_nests_and_never_lowers() -> None:
    outside = ctx.prec
    with precision(200):
        assert ctx.prec == 200
        with precision(100):
            assert ctx.prec == 200
            with precision(300):
                assert ctx.prec == 300
            assert ctx.prec == 200
        assert ctx.prec == 200
    assert ctx.prec == outside


def test_precision_is_restored_after_an_exception() -> None:
    outside = ctx.prec
    with pytest.raises(ZeroDivisionError), precision(200):
        raise ZeroDivisionError
    assert ctx.prec == outside
    assert _entered_by_another_thread(timeout=10), "the lock was released too"


def test_another_thread_waits_for_the_end_of_the_block() -> None:
    seen: list[int] = []

    def work() -> None:
        with precision(64):
            seen.append(ctx.prec)

    with precision(500):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(timeout=0.05)
        assert thread.is_alive()
        assert seen == []
        assert ctx.prec == 500
    thread.join(timeout=10)
    assert seen == [max(64, ctx.prec)], "not the 500 bits of somebody else's block"


def test_many_threads_each_get_their_precision() -> None:
    wrong: list[int] = []

    def work(bits: int) -> None:
        for _ in range(200):
            with precision(bits):
                ball(1).exp()
                if ctx.prec != bits:
                    wrong.append(bits)

    threads = [threading.Thread(target=work, args=(bits,)) for bits in (64, 128, 256, 512)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_forked_while_another_thread_computes_is_not_locked_out() -> None:
    inside, done = threading.Event(), threading.Event()

    def work() -> None:
        with precision(500):
            inside.set()
            done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(2)  # ends a child that waits for a lock which nobody can release
        with precision(64):
            os._exit(0 if ctx.prec == 64 else 1)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


def _entered_by_another_thread(timeout: float) -> bool:
    def work() -> None:
        with precision(64):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout)
    return not thread.is_alive()
