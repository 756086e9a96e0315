"""The test switch that replays need is on here; elsewhere it stays off."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import dither as dp
from dither.noise import entropy


@pytest.fixture(autouse=True)
def _open_door() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entropy, "DOOR_MAY_OPEN", True)
        yield


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., dp.Dataset]:
    """Open a source with a ledger of its own that has room for one release at this price."""
    numbers = count()

    def opened(source: Any, unit: Any, price: Mapping[str, Any]) -> dp.Dataset:
        budget = dp.ZCDP(5) if "rho" in price else dp.ApproxDP(max(25, price.get("epsilon", 0)), "0.2")
        ledger = tmp_path / f"{next(numbers)}.ledger"
        return dp.Dataset(source, unit=unit, budget=budget, ledger=ledger, identity="data")

    return opened
