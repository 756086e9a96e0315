"""The files that a release writes: checked before anything is spent, written when the answer is there."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet
import typer

from dither.cli.description import Description
from dither.cli.screen import finite
from dither.engine import Plan, TableRelease
from dither.engine.answer_file import written_answer
from dither.engine.distribution_aggregates import Top
from dither.errors import DitherError, EngineError, ParameterError

__all__ = ["Files", "as_csv", "check_place", "write_json", "write_table"]

_ENDINGS: Final = {
    "out": (".csv", ".parquet", ".json"),
    "certificate": (".json",),
    "report": (".html",),
    "plot": (".svg", ".png", ".pdf"),
}


@dataclass(frozen=True, slots=True)
class Files:
    """Where the answer goes; None is nowhere."""

    out: Path | None = None
    certificate: Path | None = None
    report: Path | None = None
    plot: Path | None = None

    def check(self, description: Description, said: str) -> None:
        """Refuse what could not be written, and what would overwrite the data, the ledger or another of these.

        `said` is the file that was named on the command line: the data, or its description.
        """
        taken = {path.resolve(): "the data" for path in map(Path, glob.glob(description.source, recursive=True))}
        taken |= {Path(said).resolve(): "what it is about", Path(description.source).resolve(): "the data"}
        joined = [file for asked in description.questions.values() for file in asked.joins.values()]
        taken |= {file.place.resolve(): "a public table" for file in joined}
        for stream in description.streams.values():
            taken |= {stream.state.resolve(): "the state of a stream", stream.key_file.resolve(): "the key of a stream"}
        if description.ledger is not None:
            taken[Path(description.ledger).resolve()] = "the ledger"
        if self.report is not None or self.plot is not None:
            import dither.plots.style  # noqa: F401  # without matplotlib, refused before anything is spent
        for name, path in self._named().items():
            check_place(name, path)
            if path.resolve() in taken:
                raise ParameterError(f"--{name} would overwrite {taken[path.resolve()]}. Name another file.")
            if name == "out" and about_file(path).resolve() in taken:
                raise ParameterError(
                    f"--out writes {about_file(path).name!r} too, over something else. Name another file."
                )
            taken[path.resolve()] = f"--{name}"

    def check_picture(self, plan: Plan) -> None:
        """Refuse a picture of an answer that has nothing but names, whatever the data."""
        if self.plot is not None and all(isinstance(each, Top) for each in plan.aggregates.values()):
            raise ParameterError(
                "--plot draws numbers, and the most common values are none. Leave it out, or ask for a count as well."
            )

    def write(self, release: TableRelease) -> EngineError | None:
        """Write what was asked for. The answer was paid for: if one file fails, the others are written still.

        What failed is returned, to be raised when the answer was printed.
        """
        writers: dict[str, Callable[[Path], object]] = {
            "out": lambda path: _write_answer(release, path),
            "certificate": lambda path: write_json(release.certificate(), path),
            "report": release.report,
            "plot": lambda path: _draw(release, path),
        }
        failed = {name: why for name, path in self._named().items() if (why := _failure(writers[name], path))}
        if not failed:
            return None
        return EngineError(
            f"--{' and --'.join(failed)} could not be written: {'; '.join(failed.values())} "
            "The answer above was paid for: copy it from there."
        )

    def _named(self) -> dict[str, Path]:
        return {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) is not None}


def check_place(name: str, path: Path) -> None:
    """Refuse a file of this flag that could not be written."""
    if path.suffix.lower() not in _ENDINGS[name]:
        raise ParameterError(f"--{name} must end in {' or '.join(_ENDINGS[name])}, got {path.name!r}.")
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        raise ParameterError(f"--{name} cannot be written to {str(path)!r}. Make the folder, or name another.")


def _write_answer(release: TableRelease, path: Path) -> None:
    """JSON has lists; elsewhere each number of a list is a row. What was left out stands beside a CSV file."""
    write_table(release.to_arrow() if path.suffix.lower() == ".json" else release.tidy(), path)
    if path.suffix.lower() == ".csv" and release.plan.left_out is not None:
        about = release._about_left_out
        said = [release.plan.left_out] if about is None else [about[0], release.plan.left_out]
        about_file(path).write_text("".join(f"{line}\n" for line in said), encoding="utf-8")


def about_file(path: Path) -> Path:
    """The file beside a CSV file that says what was left out: a first line of words would break its readers."""
    return path.with_name(f"{path.name}.about.txt")


def write_table(table: pa.Table, path: Path) -> None:
    """A table as CSV, Parquet or JSON, by the ending of the path."""
    if path.suffix.lower() == ".json":
        write_json(table.to_pylist(), path)
    elif path.suffix.lower() == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        path.write_bytes(written_answer(table))  # the bytes of which the certificate has the digest


def write_json(value: Any, path: Path) -> None:
    """Plain values as JSON."""
    path.write_text(json.dumps(finite(value), ensure_ascii=False, default=str, allow_nan=False), encoding="utf-8")


def as_csv(table: pa.Table) -> str:
    """A table without lists as CSV."""
    return written_answer(table).decode()


def _draw(release: TableRelease, path: Path) -> None:
    """The picture, and each further page beside it: p.svg, p_2.svg, p_3.svg."""
    from dither.plots.intervals import pages  # matplotlib takes its time to load

    if not release.to_arrow().num_rows:
        typer.echo("Nothing was drawn: no group was found.", err=True)
        return
    for page in range(1, pages(release) + 1):
        release.plot(page=page).savefig(path if page == 1 else path.with_stem(f"{path.stem}_{page}"))


def _failure(write: Callable[[Path], object], path: Path) -> str:
    """Write a file; why it could not be done, or nothing."""
    try:
        write(path)
    except OSError as error:
        return f"{error.strerror or 'the disk refused'}."
    except DitherError as error:  # such as an answer that cannot be drawn
        return str(error)
    except Exception as error:  # its words may be data, and the other files were paid for as well
        return f"this should not have happened ({type(error).__name__})."
    return ""
