"""`python -m docs.site.lectures`: write docs/lectures.md from the table docs/site/lectures.txt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAGE", "Item", "items", "page"]

PAGE = Path(__file__).resolve().parents[1] / "lectures.md"
_TABLE = Path(__file__).with_name("lectures.txt")
_LECTURES = {
    "000": "Privacy Basics II (lecture 3: three forms of pure DP, Laplace and Gaussian noise)",
    "001": "Exploiting the sensitivity for privacy (lecture 2: metric spaces, smooth sensitivity, tests)",
    "002": "Stability and statistical queries (lecture 12)",
    "003": "Gaussian noise mechanism (slides)",
    "004": "Differential privacy, noise addition, selection (lecture 11)",
}
_EXAMPLES = {
    "000": "gaussian_or_laplace.py",
    "001": "vote_histogram.py noisy_descent.py",
    "002": "freedman.py",
    "003": "gaussian_or_laplace.py",
    "004": "common_condition.py digital_good.py sensitive_question.py",
}
_HEAD = """# The lectures

Five lectures on the core of differential privacy, line by line: {count} things that software can embody, each with the
claim that checks it, the names to call, the page that teaches it, and where there is one an example (in `examples/`)
and a proof. {done} of them work, {partly} in part and {missing} not at all, and the table says what is missing.
`dither claims --id C6 --points` runs a claim and prints its grid, `--set factor=1.98` bends a constant and shows where
it breaks; [a library that is bent](bent_library.md) turns each claim red. Corrections to what the lectures print stand
[beside the claims](claims.md#corrections-and-what-happens-outside-the-range-of-a-theorem). This page is written by
`python -m docs.site.lectures`, and a test looks up each name, claim, link, example and proof.
"""


@dataclass(frozen=True)
class Item:
    """One line of a lecture, and where it is found."""

    number: str
    what: str
    state: str
    claims: tuple[str, ...]
    names: tuple[str, ...]
    page: str
    examples: tuple[str, ...]
    proofs: tuple[str, ...]
    note: str

    @property
    def row(self) -> str:
        """Its row of the page."""
        claims = " ".join(f"[{claim}](claims.md#{claim.lower()})" for claim in self.claims)
        names = " ".join(f"`dp.{name}`" for name in self.names)
        link = (
            f"[{self.page.partition('#')[0].removesuffix('.md').rpartition('/')[2]}]({self.page})" if self.page else ""
        )
        examples = " ".join(f"`{name}`" for name in self.examples)
        proofs = " ".join(f"[{Path(name).stem}](../src/dither/{name})" for name in self.proofs)
        state = {"y": "works", "p": "in part: ", "n": "not there: "}[self.state] + self.note
        return f"| {self.number} | {self.what} | {claims} | {names} | {link} | {examples} | {proofs} | {state} |"


def items() -> list[Item]:
    """All lines of the table, in its order."""
    lines = _TABLE.read_text(encoding="utf-8").splitlines()
    return [_item(line) for line in lines if line and not line.startswith("#")]


def _item(line: str) -> Item:
    number, what, state, *rest = (part.strip() for part in re.split(r" \| ", line))
    claims, names, page, examples, proofs, *note = ("" if part == "-" else part for part in rest)
    every = (tuple(part.split()) for part in (claims, names, examples, proofs))
    known_claims, known_names, known_examples, known_proofs = every
    return Item(number, what, state, known_claims, known_names, page, known_examples, known_proofs, " ".join(note))


def page() -> str:
    """The page: a table for each lecture."""
    every = items()
    counts = {state: sum(item.state == state for item in every) for state in "ypn"}
    parts = [_HEAD.format(count=len(every), done=counts["y"], partly=counts["p"], missing=counts["n"])]
    for lecture, title in _LECTURES.items():
        examples = ", ".join(f"`examples/{name}`" for name in _EXAMPLES[lecture].split())
        rows = "\n".join(item.row for item in every if item.number.startswith(lecture))
        head = "| item | what the lecture says | claim | names | page | example | proof | state |\n" + "|---" * 8 + "|"
        notebook = f"[notebook](notebooks/lecture_{lecture}.md)"
        parts.append(
            f"## {lecture}: {title}\n\nPictures with sliders: {notebook}. Examples: {examples}\n\n{head}\n{rows}\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
