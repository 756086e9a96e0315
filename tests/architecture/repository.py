"""Where the repository is, and which files it is made of."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "dither"

_GENERATED = {"__pycache__", "build", "dist"}


def files() -> Iterator[Path]:
    """Every file of the repository; environments, caches and build products are left out."""
    folders = [ROOT]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path.is_file() and path.name != ".git":  # a file in a worktree, and it names the machine's paths
                yield path
            elif path.is_dir() and not _is_generated(path.name):
                folders.append(path)


def _is_generated(folder: str) -> bool:
    hidden = folder.startswith(".") and folder != ".ci"
    return hidden or folder in _GENERATED or folder.endswith(".egg-info")
