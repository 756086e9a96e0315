"""All rows of `dither claims`, computed once."""

import pytest

from dither.audit import claims
from dither.audit.claims import Row


@pytest.fixture(scope="session")
def rows() -> dict[str, Row]:
    return {row.id: row for row in claims.rows()}
