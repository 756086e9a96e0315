"""`import dither` is quick because it loads nothing heavy; how quick is measured in `bench`."""

import json
import subprocess
import sys

HEAVY = {"fastapi", "flint", "ibis", "matplotlib", "numpy", "scipy", "sqlalchemy", "typer", "uvicorn"}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a statement loads in a fresh interpreter."""
    program = f"import json, sys; {statement}; print(json.dumps([m.partition('.')[0] for m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_nothing_heavy_is_loaded() -> None:
    modules = loaded_by("import dither")
    assert "dither" in modules
    assert modules & HEAVY == set()


def test_a_heavy_module_would_be_seen() -> None:
    assert "numpy" in loaded_by("import dither; dither.PureDP") & HEAVY
