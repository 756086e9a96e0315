"""Which texts of TPC-H Qrlew rewrites, as a process of its own: `python -m bench.peers.qrlew_sql`.

It gets the tables without rows, the customer as the privacy unit along the same foreign keys, and each text with its
days as texts. What it rewrites is counted; the noise is then the database's own random function. It prints one JSON
object, by query.
"""

import json

from pyqrlew import Dataset  # type: ignore[import-not-found,import-untyped,unused-ignore]
from sqlalchemy import create_engine, text

from bench import tpch

UNIT = [
    ("customer", [], "c_custkey"),
    ("orders", [], "o_custkey"),
    ("lineitem", [("l_orderkey", "orders", "o_orderkey")], "o_custkey"),
]
PRICE = {"epsilon": 1.0, "delta": float(tpch.DELTA)}


def main() -> dict[int, str]:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        for name, columns in tpch.SCHEMA.items():
            connection.execute(text(f"CREATE TABLE {name} ({columns})"))
    dataset = Dataset.from_database(name="tpch", engine=engine, schema_name=None, ranges=False)
    return {number: _outcome(dataset, tpch.with_days_as_texts(query)) for number, query in tpch.queries().items()}


def _outcome(dataset: object, query: str) -> str:
    try:
        relation = dataset.relation(query)  # type: ignore[attr-defined]
        relation.rewrite_with_differential_privacy(dataset, UNIT, PRICE)
    except BaseException as error:  # a panic of Rust is no Exception
        return f"refused: {type(error).__name__}: {' '.join(str(error).split())[:80]}"
    return "taken"


if __name__ == "__main__":
    print(json.dumps(main()))
