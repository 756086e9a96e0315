"""`dither demo`: an invented table of hospital visits, and everything that is done with a real one."""

from dither.cli.demo.command import command

__all__ = ["command"]
