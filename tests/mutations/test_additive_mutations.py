"""Every constant of the mechanisms that add noise is needed: change it, and a test fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations.additive import MUTATIONS
from tests.mutations.mutation import Mutation, passes


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_each_mutation_applies(mutation: Mutation, tmp_path: Path) -> None:
    """The list stays true to the source, at every commit."""
    mutation.write_to(tmp_path)
    assert mutation.after in (tmp_path / "dither" / mutation.file).read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_each_mutation_is_noticed(mutation: Mutation, tmp_path: Path) -> None:
    mutation.write_to(tmp_path)
    assert not passes(mutation.tests, tmp_path)


@pytest.mark.nightly
def test_without_a_mutation_the_tests_pass() -> None:
    every = {test for mutation in MUTATIONS for test in mutation.tests}
    assert passes(tuple(sorted(every)), Path(__file__).parents[2] / "src")
