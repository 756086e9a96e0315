"""Every rounding, tie-break, error term and constant is needed: without it, a test fails or a claim does not hold."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest

from tests.mutations import (
    accounting,
    accounting_pairs,
    adaptive,
    additive,
    claims,
    closed_holes,
    engine,
    lectures,
    noise,
    sealed_entry,
    selection,
    workloads,
)
from tests.mutations.mutation import Mutation, passes, write_package

LISTS = {
    "noise": noise.MUTATIONS,
    "accounting": [*accounting.MUTATIONS, *accounting_pairs.MUTATIONS],
    "adaptive": adaptive.MUTATIONS,
    "additive": additive.MUTATIONS,
    "selection": selection.MUTATIONS,
    "claims": claims.MUTATIONS,
    "engine": engine.MUTATIONS,
    "sealed entry": sealed_entry.MUTATIONS,
    "closed holes": closed_holes.MUTATIONS,
    "workloads": workloads.MUTATIONS,
    "lectures": lectures.MUTATIONS,
}
every_mutation = pytest.mark.parametrize(
    "mutation", [pytest.param(each, id=f"{name}: {each}") for name, listed in LISTS.items() for each in listed]
)


@every_mutation
def test_each_mutation_applies(mutation: Mutation) -> None:
    """The list stays true to the source, at every commit; and what it makes is Python, or anything would notice it."""
    changed = mutation.changed()
    assert mutation.after in changed
    ast.parse(changed)


def test_a_place_survives_new_lines_comments_and_moves_and_is_missed_when_its_code_is_another() -> None:
    mutation = Mutation("toy.py", "floor(x * 2)", "ceil(x * 2)", (), within="Bounds.low")
    before = "class Bounds:\n def low(self, x):\n  return floor(x*2)\n def high(self, x):\n  return floor(x * 2)\n"
    moved = """
class Bounds:
    def high(self, x):
        return floor(x * 2)

    def low(self, x):
        return floor(  # rounds down
            (x * 2),
        )
"""
    assert "ceil" not in mutation.changed(before).partition("def high")[2]
    assert mutation.changed(moved).partition("def low")[2].strip().endswith("return ceil(x * 2)")
    assert mutation.changed(moved).count("ceil") == mutation.changed(before).count("ceil") == 1
    with pytest.raises(LookupError, match="Write what stands there now"):
        mutation.changed(before.replace("x*2", "x*3"))
    with pytest.raises(LookupError, match=r"name the function in `within`"):
        dataclasses.replace(mutation, within=None).changed(before)
    with pytest.raises(LookupError, match=r"there must be one Bounds\.low"):
        mutation.changed(before.replace("low", "least"))


@pytest.mark.nightly
@every_mutation
def test_each_mutation_is_noticed(mutation: Mutation, tmp_path: Path) -> None:
    mutation.write_to(tmp_path)
    assert not passes(mutation.tests, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LISTS)
def test_without_a_mutation_the_tests_pass(name: str, tmp_path: Path) -> None:
    """Also with the files written as mutations write them, so that what is noticed is the change."""
    write_package(tmp_path, {each.file: each.unchanged() for each in LISTS[name]})
    every = {test for mutation in LISTS[name] for test in mutation.tests}
    assert passes(tuple(sorted(every)), tmp_path)
