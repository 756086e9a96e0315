"""Hostile names: what a column, a table or a part of a question may be called that an engine may take for another name.

`BESIDE` are names made of another one that stands beside them (of another case, with other letters for the same one, as
long as an engine keeps them), and `ALONE` are names by themselves: those of our own intermediate columns and of what
engines and libraries have names for, signs that end a name where it is quoted carelessly, and names of all lengths.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import dither

__all__ = ["ALONE", "BESIDE", "OURS", "names_beside"]

_LONGEST = 63
"""How many bytes of a name PostgreSQL keeps."""


def _with(letters: str, other: str) -> Callable[[str], str]:
    """One of the letters, the first that is there, as another sign."""

    def changed(name: str) -> str:
        at = next((name.index(each) for each in letters if each in name), None)
        return name if at is None else name[:at] + other + name[at + 1 :]

    return changed


def _accented(name: str) -> str:
    return unicodedata.normalize("NFD", name.replace("a", "á").replace("o", "ó"))


BESIDE: Mapping[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "first letter large": str.capitalize,
    "last letter large": lambda name: name[:-1] + name[-1:].upper(),
    "a dotless i": _with("iI", "ı"),
    "an i with its dot": _with("iI", "İ"),
    "a long s": _with("sS", "ſ"),
    "the sign of Kelvin": _with("kK", "\u212a"),
    "wide letters": lambda name: "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in name),
    "with accents apart": _accented,
    "a blank behind": lambda name: f"{name} ",
    "a blank before": lambda name: f" {name}",
    "no blank but none to see": lambda name: f"{name}\u200b",
    "a NUL behind": lambda name: f"{name}\x00",
    "a NUL and more": lambda name: f"{name}\x00x",
    "in quotes": lambda name: f'"{name}"',
    "a quote and more": lambda name: f'{name}" AS "x',
    "backticks": lambda name: f"`{name}`",
    "in brackets": lambda name: f"[{name}]",
    "of a table": lambda name: f"t0.{name}",
    "of a table in quotes": lambda name: f't0"."{name}',
    "as the second of its name": lambda name: f"{name}_1",
    "as Ibis renames it": lambda name: f"{name}_right",
    "as its step is called": lambda name: f"dither of {name}",
    "as its key is called": lambda name: f"dither key {name}",
    "as its sum is called": lambda name: f"{name} total",
    "as its interval is called": lambda name: f"{name}_low",
}
"""Names made of one that stands beside them."""


def _of_ours() -> Iterator[str]:
    """Every name in the source that begins as our own do: those of intermediate columns among them."""
    for path in sorted(Path(dither.__file__).parent.rglob("*.py")):
        for quoted, keyword in re.findall(r'"(dither[ _][a-z_ ]*)|\b(dither_[a-z]+)=', path.read_text()):
            yield quoted or keyword


OURS: tuple[str, ...] = tuple(dict.fromkeys(_of_ours()))
"""The names of our own intermediate columns, as they stand in the source."""

_KNOWN = tuple(
    """select from where group by having order limit table column all and or not null true false case when end as
on using join left union distinct count sum row rank over partition user current_user session_user current_date time
date timestamp interval array struct map value values key level index rowid rownum oid ctid xmin tableoid filename
file_row_number file_index hash exclude replace qualify pivot lateral self other how by metrics table_name keys words
call schema name type op cast t0 t1 t2 t3 t4 t5 _ a b x id people data excluded new old public main temp world
epsilon delta rho noise weights interval population left_out""".split()  # noqa: SIM905  # a list of them would be four times as long
)
"""Words of SQL, columns that engines have of themselves, aliases of tables, and parameters of Python."""
_SIGNS = [
    "", " ", "  ", ".", ".x", "[0]", "[1]", "a.b", "a..b", '"', '""', "'", "''", "`", "``", "[x]", "{x}", "{}", "{0}",
    "%", "%s", "%(x)s", "%%", ":x", "::text", "?", "$1", "$$", "@x", "#x", "--", "-- x", "/*", "*/", "*", "a*",
    ";", "x;y", "\\", "\\x", "\\n", "a\nb", "a\rb", "a\tb", "\x00", "\x01", "\x7f", "\x85", "\xa0", "\u2028", "\ufeff",
    "\ufeffwho", "é", "e\u0301", "ß", "SS", "ﬀ", "שלום", "\u202eohw", "😀", "\U00010400", "\ud800",
    "0", "1", "-1", "1e3", "NaN", "NULL", "None", "true", "(", ")", "()", "count(*)", "sum(x)", "a,b", "a=b",
    "a b", "__class__",
]  # fmt: skip
_LENGTHS = [
    "n" * 62, "n" * 63, "n" * 64, "n" * 65, "n" * 1000, "é" * 31, "é" * 32, "n" + "é" * 31, "😀" * 16,
    "n" * 49 + "😀" * 4,
]  # fmt: skip
ALONE: Mapping[str, tuple[str, ...]] = {
    "ours": OURS,
    "ours in upper case": tuple(each.upper() for each in OURS),
    "ours with a dotless i": tuple(each.replace("i", "ı") for each in OURS),
    "ours with a dot": tuple(each.replace("i", "İ").upper() for each in OURS),
    "ours in wide letters": tuple(BESIDE["wide letters"](each) for each in OURS),
    "words": _KNOWN,
    "words in upper case": tuple(each.upper() for each in _KNOWN),
    "signs": tuple(_SIGNS),
    "lengths": tuple(_LENGTHS),
}
"""Names that are hostile by themselves."""


def names_beside(others: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Names that are not among the others, each with what it is."""
    for other in others:
        for kind, change in BESIDE.items():
            if (made := change(other)) not in others:
                yield f"{kind} of {other}", made
        padded = other.ljust(_LONGEST, "_")
        yield f"{other} of 63 bytes and one more", f"{padded}x"
    for kind, listed in ALONE.items():
        for at, name in enumerate(dict.fromkeys(listed)):
            if name not in others:
                yield f"{kind} {at}", name
