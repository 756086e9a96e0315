"""`import dither as dp`: every public name is there, and is found only when asked for."""

import subprocess
import sys

import pytest

import dither


def test_all_names_can_be_had_and_are_listed() -> None:
    for name in dither.__all__:
        assert getattr(dither, name) is not None
        assert name in dir(dither)
    assert sorted(set(dither.__all__)) == sorted(dither.__all__)


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Laplaze'. Public names: .*PureDP"):
        dither.Laplaze  # noqa: B018


def test_names_are_found_when_asked_for() -> None:
    program = (
        "import sys, dither; assert 'dither.guarantees' not in sys.modules; dither.PureDP(1); "
        "assert 'dither.guarantees' in sys.modules; assert 'matplotlib' not in sys.modules; "
        "dither.PureDP(1).plot(); assert 'matplotlib' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
