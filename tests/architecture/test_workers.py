"""Tests that share a server, a browser or a built site run in one worker."""

import pytest


@pytest.mark.xdist_group("workers")
def test_groups_stay_together(request: pytest.FixtureRequest) -> None:
    """xdist tells groups by the ids of tests: where these stay as they are, each worker would start what it needs."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("groups matter to `--dist loadgroup` only")
    assert request.node.nodeid.endswith("@workers"), "this pytest and this pytest-xdist do not go together"
