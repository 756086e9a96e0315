"""For the examples in docstrings; it is not part of the package."""

from pathlib import Path

import pytest

import dither.audit  # noqa: F401  (first: pytest would put the package `attack` in the place of the function)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example may write a ledger."""
    monkeypatch.chdir(tmp_path)
