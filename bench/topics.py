"""The topics that can be measured.

A topic is one module with a function `rows()` that yields `Row`s as they are measured. The module is named
here and imported only in the worker, because the peers it imports are installed only there.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from bench.accounting_options import AccountingOptions
from bench.accuracy_options import Options
from bench.row import Row

TOPICS: dict[str, str] = {
    "accounting": "bench.accounting",
    "accuracy": "bench.accuracy",
    "adaptive": "bench.adaptive",
    "audit": "bench.audit",
    "continual": "bench.continual",
    "engines": "bench.engines",
    "groupby": "bench.groupby",
    "growth": "bench.growth",
    "guidance": "bench.guidance",
    "ledger": "bench.ledger",
    "mechanisms": "bench.mechanisms",
    "noise": "bench.noise",
    "service": "bench.service",
    "sql": "bench.sql",
    "start": "bench.start",
}

CORES = {"accuracy": 2, "engines": 2, "groupby": 2, "growth": 2, "ledger": 2, "service": 2, "sql": 2, "start": 2}
"""Topics that may use more than one core: they run other processes, or measure errors rather than time."""


WITHOUT_PEERS = frozenset({"continual", "engines", "growth", "ledger", "service", "sql", "start"})
"""Topics that need no environment but ours: measured beside limits and formulas, or beside peers that each have one of
their own."""

WITH_OPTIONS: dict[str, Callable[[Sequence[str]], object]] = {
    "accounting": AccountingOptions.parsed,
    "accuracy": Options.parsed,
}
"""Topics whose `rows` take a list of options from the command line, and what reads them."""


def rows_of(topic: str, options: Sequence[str] = ()) -> Iterator[Row]:
    rows: Callable[..., Iterator[Row]] = import_module(TOPICS[topic]).rows
    return rows(options) if topic in WITH_OPTIONS else rows()
