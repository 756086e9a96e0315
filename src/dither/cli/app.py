"""The commands of `dither`."""

from __future__ import annotations

import typer

from dither.cli import claims

__all__ = ["app", "main"]

app = typer.Typer(
    name="dither",
    help="Differential privacy you can check.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command(name="claims")(claims.command)


@app.callback()
def _dither() -> None:
    """Differential privacy you can check."""


def main() -> None:
    """Run the command line. It ends with 0 if all is well, 1 if something is shown to be wrong, 2 for bad usage."""
    app()
