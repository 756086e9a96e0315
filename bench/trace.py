"""How much of dither one release visits: what a reader has to follow from `group_by` to the answer.

    python -m bench.trace            # the numbers
    python -m bench.trace --list     # the functions too, by file

Counted are the functions and lambdas of dither that run, each once; comprehensions belong to the function around them.
Releases are made before, so that what is loaded or built once does not count: modules, and the table of the noise,
which is laid out after about fifty single draws.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pyarrow as pa

import dither as dp

__all__ = ["visited"]

_PACKAGE = Path(dp.__file__).parent
_BEFORE = 32
_PARTS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def visited() -> dict[str, list[str]]:
    """The functions that a release of counts by public keys runs, by their files."""
    for _ in range(_BEFORE):
        _release(set())
    codes: set[CodeType] = set()
    _release(codes)
    found = defaultdict(list)
    for code in codes:
        if code.co_filename.startswith(str(_PACKAGE)) and not code.co_qualname.endswith(_PARTS):
            found[str(Path(code.co_filename).relative_to(_PACKAGE))].append(code.co_qualname)
    return {file: sorted(names) for file, names in sorted(found.items())}


def _release(codes: set[CodeType]) -> None:
    visits = pa.table({"user": range(1000), "city": ["Paris", "Lyon"] * 500})
    with (
        tempfile.TemporaryDirectory() as folder,
        dp.Dataset(
            visits,
            unit=dp.Person("user", 1, 1),
            budget=dp.PureDP(1),
            ledger=Path(folder) / "visits.ledger",
            identity="visits",
        ) as data,
        _watched(codes),
    ):
        data.group_by("city", keys=["Paris", "Lyon"]).agg(visits=dp.count()).release(epsilon=1)


@contextmanager
def _watched(codes: set[CodeType]) -> Iterator[None]:
    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def main() -> None:
    """Print how many functions in how many files."""
    parser = argparse.ArgumentParser(prog="python -m bench.trace", description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the functions too, by file")
    found, listed = visited(), parser.parse_args().list
    for file, names in found.items() if listed else ():
        print(f"{file}: {', '.join(names)}")
    print(f"{sum(map(len, found.values()))} functions in {len(found)} files")


if __name__ == "__main__":
    main()
