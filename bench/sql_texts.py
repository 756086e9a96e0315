"""How long texts of the grammar take to compile or to be refused, as a process of its own: `python -m bench.sql_texts`.

It prints one JSON object: how many texts there were, how many compiled, how many took longer than `LIMIT` seconds of
CPU time, and the time that one in a hundred passes. A collection of all garbage, which looks at everything
that was ever imported, falls on some text now and then: objects that stay are frozen before.
"""

import gc
import json
import sys
import time

import dither as dp
from dither.errors import ParameterError
from tests.engine.sql.grammar import texts
from tests.engine.sql.test_grammar import dataset

COUNT = 10_000
LIMIT = 0.05


def main(count: int = COUNT, seed: int = 11) -> dict[str, float]:
    taken, compiled = [], 0
    with dataset() as data:
        for text in texts(100, seed + 1):  # whatever is loaded once
            _compiles(data, text)
        gc.collect()
        gc.freeze()
        for text in texts(count, seed):
            start = time.process_time()
            compiled += _compiles(data, text)
            taken.append(time.process_time() - start)
    gc.unfreeze()
    taken.sort()
    return {
        "texts": count,
        "compiled": compiled,
        "above": sum(seconds > LIMIT for seconds in taken),
        "one_in_a_hundred": taken[len(taken) * 99 // 100],
        "slowest": taken[-1],
    }


def _compiles(data: dp.Dataset, text: str) -> bool:
    try:
        data.sql(text)
    except ParameterError:
        return False
    return True


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
    sys.exit(0)
