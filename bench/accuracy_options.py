"""The options of `python -m bench accuracy`; known to the command and to the worker."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """`only` names questions by a part of their name; `cells` is a file for one JSON line per contender and setting."""

    minutes: float = 3.0
    seed: int = 1
    only: str = ""
    door: str = ""
    cells: str = ""

    @classmethod
    def parsed(cls, arguments: Sequence[str]) -> "Options":
        parser = argparse.ArgumentParser(prog="python -m bench accuracy")
        parser.add_argument(
            "--minutes", type=float, default=cls.minutes, help="how long; 3 for a look, 480 for a night"
        )
        parser.add_argument("--seed", type=int, default=cls.seed, help="of the families, the data and the settings")
        parser.add_argument("--only", default=cls.only, metavar="WORD", help="only questions with this in their name")
        parser.add_argument("--door", default=cls.door, choices=("dp.stats", "Dataset"), help="only one of our doors")
        parser.add_argument("--cells", default=cls.cells, metavar="FILE", help="a JSON line for each setting as well")
        return cls(**vars(parser.parse_args(arguments)))
