"""Hypothesis profiles, and engines that tests share.

Every commit searches the same examples, the nightly run searches new ones.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from flint import ctx
from hypothesis import settings

from tests.servers import postgres_server, spark_session
from tests.spark_cluster import EXECUTORS, ON_A_CLUSTER, SparkCluster, spark_cluster

settings.register_profile("commit", deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", deadline=None, max_examples=5_000)
settings.load_profile("commit")


@pytest.fixture(autouse=True)
def _usual_precision() -> Iterator[None]:
    """Flint's precision is one for the whole process: a test that leaves it changed would help or hurt the next one."""
    before = ctx.prec
    yield
    assert ctx.prec == before, "this test left flint's precision changed; use ctx.workprec"


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Files that tests look at are remembered in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


COUNTED = {
    "kills": "releases were killed; no answer without a durable charge",
    "disk faults": "releases met a full or failing disk; no answer without a durable charge",
    "power cuts": "power cuts; no answer was lost",
    "writers": "charges were tried by writers at once; exactly the cap was spent",
    "flipped bits": "bits were flipped in a ledger; each was noticed or changed no entry",
    "ledger steps": "steps of ledgers beside accounts kept by hand; all agreed",
    "replayed pairs": "neighbouring inputs were replayed; no call differed by more than was paid for",
    **{
        f"hostile rows, {engine}": f"questions with and without a hostile row on {name}; the same outcome, and no more "
        "moved than was declared"
        for engine, name in {"duckdb": "DuckDB", "postgres": "PostgreSQL", "spark": "Spark"}.items()
    },
    "questions": "random questions on random tables; the engine agreed with the reference",
}
"""What tests count with `record_property`, and what the count says."""


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How often each fault was acted out, by the tests that count them and passed."""
    passed = [each for report in terminalreporter.getreports("passed") for each in report.user_properties]
    for name, meaning in COUNTED.items():
        if total := sum(value for counted, value in passed if counted == name):
            terminalreporter.write_line(f"{total} {meaning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A place in memory in the name of a test differs from worker to worker, which then refuse to share the tests."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"the name of {item.nodeid} holds a place in memory; give its cases names.")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a PostgreSQL server with a database of our own."""
    with postgres_server() as url:
        yield url


@pytest.fixture(scope="session")
def cluster() -> Iterator[SparkCluster]:
    """A Spark cluster of as many workers as the environment says; only tests that ask one are run with it."""
    with spark_cluster(int(os.environ[ON_A_CLUSTER])) as running:
        yield running


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A Spark session. Tests that use it carry `xdist_group("spark")`, so that one worker alone starts one.

    It is inside this process, or on a cluster if the environment says so: tests/tables/test_spark_cluster.py.
    """
    at = {}
    if ON_A_CLUSTER in os.environ:
        at = {"master": request.getfixturevalue("cluster").url, "settings": EXECUTORS}
    with spark_session(**at) as session:
        yield session
