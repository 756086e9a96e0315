"""`dither demo` runs without a terminal, is right about the truth it shows, and leaves other people's files alone."""

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from dither.cli import app
from dither.cli.demo import truth
from dither.cli.demo.folder import prepared
from dither.cli.demo.visits import CONDITIONS, HOSPITALS, hospital_visits
from dither.errors import ParameterError
from dither.ledger import Ledger

PEOPLE = 2_000


def demo(*options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dither", "demo", "--people", str(PEOPLE), *options],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        timeout=300,
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "100"},
    )


@pytest.mark.slow
def test_the_demo_runs_and_runs_again_in_its_folder(tmp_path: Path) -> None:
    """24 intervals of 95 %: fewer than 11 hold with probability 2e-12."""
    done = demo(folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "this release costs epsilon 1 (delta 0), but only 0.3 (delta 0) of 2 (delta 0) is left" in done.stdout
    assert "in all 1.7" in done.stdout
    assert "\x1b[" not in done.stdout, "colours belong in a terminal only"

    done = demo("--json", folder=tmp_path)
    ledger = Ledger(tmp_path / "dither-demo" / "hospital_visits.ledger")
    assert ledger.verify() == 10, "the budget, and of each question its charge, its attempt and its outcome"
    ledger.close()
    found = json.loads(done.stdout)
    assert found["epsilon_spent"] == 1.7
    assert found["intervals"]["of"] == 24
    assert found["intervals"]["held"] >= 11
    assert [row["hospital"] for row in found["hospitals"]] == list(HOSPITALS)
    assert set(found["most_common"]) <= set(CONDITIONS)
    assert found["quantiles"] == sorted(found["quantiles"])
    made = {path.name for path in (tmp_path / "dither-demo").iterdir()}
    assert {"report.html", "by_hospital.svg", "budget.svg", "README.txt"} <= made
    assert_certificates_are_checked([tmp_path / name for name in found["certificates"]])


def assert_certificates_are_checked(certificates: list[Path]) -> None:
    """By the real command: as they are, they are accepted; with another ε, refused."""
    assert len(certificates) == 3
    for certificate in certificates:
        options = ["verify", str(certificate), "--ledger", str(certificate.with_name("hospital_visits.ledger"))]
        assert CliRunner().invoke(app, options).exit_code == 0
        content = json.loads(certificate.read_text())
        content["guarantee"]["epsilon"] = "1/100"
        certificate.write_text(json.dumps(content))
        refused = CliRunner().invoke(app, options)
        assert refused.exit_code == 1
        assert refused.output.startswith("refused.")


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "hospital_visits.ledger").write_text("mine")
    with pytest.raises(ParameterError, match="Give another one: --folder"):
        prepared(tmp_path)
    assert (tmp_path / "hospital_visits.ledger").read_text() == "mine"
    refused = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path)])
    assert refused.exit_code == 2
    assert refused.output.startswith("Error: the demo writes into a new folder")
    assert prepared(prepared(tmp_path / "new")).is_dir()


def test_the_visits_are_always_the_same() -> None:
    """The hash of every value: another one is another table, and the figures in the documentation are then wrong."""
    table = hospital_visits(1_000)
    digest = hashlib.sha256()
    for column in table.columns:
        digest.update(repr(column.to_pylist()).encode())
    assert digest.hexdigest() == "a980b018c414f13b7289a9d74cd552200b77b94180467fe412bc9ffaa80eebee"


def test_the_visits_are_hard_as_real_ones() -> None:
    table = hospital_visits(10_000)
    assert table.num_rows == 100_000
    visits: dict[int, int] = defaultdict(int)
    hospitals: dict[int, set[str]] = defaultdict(set)
    for patient, hospital in zip(table["patient"].to_pylist(), table["hospital"].to_pylist(), strict=True):
        visits[patient] += 1
        hospitals[patient].add(hospital)
    assert set(visits) == set(range(10_000))
    assert max(visits.values()) > 8 * sum(visits.values()) / len(visits), "some people come very often"
    assert max(map(len, hospitals.values())) == 3
    assert 2_000 < table["cost"].null_count < 4_000
    assert 1_000 < table["age"].null_count < 3_000
    assert set(table["condition"].to_pylist()) == set(CONDITIONS)
    assert max(cost for cost in table["cost"].to_pylist() if cost is not None) > 10_000


def within_bounds(table: pa.Table, rows: int, most: float) -> dict[str, dict[str, Any]]:
    """Person by person, in plain Python."""
    costs: dict[tuple[str, int], list[float | None]] = defaultdict(list)
    for row in table.to_pylist():
        costs[row["hospital"], row["patient"]].append(row["cost"])
    found: dict[str, dict[str, Any]] = defaultdict(lambda: {"visits": 0, "patients": 0, "sum": 0.0, "number": 0.0})
    for (hospital, _), values in costs.items():
        known = [min(value, most) for value in values if value is not None]
        of = found[hospital]
        of["visits"] += min(len(values), rows)
        of["patients"] += 1
        if known:
            counted = min(len(known), rows)
            of["sum"] += counted * sum(known) / len(known)
            of["number"] += counted
    return found


def test_the_truth_is_true(tmp_path: Path) -> None:
    table = hospital_visits(1_000)
    path = tmp_path / "visits.parquet"
    pq.write_table(table, path)
    found, naive = truth.hospitals(path, rows=5, most=300), within_bounds(table, rows=5, most=300)
    assert found.keys() == naive.keys() == HOSPITALS.keys()
    for hospital, exact in naive.items():
        assert found[hospital]["visits"] == exact["visits"] < found[hospital]["all_visits"]
        assert found[hospital]["patients"] == exact["patients"]
        assert found[hospital]["cost"] == pytest.approx(exact["sum"] / exact["number"], rel=1e-12)
    costs = sorted(cost for cost in table["cost"].to_pylist() if cost is not None)
    assert truth.quantiles(path, [0.5]) == [costs[(len(costs) - 1) // 2]]
    counts = [table["condition"].to_pylist().count(name) for name in truth.conditions(path)]
    assert counts == sorted(counts, reverse=True)
