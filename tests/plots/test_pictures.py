"""Pictures of releases, budgets and errors: the numbers that were released, in words too."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

import dither as dp
from dither.errors import ParameterError
from dither.ledger import Entry, Ledger
from dither.ledger.entry import canonical
from dither.plots.style import data_uri
from tests.plots.conftest import HOSTILE

pytestmark = pytest.mark.xdist_group("plots")  # the releases are made once


def test_every_release_with_numbers_can_be_drawn(releases: dict[str, dp.Release]) -> None:
    for name, release in releases.items():
        if name == "names":
            with pytest.raises(ParameterError, match="no column of this answer is a number"):
                release.plot()
            continue
        figure = release.plot()
        assert dp.plots.alt_text(figure).startswith("Private values of ")
        assert data_uri(figure).startswith("data:image/svg+xml;base64,")


def test_points_and_whiskers_are_the_released_numbers(releases: dict[str, dp.Release]) -> None:
    release = releases["grouped"]
    table = release.value
    for axes, name in zip(release.plot().axes, ("n", "m"), strict=True):
        assert axes.get_title() == name
        (bars,) = axes.containers
        assert bars.lines[0].get_xdata().tolist() == pytest.approx(table[name].to_pylist())
        ends = np.array([segment[:, 0] for segment in bars.lines[2][0].get_segments()])
        assert ends[:, 0].tolist() == pytest.approx(table[f"{name}_low"].to_pylist())
        assert ends[:, 1].tolist() == pytest.approx(table[f"{name}_high"].to_pylist())
        assert len(axes.get_yticklabels()) == len(HOSTILE)


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: data.median("spend", (0, 200), epsilon="1e-4"),
        lambda data: data.agg(q=dp.quantile("spend", "0.2", (0, 200))).release(epsilon="1e-4"),
        lambda data: dp.stats.median([1.0, 2.0], bounds=(0, 200), epsilon="0.01"),
    ],
)
def test_a_refused_answer_says_why_there_is_no_picture(data: dp.Dataset, ask: Any) -> None:
    """So few records are answered with a probability of 2^-13: one of three is refused, but for one run in 10^11."""
    refused = next(each for each in (ask(data) for _ in range(3)) if "no answer" in repr(each))
    with pytest.raises(ParameterError, match=r"nothing to draw: no answer: there are too few (rows|records)"):
        refused.plot()


def test_refused_answers_are_named_beside_those_that_are_drawn(releases: dict[str, dp.Release]) -> None:
    release = releases["grouped"]
    values = [None, *release.value["m"].to_pylist()[1:]]
    at = release.value.schema.get_field_index("m")
    axes = replace(release, value=release.value.set_column(at, "m", pa.array(values, pa.float64()))).plot().axes[1]
    labels = [each.get_text() for each in axes.get_yticklabels()]
    assert [label.endswith(": no answer") for label in labels] == [True] + [False] * (len(labels) - 1)
    assert np.isnan(axes.containers[0].lines[0].get_xdata()[0])


def test_an_interval_without_an_end_has_an_arrow(releases: dict[str, dp.Release]) -> None:
    release = releases["grouped"]
    table = release.value
    for end, edge in (("m_low", -np.inf), ("m_high", np.inf)):
        ends = [edge, *table[end].to_pylist()[1:]]
        table = table.set_column(table.schema.get_field_index(end), end, pa.array(ends, pa.float64()))
    axes = replace(release, value=table).plot().axes[1]
    assert [np.asarray(each.get_offsets()).tolist() for each in axes.collections[-2:]] == [[[0, 0]], [[1, 0]]]
    assert len(axes.collections) == len(release.plot().axes[1].collections) + 2


def test_histograms_are_bars(releases: dict[str, dp.Release]) -> None:
    (axes,) = releases["histogram"].plot().axes
    heights = [patch.get_height() for patch in axes.patches]
    assert heights == list(releases["histogram"].value)
    lists = releases["lists"].plot()
    assert [axes.get_title() for axes in lists.axes] == ["q", "h"]  # names are in the table only


def test_the_budget_grows_to_what_was_spent(data: dp.Dataset, ledger: Ledger, releases: dict[str, dp.Release]) -> None:
    figure = dp.plots.budget(ledger, "<b>visits</b>")
    charges = [entry for entry in ledger.entries() if entry.account == "<b>visits</b>" and entry.kind == "charge"]
    assert len(figure.axes) == 2  # some delta was spent
    steps: Any = figure.axes[0].get_lines()[0].get_data()
    assert list(steps[0]) == list(range(len(charges) + 1))
    assert steps[1][-1] == pytest.approx(float(data.spent["epsilon"]))
    assert f"after {len(charges)} charges" in dp.plots.alt_text(figure)


def test_a_budget_over_days_and_one_that_is_untouched(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / "book.ledger")) as book:
        with pytest.raises(ParameterError, match="Its accounts: none"):
            dp.plots.budget(book)
        book.open_account("a", dp.ZCDP(1))
        assert "ρ 0 of 1" in dp.plots.alt_text(dp.plots.budget(book))
        book.open_account("b", dp.PureDP(1))
        with pytest.raises(ParameterError, match="Its accounts: a, b"):
            dp.plots.budget(book)
        book.charge("a", dp.events.GaussianNoise.of(3), dp.ZCDP("0.5"), "how many?")
        entries = list(book.entries())
    later = canonical({**entries[-1].content, "at": "2099-01-01T00:00:00.000+00:00"})
    entries[-1] = Entry(entries[-1].number, entries[-1].previous, "charge", "a", later)
    figure = dp.plots.budget(entries, "a")
    assert figure.axes[0].get_xlabel() == "time (UTC)"
    figure.savefig(BytesIO(), format="svg")


def test_errors_are_those_of_the_plan(data: dp.Dataset) -> None:
    question = data.agg(n=dp.count(), m=dp.mean("spend", bounds=(0, 40)), t=dp.top("age", 1, [1, 2]))
    plan = question.plan(epsilon=1)
    by_rows = plan.plot()
    (axes,) = by_rows.axes
    assert [line.get_label() for line in axes.get_lines()] == ["n", "m"]  # a choice has no such error
    for line in axes.get_lines():
        found: Any = line.get_data()
        assert all(y == plan.error(str(line.get_label()), int(x)) for x, y in zip(*found, strict=True))
    by_epsilon = dp.plots.error_by_epsilon(question, rows=500)
    places: Any = by_epsilon.axes[0].get_lines()[0].get_data()
    assert places[1][0] == question.plan(epsilon="0.01").error("n", 500)
    for figure in (by_rows, by_epsilon):
        assert "n from" in dp.plots.alt_text(figure)
    with pytest.raises(ParameterError, match="leave epsilon"):
        dp.plots.error_by_epsilon(question, epsilon=1)
    with pytest.raises(ParameterError, match="no column has an error"):
        data.agg(t=dp.top("age", 1, [1, 2])).plan(epsilon=1).plot()


def test_every_curve_has_words() -> None:
    for kind in ("profile", "tradeoff", "loss"):
        assert "PureDP(epsilon=1)" in dp.plots.alt_text(dp.PureDP(1).plot(kind))
    assert dp.plots.alt_text(Figure()) == "a picture"


def test_an_unknown_picture_is_named() -> None:
    with pytest.raises(AttributeError, match="Public names: Drawable"):
        dp.plots.pie  # noqa: B018
