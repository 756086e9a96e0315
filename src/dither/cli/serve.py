"""`dither serve`: the curator, over HTTP, with a page to ask from."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli import options
from dither.cli.screen import print_json
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.web.service import Service

__all__ = ["command"]


def command(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE...]", help="Descriptions; each is one dataset.")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Where to listen; 127.0.0.1, this machine alone, unless given."),
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="NUMBER", help="The port; 8470 unless given.")] = None,
    period: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Answers are given at multiples of this; 1 unless given, 0 is at once."),
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy with TLS stands before it; needed beyond this machine.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve invented hospital visits, in a new folder dither-service.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Open everything, say what would be served, and end.")] = False,
    json: options.JSON = False,
) -> None:
    """Serve datasets to many analysts under one budget.

    Analysts ask with keys that `dither keys` makes, from the page, over HTTP or with dither.connect. Every answer is
    charged to the ledger of its dataset before data is read. The first file says in [server] how the service runs;
    the options here say it instead. Started for the first time in a terminal, or with --demo, it makes a key for the
    owner and shows it once. It needs the extra packages of dither[server], and ends with Ctrl-C.

    \b
    Example:
      dither serve dither.toml --check
    """
    if demo == bool(files):
        raise ParameterError("say what to serve: descriptions such as dither.toml, or --demo.")
    from dither.cli.served_datasets import opened, settings_of

    files = [_demo()] if demo else files or []
    said = {name: value for name, value in (("host", host), ("port", port), ("period", period)) if value is not None}
    said |= {"behind_proxy": True} if behind_proxy else {}
    settings = settings_of(files[0], **said)
    from dither.cli.web_packages import application

    service = opened(files, settings)
    names = [name for name, each in service.offered.items() if not each.is_practice]
    told = {"address": settings.address, "datasets": names, "store": settings.store}
    if json:
        print_json(told)
    else:
        typer.echo(f"Serving {', '.join(names)} at {settings.address}")
        _first_key(service, files[0], shows=demo or (sys.stdout.isatty() and not check))
    if check:
        service.close()
    else:
        application().run(service)


def _demo() -> Path:
    from dither.cli.demo.service import demo_service

    return demo_service(Path("dither-service"))


def _first_key(service: Service, file: Path, *, shows: bool) -> None:
    """A key for the owner where there is none, so that the page can be used at once; not where output is kept."""
    if service.keyring.all():
        return
    described = "" if file == Path("dither.toml") else f" --description {shlex.quote(str(file))}"
    if not shows:
        typer.echo(f"There is no key yet. Make one in another terminal: dither keys add NAME --owner{described}")
        return
    key = service.keyring.add("owner", {}, is_owner=True)
    typer.echo(f"Sign in there with the key of its owner, which is shown this once:\n{key}")
    typer.echo(f"Keys for analysts: dither keys add NAME{described}")
