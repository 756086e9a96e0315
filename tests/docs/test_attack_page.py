"""docs/attacks.md names every test of a case of attack, each under its case, and no test that does not exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "attacks.md"
TEST = re.compile(r"^\s*(?:async )?def (test_\w+)\(", flags=re.MULTILINE)
CASES = re.compile(r"test_((?:[a-i]\d\d_)+)")
ENTRY = re.compile(r'^- (?:<a id="([a-i]\d+)"></a>)?\*\*.*\n((?:  - .*\n?)+)', flags=re.MULTILINE)

Listed = tuple[str, str, str]  # the case, the file and the name of a test


def cases(name: str) -> list[str]:
    """The cases that a test names: a7 and a8 for test_a07_a08_sums."""
    found = CASES.match(name)
    return [f"{case[0]}{int(case[1:])}" for case in found[1].rstrip("_").split("_")] if found else []


def existing() -> set[Listed]:
    """Every test of a case."""
    files = {path: TEST.findall(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("test_*.py")}
    return {
        (case, str(path.relative_to(ROOT)), name)
        for path, names in files.items()
        for name in names
        for case in cases(name)
    }


def listed(text: str) -> set[Listed]:
    """Every test that the page names; the case is empty where it has no number."""
    return {
        (case, line.split("`")[1], name)
        for case, lines in ENTRY.findall(text)
        for line in lines.splitlines()
        for name in re.findall(r"`(test_\w+)`", line)
    }


def test_every_test_of_a_case_is_on_the_page() -> None:
    missing = existing() - listed(PAGE.read_text(encoding="utf-8"))
    lines = "\n".join(f"under {case.upper()}:  - `{file}`: `{name}`" for case, file, name in sorted(missing))
    assert not missing, f"docs/attacks.md does not name these tests:\n{lines}"


def test_every_test_on_the_page_exists() -> None:
    named = {each for each in listed(PAGE.read_text(encoding="utf-8")) if each[0]}
    assert named - existing() == set()


def test_tests_without_a_number_exist_too() -> None:
    unnumbered = [each for each in listed(PAGE.read_text(encoding="utf-8")) if not each[0]]
    assert unnumbered
    for _, file, name in unnumbered:
        assert name in TEST.findall((ROOT / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("test_a07_a08_sums", ["a7", "a8"]), ("test_e61_x", ["e61"]), ("test_claim_c26_x", []), ("test_abc", [])],
)
def test_the_cases_of_a_test(name: str, expected: list[str]) -> None:
    assert cases(name) == expected


def test_what_the_page_names_is_read() -> None:
    case = '- <a id="d57"></a>**D57. Edited.** What.\n  - `tests/x.py`: `test_d57_a`, `test_d57_b`\n'
    text = f"{case}- **B.** What.\n  - `tests/y.py`: `test_z`\n"
    assert listed(text) == {
        ("d57", "tests/x.py", "test_d57_a"),
        ("d57", "tests/x.py", "test_d57_b"),
        ("", "tests/y.py", "test_z"),
    }
