"""One name, one class: a reader who meets a name knows which class is meant."""

import ast
from collections import defaultdict

from tests.architecture import repository


def classes(source: str) -> list[str]:
    """The names of the classes of a file, private ones and those inside others too."""
    return [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def test_no_class_name_occurs_twice() -> None:
    homes = defaultdict(list)
    for file in sorted(repository.SOURCE.rglob("*.py")):
        for name in classes(file.read_text()):
            homes[name].append(str(file.relative_to(repository.SOURCE)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_classes_are_found_wherever_they_stand() -> None:
    assert classes("class A:\n    class B: ...\ndef f():\n    class _C: ...") == ["A", "B", "_C"]
