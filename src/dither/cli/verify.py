"""`dither verify`: a certificate, computed again and looked up in the ledger."""

from __future__ import annotations

from contextlib import closing
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.failures import SHOWN_WRONG
from dither.cli.options import JSON
from dither.cli.screen import print_json, printable, working
from dither.errors import CertificateError

if TYPE_CHECKING:
    from dither.engine import Checked

__all__ = ["command"]


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[ANSWER] CERTIFICATE", help="The answer, a .csv or .parquet file, and its certificate."
        ),
    ],
    ledger: Annotated[str | None, typer.Option(help="The ledger: a file, or postgresql://...")] = None,
    json: JSON = False,
) -> None:
    """Check an answer that you were given, by its certificate.

    The answer must be the file that the certificate was made with, unchanged. What the certificate says was done is
    computed again, and looked up in the ledger if that is at hand. Without an answer the certificate is checked alone.

    Ends with 0 if it is accepted, 1 if it is refused (and says which part is wrong), 2 for bad usage.

    \b
    Example:
      dither verify answer.csv certificate.json
      dither verify answer.csv certificate.json --ledger visits.ledger
    """
    if len(files) > 2:
        raise typer.BadParameter("give the answer and its certificate, or the certificate alone.")
    text, answer = _text(files[-1]), files[0] if len(files) == 2 else None
    try:
        with working("computing the cost again"):
            checked = _checked(text, ledger, None if answer is None else _answer(answer))
    except CertificateError as error:
        if json:
            print_json({"accepted": False, "part": error.part, "reason": str(error)})
        else:
            typer.echo(f"refused. {printable(str(error))}")
        raise typer.Exit(SHOWN_WRONG) from None
    if json:
        print_json(_as_json(checked) | ({} if answer is None else {"answer": answer.name}))
        return
    typer.echo(f"accepted. {_in_words(checked, text, answer)}")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        raise typer.BadParameter("there is no such file, or it cannot be read. Check the path.") from None
    except UnicodeDecodeError:
        raise typer.BadParameter("this is no text in UTF-8. A certificate is a JSON file.") from None


def _answer(file: Path) -> bytes:
    """The answer as it is written in CSV."""
    from pyarrow import ArrowException, parquet

    from dither.engine.answer_file import written_answer

    if file.suffix.lower() not in (".csv", ".parquet"):
        raise typer.BadParameter("an answer is a .csv or .parquet file, as `dither release --out` writes it.")
    try:
        return written_answer(parquet.read_table(file)) if file.suffix.lower() == ".parquet" else file.read_bytes()
    except (OSError, ArrowException):
        raise typer.BadParameter("the answer is not there, or cannot be read. Check the path.") from None


def _checked(text: str, location: str | None, answer: bytes | None) -> Checked:
    # Loaded here: the mathematics takes longer to load than the help takes to read.
    from dither.cli.description import is_there
    from dither.engine import check_certificate, read_certificate
    from dither.ledger import Ledger

    certificate = read_certificate(text)
    if location is None:
        return check_certificate(certificate, answer=answer)
    if not is_there(location):
        raise typer.BadParameter("there is no such file, or it is empty. Check the path.", param_hint="--ledger")
    with closing(Ledger(location, create=False)) as ledger:
        return check_certificate(certificate, ledger, answer=answer)


def _as_json(checked: Checked) -> dict[str, Any]:
    said: dict[str, Any] = {"accepted": True, "guarantee": _promise(checked), "event": str(checked.event)}
    said["computed"] = [{"delta": _words(delta), "epsilon": found} for delta, found in checked.epsilons.items()]
    if checked.entry is not None:
        said |= {"ledger_entry": checked.entry.number, "ledger_entries": checked.entries}
        said |= {"answer_recorded": checked.answer_recorded}
    return said


def _in_words(checked: Checked, text: str, answer: Path | None) -> str:
    """For whoever got the files: what the answer is, whom it protects, what it cost, and what is not known."""
    from dither.engine import read_certificate

    said = read_certificate(text)
    lines = []
    if answer is not None:
        lines = [
            f"{answer.name} is the answer that this certificate was made with, unchanged.",
            f"What was asked: {said['question']}",
            f"Who is protected: {said['unit']}",
            "The numbers have noise on purpose. The ends of each interval stand beside them, in _low and _high.",
        ]
    return "\n".join([*map(printable, lines), _cost(checked)])


def _cost(checked: Checked) -> str:
    again = ", ".join(f"epsilon {_up(found)} at delta {_words(delta)}" for delta, found in checked.epsilons.items())
    promise = f"costs at most {_promise(checked)}{again and f' (computed again: {again})'}"
    cost = printable(f"{promise}: {checked.event}.")  # in one line, whatever names are in it
    if checked.entry is None:
        return (
            f"What it says was done {cost}\n"
            "No ledger was asked, so it is not known whether it was done and charged: the owner of the data can find "
            "out, with --ledger."
        )
    return (
        f"What was done {cost}\n"
        f"Entry {checked.entry.number} of the ledger says the same, and the ledger holds together "
        f"({checked.entries} entries)."
        + (" It recorded this answer when it was drawn." if checked.answer_recorded else "")
    )


def _up(number: float) -> str:
    """Six digits of a bound, rounded up."""
    return _words(Fraction(Context(prec=6, rounding=ROUND_CEILING).create_decimal(repr(number))))


def _words(number: Fraction) -> str:
    from dither.exact import in_words

    return in_words(number)


def _promise(checked: Checked) -> str:
    return "its own privacy profile" if checked.guarantee is None else str(checked.guarantee)
