"""No six lines of code stand twice in the package.

Explicit signatures with their decorators repeat themselves, and so does help in NumPy's format: both are left out, with
imports and comments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.architecture import repository

MOST = 5


def code(text: str) -> list[tuple[int, str]]:
    """The numbered lines of code, without what may be repeated."""
    tree = ast.parse(text)
    left_out = {number for node in ast.walk(tree) for number in _repeatable(node)}
    numbered = ((number, line.partition("  #")[0].strip()) for number, line in enumerate(text.splitlines(), 1))
    return [
        (number, line)
        for number, line in numbered
        if number not in left_out and not line.startswith("#") and any(map(str.isalnum, line))
    ]


def _repeatable(node: ast.AST) -> Iterator[int]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
    if isinstance(node, ast.AnnAssign) and node.value is None:
        yield node.lineno
    if isinstance(node, ast.FunctionDef):
        yield from range(min([node.lineno, *(part.lineno for part in node.decorator_list)]), node.body[0].lineno)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def repeated(files: Mapping[str, str]) -> list[str]:
    """Where a run of lines stands again, as "file:line = file:line"."""
    seen: dict[tuple[str, ...], str] = {}
    found = []
    for name, text in files.items():
        lines = code(text)
        for at in range(len(lines) - MOST):
            run = tuple(line for _, line in lines[at : at + MOST + 1])
            place = f"{name}:{lines[at][0]}"
            if run in seen:
                found.append(f"{seen[run]} = {place}")
            seen.setdefault(run, place)
    return found


def test_no_six_lines_stand_twice() -> None:
    files = {str(path.relative_to(repository.SOURCE)): path.read_text() for path in repository.SOURCE.rglob("*.py")}
    assert files
    assert repeated(files) == []


def test_a_repetition_would_be_seen() -> None:
    body = "".join(f"    x{line} = {line}\n" for line in range(MOST + 1))
    assert repeated({"a.py": f"def f():\n{body}", "b.py": f"def g():\n    # why\n{body}"}) == ["a.py:2 = b.py:3"]
    assert repeated({"a.py": f"def f():\n{body}", "b.py": f"def g():\n{body.replace('3', '4')}"}) == []
