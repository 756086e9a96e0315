"""`dither audit`: try to prove a mechanism, or all questions of a project, wrong."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.failures import SHOWN_WRONG
from dither.cli.screen import bar, print_json
from dither.cli.table import print_table
from dither.cli.verdicts import after_the_verdict, claimed, draw

if TYPE_CHECKING:
    from dither.audit import Verdict
    from dither.audit.zoo import Specimen

__all__ = ["command"]

_CONTROL_SAMPLES = 2_000
_SAMPLES = 300_000
_PAIRS = 24


def command(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET", help="A mechanism of dither by its name, your own as module:function, or a dither.toml."
        ),
    ] = None,
    questions: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help="Questions of the description; all unless given.")
    ] = None,
    zoo: Annotated[
        bool, typer.Option("--zoo", help="Attack all known broken mechanisms, and correct ones beside them.")
    ] = False,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="What your function claims; a mechanism of dither is made for it, or for 1."
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="The delta of the claim: 0, or 1e-6 for mechanisms of dither with a delta."
        ),
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(metavar="FAMILY", help="number, real, answers, counts, 'add or remove' or 'replace'."),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Runs a side, at most: 300,000, and fewer of a question that draws slowly."
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Neighbouring tables to replay for each question: 24 unless given."),
    ] = None,
    alpha: Annotated[
        str, typer.Option(metavar="NUMBER", help="The chance that a private mechanism is accused.")
    ] = "1e-6",
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A picture of the answers on both inputs: .svg, .png or .pdf.")
    ] = None,
    json: options.JSON = False,
) -> None:
    """Try to prove a mechanism or a project wrong, by its answers.

    It is run on pairs of inputs that differ by one record. Events that distinguish the two are searched on some runs
    and tested on others. A violation is proved, up to alpha; that none is found proves nothing. Your own function
    takes one input and answers at random; --neighbours says what its inputs are. Ends with 1 on a violation.

    Of a dither.toml every question is asked of neighbouring tables that are made up from what the file says: no data is
    read and nothing is charged. The whole way from table to answer is replayed with recorded chance, which certainly
    shows what differs by more than is paid for; then its answers are attacked.

    \b
    Example:
      dither audit Laplace --epsilon 1
      dither audit mymodule:noisy_count --epsilon 0.5 --neighbours number
      dither audit dither.toml by_city
      dither audit --zoo
    """
    if zoo == (target is not None):
        raise typer.BadParameter("give either a TARGET or --zoo.")
    if zoo:
        if any(flag is not None for flag in (epsilon, delta, neighbours, samples, pairs, plot)):
            raise typer.BadParameter("--zoo takes --alpha and --json alone: each of its targets sets the rest.")
        _zoo(alpha, json)
        return
    assert target is not None
    is_project = Path(target).suffix.lower() == ".toml"
    _check_flags(is_project, questions, pairs, epsilon, delta, neighbours)
    if is_project:
        from dither.cli.project_audit import audited

        audited(Path(target), questions or [], _PAIRS if pairs is None else pairs, samples, alpha, plot, json)
    else:
        _one(target, epsilon, delta, neighbours, _SAMPLES if samples is None else samples, alpha, plot, json)


def _check_flags(is_project: bool, questions: list[str] | None, pairs: int | None, *of_a_mechanism: str | None) -> None:
    if is_project and any(flag is not None for flag in of_a_mechanism):
        raise typer.BadParameter("--epsilon, --delta and --neighbours are set by the description. Change them there.")
    if (questions or pairs is not None) and not is_project:
        raise typer.BadParameter("QUESTION and --pairs go with a dither.toml. Leave them out for a mechanism.")


# ----------------------------------------------------------------- one target


def _one(
    name: str,
    epsilon: str | None,
    delta: str | None,
    neighbours: str | None,
    samples: int,
    alpha: str,
    plot: Path | None,
    json: bool,
) -> None:
    from dither.audit import attack
    from dither.audit.attack.lower_bound import promises
    from dither.cli.files import check_place

    if plot is not None:
        check_place("plot", plot)
    stated: tuple[str | None, str | None]
    if ":" in name:
        hunted, pairs, stated = _function(name), neighbours, (epsilon, delta)
        if epsilon is None and not promises(hunted):
            raise typer.BadParameter(
                f"{name} claims nothing by itself. Say what is to be refuted, such as --epsilon 1.",
                param_hint="--epsilon",
            )
    else:
        from dither.audit.attack.controls import control

        if neighbours is not None:
            raise typer.BadParameter(
                "--neighbours goes with module:function. Leave it out: a mechanism of dither has its own."
            )
        asked = "1" if epsilon is None else epsilon
        made = control(name).make(asked, "1e-6" if delta is None else delta)
        if delta is not None and made.guarantee.delta(asked) == 0:
            raise typer.BadParameter(f"{name} promises δ = 0. Leave --delta out.")
        hunted, pairs, stated = made, None, (None, None)
    with bar(name) as progress, redirect_stdout(sys.stderr):  # what a target prints is no part of the verdict
        verdict = attack(hunted, pairs, *stated, samples=samples, alpha=alpha, progress=progress)
    print_json(verdict.as_dict()) if json else typer.echo(_in_words(verdict))
    if plot is not None:
        with after_the_verdict(verdict.violated), redirect_stdout(sys.stderr):
            draw(hunted, verdict, plot)
    if verdict.violated:
        raise typer.Exit(SHOWN_WRONG)


def _function(name: str) -> Any:
    """The object that module:function names; modules of the working folder can be named."""
    import importlib

    if "://" in name:
        raise typer.BadParameter("a database is audited by the dither.toml that describes it.", param_hint="TARGET")
    module, _, inside = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        with redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module)
        for part in inside.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        why = str(error)
    except (Exception, SystemExit) as error:  # of the module itself
        why = f"it raises a {type(error).__name__}."
    else:
        return found
    raise typer.BadParameter(f"{name!r} cannot be loaded: {why}", param_hint="TARGET")


def _in_words(verdict: Verdict) -> str:
    after = (
        "A claim that is true is called violated with probability at most alpha."
        if verdict.violated
        else "That nothing was found is no proof of privacy: other inputs or events may reveal more."
    )
    return f"{verdict}\n{after}"


# -------------------------------------------------------------------- the zoo


def _zoo(alpha: str, json: bool) -> None:
    """Every specimen, and every mechanism of dither as a control; all of them share one alpha."""
    from dither.audit import attack
    from dither.audit.attack.controls import CONTROLS
    from dither.audit.zoo import SPECIMENS
    from dither.exact import rational

    share = rational(alpha, "alpha") / (len(SPECIMENS) + len(CONTROLS))
    rows: list[tuple[Any, bool, Verdict]] = []
    with bar("the zoo") as progress:
        for specimen in SPECIMENS:
            found = attack(specimen, samples=specimen.samples, alpha=share)
            rows.append((specimen, specimen.is_broken, found))
            progress(len(rows) / (len(SPECIMENS) + len(CONTROLS)))
        for control in CONTROLS:
            found = attack(control.make(1, "1e-3"), samples=_CONTROL_SAMPLES, alpha=share)
            rows.append((control, False, found))
            progress(len(rows) / (len(SPECIMENS) + len(CONTROLS)))
    if json:
        print_json([{"name": str(what), "is_broken": broken, **found.as_dict()} for what, broken, found in rows])
    else:
        _print_zoo(rows)
    if any(found.violated != broken for _, broken, found in rows):
        raise typer.Exit(SHOWN_WRONG)


def _print_zoo(rows: list[tuple[Any, bool, Verdict]]) -> None:
    from dither.audit.zoo import Specimen

    print_table(
        ["target", "claims", "truth", "found", "runs a side", "verdict"],
        [
            [
                str(what),
                claimed(found.claim),
                _truth(what) if isinstance(what, Specimen) else "as claimed",
                f"ε ≥ {found.lower_bound:.3g}",
                f"{found.samples:,}",
                ("caught" if found.violated else "MISSED") if broken else ("ACCUSED" if found.violated else "right"),
            ]
            for what, broken, found in rows
        ],
        right=["runs a side"],
    )
    caught = sum(found.violated for _, broken, found in rows if broken)
    broken_ones = sum(broken for _, broken, _ in rows)
    accused = sum(found.violated for _, broken, found in rows if not broken)
    right_ones = len(rows) - broken_ones
    typer.echo(f"{caught} of {broken_ones} broken mechanisms caught, {accused} of {right_ones} right ones accused.")


def _truth(specimen: Specimen) -> str:
    return "∞" if specimen.truth == float("inf") else f"ε ≤ {specimen.truth:g}"
