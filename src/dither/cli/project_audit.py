"""`dither audit dither.toml`: every question of a description is attacked, on tables that are made up.

A replay needs the test switch, which is off in a process that could release anything. So the command starts itself once
more with it on: that process audits and does nothing else, and what the description names as source and ledger
is opened by neither of the two. Public tables are read.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dither.cli.failures import SHOWN_WRONG
from dither.cli.figures import figures
from dither.cli.files import Files
from dither.cli.flags import described
from dither.cli.screen import bar, print_json, printable
from dither.cli.table import print_table, width
from dither.cli.verdicts import after_the_verdict, draw
from dither.errors import ParameterError
from dither.exact import in_words
from dither.noise import entropy
from dither.tables.database_engines.duckdb import SEPARATED

if TYPE_CHECKING:
    from dither.audit.project import Examined

__all__ = ["audited"]

_FREE = "No data was read and nothing was charged: the tables are made up from what the description says."
_NO_PROOF = "That nothing was found is no proof of privacy: other tables or events may reveal more."


def audited(
    file: Path, questions: Sequence[str], pairs: int, samples: int | None, alpha: str, plot: Path | None, json: bool
) -> None:
    """Audit the questions of that name, or all; ends with 1 if one of them is shown to be wrong."""
    description = described({"source": str(file)})
    chosen = dict(description.question(name) for name in questions) if questions else dict(description.questions)
    for name, asked in chosen.items():
        if asked.sql is not None:
            raise ParameterError(
                f"the question {name!r} is in SQL, and tables are made up for questions with agg = {{ ... }} alone. "
                "Name the others, or write it so: `dither sql --plan` shows the question in Python."
            )
    Files(plot=plot).check(description, str(file))
    if not entropy.DOOR_MAY_OPEN:
        _with_open_door(file, questions, pairs, samples, alpha, plot, json)
        return
    from dither.audit.project import examine

    with bar(str(file)) as progress:
        found = examine(
            chosen,
            description.unit,
            description.kinds,
            written=Path(description.source).suffix.lower() in SEPARATED,
            pairs=pairs,
            samples=samples,
            alpha=alpha,
            progress=progress,
        )
    if json:
        print_json([each.as_dict() for each in found])
    else:
        _print(found)
    if plot is not None:  # after what was found: a full disk takes the picture alone
        with after_the_verdict(any(each.violated for each in found)):
            _draw(found, plot)
    if any(each.violated for each in found):
        raise typer.Exit(SHOWN_WRONG)


def _with_open_door(
    file: Path, questions: Sequence[str], pairs: int, samples: int | None, alpha: str, plot: Path | None, json: bool
) -> None:
    """The same command in a process of its own; its picture and its bar are its own, its words are passed on."""
    flags = ["--alpha", alpha, "--pairs", str(pairs), *(["--json"] if json else [])]
    flags += [] if samples is None else ["--samples", str(samples)]
    flags += [] if plot is None else ["--plot", str(plot)]
    columns = {} if width() is None else {"COLUMNS": str(width())}
    # -P: no module of the working folder takes the place of one of ours.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dither", "audit", *flags, "--", str(file), *questions],
        env={**os.environ, "DITHER_TEST_DOOR": "open", **columns},
        stdout=subprocess.PIPE,
        check=False,
    )
    typer.echo(done.stdout.decode("utf-8", "replace"), nl=False)
    if done.returncode:
        raise typer.Exit(done.returncode)


def _draw(found: Sequence[Examined], plot: Path) -> None:
    """Of the question with the largest bound."""
    attacked = [each for each in found if each.verdict is not None]
    if not attacked:
        raise typer.BadParameter("no question came as far as to answers that could be drawn.", param_hint="--plot")
    most = max(attacked, key=lambda each: each.lower_bound)
    assert most.verdict is not None
    draw(most.target, most.verdict, plot)


def _print(found: Sequence[Examined]) -> None:
    print_table(
        ["question", "claims", "found", "pairs replayed", "runs a side", "verdict"],
        [
            [
                each.question,
                figures(each.claim),
                f"ε ≥ {each.lower_bound:.3g}",
                f"{each.replayed}",
                "" if each.verdict is None else f"{each.verdict.samples:,}",
                "VIOLATED" if each.violated else "not refuted",
            ]
            for each in found
        ],
        right=["pairs replayed", "runs a side"],
    )
    for each in found:
        if each.violated:
            typer.echo(f"\n{printable(each.question)}: {figures(each.claim)} is VIOLATED.")
            for sentence in _witness(each):
                typer.echo(f"  {printable(sentence)}")
    typer.echo()
    if not any(each.violated for each in found):
        typer.echo(_NO_PROOF)
    typer.echo(_FREE)


def _witness(found: Examined) -> list[str]:
    """The two tables and what tells them apart, a sentence each."""
    said, tables = [], found.neighbours
    if found.difference is not None:
        said.append(f"Replayed, certainly: {found.difference}")
    if found.verdict is not None and found.verdict.violated:
        confidence = f"1 − {in_words(found.verdict.alpha)}"
        said.append(f"Attacked: ε ≥ {found.lower_bound:.4g}, with confidence {confidence}. Witness: {found.witness}.")
        tables = tables or (found.verdict.witness.likelier, found.verdict.witness.other)
    assert tables is not None
    return [*said, f"One table: {tables[0]}.", f"The other: {tables[1]}."]
