"""The demonstration, one step after the other, as somebody would go through it with a table of their own."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import dither as dp
from dither.cli.demo import truth
from dither.cli.demo.folder import prepared
from dither.cli.demo.visits import CONDITIONS, HOSPITALS, VISITS_PER_PERSON, hospital_visits
from dither.cli.screen import working
from dither.engine import check_certificate, read_certificate
from dither.errors import CertificateError, MissingPackage, OverBudget
from dither.exact import in_words
from dither.ledger import Ledger
from dither.ledger.budget import amounts, read_amounts, read_budget

__all__ = ["tell"]

_UNIT: Final = dp.Person("patient", max_groups=3, max_rows_per_group=30)
_BUDGET: Final = dp.PureDP(2)
_COSTS: Final = (0, 5_000)
_PARTS: Final = [0.25, 0.5, 0.75, 0.9]


def tell(folder: Path, people: int, console: Console) -> dict[str, Any]:
    """Tell it on the console; what was found and how long it took."""
    start = time.perf_counter()
    path, ledger = _table(prepared(folder), people, console)
    with dp.Dataset(path, unit=_UNIT, budget=_BUDGET, ledger=ledger) as data:
        _open(data, console)
        table = _grouped(data, console)
        costs = _quantiles(data, path, console)
        common = _most_common(data, path, console)
        refused = _refused(data, console)
        spent = float(data.spent["epsilon"])
    held = _compared(table, path, console)
    releases = {"by_hospital": table, "quantiles_of_costs": costs, "most_common": common}
    with closing(Ledger(ledger)) as book:
        entries = _ledger(book, console)
        _pages(folder, releases, book, console)
        certificates = _certificates(folder, releases, book, console)
    seconds = time.perf_counter() - start
    console.print(f"\nDone in {seconds:.1f} s. Everything is in {folder}/.", soft_wrap=True, highlight=False)
    _say(console, f"Next: dither ledger {ledger}, and dither explain --epsilon 1")
    return {
        "folder": str(folder),
        "people": people,
        "visits": people * VISITS_PER_PERSON,
        "epsilon_spent": spent,
        "hospitals": table.to_arrow().to_pylist(),
        "intervals": held,
        "quantiles": costs.value,
        "most_common": common.value,
        "refused": refused,
        "ledger_entries": entries,
        "certificates": certificates,
        "seconds": round(seconds, 2),
    }


def _table(folder: Path, people: int, console: Console) -> tuple[Path, Path]:
    visits = people * VISITS_PER_PERSON
    _heading(console, f"{visits:,} hospital visits of {people:,} people, all invented")
    path = folder / "hospital_visits.parquet"
    with working("inventing visits"):
        table = hospital_visits(people)
    with working("writing them down"):
        pq.write_table(table, path)
    _say(console, f"Written to {path}: {', '.join(table.column_names)}.")
    _say(console, "Some people come once and some every other day, a few costs are huge, some values are missing.")
    return path, folder / "hospital_visits.ledger"


def _open(data: dp.Dataset, console: Console) -> None:
    _heading(console, "Who is protected, and what may be spent")
    _say(
        console, "The privacy unit is each patient, with all visits: at most 3 hospitals count, and 30 visits to each."
    )
    _say(console, f"The budget is ε = {data.remaining['epsilon']} for everything that will ever be asked of this file.")


def _grouped(data: dp.Dataset, console: Console) -> Any:
    _heading(console, "A table by hospital")
    question = data.group_by("hospital", keys=list(HOSPITALS)).agg(
        visits=dp.count(), patients=dp.count_people(), cost=dp.mean("cost", bounds=_COSTS)
    )
    _say(console, "The plan for ε = 1, before any data is read:")
    for line in str(question.plan(epsilon=1)).splitlines():
        _say(console, f"  {line}")
    _say(console, "The answer, charged to the ledger first. Half the width of the 95 % intervals is behind ±:")
    with working("by hospital"):
        release = question.release(epsilon=1)
    shown = _new_table("hospital", "visits", "patients", "mean cost")
    for row in release.to_arrow().to_pylist():
        cells = (_with_bar(row, name) for name in ("visits", "patients", "cost"))
        shown.add_row(row["hospital"], *cells)
    console.print(shown)
    return release


def _quantiles(data: dp.Dataset, path: Path, console: Console) -> Any:
    _heading(console, "Quantiles of the costs, several for one price: ε = 0.5")
    with working("quantiles"):
        release = data.quantile("cost", _PARTS, bounds=(0, 100_000), epsilon=0.5)
    shown = _new_table("below it", "private", "true, secret")
    for part, private, exact in zip(_PARTS, release.value, truth.quantiles(path, _PARTS), strict=True):
        answer = "too few rows" if private is None else f"{private:,.2f}"
        shown.add_row(f"{part:.0%}", answer, f"{exact:,.2f}")
    console.print(shown)
    return release


def _most_common(data: dp.Dataset, path: Path, console: Console) -> Any:
    _heading(console, "The three most common conditions: ε = 0.2")
    with working("conditions"):
        release = data.top("condition", 3, candidates=list(CONDITIONS), epsilon=0.2)
    _say(console, f"private:       {', '.join(release.value)}")
    _say(console, f"true, secret:  {', '.join(truth.conditions(path)[:3])}")
    return release


def _refused(data: dp.Dataset, console: Console) -> str:
    _heading(console, "One question too many")
    try:
        data.count(epsilon=1)
    except OverBudget as refusal:
        _say(console, f"data.count(epsilon=1) is refused before any data is read: {refusal}")
        return str(refusal)
    raise AssertionError("a question beyond the budget was answered")


def _compared(release: Any, path: Path, console: Console) -> dict[str, int]:
    _heading(console, "Beside the truth, which only invented data may show")
    exact = truth.hospitals(path, _UNIT.stated("max_rows_per_group"), _COSTS[1])
    shown = _new_table(
        "hospital", "visits", "within bounds", "all, secret", "mean cost", "within bounds", "all, secret"
    )
    rows, held = release.to_arrow().to_pylist(), 0
    for row in rows:
        true = exact[row["hospital"]]
        held += sum(row[f"{name}_low"] <= true[name] <= row[f"{name}_high"] for name in ("visits", "patients", "cost"))
        shown.add_row(
            row["hospital"],
            *(f"{number:,}" for number in (row["visits"], true["visits"], true["all_visits"])),
            *(f"{number:,.0f}" for number in (row["cost"], true["cost"], true["all_cost"])),
        )
    console.print(shown)
    inside, everything = (sum(true[name] for true in exact.values()) for name in ("visits", "all_visits"))
    _say(console, f"{held} of {3 * len(rows)} intervals hold what is true within the bounds: 95 % each, by promise.")
    _say(
        console,
        f"The bounds leave out {1 - inside / everything:.1%} of the visits, and costs above {_COSTS[1]:,}: a bar is "
        "about noise, and knows nothing of that. Wider bounds leave out less and need more noise.",
    )
    return {"held": held, "of": 3 * len(rows)}


def _ledger(ledger: Ledger, console: Console) -> int:
    _heading(console, "The ledger: what was spent, by whom, on what")
    for entry in ledger.entries():
        said = entry.content
        if entry.kind == "budget":
            _say(console, f"{entry.number}  budget  {read_budget(said['budget'])}")
        elif entry.kind == "charge":
            cost = in_words(amounts(read_budget(said["cost"]))["epsilon"])
            spent = in_words(read_amounts(said["spent"])["epsilon"])
            question = said["question"].partition("; add or remove")[0]
            _say(console, f"{entry.number}  charge  ε = {cost}, in all {spent}, by {said['by']}: {question}")
    checked = ledger.verify()
    _say(console, f"Verified: {checked} entries, each tied to the one before by its hash.")
    return checked


def _pages(folder: Path, releases: dict[str, dp.Release], ledger: Ledger, console: Console) -> None:
    _heading(console, "To show around: these are private already")
    try:
        from dither.plots.style import save  # matplotlib is an extra
    except MissingPackage as error:
        _say(console, f"No pictures and no report: {error}")
        return
    with working("drawing"):
        picture = save(releases["by_hospital"].plot(), folder / "by_hospital.svg")
        spending = save(dp.plots.budget(ledger), folder / "budget.svg")
        title = "Hospital visits (everybody is invented)"
        page = dp.plots.report(list(releases.values()), folder / "report.html", title=title, ledger=ledger)
    _say(console, f"pictures  {picture}, {spending}")
    _say(console, f"report    {page}: open it in a browser; it loads nothing")


def _certificates(folder: Path, releases: dict[str, dp.Release], ledger: Ledger, console: Console) -> list[str]:
    _heading(console, "Certificates: what each answer cost, for anyone to check")
    paths = []
    for name, release in releases.items():
        path = folder / f"{name}.certificate.json"
        path.write_text(json.dumps(release.certificate(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        shown = check_certificate(read_certificate(path.read_text(encoding="utf-8")), ledger)
        _say(console, f"{path}: accepted, {shown.guarantee}")
        paths.append(str(path))
    changed = releases["by_hospital"].certificate()
    changed["guarantee"]["epsilon"] = "1/100"
    try:
        check_certificate(changed, ledger)
    except CertificateError as refusal:
        _say(console, f"The first one with another ε is refused: {refusal}")
        return paths
    raise AssertionError("a certificate that was changed was accepted")


def _heading(console: Console, text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]", soft_wrap=True)


def _say(console: Console, text: str) -> None:
    console.print(f"  {text}", markup=False, highlight=False, soft_wrap=True)


def _new_table(*names: str) -> Table:
    """A table whose first column is words."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for at, name in enumerate(names):
        table.add_column(name, justify="left" if at == 0 else "right", overflow="fold")
    return table


def _with_bar(row: dict[str, Any], name: str) -> str:
    half = (row[f"{name}_high"] - row[f"{name}_low"]) / 2
    return f"{row[name]:,.0f} ± {half:,.0f}"
