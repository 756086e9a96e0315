"""Which texts of TPC-H SmartNoise SQL takes, as a process of its own: `python -m bench.peers.smartnoise_sql`.

It has no foreign keys, so its private table is `lineitem` with rows as the privacy unit: a line is protected, and not
the customer. What it rewrites is counted, whatever it protects. It does not read days as the standard writes them, so
it gets them as texts. It prints one JSON object, by query.
"""

import json

from snsql.metadata import Metadata  # type: ignore[import-not-found,import-untyped,unused-ignore]
from snsql.sql.parse import QueryParser  # type: ignore[import-not-found,import-untyped,unused-ignore]
from snsql.sql.private_rewriter import Rewriter  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench import tpch

KINDS = {"key": "int", "date": "datetime"}
NUMBERS = ("l_quantity", "l_extendedprice", "l_discount", "l_tax", "c_acctbal", "ps_supplycost")
COLUMNS = {
    "lineitem": "l_orderkey l_partkey l_suppkey l_quantity l_extendedprice l_discount l_tax l_returnflag l_linestatus "
    "l_shipdate l_commitdate l_receiptdate l_shipinstruct l_shipmode",
    "orders": "o_orderkey o_custkey o_orderstatus o_orderdate o_orderpriority o_comment",
    "customer": "c_custkey c_name c_nationkey c_phone c_acctbal c_mktsegment",
}


def _column(name: str) -> dict[str, object]:
    if name in NUMBERS:
        low, high = (float(end) for end in tpch.COLUMNS.get(name, (0, 1000)))
        return {"type": "float", "lower": low, "upper": high}
    return {"type": next((kind for end, kind in KINDS.items() if name.endswith(end)), "string")}


def main() -> dict[int, str]:
    tables = {
        name: {"row_privacy": True, "rows": 6_000_000, **{each: _column(each) for each in columns.split()}}
        for name, columns in COLUMNS.items()
    }
    metadata = Metadata.from_dict({"engine": "postgres", "": {"public": tables}})
    return {number: _outcome(tpch.with_days_as_texts(text), metadata) for number, text in tpch.queries().items()}


def _outcome(text: str, metadata: object) -> str:
    try:
        (query,) = QueryParser(metadata).queries(text)
        Rewriter(metadata).query(query)
    except Exception as error:  # whatever it says
        return f"refused: {type(error).__name__}: {' '.join(str(error).split())[:80]}"
    return "taken"


if __name__ == "__main__":
    print(json.dumps(main()))
