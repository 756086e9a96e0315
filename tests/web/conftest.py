"""A service for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.world import Caller, World, describe, service


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Over visits with a budget of ε = 1."""
    with service(describe(tmp_path)) as found:
        yield found


@pytest.fixture
def anna(world: World) -> Caller:
    """An analyst without a share: first come, first served."""
    return world.caller(world.key("anna"))


@pytest.fixture
def owner(world: World) -> Caller:
    return world.caller(world.key("olga", is_owner=True))
