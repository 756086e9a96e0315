"""Every public name is documented, and every law has its proof."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import dither
import dither.noise
from tests.architecture import repository


def rooms() -> list[ModuleType]:
    """`dither` itself and each room that exists."""
    names = [info.name for info in pkgutil.iter_modules(dither.__path__) if not info.name.startswith("_")]
    return [dither, *(importlib.import_module(f"dither.{name}") for name in names)]


def public_names(room: ModuleType) -> list[str]:
    return list(getattr(room, "__all__", []))


def is_ours(value: object) -> bool:
    """Whether dither defines the value; a name such as `Ball` may stand for somebody else's class."""
    home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    return str(home).partition(".")[0] == "dither"


def is_documented(value: object) -> bool:
    """Whether a class, function or module says in its own words what it is; constants and aliases pass."""
    if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
        return True
    text = value.__doc__ or ""
    written_by_dataclass = inspect.isclass(value) and text.startswith(f"{value.__name__}(")
    return bool(text.strip()) and not written_by_dataclass


def public_members(owner: type) -> Iterator[tuple[str, object]]:
    """The methods and properties that a class defines itself."""
    for name, member in vars(owner).items():
        if not name.startswith("_") and (
            inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod))
        ):
            yield name, member


@pytest.mark.parametrize("room", rooms(), ids=lambda room: room.__name__)
def test_a_room_says_what_it_is_for(room: ModuleType) -> None:
    assert is_documented(room)


@pytest.mark.parametrize("room", rooms()[1:], ids=lambda room: room.__name__)
def test_a_room_lists_its_public_names(room: ModuleType) -> None:
    assert public_names(room), f"{room.__name__} has no __all__"
    assert [name for name in public_names(room) if not hasattr(room, name)] == []


@pytest.mark.parametrize("room", rooms(), ids=lambda room: room.__name__)
def test_every_public_name_is_documented(room: ModuleType) -> None:
    ours = {name: value for name in public_names(room) if is_ours(value := getattr(room, name))}
    bare = [name for name, value in ours.items() if not is_documented(value)]
    assert bare == []


@pytest.mark.parametrize("room", rooms(), ids=lambda room: room.__name__)
def test_every_public_method_is_documented(room: ModuleType) -> None:
    values = [getattr(room, name) for name in public_names(room)]
    classes = [value for value in values if inspect.isclass(value) and is_ours(value)]
    bare = [
        f"{owner.__name__}.{name}"
        for owner in classes
        for name, member in public_members(owner)
        if not inspect.getdoc(getattr(owner, name)) and not member.__doc__
    ]
    assert bare == []


def test_a_bare_name_would_be_seen() -> None:
    @dataclasses.dataclass
    class Bare:
        scale: int

    def bare() -> None:
        pass

    assert not is_documented(Bare)
    assert not is_documented(bare)


def laws() -> dict[Path, list[str]]:
    """The files of `noise/` that define a law, with the names of the laws."""
    found: dict[Path, list[str]] = {}
    for info in pkgutil.iter_modules(dither.noise.__path__):
        module = importlib.import_module(f"dither.noise.{info.name}")
        names = [
            value.__name__
            for value in vars(module).values()
            if inspect.isclass(value) and value.__module__ == module.__name__ and is_law(value)
        ]
        if names:
            found[repository.SOURCE / "noise" / f"{info.name}.py"] = names
    return found


def is_law(value: type) -> bool:
    """A law is a concrete noun that can be drawn from and knows its probabilities."""
    return (
        dataclasses.is_dataclass(value)
        and not inspect.isabstract(value)
        and hasattr(value, "sample")
        and hasattr(value, "pmf")
    )


def test_every_law_has_a_proof_beside_it() -> None:
    assert laws(), "no law was found: is_law no longer recognises one"
    for path, names in laws().items():
        proof = path.with_suffix(".md")
        assert proof.exists(), f"{path.name} defines {', '.join(names)} but {proof.name} is missing"
        text = proof.read_text()
        assert text.startswith("# "), f"{proof.name} has no title"
        assert [name for name in names if name not in text] == [], f"{proof.name} does not name its laws"
