"""The logger: silent by default, and it never holds data or a URL."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from pathlib import Path

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import DitherError
from dither.ledger import Ledger

SECRET = "hunter2"
URLS = [
    f"postgresql://ada:{SECRET}@127.0.0.1:1/ledgers",
    f"postgresql://ada@127.0.0.1:1/ledgers?password={SECRET}",
    f"postgresql://ada@127.0.0.1:1/ledgers?sslpassword={SECRET}&options={SECRET}",
    f"postgresql://ada:{SECRET}@[::1/ledgers",
    f"mysql://ada:{SECRET}@127.0.0.1/ledgers",
]


@pytest.mark.parametrize("url", URLS)
def test_no_message_holds_the_url_of_a_ledger(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "dither")
    with pytest.raises(DitherError) as caught:
        Ledger(url)
    text = "".join(traceback.format_exception(caught.value, chain=True)) + caplog.text
    assert SECRET not in text
    assert "ada" not in str(caught.value)
    assert "psycopg" not in str(caught.value), "a driver's URL"


def test_it_tells_of_charges_and_releases_and_nothing_of_data(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "dither")
    table = pa.table({"name": ["Zebulon"] * 50, "pay": [4711.0] * 50})
    with dp.Dataset(table, unit=dp.Rows(), budget=dp.PureDP(1), ledger=":memory:", identity="payroll") as data:
        for _ in range(2):
            data.count(epsilon="0.5", key="once")
    said = [record.getMessage() for record in caplog.records if record.name.startswith("dither")]
    assert said[0] == "opened a source in DuckDB"
    assert said[1].startswith("charged PureDP(epsilon=0.5")
    assert said[2] == "released the answer of entry 2"
    assert said[3] == "the answer of entry 2 is repeated; nothing was charged"
    assert len(said) == 4
    assert not any(word in "".join(said) for word in ("Zebulon", "4711", "payroll", "50 "))


def test_it_is_silent_unless_configured(tmp_path: Path) -> None:
    program = "import dither, logging; logging.getLogger('dither.release').error('seen?')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
