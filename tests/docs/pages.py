"""Runs the examples of a Markdown page: blocks of `python`, and commands of `dither` in blocks of `console`.

A block of Python with `>>>` prompts is a doctest: what is printed must match. Without prompts it is a script: it must
not raise. In a block of a console, each line `$ dither ...` is run; if lines follow, they must be what it prints (`...`
stands for anything, and so does any amount of space). It must succeed, unless the page shows its error. Other
commands are not run. The blocks of one page share their names and their folder, from top to bottom, as a reader
would type them.
"""

import doctest
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from dither.cli import app

_BLOCK = re.compile(r"^( *)```(python|console) *\n(.*?)^\1``` *$", flags=re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code, with the line of the page where its code starts (counted from 0)."""

    code: str
    line: int
    language: str = "python"


def blocks(text: str) -> list[Block]:
    """The blocks of Python and of commands of a page, in order."""
    return [Block(found[3], text.count("\n", 0, found.start(3)), found[2]) for found in _BLOCK.finditer(text)]


def run(text: str, page: Path) -> int:
    """Run every block of a page; raise at the first that fails; return how many examples ran."""
    names: dict[str, Any] = {"__name__": "__main__"}
    ran = 0
    for block in blocks(text):
        if block.language == "console":
            ran += _run_commands(block, page)
        elif ">>>" in block.code:
            _run_session(block, page, names)
            ran += 1
        else:
            _run_script(block, page, names)
            ran += 1
    return ran


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


def _run_commands(block: Block, page: Path) -> int:
    ran = 0
    for found in _COMMAND.finditer(block.code):
        words = shlex.split(found[1].replace("\\\n", " "), comments=True)
        if words[:1] != ["dither"]:
            continue
        ran += 1
        result = CliRunner().invoke(app, words[1:], prog_name="dither", env={"COLUMNS": "110"})
        where = f'File "{page}", line {block.line + block.code.count(chr(10), 0, found.start()) + 1}: $ {found[1]}\n'
        wanted = found[2].strip()
        if (result.exit_code != 0) != ("Error:" in wanted):
            raise AssertionError(f"{where}ended with {result.exit_code}:\n{result.output}")
        if wanted and not doctest.OutputChecker().check_output(f"{wanted}\n", f"{result.output.strip()}\n", _FLAGS):
            raise AssertionError(f"{where}Expected:\n{wanted}\nGot:\n{result.output}")
    return ran
