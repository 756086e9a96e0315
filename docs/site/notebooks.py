"""`python -m docs.site.notebooks`: write a notebook, and its pictures, for each page of docs/notebooks.

The page is the source: a block of Python becomes a cell of code, all else cells of text. A figure that a block binds to
a name is saved under that name, and shown by the page, so that there is a picture where there is no kernel.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from dither.plots.style import Figure, save

__all__ = ["FOLDER", "cells", "figures", "notebook", "pages"]

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
_BLOCK = re.compile(r"^```python\n(.*?)^```\n", flags=re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """The pages that are notebooks, one for each lecture."""
    return sorted(FOLDER.glob("lecture_*.md"))


def cells(page: Path) -> list[tuple[str, str]]:
    """("markdown", text) and ("code", text) in turn, in the order of the page."""
    parts = _BLOCK.split(page.read_text(encoding="utf-8"))
    kinds = (("code" if at % 2 else "markdown", part.strip()) for at, part in enumerate(parts))
    return [(kind, text) for kind, text in kinds if text]


def notebook(page: Path) -> str:
    """The notebook of a page, in format 4.5, without outputs."""
    made = [_cell(number, kind, text) for number, (kind, text) in enumerate(cells(page))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _cell(number: int, kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def figures(page: Path) -> dict[str, Figure]:
    """What the cells draw when they are run from top to bottom, by name."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for kind, text in cells(page):
        if kind == "code":
            exec(compile(text, str(page), "exec"), names)
    return {name: value for name, value in names.items() if isinstance(value, Figure)}


if __name__ == "__main__":
    for path in pages():
        path.with_suffix(".ipynb").write_text(notebook(path), encoding="utf-8")
        for name, figure in figures(path).items():
            save(figure, FOLDER / "img" / f"{name}.svg")
        print(path.with_suffix(".ipynb"))
