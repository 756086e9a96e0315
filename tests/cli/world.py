"""A folder with private data in it, and the real command run there."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from typer.testing import CliRunner

from dither.cli import app
from dither.errors import LedgerError
from dither.ledger import Ledger

SECRETS = ("Zebedee", "Quagmire", "31337.42", "1987-06-05")
"""What stands in the rows, and nowhere else."""
ONE_ROW = "--person user_id --max-groups 1 --max-rows-per-group 1"
QUESTION = "--person user_id --max-groups 2 --max-rows-per-group 1 --group-by city --keys Paris,Lyon --agg visits=count"
CITIES = "city,country,people\nParis,France,2\nLyon,France,0.5\nRome,Italy,3\nOslo,Norway,\n"
"""A public table; it does not know Nice."""
BUDGET = "--budget-epsilon 1 --ledger visits.ledger"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def run(*arguments: str, columns: int | None = 120, answers: str = "") -> Done:
    """Run the command line in the current folder, on a terminal of so many columns; None is a pipe."""
    env = {"COLUMNS": None if columns is None else str(columns), "TERM": "dumb"}
    done = CliRunner().invoke(app, list(arguments), env=env, input=answers)
    return Done(done.exit_code, done.stdout, done.stderr)


def write_visits(folder: Path) -> None:
    """visits.csv and visits.parquet: 400 rows of 100 persons, some of them unmistakable; cities.csv is public."""
    people = ["Zebedee", "Quagmire", *(f"person {number}" for number in range(98))]
    rows = {
        "user_id": [people[row % 100] for row in range(400)],
        "city": [("Paris", "Lyon", "Nice", "Rome")[row // 100] for row in range(400)],
        "age": [20 + row % 60 for row in range(400)],
        "cost": [31337.42 if row % 100 < 2 else float(row % 97) for row in range(400)],
        "day": ["1987-06-05" if row % 100 < 2 else "2024-01-31" for row in range(400)],
    }
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    (folder / "cities.csv").write_text(CITIES, encoding="utf-8")
    (folder / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = pa.table(rows)
    days = table.column("day").cast(pa.date32())
    pa.parquet.write_table(table.set_column(4, "day", days), folder / "visits.parquet")


DESCRIPTION = """\
[dataset]
source = "visits.csv"

[unit]
person = "user_id"
max_groups = 2
max_rows_per_group = 1
[bounds]
cost = [0, 200]

[budget]
epsilon = 1
ledger = "visits.ledger"

[questions.by_city]
where = "age >= 18"
group_by = "city"
keys = ["Paris", "Lyon"]
agg = { visits = "count", spend = "mean(cost)" }
epsilon = 0.5

[questions.middle]
agg.cost = "median(cost, interval=0.9)"
epsilon = 0.25
"""

STREAM = """\
[dataset]
source = "visits.csv"

[columns]
cost = "number"

[unit]
person = "user_id"
max_groups = 1
max_rows_per_group = 1

[budget]
epsilon = 2
delta = 1e-6
ledger = "visits.ledger"

[streams.daily]
over = "day"
start = 2026-01-01
periods = 4
max_periods = 2
show = ["total", "last", 2, "month"]
where = "cost >= 0"
group_by = "city"
keys = ["Lyon", "Paris"]
agg = { visits = "count", shape = "histogram(cost, [0, 10, 20])" }
epsilon = 1
delta = 1e-6
"""
"""A description with a stream."""


def charges(place: Path) -> int:
    """How many releases a ledger knows; 0 if there is none."""
    if not place.exists():
        return 0
    ledger = Ledger(place)
    try:
        return sum(entry.kind == "charge" for entry in ledger.entries())
    except LedgerError:
        return 0
    finally:
        ledger.close()
