"""The pages of the site, gathered from where they live: docs/, the proofs beside the code, and a few from the root.

Links between files of the repository become links between pages. A link that leads nowhere stops the build.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
from functools import cache
from pathlib import Path

import dither
from docs.site import api

__all__ = ["ROOT", "claims_linked", "gathered", "names_linked", "relinked", "stage"]

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"(\[[^\]]*)?(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_CLAIM = re.compile(r"\bC\d+\b")
_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
_CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", flags=re.MULTILINE | re.DOTALL)
_EMPTY_END = re.compile(r"\n\n```$", flags=re.MULTILINE)  # ends a session for doctest, and is ugly to look at
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(?:.+<)?([\w./]+)>?$", flags=re.MULTILINE)
_NAME = re.compile(r"`dp\.([\w.]+)`")
_TABLES_OF_NAMES = {ROOT / "docs" / "lectures.md"}
_ALONE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "bench/README.md": "bench.md"}


def gathered() -> dict[Path, Path]:
    """Each file of the repository that becomes a page or a picture, and its place on the site."""
    docs = [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".svg", ".png")]
    proofs = sorted((ROOT / "src" / "dither").rglob("*.md"))
    return {
        **{path: path.relative_to(ROOT / "docs") for path in sorted(docs)},
        **{path: Path("proofs") / path.relative_to(ROOT / "src" / "dither") for path in proofs},
        **{ROOT / name: Path(place) for name, place in _ALONE.items()},
    }


def stage(source: Path) -> Path:
    """Write all pages into the folder `source`, which is emptied first."""
    shutil.rmtree(source, ignore_errors=True)
    places = gathered()
    for path, place in places.items():
        target = source / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = relinked(_EMPTY_END.sub("\n```", path.read_text(encoding="utf-8")), path, places)
            target.write_text(names_linked(text) if path in _TABLES_OF_NAMES else text, encoding="utf-8")
        else:
            shutil.copyfile(path, target)
    api.write(source / "api")
    for page in (source / "api").glob("*.md"):
        page.write_text(claims_linked(page.read_text(encoding="utf-8")), encoding="utf-8")
    _write_index_of_proofs(source / "proofs")
    _add_what_the_index_forgot(source)
    return source


def relinked(text: str, path: Path, places: dict[Path, Path]) -> str:
    """The text of a file, with links that fit the site; what stands in code is left as it is."""
    return "".join(part if at % 2 else _links(part, path, places) for at, part in enumerate(_CODE.split(text)))


def _links(text: str, path: Path, places: dict[Path, Path]) -> str:
    def placed(link: re.Match[str]) -> str:
        target, fragment = link[3], link[4].strip("#)")
        if "://" in target:
            return link[0]
        file = Path(os.path.normpath(path.parent / target))
        if file not in places:
            raise SystemExit(f"{path.relative_to(ROOT)} links to {target}, which is no page of the site.")
        place = os.path.relpath(places[file], places[path].parent)
        if link[1] and fragment in _anchors(file):
            return f'<a href="{place.removesuffix(".md")}.html#{fragment}">{link[1][1:]}</a>'
        return f"{link[1] or ''}{link[2]}{place}{link[4]}"

    return _LINK.sub(placed, text)


def claims_linked(text: str) -> str:
    """A page of the reference, with each claim that a docstring names as a link to its row."""
    known = _anchors(ROOT / "docs" / "claims.md")

    def linked(found: re.Match[str]) -> str:
        row = found[0].lower()
        return f'<a href="../claims.html#{row}">{found[0]}</a>' if row in known else found[0]

    return "".join(part if at % 2 else _CLAIM.sub(linked, part) for at, part in enumerate(_CODE.split(text)))


def names_linked(text: str) -> str:
    """A table of public names, with each as a link to its entry of the reference."""
    return _NAME.sub(lambda name: f"{{py:obj}}`dp.{name[1]} <{_entry(name[1])}>`", text)


def _entry(name: str) -> str:
    """The name under which the reference has it: that of the module that `dp` may know by a shorter one."""
    first, _, rest = name.partition(".")
    value = getattr(dither, first)
    return f"{value.__name__}.{rest}" if inspect.ismodule(value) else f"dither.{name}"


@cache
def _anchors(file: Path) -> frozenset[str]:
    """The anchors that a page sets in HTML, such as those in the rows of a table, which Sphinx does not know."""
    return frozenset(_ANCHOR.findall(file.read_text(encoding="utf-8")) if file.suffix == ".md" else ())


def _write_index_of_proofs(folder: Path) -> None:
    """One list of all proofs, by package."""
    pages = sorted(path.relative_to(folder).with_suffix("") for path in folder.rglob("*.md"))
    lines = ["# Proofs", "", "Each stands beside the code that it is about, in `src/dither`.", ""]
    (folder / "index.md").write_text("\n".join([*lines, "```{toctree}", *map(str, pages), "```", ""]))


def _add_what_the_index_forgot(source: Path) -> None:
    """A page that no list names yet can be found all the same."""
    pages = {path.relative_to(source).with_suffix(""): path for path in sorted(source.rglob("*.md"))}
    named = {Path("index")}
    for page, path in pages.items():
        for entries in _TOCTREE.findall(path.read_text(encoding="utf-8")):
            named |= {page.parent / entry for entry in _ENTRY.findall(entries)}
    forgotten = [str(page) for page in pages if page not in named]
    if forgotten:
        more = "\n".join(["", "```{toctree}", ":hidden:", ":caption: More", "", *forgotten, "```", ""])
        with (source / "index.md").open("a", encoding="utf-8") as index:
            index.write(more)
