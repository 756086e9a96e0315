"""Many processes on one ledger. Run by test_writers.py: one process imports, then forks the writers.

Arguments: the place of the ledger, how many writers, how many charges each tries, "fresh" or "shared". Fresh writers
open the ledger themselves, all at once; shared ones inherit an open one from their parent, in the middle of its work.
Prints one line per writer: how many of its charges succeeded, were over the budget, and failed otherwise.
"""

from __future__ import annotations

import os
import sys
from fractions import Fraction

import dither as dp
from dither.errors import OverBudget
from dither.ledger import Ledger
from dither.ledger.store import _place

BUDGET, COST, EVENT = dp.PureDP(10), dp.PureDP("0.1"), dp.events.LaplaceNoise(Fraction(10))


def write(place: str, charges: int, inherited: Ledger | None) -> str:
    """Try to charge; what came of it."""
    done = over = other = 0
    ledger = inherited or Ledger(place)
    ledger.open_account("visits", BUDGET)
    for _ in range(charges):
        try:
            ledger.charge("visits", EVENT, COST, "how many?")
            done += 1
        except OverBudget:
            over += 1
        except Exception as error:
            other += 1
            print(repr(error), file=sys.stderr, flush=True)
    return f"{done} {over} {other}"


def main(place: str, writers: int, charges: int, how: str) -> None:
    """Start all writers at once, and wait for them."""
    _place(place).engine()  # imports the driver once for all
    inherited = None
    if how == "shared":
        inherited = Ledger(place)
        inherited.open_account("visits", BUDGET)
        inherited.account("visits")
    wait, go = os.pipe()
    children = []
    for _ in range(writers):
        child = os.fork()
        if not child:
            os.close(go)
            os.read(wait, 1)  # returns when the parent closes its end
            try:
                said = write(place, charges, inherited)
            except BaseException as error:
                said = f"0 0 1 {error!r}"
            os.write(1, f"{said}\n".encode())
            os._exit(0)
        children.append(child)
    os.close(go)
    if inherited is not None:
        os.write(1, f"{write(place, charges, inherited)}\n".encode())
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
