"""The options of `python -m bench accuracy`; known to the command and to the worker."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """What is measured, and for how long; `cells` keeps the outcomes, `report` judges what was kept before."""

    minutes: float = 3.0
    seed: int = 1
    only: str = ""
    family: str = ""
    door: str = ""
    largest: int = 10**6
    cells: str = ""
    report: tuple[str, ...] = ()

    @classmethod
    def parsed(cls, arguments: Sequence[str]) -> "Options":
        parser = argparse.ArgumentParser(prog="python -m bench accuracy")
        parser.add_argument(
            "--minutes", type=float, default=cls.minutes, help="of CPU time; 3 for a look, 480 for a night"
        )
        parser.add_argument("--seed", type=int, default=cls.seed, help="of the families, the data and the settings")
        parser.add_argument("--only", default=cls.only, metavar="WORD", help="only questions with this in their name")
        parser.add_argument(
            "--family", default=cls.family, metavar="WORD", help="only families with this in their name"
        )
        parser.add_argument("--door", default=cls.door, choices=("dp.stats", "Dataset"), help="only one of our doors")
        parser.add_argument(
            "--largest", type=int, default=cls.largest, metavar="N", help="leave out settings of more records"
        )
        parser.add_argument("--cells", default=cls.cells, metavar="FILE", help="append a JSON line for each setting")
        parser.add_argument(
            "--report", default=cls.report, nargs="+", metavar="FILE", help="measure nothing: judge what --cells kept"
        )
        options = vars(parser.parse_args(arguments))
        return cls(**options | {"report": tuple(options["report"])})
