"""Tests stand in the folder of their package, or in one that CONTRIBUTING.md says is about the whole."""

import re

from tests.architecture import repository
from tests.architecture.test_import_order import rooms


def about_the_whole() -> set[str]:
    page = (repository.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `tests/(\w+)", page, flags=re.MULTILINE))


def test_every_folder_of_tests_is_a_package_or_about_the_whole() -> None:
    folders = {path.parent.name for path in (repository.ROOT / "tests").glob("*/*.py")}
    assert {"noise", "docs"} <= folders
    assert folders - set(rooms()) - about_the_whole() == set()
