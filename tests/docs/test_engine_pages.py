"""The pages about PostgreSQL and Spark run against real ones."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.docs import pages

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "howto"


def test_the_page_about_postgresql(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE hospital")
    url = postgres_url.rpartition("/")[0] + "/hospital"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (patient bigint, city text, cost double precision)")
        rows = "SELECT n / 3, CASE n % 2 WHEN 0 THEN 'Lyon' ELSE 'Paris' END, n % 200 FROM generate_series(1, 900) n"
        connection.execute(f"INSERT INTO visits {rows}")
    monkeypatch.setenv("HOSPITAL_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    page = HOWTO / "postgresql.md"
    assert pages.run(page.read_text(), page) == 2


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_the_page_about_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = HOWTO / "spark.md"
    assert pages.run(page.read_text(), page) == 2
