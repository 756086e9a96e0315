"""schemathesis over the OpenAPI document: whatever it sends, no answer is a 500, a trace or a row."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, GenerationMode
from schemathesis.core.result import Ok

from tests.cli.world import SECRETS
from tests.web.world import World, describe, service

EACH, AT_NIGHT = 8, 360
QUICKLY = settings(deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with service(describe(tmp_path_factory.mktemp("openapi"), epsilon="1000000")) as found:
        yield found


def sent(
    world: World, key: str, operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, number: int
) -> Counter[int]:
    """So many requests to an endpoint, such as the document describes or such as it forbids."""
    seen = Counter[int]()

    @settings(QUICKLY, max_examples=number)
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: Any) -> None:
        case.headers["Authorization"] = f"Bearer {key}"
        if "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = "visits"  # others are refused at the door
        answer = case.call(base_url=str(world.http.base_url), timeout=300)
        seen[answer.status_code] += 1
        assert answer.status_code < 500, answer.text
        assert not any(secret in answer.text for secret in (*SECRETS, "Traceback", "site-packages"))

    with suppress(Unsatisfiable):  # of an endpoint without parameters nothing can be wrong
        one()
    return seen


def bombard(world: World, number: int) -> Counter[int]:
    """An owner, who may do everything, sends them to every endpoint."""
    key = world.key(f"olga{number}", is_owner=True)
    document = schemathesis.openapi.from_url(f"{world.http.base_url}/api/openapi.json")
    operations = [each.ok() for each in document.get_all_operations() if isinstance(each, Ok)]
    assert len(operations) >= 14
    seen = Counter[int]()
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            seen += sent(world, key, operation, mode, number)
    return seen


def test_no_request_breaks_the_service(world: World) -> None:
    seen = bombard(world, EACH)
    assert seen.total() >= 140
    assert {200, 400} <= seen.keys()


@pytest.mark.nightly
def test_ten_thousand_requests_do_not_break_the_service(world: World) -> None:
    assert bombard(world, AT_NIGHT).total() >= 5_000
