"""`dither account`, as a user runs it."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

import dither as dp
from dither.events import GaussianNoise, LaplaceNoise, PoissonSampled, Repeated, to_json
from tests.cli.world import run

RUN = "account --rate 0.02 --steps 100"


def test_the_cost_is_that_of_the_events() -> None:
    found = json.loads(run(*RUN.split(), "--noise", "1.1", "--delta", "1e-5", "--json").out)
    step = PoissonSampled(GaussianNoise.of(Fraction("1.1")), Fraction("0.02"))
    whole = dp.compose([Repeated(step, 100)], relative_width=1e-5)
    assert found["epsilon"] == pytest.approx(whole.epsilon("1e-5"), rel=1e-5)
    assert found["epsilon_at_least"] <= found["epsilon"] <= 1.00002 * found["epsilon_at_least"]
    assert found["advantage_at_most"] == pytest.approx(whole.tv(), rel=1e-4)
    shown = run(*RUN.split(), "--noise", "1.1", "--delta", "1e-5").out
    assert f"{found['epsilon']:.6g}" in shown
    assert "of the members" in shown


def test_epochs_are_steps_times_the_rate() -> None:
    shown = [json.loads(run("account", "--noise", "2", "--rate", "0.02", *by, "--json").out)["epsilon"]
             for by in (["--steps", "50"], ["--epochs", "1"])]  # fmt: skip
    assert shown[0] == shown[1]


def test_the_noise_is_found() -> None:
    for risk, key, most in (
        (["--advantage", "0.1"], "advantage_at_most", 0.1),
        (["--epsilon", "1"], "epsilon", 1.0),
    ):
        found = json.loads(run(*RUN.split(), *risk, "--json").out)
        assert found["noise_multiplier"] > 0.3
        assert most * (1 - 1e-3) <= found[key] <= most * (1 + 1e-4)


def test_an_event_in_a_file_and_a_picture(tmp_path: Path) -> None:
    file, picture = tmp_path / "event.json", tmp_path / "curve.svg"
    file.write_text(to_json(Repeated(LaplaceNoise(Fraction(10)), 5)), encoding="utf-8")
    found = json.loads(run("account", str(file), "--delta", "0", "--plot", str(picture), "--json").out)
    assert found["epsilon"] == pytest.approx(0.5)
    assert "<svg" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("account", "--steps or --epochs"),
        ("account --noise 1", "--steps or --epochs"),
        ("account --steps 10", "--noise"),
        ("account --steps 10 --epochs 1 --noise 1", "not both"),
        ("account --steps 10 --noise 1 --advantage 0.1", "--noise"),
        ("account --steps 10 --noise 0", "greater than 0"),
        ("account --steps 10 --noise 1 --rate 1.5", "rate"),
        ("account --steps 0 --noise 1", "times"),
        ("account --steps 10 --tpr 0.1", "fpr is missing"),
        ("account --steps 10 --noise nan", "finite number"),
        ("account --steps 10 --noise 1 --plot no/such/folder/x.svg", "--plot cannot be written to"),
        ("account --steps 10 --noise 1 --plot x.jpeg", "--plot must end in"),
        ("account missing.json", "there is no event in 'missing.json'"),
        ("account --steps 10 --posterior 0.2", "prior is missing"),
    ],
)
def test_bad_input_has_its_sentence(words: str, message: str) -> None:
    failed = run(*words.split())
    assert failed.code == 2
    assert message in failed.err
