"""G75, D58: refusals take the same time whatever is wrong with a key, and only for who cannot know it anyway.

Requests with different faults are sent in a random order. If the fault made no difference, every assignment of times to
faults would be as likely as any other, whatever else the machine does; so the exact rank test has the false-alarm rate
that it says: 10⁻⁹ in all. A keyring that refuses a missing key without any work must be noticed. Times are those of the
processor, of client and service together: what else the machine does would only hide differences.
"""

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from scipy.stats import mannwhitneyu

from dither.web import access_keys
from dither.web.access_keys import Key, Keyring, Refused
from tests.web.test_keys import ENDPOINTS, PAST
from tests.web.world import COUNT, World, describe, service

FALSE_ALARMS, EACH = 1e-9, 40
LISTS = (("GET", "/datasets"), ("GET", "/questions"))
"""Of these a key of another tenant sees its own."""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """With a quick hash, so that differences in other work would be seen the better."""
    monkeypatch.setattr(access_keys, "_WORK", {**access_keys._WORK, "n": 1 << 10})
    with service(describe(tmp_path, server="practice = false")) as found:
        yield found


def smallest_p(world: World, choose: random.Random) -> float:
    """Of the comparisons of each fault with all others."""
    anna, ring = world.caller(world.key("anna")), world.service.keyring
    id = anna.ask(COUNT).json()["id"]
    revoked = world.key("rita")
    ring.revoke("rita")
    tenant = ring.add("tom", {"salaries": {}})
    shown = {
        "none": "",
        "wrong": anna.key[:-8] + "00000000",
        "revoked": revoked,
        "expired": world.key("eva", expires=PAST),
    }
    shown["of another tenant"] = tenant
    places = [place for place in ENDPOINTS if place not in LISTS]
    sent = [fault for fault in shown for _ in range(EACH)]
    choose.shuffle(sent)
    times = defaultdict(list)
    for fault in sent:
        method, path = choose.choice(places)
        began = time.process_time()
        answer = world.caller(shown[fault])._sent(method, path.format(id=id), b"{}")
        times[fault].append(time.process_time() - began)
        assert answer.status_code == 401
    return min(
        float(mannwhitneyu(own, [each for other in shown if other != fault for each in times[other]]).pvalue)
        for fault, own in times.items()
    )


def test_g75_no_fault_of_a_key_can_be_told_by_the_time(world: World) -> None:
    assert smallest_p(world, random.Random(75)) * 5 > FALSE_ALARMS


def test_a_refusal_without_work_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Keyring.authenticated

    def hasty(self: Keyring, shown: str | None, dataset: str | None = None, *, owner: bool = False) -> Key:
        if not shown:
            raise Refused
        return real(self, shown, dataset, owner=owner)

    monkeypatch.setattr(Keyring, "authenticated", hasty)
    assert smallest_p(world, random.Random(76)) * 5 <= FALSE_ALARMS
