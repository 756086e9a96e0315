"""The door that replays go through is open here; elsewhere it stays shut."""

from collections.abc import Iterator

import pytest

from dither.noise import entropy


@pytest.fixture(autouse=True)
def _open_door() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entropy, "DOOR_MAY_OPEN", True)
        yield
