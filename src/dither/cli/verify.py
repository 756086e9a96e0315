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
    file: Annotated[Path, typer.Argument(help="The certificate, a JSON file.")],
    ledger: Annotated[str | None, typer.Option(help="The ledger: a file, or postgresql://...")] = None,
    json: JSON = False,
) -> None:
    """Check a certificate, with the ledger if it is at hand.

    Its cost is computed again, and compared with the ledger. A certificate states what was done, not what came out:
    it does not show that an answer belongs to it.

    Ends with 0 if it is accepted, 1 if it is refused (and says which part is wrong), 2 for bad usage.

    Example: dither verify certificate.json --ledger visits.ledger
    """
    text = _text(file)
    try:
        with working("computing the cost again"):
            checked = _checked(text, ledger)
    except CertificateError as error:
        if json:
            print_json({"accepted": False, "part": error.part, "reason": str(error)})
        else:
            typer.echo(f"refused. {printable(str(error))}")
        raise typer.Exit(SHOWN_WRONG) from None
    print_json(_as_json(checked)) if json else typer.echo(_in_words(checked))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        raise typer.BadParameter("there is no such file, or it cannot be read. Check the path.") from None
    except UnicodeDecodeError:
        raise typer.BadParameter("this is no text in UTF-8. A certificate is a JSON file.") from None


def _checked(text: str, location: str | None) -> Checked:
    # Loaded here: the mathematics takes longer to load than the help takes to read.
    from dither.cli.description import is_there
    from dither.engine import check_certificate, read_certificate
    from dither.ledger import Ledger

    certificate = read_certificate(text)
    if location is None:
        return check_certificate(certificate)
    if not is_there(location):
        raise typer.BadParameter("there is no such file, or it is empty. Check the path.", param_hint="--ledger")
    with closing(Ledger(location, create=False)) as ledger:
        return check_certificate(certificate, ledger)


def _as_json(checked: Checked) -> dict[str, Any]:
    said: dict[str, Any] = {"accepted": True, "guarantee": _promise(checked), "event": str(checked.event)}
    said["computed"] = [{"delta": _words(delta), "epsilon": found} for delta, found in checked.epsilons.items()]
    if checked.entry is not None:
        said |= {"ledger_entry": checked.entry.number, "ledger_entries": checked.entries}
    return said


def _in_words(checked: Checked) -> str:
    again = ", ".join(f"epsilon {_up(found)} at delta {_words(delta)}" for delta, found in checked.epsilons.items())
    promise = f"costs at most {_promise(checked)}{again and f' (computed again: {again})'}"
    cost = printable(f"{promise}: {checked.event}.")  # in one line, whatever names are in it
    if checked.entry is None:
        return (
            f"accepted. What it says was done {cost}\n"
            "No ledger was asked, so it is not known whether it was done and charged. Give --ledger to find out."
        )
    return (
        f"accepted. What was done {cost}\n"
        f"Entry {checked.entry.number} of the ledger says the same, and the ledger holds together "
        f"({checked.entries} entries)."
    )


def _up(number: float) -> str:
    """Six digits of a bound, rounded up."""
    return _words(Fraction(Context(prec=6, rounding=ROUND_CEILING).create_decimal(repr(number))))


def _words(number: Fraction) -> str:
    from dither.exact import in_words

    return in_words(number)


def _promise(checked: Checked) -> str:
    return "its own privacy profile" if checked.guarantee is None else str(checked.guarantee)
