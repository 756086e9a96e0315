"""What may stand in the files of the repository."""

import re

import pytest

from tests.architecture import repository

# Written in two halves, so that this file passes its own test.
FORBIDDEN = {
    "a registry host": [
        "pypi" + ".org",
        "python" + "hosted.org",
        "deb." + "debian.org",
        "registry.npm" + "js",
    ],
    "a path of one machine": ["/" + "work/", "/" + "root/"],
}
PINNED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][0-9A-Za-z.]*")


def is_lock_file(name: str) -> bool:
    return name.endswith(".lock") or "-lock." in name


def pins() -> list[str]:
    return (repository.ROOT / "constraints.txt").read_text().splitlines()


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names_a_registry_or_a_machine(what: str) -> None:
    found = [
        f"{path.relative_to(repository.ROOT)}: {text}"
        for path in repository.files()
        for text in FORBIDDEN[what]
        if text.encode() in path.read_bytes()
    ]
    assert found == []


def test_there_is_no_lock_file() -> None:
    assert [path.name for path in repository.files() if is_lock_file(path.name)] == []
    assert is_lock_file("uv.lock")
    assert is_lock_file("package-lock.json")


def test_the_file_list_is_not_empty() -> None:
    names = {path.name for path in repository.files()}
    assert {"pyproject.toml", "run", "README.md", "test_files.py"} <= names


def test_constraints_are_exact_versions_and_nothing_else() -> None:
    assert [line for line in pins() if not PINNED.fullmatch(line)] == []


@pytest.mark.parametrize(
    "line", ["numpy>=2", "numpy==2.*", "numpy @ file:numpy.whl", "numpy==2.4.6 --hash=sha256:0", "-e .", ""]
)
def test_a_loose_constraint_would_be_seen(line: str) -> None:
    assert not PINNED.fullmatch(line)


def test_each_constraint_appears_once_and_in_order() -> None:
    names = [line.partition("==")[0].lower().replace("_", "-") for line in pins()]
    assert names == sorted(set(names))
