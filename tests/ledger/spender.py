"""A process that has a ledger open. Run by test_one_ledger.py with its place: one command a line, one reply a line.

"open", "charge" (the whole budget), "look" (what was spent), "close", "end" (the interpreter ends, and closes nothing).
"""

from __future__ import annotations

import sys
from fractions import Fraction

import dither as dp
from dither.errors import DitherError
from dither.ledger import Ledger

BUDGET, EVENT = dp.PureDP(1), dp.events.LaplaceNoise(Fraction(1))


def main(place: str) -> None:
    """Until "end"."""
    ledger: Ledger | None = None
    for line in sys.stdin:
        said = "done"
        try:
            if line == "open\n":
                ledger = Ledger(place)
                ledger.open_account("visits", BUDGET)
            if ledger is None:
                said = "not open"
            elif line == "charge\n":
                ledger.charge("visits", EVENT, BUDGET, "how many?")
            elif line == "look\n":
                said = str(ledger.account("visits").spent["epsilon"])
            elif line == "close\n":
                ledger.close()
        except DitherError as error:
            said = f"{type(error).__name__}: {error}"
        print(said, flush=True)
        if line == "end\n":
            return


if __name__ == "__main__":
    main(sys.argv[1])
