"""`import dither` is quick and loads no heavy room."""

import json
import subprocess
import sys

HEAVY = {"fastapi", "ibis", "matplotlib", "sqlalchemy", "typer", "uvicorn"}
LIMIT = 0.3
"""Seconds of processor time."""


def import_once(statement: str) -> tuple[set[str], float]:
    """The top-level modules that a statement loads in a fresh interpreter, and its processor time."""
    program = (
        f"import json, sys, time; start = time.process_time(); {statement}; "
        "print(json.dumps([sorted({m.partition('.')[0] for m in sys.modules}), time.process_time() - start]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules, seconds = json.loads(done.stdout)
    return set(modules), seconds


def test_nothing_heavy_is_loaded() -> None:
    modules, _ = import_once("import dither")
    assert "dither" in modules
    assert modules & HEAVY == set()


def test_a_heavy_module_would_be_seen() -> None:
    modules, _ = import_once(
        "import dither, types; sys.modules['matplotlib'] = types.ModuleType('matplotlib')"
    )
    assert modules & HEAVY == {"matplotlib"}


def test_it_is_quick() -> None:
    """The best of five tries: a busy machine only ever adds time."""
    assert min(import_once("import dither")[1] for _ in range(5)) < LIMIT
