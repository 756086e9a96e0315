"""The text of a question in the ledger comes apart in one way."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dither.engine.written_question import charged_text, in_quotes, question_and_unit

UNIT = "add or remove one person (by user), of whom at most 2 rows may count"


def test_an_entry_of_an_earlier_ledger_is_read_as_it_was_meant() -> None:
    """Units without semicolon and backslash are written as before: old certificates and keys stay good."""
    written = f"where (city == 'a; b'); n = count(); {UNIT}"
    assert question_and_unit(written) == ("where (city == 'a; b'); n = count()", UNIT)
    assert charged_text(*question_and_unit(written)) == written


PIECES = st.text(alphabet="; \\x3bn=,'", max_size=12)


@settings(max_examples=400)
@given(question=PIECES, unit=PIECES)
def test_question_and_unit_come_apart_in_one_way(question: str, unit: str) -> None:
    assert question_and_unit(charged_text(question, unit)) == (question, unit)


@given(name=PIECES)
def test_a_name_that_is_no_identifier_stands_in_quotes(name: str) -> None:
    assert in_quotes(name) == (name if name.isidentifier() else repr(name))
