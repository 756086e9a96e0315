"""`dither audit`: a mechanism by name, a function, a picture, exit codes."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import dither as dp
from dither.audit.zoo import SPECIMENS
from dither.cli import app


def audit(*flags: str) -> Result:
    return CliRunner().invoke(app, ["audit", *flags], env={"COLUMNS": "120", "TERM": "dumb"})


def test_a_mechanism_by_name_stands() -> None:
    done = audit("Laplace", "--epsilon", "1", "--samples", "2000", "--alpha", "1e-11", "--json")
    assert done.exit_code == 0
    verdict = json.loads(done.stdout)
    assert verdict["violated"] is False
    assert verdict["lower_bound"] <= 1


def test_a_profile_is_said_in_words() -> None:
    done = audit("RandomizedResponse", "--epsilon", "1", "--samples", "2000", "--alpha", "1e-11")
    assert done.exit_code == 0
    assert "RandomizedResponse: its privacy profile, with ε = 1, is not refuted." in done.stdout


def test_a_broken_function_is_shown_wrong_with_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "both.svg"
    done = audit("dither.audit.zoo.additive:laplace_float_one", "--neighbours", "real", "--plot", str(picture))
    assert done.exit_code == 2  # there is no such function
    done = audit(*TELLS, "--epsilon", "1", "--samples", "2000", "--plot", str(picture))
    assert done.exit_code == 1
    assert "VIOLATED" in done.stdout
    assert "Witness" in done.stdout
    assert picture.read_text().lstrip().startswith("<?xml")


def tells(count: int) -> int:
    """A function that hides nothing."""
    return count


TELLS = ("tests.cli.test_audit:tells", "--neighbours", "number")


@pytest.mark.parametrize("flags", [(), ("--delta", "1e-6")])
def test_a_function_that_claims_nothing_is_not_judged(flags: tuple[str, ...]) -> None:
    done = audit(*TELLS, *flags)
    assert done.exit_code == 2
    assert "claims nothing by itself. Say what is to be refuted, such as --epsilon 1." in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_the_verdict_says_that_nobody_claimed_anything() -> None:
    usual = dp.audit.attack(tells, neighbours=(1, 2), samples=1000)
    assert usual.claim == dp.PureDP(1)
    assert usual.is_usual_claim
    assert usual.as_dict()["is_usual_claim"] is True
    assert "tells: PureDP(epsilon=1) is VIOLATED (no claim was given, so ε = 1 was tested" in str(usual)
    for claimed in (
        dp.audit.attack(tells, neighbours=(1, 2), epsilon=1, samples=1000),
        dp.audit.attack(tells, neighbours=(1, 2), claim=dp.PureDP(1), samples=1000),
        dp.audit.attack(half_scale, neighbours=(1, 2), samples=1000),
    ):
        assert not claimed.is_usual_claim
        assert "nothing was claimed" not in str(claimed)


@pytest.mark.parametrize("command", ["audit", "explain"])
def test_the_help_speaks_of_a_claim_and_not_of_a_price(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "120"}).stdout
    assert "price of this question" not in shown
    assert "groups that are found" not in shown


half_scale = dp.Laplace(sensitivity=1, scale="1/2")


def test_a_mechanism_of_a_module_is_held_to_its_own_promise() -> None:
    flags = ("tests.cli.test_audit:half_scale", "--neighbours", "number", "--samples", "2000", "--alpha", "1e-11")
    done = audit(*flags, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["claim"] == "PureDP(epsilon=2)"
    assert audit(*flags, "--epsilon", "1").exit_code == 1


def fails(count: int) -> float:
    """A function that has no answer."""
    return 1 / (count - count)


def test_a_function_that_fails_is_named() -> None:
    done = audit("tests.cli.test_audit:fails", "--neighbours", "number", "--epsilon", "1")
    assert done.exit_code == 2
    assert "fails raised a ZeroDivisionError" in done.output


def ends(count: int) -> float:
    """A function that hides nothing, and whose answers cannot be drawn."""
    print("looking")
    return math.inf if count else -math.inf


def test_a_violation_ends_with_1_also_without_its_picture(tmp_path: Path) -> None:
    flags = ("tests.cli.test_audit:ends", "--neighbours", "number", "--epsilon", "1", "--samples", "1000", "--json")
    done = audit(*flags, "--plot", str(tmp_path / "both.svg"))
    assert done.exit_code == 1
    assert "The picture was not drawn" in done.stderr
    assert json.loads(done.stdout)["violated"] is True, "what the target prints is on the other stream"


def leaves(count: int) -> float:
    """A function that ends the program."""
    raise SystemExit(0)


@pytest.mark.parametrize("body", ["import sys; sys.exit(0)", "def f(:", "1 / 0", "import nothing_like_it"])
def test_a_module_that_cannot_be_loaded_is_no_pass(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"module_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(body, encoding="utf-8")
    done = audit(f"{name}:f")
    assert done.exit_code == 2
    assert "cannot be loaded" in done.stderr


def test_a_function_that_ends_the_program_is_no_pass() -> None:
    done = audit("tests.cli.test_audit:leaves", "--neighbours", "number", "--epsilon", "1")
    assert done.exit_code == 2
    assert "leaves raised a SystemExit" in done.stderr


def test_no_password_is_echoed() -> None:
    done = audit("postgresql://somebody:hunter2@host/base")
    assert done.exit_code == 2
    assert "hunter2" not in done.output


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("Laplace", "--zoo"),
        ("nothing",),
        ("no_such_module:f",),
        ("Laplace", "--samples", "0"),
        ("Laplace", "--neighbours", "answers"),  # which all change at once: no neighbours of sensitivity 1
        ("Laplace", "--delta", "1e-6"),
        ("RandomizedResponse", "--delta", "1e-6"),
        ("Laplace", "--plot", "no/such/folder/both.svg"),
        ("Laplace", "--plot", "both.txt"),
        ("--zoo", "--samples", "400"),
        ("--zoo", "--epsilon", "2"),
        ("--zoo", "--plot", "zoo.svg"),
    ],
)
def test_bad_usage_ends_with_two(flags: tuple[str, ...]) -> None:
    assert audit(*flags).exit_code == 2


@pytest.mark.nightly
def test_the_zoo_is_shown_with_all_caught() -> None:
    done = audit("--zoo")
    assert done.exit_code == 0
    count = sum(each.is_broken for each in SPECIMENS)
    assert f"{count} of {count} broken mechanisms caught, 0 of" in done.stdout
    assert "MISSED" not in done.stdout
