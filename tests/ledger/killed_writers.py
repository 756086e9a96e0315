"""Processes that charge one ledger until they are refused, of which the first is killed. Run by test_group_commit.py.

Arguments: the place of the ledger, how many processes, how many charges are told before the first one is killed. Prints
the numbers of the charges that were told, and then "refused" for each process that ended by being refused.
"""

from __future__ import annotations

import os
import signal
import sys
from fractions import Fraction

import dither as dp
from dither.errors import OverBudget
from dither.ledger import Ledger
from dither.ledger.store import _place


def spend(place: str, say: int) -> None:
    """Tell the number of each charge, once it was charged."""
    ledger = Ledger(place)
    try:
        while True:
            charge = ledger.charge("visits", dp.events.LaplaceNoise(Fraction(10)), dp.PureDP("0.1"), "how many?")
            os.write(say, f"{charge.entry.number}\n".encode())
    except OverBudget:
        os.write(say, b"refused\n")


def main(place: str, writers: int, told: int) -> None:
    """Start all, kill one, and hear the others out."""
    _place(place).engine()  # imports the driver once for all
    hear, say = os.pipe()
    children = []
    for _ in range(writers):
        child = os.fork()
        if not child:
            try:
                spend(place, say)
            finally:
                os._exit(0)
        children.append(child)
    os.close(say)
    with os.fdopen(hear) as heard:
        lines = [heard.readline() for _ in range(told)]
        os.kill(children[0], signal.SIGKILL)
        lines += heard
    for child in children:
        os.waitpid(child, 0)
    sys.stdout.writelines(lines)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
