"""The topic `accuracy`: the 95th percentile of the error against the peers, like with like."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bench import ours_accuracy
from bench.accuracy_case import CELLS, HIGH, Cell, Estimator, errors
from bench.peers import diffprivlib_accuracy, opendp_accuracy, pydp_accuracy
from bench.progress import say
from bench.row import Row, less_is_better, more_is_better
from bench.timing import samples_per_second

PEERS = (diffprivlib_accuracy, opendp_accuracy, pydp_accuracy)
MUCH_BETTER = 1 / 0.7
TOO_WIDE = 1000
MOST_GROWTH = 2.0
SECONDS_LIMIT = 0.5
VALUES = 10**6


def rows() -> Iterator[Row]:
    best: list[float] = []
    for cell in CELLS:
        found = list(_cell_rows(cell))
        yield from found
        best.append(min(row.ratio for row in found))
    much = sum(ratio >= MUCH_BETTER for ratio in best)
    yield more_is_better(
        "cells with at most 0.7 times the best peer's error", ours=much, peer="half of the cells",
        peer_value=len(best) / 2, asked=1.0, unit="cells",
    )  # fmt: skip
    for cell in CELLS:
        yield _growth_row(cell)
    yield _time_row()


def _cell_rows(cell: Cell) -> Iterator[Row]:
    say(f"{cell} ...")
    ours = _percentile(cell, ours_accuracy.estimator(cell))
    for peer in PEERS:
        theirs = peer.estimator(cell)
        if theirs is not None:
            value = _percentile(cell, theirs)
            yield less_is_better(
                f"{cell}: 95th percentile of the error", ours=ours, peer=peer.WHO, peer_value=value, asked=1.0, unit="",
            )  # fmt: skip


def _growth_row(cell: Cell) -> Row:
    say(f"{cell}, bounds {TOO_WIDE} times too wide ...")
    narrow = _percentile(cell, ours_accuracy.estimator(cell))
    wide = _percentile(cell, ours_accuracy.estimator(replace(cell, high=TOO_WIDE * HIGH)))
    return less_is_better(
        f"{cell}: growth of our error with bounds {TOO_WIDE} times too wide", ours=wide / narrow, peer="limit",
        peer_value=MOST_GROWTH, asked=1.0, unit="×",
    )  # fmt: skip


def _percentile(cell: Cell, estimator: Estimator) -> float:
    return float(np.quantile(errors(cell, estimator), 0.95))


def _time_row() -> Row:
    (rate,) = samples_per_second([ours_accuracy.many_values(VALUES)], repetitions=5)
    return less_is_better(
        "median and five quantiles of 10^6 values, CPU time", ours=VALUES / rate, peer="limit",
        peer_value=SECONDS_LIMIT, asked=1.0, unit="s",
    )  # fmt: skip
