"""`python -m bench TOPIC [--json] [options of the topic]`: measure ours and the peers in one run, and print the ratios.

A missed figure is said plainly in the table; it does not change the exit code.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence

from bench import environment, results, table
from bench.row import Row
from bench.topics import TOPICS, WITH_OPTIONS, WITHOUT_PEERS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Side by side with the peers, as ratios.")
    parser.add_argument("topic", choices=sorted(TOPICS))
    parser.add_argument("--json", action="store_true", help="one JSON row per line")
    options, more = parser.parse_known_args()
    if options.topic in WITH_OPTIONS:
        WITH_OPTIONS[options.topic](more)
    elif more:
        parser.error(f"unknown options: {' '.join(more)}")
    rows = []
    for row in _measured(options.topic, more):
        rows.append(row)
        if options.json:
            print(row.to_json(), flush=True)
    if not more:  # with options of its own, a topic measures a part
        results.write(options.topic, rows)
    if not options.json:
        print(table.render(rows))
    return 0


def _measured(topic: str, options: Sequence[str]) -> Iterator[Row]:
    interpreter = environment.ours() if topic in WITHOUT_PEERS else environment.PEERS.interpreter()
    command = [str(interpreter), "-m", "bench.worker", topic, *options]
    with subprocess.Popen(
        command, cwd=environment.ROOT, env=environment.variables(), stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        yield from map(Row.from_json, worker.stdout)
    if worker.returncode:
        sys.exit(f"the measurement of {topic!r} stopped with exit code {worker.returncode}")


if __name__ == "__main__":
    sys.exit(main())
