"""There is one way from a bounded table to a number: only release.py opens an exact aggregate."""

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "dither"


def openers(text: str) -> int:
    """How often a program calls the method `_open` of something."""
    found = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return sum(isinstance(function, ast.Attribute) and function.attr == "_open" for function in found)


def test_only_the_door_opens_an_exact_aggregate() -> None:
    callers = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if openers(path.read_text())]
    assert callers == [Path("release.py")]


def test_another_opener_would_be_seen() -> None:
    assert openers("batches = [each._open() for each in exact]") == 1
    assert openers("open('x'); self._opened()") == 0
