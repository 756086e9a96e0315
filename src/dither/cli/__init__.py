"""The command line: strings become typed objects and back; no mathematics.

`main` is what `dither` and `python -m dither` run. Each command lives in its own file and loads what it needs when it
runs, so that `dither --help` is quick.
"""

from dither.cli.app import app, main

__all__ = ["app", "main"]
