"""The examples of README.md, of docs/ and of the proofs beside the code all run."""

from pathlib import Path

import pytest

from tests.docs import pages

ROOT = Path(__file__).resolve().parents[2]
NEED_A_SERVER = {ROOT / "docs" / "howto" / name for name in ("postgresql.md", "spark.md")}  # in test_engine_pages.py
FOLDERS = [ROOT / "docs", ROOT / "src"]
PAGES = [ROOT / "README.md", *sorted({page for folder in FOLDERS for page in folder.rglob("*.md")} - NEED_A_SERVER)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """README.md speaks of a file that its reader has, so there is one."""
    lines = (f"{row // 2},{('Lyon', 'Paris')[row % 2]},{row * 37 % 211}\n" for row in range(4000))
    (tmp_path / "visits.csv").write_text("patient,city,cost\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    pages.run(page.read_text(), page)


def test_the_readme_has_an_example() -> None:
    assert pages.blocks((ROOT / "README.md").read_text())


def fenced(code: str) -> str:
    return f"Some text.\n\n```python\n{code}\n```\n\nMore text.\n"


@pytest.mark.parametrize("code", [">>> 1 + 1\n2", "x = 1", ">>> print('a')\na\n\n>>> 3\n3"])
def test_a_good_example_passes(code: str) -> None:
    assert pages.run(fenced(code), Path("page.md")) == 1


@pytest.mark.parametrize("code", [">>> 1 + 1\n3", ">>> missing\n1", "1 / 0", "assert False"])
def test_a_bad_example_fails(code: str) -> None:
    with pytest.raises((AssertionError, ZeroDivisionError)):
        pages.run(fenced(code), Path("page.md"))


def test_blocks_share_their_names() -> None:
    assert pages.run(fenced(">>> x = 2") + fenced("y = x + 1") + fenced(">>> y\n3"), Path("page.md")) == 3


def test_other_blocks_do_not_run() -> None:
    assert pages.run("```console\n$ make test\n```\n\n```text\n$ dither nonsense\n```\n", Path("page.md")) == 0


def console(session: str) -> str:
    return f"Some text.\n\n```console\n{session}\n```\n"


@pytest.mark.parametrize(
    "session",
    [
        "$ dither claims --id C99\n...Error: ...'C99'...",
        "$ dither --help",
        "$ cd somewhere\n$ dither \\\n    --help\nUsage: dither [OPTIONS] COMMAND ...",
    ],
)
def test_a_good_command_passes(session: str) -> None:
    assert pages.run(console(session), Path("page.md")) == 1


@pytest.mark.parametrize(
    "session", ["$ dither nonsense", "$ dither --help\nUsage: another", "$ dither --help\nError: no"]
)
def test_a_bad_command_fails(session: str) -> None:
    with pytest.raises(AssertionError, match=r'page\.md", line 4'):
        pages.run(console(session), Path("page.md"))


def test_a_failure_names_the_line_of_the_page() -> None:
    with pytest.raises(AssertionError, match=r'page\.md", line 4'):
        pages.run(fenced(">>> 1\n2"), Path("page.md"))
