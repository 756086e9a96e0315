"""The five notebooks: one for each lecture, made of its page, with pictures that are those its cells draw."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import dither as dp
from dither.errors import ParameterError
from dither.plots.style import Figure, save
from docs.site.notebooks import FOLDER, cells, figures, notebook, pages
from tests.docs.test_pictures import NUMBER

every_page = pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)


def test_there_is_one_for_each_lecture() -> None:
    assert [page.stem for page in pages()] == [f"lecture_{number:03}" for number in range(5)]


@every_page
def test_the_notebook_is_made_of_the_page(page: Path) -> None:
    written = page.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert written == notebook(page), "run python -m docs.site.notebooks"
    made = json.loads(written)
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"]) == len(cells(page))
    assert sum(cell["cell_type"] == "code" for cell in made["cells"]) >= 2


@every_page
def test_the_cells_run_and_draw_the_pictures_of_the_page(page: Path, tmp_path: Path) -> None:
    """From top to bottom in a fresh namespace; the same text, and every coordinate within a tenth of a point."""
    drawn = figures(page)
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"\(img/(\w+)\.svg\)", text)) == set(drawn)
    for name, figure in drawn.items():
        new = save(figure, tmp_path / f"{name}.svg").read_text()
        old = (FOLDER / "img" / f"{name}.svg").read_text()
        assert NUMBER.sub("", new) == NUMBER.sub("", old), "run python -m docs.site.notebooks"
        pairs = zip(NUMBER.findall(new), NUMBER.findall(old), strict=True)
        assert all(abs(float(a) - float(b)) < 0.1 for a, b in pairs), "run python -m docs.site.notebooks"


# --------------------------------------------------------------------------- sliders


def _line(slope: float, points: int = 2) -> Figure:
    figure, axes = dp.plots.style.new_axes("a line", "x", "y")
    axes.plot(range(points), [slope * x for x in range(points)])
    return figure


class Widgets(ModuleType):
    """What is used of ipywidgets, and what it was told."""

    def __init__(self) -> None:
        super().__init__("ipywidgets")
        self.shown: list[str] = []
        self.sliders: dict[str, Any] = {}

    def interact(self, draw: Any, **sliders: Any) -> None:
        self.sliders = sliders
        self.shown.append(draw(**{name: slider["start"] for name, slider in sliders.items()}))
        self.shown.append(draw(**{name: slider["max"] for name, slider in sliders.items()}))

    def HTML(self, text: str) -> str:  # noqa: N802  (their name)
        return text

    def IntSlider(self, start: int, least: int, most: int, **other: Any) -> dict[str, Any]:  # noqa: N802
        return {"kind": int, "start": start, "max": most}

    def FloatSlider(self, start: float, **other: Any) -> dict[str, Any]:  # noqa: N802
        return {"kind": float, "start": start, **other}


@pytest.fixture
def widgets(monkeypatch: pytest.MonkeyPatch) -> Widgets:
    known = Widgets()
    monkeypatch.setitem(sys.modules, "ipywidgets", known)
    return known


def test_without_a_kernel_there_is_the_picture_alone(widgets: Widgets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert dp.plots.explore(_line, slope=(0.0, 2.0, 1.0)).axes[0].get_title() == "a line"
    assert widgets.shown == []


def test_with_a_kernel_sliders_draw_anew(widgets: Widgets, monkeypatch: pytest.MonkeyPatch) -> None:
    console = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    monkeypatch.setitem(sys.modules, "IPython", console)
    figure = dp.plots.explore(_line, slope=(0.0, 2.0, 1.0), points=(2, 9, 3))
    assert figure.axes[0].lines[0].get_ydata().tolist() == [0.0, 1.0, 2.0]  # type: ignore[union-attr]
    assert [slider["kind"] for slider in widgets.sliders.values()] == [float, int]
    first, last = widgets.shown
    assert first.startswith('<img src="data:image/svg+xml;base64,')
    assert 'alt="a line"' in first
    assert first != last
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # a kernel without the package: the picture alone
    assert isinstance(dp.plots.explore(_line, slope=(0.0, 2.0, 1.0)), Figure)


@pytest.mark.parametrize("given", [(0.0, 1.0, 2.0), (1.0, 0.0, 0.5), (0.0, 1.0)], ids=str)
def test_a_range_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(ParameterError, match="slope must be"):
        dp.plots.explore(_line, slope=given)
