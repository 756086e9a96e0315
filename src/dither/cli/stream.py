"""`dither stream`: a question that is answered period by period, for one price."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.screen import print_json, working
from dither.cli.table import print_sentence, print_table
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.cli.description import AskedStream, Description
    from dither.engine.period_release import PeriodRelease
    from dither.engine.running_stream import RunningStream

__all__ = ["command"]

_TAKES = {
    "plan": (),
    "start": (),
    "step": ("day", "out", "certificate"),
    "show": ("out",),
    "plot": ("column", "out"),
}
"""The actions, and the flags that each takes."""


def command(
    action: Annotated[str, typer.Argument(metavar="ACTION", help="plan, start, step, show or plot.")],
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A description such as dither.toml.")],
    name: Annotated[
        str | None, typer.Argument(metavar="STREAM", help="Which stream of the description, if it has several.")
    ] = None,
    *,
    day: Annotated[
        str | None,
        typer.Option(
            metavar="DAY", help="step: a day of the period, such as 2026-01-31; the next period unless given."
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="plot: the column, such as visits_total; the first unless given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The answers as .csv, .parquet or .json; plot: the picture, .svg or .png."),
    ] = None,
    certificate: options.CERTIFICATE = None,
    json: options.JSON = False,
) -> None:
    """Answer a question period by period, such as every day of a year, for one price.

    The description has a section [streams.NAME]. `plan` says how exact it will be. `start` charges the whole horizon
    and makes the key of the owner, unless there is one: keep it apart from the state. `step` releases the next period;
    with --day it may run twice, and gives the same answer. `show` and `plot` are about all periods so far.

    \b
    Example:
      dither stream plan dither.toml
      dither stream start dither.toml
      dither stream step dither.toml --day 2026-01-01 --out today.csv
      dither stream plot dither.toml --out visits.svg
    """
    given = {"day": day, "column": column, "out": out, "certificate": certificate}
    if action not in _TAKES:
        raise ParameterError(f"the action must be one of {', '.join(_TAKES)}, got {action!r}.")
    for flag, value in given.items():
        if value is not None and flag not in _TAKES[action]:
            raise ParameterError(f"--{flag} does not go with `dither stream {action}`.")
    from dither.cli.toml_file import read

    description = read(source)
    known, stream = description.stream(name)
    _check_files(description, str(source), action, out, certificate)
    if action == "plan":
        _plan(known, description, stream, json)
    elif action == "start":
        _start(known, description, stream, json)
    else:
        with _resumed(description, stream) as running:
            if action == "step":
                _step(running, None if day is None else _day(day), out, certificate, json)
            elif action == "show":
                _show(running, out, json)
            else:
                _plot(running, column, out, json)


def _check_files(
    description: Description, source: str, action: str, out: Path | None, certificate: Path | None
) -> None:
    from dither.cli.files import Files

    is_picture = action == "plot"
    if is_picture and out is None:
        raise ParameterError("--out says where the picture goes, such as --out visits.svg.")
    places = Files(plot=out, certificate=certificate) if is_picture else Files(out=out, certificate=certificate)
    places.check(description, source)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"--day must be a day such as 2026-01-31, got {text!r}.") from None


def _plan(name: str, description: Description, stream: AskedStream, json: bool) -> None:
    from dither.cli.figures import as_dict

    with description.for_planning() as data:
        question = stream.of(data)
        plan = question.plan(**stream.terms)
        description.check(stream.asked, question.question, data.columns)
    if json:
        last = plan.horizon.periods - 1
        errors = {
            column: {str(each): [plan.error(column, each, at) for at in (0, last)] for each in plan.show}
            for column in plan.factorisations
        }
        print_json(
            {"stream": name, "cost": as_dict(plan.cost), "factorisations": plan.factorisations,
             "deviations_first_last": errors,
             **({} if plan.shown_from is None else {"shown_from_people": plan.shown_from})}
        )  # fmt: skip
        return
    typer.echo(f"{name}\n{plan}\nNothing was spent.")


@contextmanager
def _dataset(description: Description, stream: AskedStream) -> Iterator[Any]:
    """The dataset with its ledger; a question that cannot be asked was refused before."""
    with description.for_planning() as data:
        question = stream.of(data)
        description.check(stream.asked, question.question, data.columns)
        question.plan(**stream.terms)
        known = description.account_of(data.origin.release_path.account)
    with description.for_releasing(known) as opened:
        yield opened


def _start(name: str, description: Description, stream: AskedStream, json: bool) -> None:
    from dither.cli.figures import as_dict, figures
    from dither.cli.stream_key import made_key

    with _dataset(description, stream) as data, working("charging the whole horizon"):
        key, is_new = made_key(stream.key_file)
        running = stream.of(data).start(stream.state, key=key, **stream.terms)
        running.close()
        account, entry, cost = data._account, running.entry, running.cost
    if json:
        print_json(
            {"stream": name, "periods": running.periods, "cost": as_dict(cost), "remaining": as_dict(account.remaining),
             "state": str(stream.state), "key_file": str(stream.key_file),
             "ledger_entry": {"number": entry.number, "hash": entry.hash}}
        )  # fmt: skip
        return
    print_sentence(f"Spent {figures(cost)} for {running.periods} periods; left {figures(account.remaining)}.")
    typer.echo(f"Recorded as entry {entry.number} of the ledger. The state is {stream.state}.")
    if is_new:
        typer.echo(f"The key of the owner is {stream.key_file}: keep it apart from the state, and do not lose it.")


@contextmanager
def _resumed(description: Description, stream: AskedStream) -> Iterator[RunningStream]:
    from dither.cli.stream_key import read_key

    key = read_key(stream.key_file)
    with _dataset(description, stream) as data, stream.of(data).resume(stream.state, key=key) as running:
        yield running


def _step(running: RunningStream, day: date | None, out: Path | None, certificate: Path | None, json: bool) -> None:
    from dither.cli.files import write_json, write_table

    with working("asking the engine and drawing noise"):
        release = running.step(day)
    if out is not None:
        write_table(release.to_arrow() if out.suffix.lower() == ".json" else release.tidy(), out)
    if certificate is not None:
        write_json(release.certificate(), certificate)
    if json:
        print_json(_as_dict(release))
        return
    print_sentence(
        f"Period {release.period + 1} of {running.periods}, from {release.first_day} to before {release.end}"
    )
    _print(release.tidy(), running)
    if running.shown_from is not None and not release.value.num_rows:
        print_sentence(
            f"No group is shown yet: none had {running.shown_from:,} people or more in a period, with noise."
        )
    typer.echo()
    print_sentence(f"Nothing was spent now: entry {release.entry.number} of the ledger paid for all periods.")


def _as_dict(release: PeriodRelease) -> dict[str, Any]:
    return {
        "period": release.period,
        "first_day": str(release.first_day),
        "end": str(release.end),
        "rows": release.value.to_pylist(),
        "ledger_entry": {"number": release.entry.number, "hash": release.entry.hash},
    }


def _print(table: Any, running: RunningStream) -> None:
    from dither.cli.answers import laid_out
    from dither.exact import in_words

    answers, level = list(running.aggregates), f"{in_words(100 * running.level)} %"
    columns, cells = laid_out(table, answers, answers, lambda name: level)
    print_table(columns, cells, right=answers)


def _show(running: RunningStream, out: Path | None, json: bool) -> None:
    from dither.cli.files import write_table
    from dither.engine.tidy_rows import tidied

    table = running.show()
    if out is not None:
        write_table(table if out.suffix.lower() == ".json" else tidied(table, running.aggregates), out)
    if json:
        print_json({"released": running.released, "periods": running.periods, "rows": table.to_pylist()})
        return
    _print(tidied(table, running.aggregates), running)
    typer.echo(f"\n{running.released} of {running.periods} periods are released.")


def _plot(running: RunningStream, column: str | None, out: Path | None, json: bool) -> None:
    assert out is not None
    drawn = next(iter(running.aggregates)) if column is None else column
    running.plot(drawn).savefig(out)
    if json:
        print_json({"column": drawn, "periods": running.released, "picture": str(out)})
        return
    typer.echo(f"{drawn} of {running.released} periods is drawn in {out}.")
