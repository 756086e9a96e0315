"""Every test here runs in a folder of its own."""

from pathlib import Path

import pytest

from tests.cli import world


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with private data and a description."""
    world.write_visits(tmp_path)
    (tmp_path / "dither.toml").write_text(world.DESCRIPTION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
