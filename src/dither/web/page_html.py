"""What the page shows, as HTML. Everything that somebody else wrote is escaped here; nothing runs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

from dither import plots
from dither.engine import Plan, Question, TableRelease
from dither.exact import in_words, rational
from dither.plots.cost_texts import price
from dither.plots.html import fold, paragraph, release_table, table
from dither.web.access_keys import Key
from dither.web.answer_files import FILES
from dither.web.chart import chart, spending_chart
from dither.web.question_forms import asked_in_words, field, form_fields, sql_fields
from dither.web.questions import AskedQuestion

__all__ = [
    "Frame",
    "answer",
    "dataset",
    "datasets",
    "failed",
    "history",
    "not_planned",
    "owner",
    "plan",
    "plan_lines",
    "sign_in",
    "style",
]

_STANDS = {
    "waiting": "The owner looks at it first. Nothing was charged yet.",
    "accepted": "The owner has accepted it. Nothing was charged yet.",
    "declined": "The owner has declined it. Nothing was charged.",
    "withdrawn": "It was taken back. Nothing was charged.",
    "asked": "It waits for its turn. Nothing was charged yet.",
    "running": "It is being answered.",
    "refused": "Nothing was charged.",
}
"""What a state means for who asked."""


def style() -> str:
    """The style of reports, and what forms need besides."""
    shared = Path(str(plots.__file__)).with_name("page.css")
    return shared.read_text(encoding="utf-8") + Path(__file__).with_name("page.css").read_text(encoding="utf-8")


class Frame:
    """What stands around every page: who is signed in, and the token that every form carries."""

    def __init__(self, key: Key | None, token: str) -> None:
        self.key = key
        self.token = token

    def page(self, title: str, body: str, *, looks_again: bool = False) -> str:
        """A whole page; one that looks again is loaded anew every few seconds."""
        again = '<meta http-equiv="refresh" content="3">\n' if looks_again else ""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<link rel="stylesheet" href="/style.css">\n'
            f"{again}<title>{escape(title)}</title>\n</head>\n<body>\n{self._head()}<main>\n<h1>{escape(title)}</h1>\n{body}"
            "</main>\n<footer>Answers are noisy on purpose, so that they protect the people in the data.</footer>\n"
            "</body>\n</html>\n"
        )

    def form(self, action: str, inside: str, button: str, *, inline: bool = False) -> str:
        """A form that is sent by a button."""
        kind = ' class="inline"' if inline else ""
        hidden = f'<input type="hidden" name="token" value="{escape(self.token)}">'
        return (
            f'<form method="post" action="{escape(action)}"{kind}>{hidden}{inside}'
            f'<button type="submit">{escape(button)}</button></form>\n'
        )

    def _head(self) -> str:
        if self.key is None:
            return ""
        places = {"/": "Datasets", "/history": "History"} | ({"/owner": "Owner"} if self.key.is_owner else {})
        links = "".join(f'<a href="{place}">{name}</a>' for place, name in places.items())
        out = self.form("/sign-out", "", f"Sign out {self.key.name}", inline=True)
        return f'<header><nav aria-label="Pages"><b>dither</b>{links}{out}</nav></header>\n'


def sign_in(frame: Frame, wrong: str | None = None) -> str:
    """For who is nobody yet; `wrong` is why a key was not taken."""
    return frame.page(
        "Sign in",
        _wrong(wrong)
        + paragraph("Ask the owner of the data for a key. It is kept by nobody but you.")
        + frame.form("/sign-in", field("key", "Your key", "", kind="password"), "Sign in"),
    )


def _wrong(sentence: str | None) -> str:
    return "" if sentence is None else f'<p class="note wrong" role="alert">{escape(sentence)}</p>\n'


def not_planned(sentence: str) -> str:
    """Why a question that waits has no plan, as after a change of the description."""
    return paragraph(sentence)


def failed(frame: Frame, sentence: str) -> str:
    """Why something was not done, and the way back."""
    said = sentence[:1].upper() + sentence[1:]
    return frame.page("Not done", f'<p class="note">{escape(said)}</p>\n<p><a href="/">Go on</a></p>\n')


def _bar(about: Mapping[str, Any]) -> str:
    """How much of the budget is left."""
    figure = "rho" if "rho" in about["budget"] else "epsilon"
    whole, left = rational(about["budget"][figure]), rational(about["remaining"][figure])
    part = float(max(Fraction(0), left / whole))
    said = f"{in_words(left)} of {in_words(whole)} {figure} is left; you may spend {about['left_to_you'][figure]}."
    if (delta := rational(about["budget"].get("delta", "0"))) > 0:
        said += f" Of delta, {about['remaining']['delta']} of {in_words(delta)} is left."
    return f'<progress max="1" value="{part:.4f}" aria-label="Budget left">{part:.0%}</progress>\n{paragraph(said)}'


def datasets(frame: Frame, found: Sequence[Mapping[str, Any]]) -> str:
    """All that one may ask of."""
    parts = []
    for about in found:
        name = escape(about["name"])
        link = f'<h2><a href="/data/{name}">{name}</a></h2>\n'
        inside = paragraph("Practice: made-up rows, free; answers mean nothing.") if about["practice"] else _bar(about)
        parts.append(f"<section>{link}{inside}</section>\n")
    return frame.page("Datasets", "".join(parts) or paragraph("This key may ask of no dataset that is served."))


def dataset(
    frame: Frame, about: Mapping[str, Any], filled: Mapping[str, str] | None = None, wrong: str | None = None
) -> str:
    """One dataset, and the two ways to ask; `filled` is what was said before, and `wrong` what is wrong with it."""
    name, said = about["name"], filled or {}
    notes = _wrong(wrong)
    if about["practice"]:
        notes += '<p class="note">Practice: these rows are made up. Questions are free, and answers mean nothing.</p>\n'
    if about["stopped"]:
        notes += '<p class="note">Stopped after failures: its owner has to resume it first.</p>\n'
    if about["approval"]:
        notes += '<p class="note">The owner looks at each question before it is answered.</p>\n'
    columns = table(
        ("column", "kind", "known"), [(each["name"], each["kind"], _known(each)) for each in about["columns"]]
    )
    return frame.page(
        name,
        f"{notes}{'' if about['practice'] else _bar(about)}{paragraph('Protected:', about['unit'] + '.')}"
        f'<h2>Columns</h2>\n<div class="wide">{columns}</div>\n'
        f"<h2>Ask in SQL</h2>\n{frame.form(f'/data/{name}/plan', sql_fields(about, said), 'Show the plan')}"
        f"<h2>Or fill in</h2>\n{frame.form(f'/data/{name}/plan', form_fields(about, said), 'Show the plan of this')}",
    )


def _known(column: Mapping[str, Any]) -> str:
    if "identifies" in column:
        return f"identifies {column['identifies']}"
    if "bounds" in column:
        return " to ".join(map(str, column["bounds"]))
    return ", ".join(map(str, column.get("keys", ())[:20]))


def plan(frame: Frame, about: Mapping[str, Any], body: str, key: str, question: Question, found: Plan) -> str:
    """What would be done, before anything is paid."""
    name, button = about["name"], "Ask the owner" if about["approval"] else "Pay and answer"
    hidden = f'<input type="hidden" name="asked" value="{escape(body)}"><input type="hidden" name="key" value="{key}">'
    return frame.page(
        "The plan",
        f'<p class="question">{escape(asked_in_words(body))}</p>\n'
        + paragraph("Nothing was spent yet.")
        + plan_lines(found)
        + ("" if found.shortage else frame.form(f"/data/{name}/release", hidden, button))  # what is left never grows
        + fold("The same question in Python", f"<pre>{escape(question.code)}</pre>\n")
        + frame.form(f"/data/{name}/change", hidden, "Change the question", inline=True),
    )


def plan_lines(found: Plan) -> str:
    """Noise, error, cost and what it means, and what limits leave out."""
    head = ("column", "noise", "share of the price", f"error ({in_words(100 * found.level)} %)")
    shortage = f'<p class="note">{escape(found.shortage)}</p>\n' if found.shortage else ""
    return (
        _cards(head, [map(escape, line) for line in found.lines()])
        + paragraph(f"It would cost {price(found.cost)}.", found.risk)
        + (paragraph(found.left_out) if found.left_out else "")
        + shortage
    )


def answer(frame: Frame, inquiry: AskedQuestion, release: TableRelease, is_practice: bool) -> str:
    """An answer, its intervals, what was left out, and its files."""
    notes = '<p class="note">Practice: made-up rows. This answer means nothing.</p>\n' if is_practice else ""
    links = ", ".join(f'<a href="/answers/{inquiry.id}/{form}" download>{form}</a>' for form in FILES)
    left_out = paragraph(release.plan.left_out) if release.plan.left_out else ""
    rows = release_table(release, 500)
    certificate = json.dumps(release.certificate(), indent=2, ensure_ascii=False)
    return frame.page(
        f"Answer about {inquiry.dataset}",
        f'<p class="question">{escape(asked_in_words(inquiry.asked))}</p>\n'
        f'{notes}<div class="wide" tabindex="0" role="region" aria-label="The answer">{rows}</div>\n'
        f"{left_out}{chart(release)}"
        + paragraph(f"It cost {price(release.plan.cost)}, entry {release.entry.number} of the ledger.")
        + f"<p>Download: {links}</p>\n"
        + fold("What was asked", f"<pre>{escape(inquiry.asked)}</pre>\n")
        + fold("Certificate", f"<pre>{escape(certificate)}</pre>\n")
        + f'<p><a href="/data/{escape(inquiry.dataset)}">Ask another question</a></p>\n',
    )


def unanswered(frame: Frame, inquiry: AskedQuestion, key: Key, ahead: int | None) -> str:
    """Where a question stands that has no answer; one at work is looked at again by itself."""
    said = _STANDS.get(inquiry.state, "")
    if inquiry.state == "asked" and ahead:
        said = f"It waits for its turn, with {ahead} before it. Nothing was charged yet."
    withdraw = frame.form(f"/questions/{inquiry.id}/withdraw", "", "Withdraw the question", inline=True)
    return frame.page(
        f"Question about {inquiry.dataset}",
        f'<p class="note" role="status"><b>{escape(inquiry.state.capitalize())}.</b> {escape(said)}'
        f"{' ' if said else ''}{escape(inquiry.told)}</p>\n"
        + (f"<p>{_state(frame, inquiry, key)}</p>\n" if inquiry.state == "accepted" else "")
        + (f"<p>{withdraw}</p>\n" if inquiry.state in ("asked", "waiting", "accepted") else "")
        + (_sent_again(frame, inquiry) if inquiry.state == "running" and inquiry.analyst == key.name else "")
        + fold("What was asked", f"<pre>{escape(inquiry.asked)}</pre>\n")
        + '<p><a href="/history">History</a></p>\n',
        looks_again=inquiry.state in ("asked", "running", "waiting"),
    )


def _sent_again(frame: Frame, inquiry: AskedQuestion) -> str:
    """For a question that a service was answering when it was stopped: nobody is at work on it."""
    again = frame.form(f"/questions/{inquiry.id}/collect", "", "Send it again", inline=True)
    return f"<p>Was the service stopped meanwhile? What was charged is not charged twice: {again}</p>\n"


def history(frame: Frame, found: Sequence[AskedQuestion], key: Key) -> str:
    """One's questions, or all for the owner."""
    rows = [
        (
            *map(escape, (each.at[:16].replace("T", " "), each.dataset, each.analyst)),
            _state(frame, each, key),
            escape(asked_in_words(each.asked)[:300]),
        )
        for each in found
    ]
    whole = _cards(("when (UTC)", "dataset", "who", "state", "asked"), rows)
    return frame.page("History", whole if found else paragraph("Nothing was asked yet."))


def _cards(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells in HTML. On a small screen each row is a card, and each cell has the name of its column."""
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    lines = (
        "".join(f'<td data-name="{name}"><span>{cell}</span></td>' for name, cell in zip(head, row, strict=True))
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return (
        f'<div class="wide cards"><table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n'
    )


def _state(frame: Frame, inquiry: AskedQuestion, key: Key) -> str:
    if inquiry.state == "accepted" and inquiry.analyst == key.name:
        return frame.form(f"/questions/{inquiry.id}/collect", "", "Pay and answer", inline=True)
    return f'<a href="/answers/{inquiry.id}">{escape(inquiry.state)}</a>'


def owner(
    frame: Frame,
    waiting: Sequence[tuple[AskedQuestion, str]],
    spending: Mapping[str, Sequence[Mapping[str, Any]]],
    failures: Mapping[str, tuple[int, int]],
    keys: Sequence[Key],
) -> str:
    """Questions that wait, spending by analyst, failures and keys."""
    parts = ["<h2>Waiting questions</h2>\n"]
    for inquiry, planned in waiting:
        both = frame.form(f"/questions/{inquiry.id}/accept", "", "Accept", inline=True)
        both += frame.form(f"/questions/{inquiry.id}/decline", "", "Decline", inline=True)
        said = paragraph(f"{inquiry.analyst} asks of {inquiry.dataset}: {asked_in_words(inquiry.asked)}")
        parts.append(f"<section>{said}{planned}{both}</section>\n")
    parts.append("" if waiting else paragraph("None."))
    for name, charges in spending.items():
        totals: dict[str, Fraction] = defaultdict(Fraction)
        for charge in charges:
            totals[charge["by"]] += rational(next(iter(charge["cost"].values())))
        lines = [(by, in_words(total), str(sum(each["by"] == by for each in charges))) for by, total in totals.items()]
        unanswered, allowed = failures[name]
        parts.append(f"<h2>{escape(name)}</h2>\n{spending_chart(charges)}")
        parts.append(
            table(("who", "spent", "charges"), lines, numbers=[1, 2]) if lines else paragraph("Nothing was spent.")
        )
        parts.append(paragraph(f"Failed or without an outcome: {unanswered} of {allowed} that are allowed."))
        if unanswered:
            parts.append(frame.form(f"/data/{name}/resume", "", "Accept the failures and go on"))
        recent = [
            (each["at"][:16].replace("T", " "), each["by"], *each["cost"].values(), each["question"])
            for each in charges[-50:]
        ]
        head = ("when (UTC)", "who", *(charges[-1]["cost"] if charges else ()), "question")
        parts.append(
            fold("The latest charges", f'<div class="wide">{table(head, recent[::-1])}</div>') if charges else ""
        )
    rows = [
        (
            key.name,
            "owner" if key.is_owner else _rights(key),
            key.state,
            (key.expires or "never")[:16].replace("T", " "),
        )
        for key in keys
    ]
    parts.append(
        "<h2>Keys</h2>\n" + _cards(("name", "may ask of", "state", "expires (UTC)"), [map(escape, row) for row in rows])
    )
    return frame.page("Owner", "".join(parts))


def _rights(key: Key) -> str:
    """The datasets, each with its share."""
    return ", ".join(
        f"{name} ({', '.join(share.values())})" if share else f"{name} (first come)"
        for name, share in key.rights.items()
    )
