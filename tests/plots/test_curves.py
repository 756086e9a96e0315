"""Pictures: labelled, faithful, and free of global state."""

import sys
from io import BytesIO

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE
from dither.errors import AdjacencyMismatch, ParameterError
from dither.guarantees import Guarantee
from dither.plots.curves import loss_masses

ALL: list[Guarantee] = [
    dp.PureDP(1),
    dp.ApproxDP(1, "1e-6"),
    dp.ZCDP("0.1"),
    dp.RenyiDP({2: 1}),
    dp.GaussianDP(1),
    dp.TVStable("0.2"),
]


@pytest.mark.parametrize("kind", ["profile", "tradeoff", "loss"])
def test_a_picture_of_all(kind: str) -> None:
    figure = dp.plots.draw(kind, *ALL)
    (axes,) = figure.axes
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    legend = axes.get_legend()
    assert legend is not None
    shown = " ".join(text.get_text() for text in legend.get_texts())
    assert all(str(guarantee) in shown for guarantee in ALL)
    styles = {(line.get_color(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(styles) >= len(ALL)
    figure.savefig(BytesIO(), format="svg")


@pytest.mark.parametrize("kind", ["profile", "tradeoff", "loss"])
def test_extremes_can_be_drawn(kind: str) -> None:
    for guarantee in (dp.PureDP(0), dp.PureDP("1e300"), dp.TVStable(1), dp.ZCDP("1e-12"), dp.GaussianDP(50)):
        assert guarantee.plot(kind).axes


def test_a_composition_can_be_drawn_beside_a_guarantee() -> None:
    both = dp.compose([dp.PureDP("0.5"), dp.PureDP("0.5")])
    assert dp.plots.tradeoff(both, dp.PureDP(1)).axes


def test_curves_are_the_answers() -> None:
    guarantee = dp.GaussianDP(1)
    line = dp.plots.tradeoff(guarantee).axes[0].get_lines()[1]
    points = np.column_stack([np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)])
    assert all(beta == guarantee.beta(alpha) for alpha, beta in points.tolist())


def test_loss_of_a_gaussian() -> None:
    """N(μ²/2, μ²): the masses sum to 1 and have its mean and variance."""
    losses, masses = loss_masses(dp.GaussianDP(1), np.linspace(0, 9, 400))
    assert masses.sum() == pytest.approx(1, abs=1e-9)
    mean = float((losses * masses).sum())
    assert mean == pytest.approx(0.5, abs=1e-3)
    assert float(((losses - mean) ** 2 * masses).sum()) == pytest.approx(1, abs=1e-3)


def test_loss_of_randomized_response() -> None:
    losses, masses = loss_masses(dp.PureDP(1), np.linspace(0, 2, 201))
    top = np.isclose(losses, 1)
    assert float(masses[top].sum()) == pytest.approx(1 / (1 + np.exp(-1)), abs=1e-9)
    assert float(masses[np.isclose(losses, -1)].sum()) == pytest.approx(1 / (1 + np.exp(1)), abs=1e-9)


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="nothing to draw"):
        dp.plots.profile()
    with pytest.raises(ParameterError, match="kind must be one of profile"):
        dp.PureDP(1).plot("pie")
    with pytest.raises(ParameterError, match="expected a guarantee"):
        dp.plots.profile(1)  # type: ignore[arg-type]
    with pytest.raises(AdjacencyMismatch):
        dp.plots.profile(dp.PureDP(1), dp.PureDP(1, adjacency=ADD_REMOVE))


def test_no_window_is_opened() -> None:
    dp.PureDP(1).plot()
    assert "matplotlib.pyplot" not in sys.modules


def test_curves_share_axes_and_have_names_and_an_end() -> None:
    figure = dp.PureDP(1).plot(label="one", upto=2)
    (axes,) = figure.axes
    assert dp.PureDP(2).plot(label="two", ax=axes, upto=2) is figure
    first, second = axes.get_lines()
    assert [first.get_label(), second.get_label()] == ["one", "two"]
    assert first.get_color() != second.get_color()
    assert first.get_xdata()[-1] == 2


def test_bad_axes_ends_and_names_are_refused() -> None:
    with pytest.raises(ParameterError, match="ax must be axes"):
        dp.PureDP(1).plot(ax=3)
    with pytest.raises(ParameterError, match="upto must be a positive"):
        dp.PureDP(1).plot(upto=0)
    with pytest.raises(ParameterError, match="label names one curve"):
        dp.plots.profile(dp.PureDP(1), dp.PureDP(2), label="both")
