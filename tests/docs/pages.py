"""Runs the Python blocks of a Markdown page.

A block that opens with three backticks and the word `python` is run. With `>>>` prompts it is a doctest: what
is printed must match. Without prompts it is a script: it must not raise. The blocks of one page share their
names, from top to bottom, as a reader would type them.
"""

import doctest
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^( *)```python *\n(.*?)^\1``` *$", flags=re.MULTILINE | re.DOTALL)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code, with the line of the page where its code starts (counted from 0)."""

    code: str
    line: int


def blocks(text: str) -> list[Block]:
    """The Python blocks of a page, in order."""
    return [Block(code=found[2], line=text.count("\n", 0, found.start(2))) for found in _BLOCK.finditer(text)]


def run(text: str, page: Path) -> int:
    """Run every block of a page; raise at the first that fails; return how many there are."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(text)
    for block in found:
        if ">>>" in block.code:
            _run_session(block, page, names)
        else:
            _run_script(block, page, names)
    return len(found)


def _run_session(block: Block, page: Path, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, names, page.name, str(page), block.line)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=_FLAGS).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    if result.failed:
        raise AssertionError("".join(report))


def _run_script(block: Block, page: Path, names: dict[str, Any]) -> None:
    padded = "\n" * block.line + block.code
    exec(compile(padded, str(page), "exec"), names)
