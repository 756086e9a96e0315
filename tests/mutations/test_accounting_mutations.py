"""Every error term of the accountant's brackets is needed: without it, a test fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations import accounting, accounting_pairs
from tests.mutations.mutation import Mutation, passes

MUTATIONS = [*accounting.MUTATIONS, *accounting_pairs.MUTATIONS]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_each_mutation_applies(mutation: Mutation) -> None:
    """The list stays true to the source, at every commit."""
    assert mutation.after in mutation.changed()


@pytest.mark.nightly
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_each_mutation_is_noticed(mutation: Mutation, tmp_path: Path) -> None:
    mutation.write_to(tmp_path)
    assert not passes(mutation.tests, tmp_path)


@pytest.mark.nightly
def test_without_a_mutation_the_tests_pass() -> None:
    every = {test for mutation in MUTATIONS for test in mutation.tests}
    assert passes(tuple(sorted(every)), Path(__file__).parents[2] / "src")
