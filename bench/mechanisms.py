"""The topic `mechanisms`: selection, randomized response and histograms against the peers and unsafe NumPy."""

from collections.abc import Iterator, Sequence

from bench import fresh_process, ours_mechanisms
from bench.peers import diffprivlib_selection, numpy_mechanisms, opendp_selection
from bench.progress import say
from bench.row import Row, less_is_better, more_is_better
from bench.timing import Work, samples_per_second

REPETITIONS = 5
CANDIDATES = (10**3, 10**5, 10**6)
MOST_FOR_DIFFPRIVLIB = 10**5  # it needs several seconds for 10⁶
RESPONSES = 10**7
BINS = 10**6

OPENDP_TIMES = {10**6: 20.0}
SECONDS_LIMIT = 1.0
MEMORY_LIMIT_MB = 400.0

_MEMORY = f"""
from bench import ours_mechanisms
ours_mechanisms.selection("gumbel", {CANDIDATES[-1]}).run()
"""


def rows() -> Iterator[Row]:
    for count in CANDIDATES:
        for noise in ("exponential", "gumbel"):
            yield from _selection_rows(noise, count)
    for noise in ("exponential", "gumbel"):
        yield from _selection_rows(noise, CANDIDATES[-1], one_ahead=True)
    yield _memory_row()
    for kinds in (2, 5):
        yield from _response_rows(kinds)
    yield from _histogram_rows()


def _selection_rows(noise: str, count: int, *, one_ahead: bool = False) -> list[Row]:
    scores, scale = ours_mechanisms.scores(count, one_ahead=one_ahead), 2.0 / ours_mechanisms.EPSILON
    listed = scores.tolist()
    peers: list[tuple[Work, float | None]] = [
        (opendp_selection.noisy_max(listed, noise, scale), OPENDP_TIMES.get(count)),
        (opendp_selection.noisy_max(scores, noise, scale), None if one_ahead else OPENDP_TIMES.get(count)),
        (numpy_mechanisms.noisy_max(scores, noise, scale), None),
    ]
    if noise == "exponential" and count <= MOST_FOR_DIFFPRIVLIB:
        peers.append((diffprivlib_selection.permute_and_flip(listed, ours_mechanisms.EPSILON), None))
    name = f"selection among {count:,}{', one far ahead' if one_ahead else ''}, {noise} noise"
    # One selection among few is too short for the clock.
    calls = max(1, 10**5 // count)
    repeated = [(_repeated(work, calls), asked) for work, asked in peers]
    return _rates(
        name, _repeated(ours_mechanisms.selection(noise, count, one_ahead=one_ahead), calls), repeated, "candidates/s"
    )


def _repeated(work: Work, calls: int) -> Work:
    return Work(work.who, calls * work.samples, lambda: [work.run() for _ in range(calls)])


def _memory_row() -> Row:
    name = f"selection among {CANDIDATES[-1]:,}, peak memory"
    say(f"{name} ...")
    peak = fresh_process.peak_bytes(_MEMORY) / 1e6
    return less_is_better(name, ours=peak, peer="limit", peer_value=MEMORY_LIMIT_MB, asked=1.0, unit="MB")


def _response_rows(kinds: int) -> list[Row]:
    numpy = numpy_mechanisms.response(ours_mechanisms.answers(RESPONSES, kinds), kinds, ours_mechanisms.EPSILON)
    name = f"randomized response on 10^7 of {kinds} answers"
    return _with_limit(name, ours_mechanisms.response(RESPONSES, kinds), numpy)


def _histogram_rows() -> list[Row]:
    numpy = numpy_mechanisms.histogram(ours_mechanisms.counts(BINS), ours_mechanisms.EPSILON)
    return _with_limit("histogram of 10^6 bins", ours_mechanisms.histogram(BINS), numpy)


def _with_limit(name: str, ours: Work, numpy: Work) -> list[Row]:
    """The ratio to NumPy, and whether it takes less than a second of one core."""
    (row,) = _rates(name, ours, [(numpy, None)], "values/s")
    seconds = ours.samples / row.ours
    limit = less_is_better(
        f"{name}, CPU time", ours=seconds, peer="limit", peer_value=SECONDS_LIMIT, asked=1.0, unit="s"
    )
    return [row, limit]


def _rates(name: str, ours: Work, peers: Sequence[tuple[Work, float | None]], unit: str) -> list[Row]:
    say(f"{name} ...")
    our_rate, *rates = samples_per_second([ours, *(work for work, _ in peers)], repetitions=REPETITIONS)
    return [
        more_is_better(name, ours=our_rate, peer=work.who, peer_value=rate, asked=asked, unit=unit)
        for (work, asked), rate in zip(peers, rates, strict=True)
    ]
