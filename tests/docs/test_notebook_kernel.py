"""The five notebooks in a real kernel: every cell runs, and every slider that is moved draws another picture."""

import json
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from docs.site.notebooks import cells, pages

LONGEST = 600
"""Seconds, so that a kernel that hangs ends."""

every_page = pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)

MOVE_EVERY_SLIDER = """
import json
from ipywidgets import FloatSlider, IntSlider, interactive
from ipywidgets.widgets.widget import _instances

moved = []
for panel in [each for each in _instances.values() if isinstance(each, interactive)]:
    for slider in [each for each in panel.children if isinstance(each, (FloatSlider, IntSlider))]:
        start, before = slider.value, panel.result.value
        slider.value = slider.max if start < slider.max else slider.min
        there = panel.result.value
        slider.value = start
        moved.append({
            "slider": slider.description,
            "is_picture": before.startswith('<img src="data:image/svg+xml;base64,') and there.startswith("<img"),
            "changes": there != before,
            "returns": panel.result.value == before,
        })
print(json.dumps(moved))
"""
"""ipywidgets shows an error of a callback instead of raising it; then the picture stays as it was."""


def run(notebook: Path, *more: str) -> list[str]:
    """What the cells of a notebook as it is shipped, and more cells after them, print in a kernel of their own."""
    written = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell["source"] for cell in written if cell["cell_type"] == "code"]
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(notebook.parent))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=LONGEST)
        return [_execute(client, text) for text in (*code, *more)]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _execute(client: Any, text: str) -> str:
    said: list[str] = []

    def hear(message: Any) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            said.append(message["content"]["text"])

    reply = client.execute_interactive(text, timeout=LONGEST, output_hook=hear, allow_stdin=False)["content"]
    assert reply["status"] == "ok", reply
    return "".join(said)


@pytest.mark.slow
@every_page
def test_every_slider_draws_another_picture(page: Path) -> None:
    moved = json.loads(run(page.with_suffix(".ipynb"), MOVE_EVERY_SLIDER)[-1])
    code = "".join(text for kind, text in cells(page) if kind == "code")
    assert len(moved) >= code.count("dp.plots.explore(") > 0, "each picture has a slider or more"
    assert [each for each in moved if not (each["is_picture"] and each["changes"] and each["returns"])] == []


def test_a_slider_without_effect_would_be_seen(tmp_path: Path) -> None:
    """Controls: a callback that fails, and one that draws the same whatever it is told."""
    toy = tmp_path / "toy.ipynb"
    toy.write_text(json.dumps({"cells": [{"cell_type": "code", "source": TOY}]}), encoding="utf-8")
    moved = json.loads(run(toy, MOVE_EVERY_SLIDER)[-1])
    assert [each["changes"] for each in moved] == [False, False, True]
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run(toy, "1 / 0")


TOY = """
import dither as dp

def same(x: float):
    return dp.plots.profile(dp.PureDP(1))

def fails(x: float):
    return dp.plots.profile(dp.PureDP(1 / (x < 2)))

def moves(x: float):
    return dp.plots.profile(dp.PureDP(x))

for draw in (same, fails, moves):
    figure = dp.plots.explore(draw, x=(1.0, 3.0, 1.0))
"""
