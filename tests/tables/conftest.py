"""One engine after the other."""

import pytest

from dither.tables.engines import Engine
from tests.tables.engines import ENGINES, engine_named


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    return engine_named(request.param, request)
