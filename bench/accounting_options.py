"""The options of `python -m bench accounting`; known to the command and to the worker."""

import argparse
import secrets
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class AccountingOptions:
    """`mixtures` is how many random mixtures are drawn, 0 for the fixed cases; `seed` says which; `risk` for that."""

    mixtures: int = 0
    seed: int = 0
    risk: bool = False

    @classmethod
    def parsed(cls, arguments: Sequence[str]) -> "AccountingOptions":
        parser = argparse.ArgumentParser(prog="python -m bench accounting")
        parser.add_argument(
            "--mixtures",
            type=int,
            nargs="?",
            const=200,
            default=0,
            metavar="COUNT",
            help="random mixtures in place of the fixed cases; 200 unless said",
        )
        parser.add_argument("--seed", type=int, default=None, help="of the mixtures; fresh unless given")
        parser.add_argument(
            "--risk", action="store_true", help="noise for a risk, beside riskcal, and works with a limit, instead"
        )
        found = parser.parse_args(arguments)
        return cls(found.mixtures, secrets.randbelow(10**9) if found.seed is None else found.seed, found.risk)
