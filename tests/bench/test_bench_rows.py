"""The rows of `python -m bench`: their shape, the direction of the ratio, and the table for people."""

import json
import math

import pytest

from bench import fresh_process, table, timing
from bench.row import Row, less_is_better, more_is_better, none_allowed
from bench.timing import Work


def rate(ours: float, theirs: float, asked: float | None = 100) -> Row:
    return more_is_better("draw", ours=ours, peer="P", peer_value=theirs, asked=asked, unit="samples/s")


def cost(ours: float, theirs: float, asked: float | None = 1) -> Row:
    return less_is_better("load", ours=ours, peer="limit", peer_value=theirs, asked=asked, unit="s")


def test_a_row_is_one_line_of_json_with_these_fields_in_this_order() -> None:
    line = rate(300, 2).to_json()
    assert "\n" not in line
    assert list(json.loads(line).items()) == [
        ("case", "draw"),
        ("ours", 300),
        ("peer", "P"),
        ("peer_value", 2),
        ("ratio", 150),
        ("asked", 100),
        ("unit", "samples/s"),
    ]


@pytest.mark.parametrize("row", [rate(300, 2), cost(0.2, 0.3), rate(1, 3, asked=None)])
def test_a_row_survives_the_pipe_between_the_processes(row: Row) -> None:
    assert Row.from_json(row.to_json()) == row


def test_a_row_that_is_not_a_number_is_never_written_as_json() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        rate(math.nan, 2).to_json()


def test_a_higher_rate_is_better() -> None:
    assert rate(10, 2).ratio == 5
    assert rate(2, 10).ratio == 0.2


def test_a_lower_cost_is_better() -> None:
    assert cost(2, 10).ratio == 5
    assert cost(10, 2).ratio == 0.2


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (rate(200, 2), "holds"),  # exactly what is asked
        (rate(199, 2), "MISSED"),
        (rate(1, 5, asked=1 / 5), "holds"),
        (rate(1, 5.01, asked=1 / 5), "MISSED"),
        (cost(0.3, 0.3), "holds"),
        (cost(0.31, 0.3), "MISSED"),
        (rate(math.nan, 2), "MISSED"),
        (rate(1, 1000, asked=None), "-"),
        (none_allowed("import", found=0, unit="packages"), "holds"),
        (none_allowed("import", found=1, unit="packages"), "MISSED"),
    ],
)
def test_the_verdict(row: Row, verdict: str) -> None:
    assert row.verdict == verdict


def test_the_table_is_aligned_and_names_what_was_missed() -> None:
    assert table.render([rate(46_800_000, 97_000), cost(0.456, 0.3), rate(1, 3, asked=None)]) == (
        "case   ours  peer   theirs  unit       ratio  asked  verdict\n"
        "----  -----  -----  ------  ---------  -----  -----  -------\n"
        "draw  46.8M  P         97k  samples/s    482  ≥ 100  holds\n"
        "load  0.456  limit     0.3  s          0.658    ≥ 1  MISSED\n"
        "draw      1  P           3  samples/s  0.333         -\n"
        "\n"
        "2 figures asked, 1 MISSED. A ratio above 1 means that ours is better."
    )


def test_the_table_says_when_everything_holds() -> None:
    assert "1 figures asked, all hold." in table.render([rate(300, 2)])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0123, "0.0123"),
        (999, "999"),
        (999.7, "1k"),
        (1000, "1k"),
        (999_700, "1M"),
        (2.5e9, "2.5G"),
    ],
)
def test_numbers_keep_three_digits(value: float, text: str) -> None:
    assert table.number(value) == text


def test_contenders_are_warmed_then_interleaved_and_the_best_time_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    clock = iter([0, 4, 10, 11, 20, 22, 30, 38])  # a: 4 s then 2 s; b: 1 s then 8 s
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    works = [Work("a", 100, lambda: calls.append("a")), Work("b", 10, lambda: calls.append("b"))]
    assert timing.samples_per_second(works, repetitions=2) == [50, 10]
    assert calls == ["a", "b"] * 3


def test_an_import_is_seen_even_if_it_fails() -> None:
    assert fresh_process.imported_among("json", {"json", "ibis"}) == ["json"]
    guarded = "contextlib\nwith contextlib.suppress(ImportError):\n    import no_such_package"
    assert fresh_process.imported_among(guarded, {"no_such_package", "ibis"}) == ["no_such_package"]


def test_peak_memory_sees_what_was_freed_again() -> None:
    idle = fresh_process.peak_bytes("")
    assert fresh_process.peak_bytes("block = b'x' * 100_000_000\ndel block\n") - idle > 90_000_000
