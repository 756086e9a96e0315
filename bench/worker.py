"""Runs inside the peers' environment: measures one topic, one JSON row per line as soon as it is known."""

import sys

from bench import one_core
from bench.topics import CORES, rows_of


def main(topic: str, *options: str) -> None:
    one_core.pin(CORES.get(topic, 1))
    for row in rows_of(topic, options):
        print(row.to_json(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
