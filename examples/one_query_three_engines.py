"""One question, three engines: a Parquet file (DuckDB), a PostgreSQL table, a Spark session.

The query is written once. Underneath each engine counts the same whole numbers, so the error bars are the same; only
the noise is drawn anew each time.

    python examples/one_query_three_engines.py
    python examples/one_query_three_engines.py postgresql://user@host/database spark

With a URL, a table `dither_example_visits` is written there and dropped again.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import dither as dp

TABLE = "dither_example_visits"


def visits() -> pa.Table:
    """Invented: 900 people, four visits each, at most two in one city."""
    rows = range(3_600)
    return pa.table(
        {
            "user_id": [row // 4 for row in rows],
            "city": [("Paris", "Lyon", "Nice")[(row // 4 + row // 2) % 3] for row in rows],
            "spend": [float(row * 37 % 211) for row in rows],
        }
    )


def ask(data: dp.Dataset) -> Any:
    """The question, in the same words for every engine."""
    return (
        data.where(dp.col("spend") > 5)
        .group_by("city", keys=["Paris", "Lyon", "Rome"])
        .agg(visits=dp.count(), people=dp.count_people(), spend=dp.mean("spend", bounds=(0, 200)))
    )


def exact(question: Any) -> dict[str, list[int]]:
    """The exact numbers, without noise, as in a test: never do this with real data."""
    parts = question.plan(epsilon=1).parts.values()
    measures = {name: each for at, part in enumerate(parts) for name, each in part.need.measures(f"part {at}").items()}
    found = pa.Table.from_batches(question._bounded.totals(measures, salt=7)._open())
    return {row.pop("city"): [int(value) for value in row.values()] for row in found.to_pylist()}


def compare(sources: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Ask every engine the same question."""
    numbers, bars = [], []
    for engine, where in sources.items():
        with dp.Dataset(
            **where,
            unit=dp.Person("user_id", max_groups=3, max_rows_per_group=2),
            budget=dp.PureDP(2),
            ledger=folder / f"{engine}.ledger",
        ) as data:
            question = ask(data)
            release = question.release(epsilon=1)
            numbers.append(exact(question))
        low, high = release.interval(0.95)
        print(f"{engine}:")
        for row in release.to_arrow().to_pylist():
            print(f"  {row['city']:6} {row['visits']:6,} visits, mean spend {row['spend']:6.2f}")
        bars.append([b.as_py() - a.as_py() for a, b in zip(low["visits"], high["visits"], strict=True)])
    print(f"\nEngines: {len(numbers)}. The exact numbers are the same: {all(each == numbers[0] for each in numbers)}.")
    print(f"The error bars are the same: {all(each == bars[0] for each in bars)}.")


@contextmanager
def postgres_table(url: str) -> Iterator[dict[str, Any]]:
    """The visits in a table of a PostgreSQL database."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {TABLE} (user_id bigint, city text, spend double precision)")
        try:
            with connection.cursor() as cursor, cursor.copy(f"COPY {TABLE} FROM STDIN") as copy:
                for row in visits().to_pylist():
                    copy.write_row(list(row.values()))
            yield {"source": url, "table": TABLE}
        finally:
            connection.execute(f"DROP TABLE {TABLE}")


def spark_view(session: Any) -> dict[str, Any]:
    """The visits as a view of a Spark session."""
    session.createDataFrame(visits()).createOrReplaceTempView(TABLE)
    return {"source": session, "table": TABLE}


def main(arguments: list[str]) -> None:
    """Use the engines that were named."""
    urls = [argument for argument in arguments if "://" in argument]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = folder / "visits.parquet"
        pq.write_table(visits(), path)
        sources: dict[str, dict[str, Any]] = {"Parquet": {"source": path}}
        if urls:
            sources["PostgreSQL"] = stack.enter_context(postgres_table(urls[0]))
        else:
            print("PostgreSQL is left out: give its URL, such as postgresql://user@host/database.")
        if "spark" in arguments:
            from pyspark.sql import SparkSession

            session = SparkSession.builder.master("local[1]").config("spark.sql.ansi.enabled", "true").getOrCreate()
            stack.callback(session.stop)
            sources["Spark"] = spark_view(session)
        else:
            print("Spark is left out: say spark to start a session; it needs pyspark and Java.")
        compare(sources, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
