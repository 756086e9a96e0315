"""What the store keeps of questions: as many as are needed, and no more than a disk has room for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.errors import ParameterError
from dither.web.questions import ANSWERED, FAILED, REFUSED, WITHDRAWN, AskedQuestion, Questions
from dither.web.store import ServiceStore

MOST_WAITING = 20


@pytest.fixture
def questions(tmp_path: Path) -> Iterator[Questions]:
    store = ServiceStore(str(tmp_path / "store"))
    yield Questions(store)
    store.close()


def written(questions: Questions, key: str, analyst: str = "anna", *, waits: bool = False) -> AskedQuestion:
    return questions.written_down("visits", analyst, key, '{"epsilon": 1}', {"epsilon": 1}, waits=waits)


def ended(questions: Questions, key: str, state: str, analyst: str = "anna") -> str:
    found = written(questions, key, analyst)
    if state == WITHDRAWN:
        questions.withdraw(found.id)
    else:
        questions.begin(found.id)
        questions.end(found.id, state)
    return key


def test_of_questions_without_a_charge_the_newest_are_kept(questions: Questions) -> None:
    """They are free: whoever sends refused ones of 64 kB all day would else fill the disk of the ledger."""
    kept = {ended(questions, f"charged-{state}", state) for state in (ANSWERED, FAILED)}
    kept.add(ended(questions, "of-berta", REFUSED, "berta"))
    kept.add(written(questions, "waits", waits=True).key)
    for number in range(12):
        ended(questions, f"{number:02d}", (REFUSED, WITHDRAWN)[number % 2])
    questions.forget_uncharged("anna", most=5)
    newest = {f"{number:02d}" for number in range(7, 12)}
    assert {each.key for each in questions.newest(100)} == kept | newest


def test_refused_questions_are_forgotten_by_themselves(questions: Questions, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(Questions, "forget_uncharged", lambda _, analyst: called.append(analyst))
    for number in range(400):
        written(questions, str(number))
    assert set(called) == {"anna"}  # missed once in (16/15)^400, 10^11 runs


def test_nobody_fills_the_list_of_the_owner(questions: Questions) -> None:
    for number in range(MOST_WAITING):
        written(questions, str(number), waits=True)
    with pytest.raises(ParameterError, match="20 questions of yours wait for the owner"):
        written(questions, "one-more", waits=True)
    assert written(questions, "0", waits=True).key == "0"  # the same again
    assert written(questions, "other", "berta", waits=True).analyst == "berta"
    questions.withdraw(written(questions, "0", waits=True).id)
    assert written(questions, "one-more", waits=True).key == "one-more"
