"""Which groups a person keeps is chance: each with the same probability, anew for each salt."""

import numpy as np
import pyarrow as pa
from scipy.stats import binom

from dither.noise import UniformBelow
from dither.tables.database_engines.duckdb import DuckDB
from tests.noise.fit import ALARM

SALTS = 400


def test_the_smallest_hash_is_any_group_with_the_same_probability() -> None:
    """Four groups of one person over many salts: each is the first as often as the others, at the rate `ALARM`."""
    engine = DuckDB()
    table = engine.upload(pa.table({"person": [7] * 4, "group": [1, 2, 3, 4]}))
    wins = np.zeros(4, dtype=int)
    for salt in map(int, UniformBelow(1 << 62).sample(SALTS)):
        ordered = table.order_by(engine.hash([table["person"], table["group"]], salt)).limit(1)
        (batch,) = engine.fetch(ordered)
        wins[batch.column("group")[0].as_py() - 1] += 1
    low, high = binom.ppf([ALARM / 8, 1 - ALARM / 8], SALTS, 1 / 4)
    assert wins.min() >= low
    assert wins.max() <= high
