"""The constraints file pins everything that `make setup` installs."""

import re
from importlib.metadata import requires, version

from packaging.requirements import Requirement

from tests.architecture import repository


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed_by(name: str, extras: frozenset[str]) -> list[Requirement]:
    """The requirements of `name` that apply on this machine, with these extras."""
    environments = [{"extra": extra} for extra in extras or {""}]
    return [
        requirement
        for requirement in map(Requirement, requires(name) or [])
        if requirement.marker is None or any(requirement.marker.evaluate(e) for e in environments)
    ]


def everything_installed() -> set[str]:
    """All that `dither[dev]` needs, directly or not."""
    found: set[str] = set()
    waiting = needed_by("dither", frozenset({"dev"}))
    while waiting:
        requirement = waiting.pop()
        if normal(requirement.name) not in found:
            found.add(normal(requirement.name))
            waiting += needed_by(requirement.name, frozenset(requirement.extras))
    return found


def test_everything_is_pinned_to_the_version_in_use() -> None:
    lines = (repository.ROOT / "constraints.txt").read_text().splitlines()
    pinned = {normal(name): pin for name, _, pin in (line.partition("==") for line in lines)}
    installed = everything_installed()
    assert {"numpy", "scipy", "python-flint", "cryptography", "pytest"} <= installed
    assert installed - pinned.keys() == set()
    assert {name: version(name) for name in installed} == {name: pinned[name] for name in installed}
