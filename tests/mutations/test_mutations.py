"""Every rounding, tie-break, error term and constant is needed: without it, a test fails or a claim does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations import (
    accounting,
    accounting_pairs,
    adaptive,
    additive,
    claims,
    engine,
    noise,
    selection,
    workloads,
)
from tests.mutations.mutation import Mutation, passes

LISTS = {
    "noise": noise.MUTATIONS,
    "accounting": [*accounting.MUTATIONS, *accounting_pairs.MUTATIONS],
    "adaptive": adaptive.MUTATIONS,
    "additive": additive.MUTATIONS,
    "selection": selection.MUTATIONS,
    "claims": claims.MUTATIONS,
    "engine": engine.MUTATIONS,
    "workloads": workloads.MUTATIONS,
}
every_mutation = pytest.mark.parametrize(
    "mutation", [pytest.param(each, id=f"{name}: {each}") for name, listed in LISTS.items() for each in listed]
)


@every_mutation
def test_each_mutation_applies(mutation: Mutation) -> None:
    """The list stays true to the source, at every commit."""
    assert mutation.after in mutation.changed()


@pytest.mark.nightly
@every_mutation
def test_each_mutation_is_noticed(mutation: Mutation, tmp_path: Path) -> None:
    mutation.write_to(tmp_path)
    assert not passes(mutation.tests, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LISTS)
def test_without_a_mutation_the_tests_pass(name: str) -> None:
    every = {test for mutation in LISTS[name] for test in mutation.tests}
    assert passes(tuple(sorted(every)), Path(__file__).parents[2] / "src")
