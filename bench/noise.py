"""The topic `noise`: exact noise against the peers' noise and against unsafe NumPy."""

from collections.abc import Iterator, Sequence

from bench import first_draws, fresh_process, ours_noise
from bench.noise_case import NoiseCase, check_spread
from bench.peers import diffprivlib_noise, numpy_noise, opendp_noise, pydp_noise
from bench.progress import say
from bench.row import Row, less_is_better, more_is_better, none_allowed
from bench.timing import Work, samples_per_second

VECTOR = 10**6
SLOW_VECTOR = 20_000  # OpenDP would need a minute for a million; its time is proportional to the length
LOOP = 100_000
CALLS = 20_000
SLOW_CALLS = 2_000
MEMORY_SAMPLES = 10**7
REPETITIONS = 7
IMPORT_REPETITIONS = 9

VECTOR_CASES = [NoiseCase(law, scale) for law in ("Laplace", "Gaussian") for scale in (1, 10, 1000, 2**40, 1.0, 1e6)]
SCALAR_CASES = [NoiseCase(law, scale) for law in ("Laplace", "Gaussian") for scale in (10, 2**40, 1.0, 1e6)]
MEMORY_CASES = [NoiseCase(law, scale) for law in ("Laplace", "Gaussian") for scale in (10, 2**40, 1.0)]

OPENDP_VECTOR = 100.0
PYDP_VECTOR = 40.0
NUMPY_VECTOR = {"Laplace": 1 / 5, "Gaussian": 1 / 8}
NUMPY_REAL_GAUSSIANS = 1 / 1.5
OPENDP_SCALAR = 10.0
PYDP_SCALAR = 0.5
MEMORY_LIMIT_MB = 1000.0
IMPORT_LIMIT_SECONDS = 0.3
LOADED_WHEN_USED = frozenset({"ibis", "matplotlib", "fastapi", "starlette", "uvicorn"})


def rows() -> Iterator[Row]:
    for case in VECTOR_CASES:
        yield from _vector_rows(case)
    for case in SCALAR_CASES:
        yield from _scalar_rows(case)
    yield from first_draws.rows()
    for case in MEMORY_CASES:
        yield _memory_row(case)
    yield from _import_rows()


def _vector_rows(case: NoiseCase) -> list[Row]:
    opendp = [(work, OPENDP_VECTOR) for work in opendp_noise.vectors(case, SLOW_VECTOR)]
    pydp = (pydp_noise.loop(case, LOOP), PYDP_VECTOR)
    of_numpy = NUMPY_REAL_GAUSSIANS if case.is_real and case.law == "Gaussian" else NUMPY_VECTOR[case.law]
    numpy = (numpy_noise.vector(case, VECTOR), of_numpy)
    ours = ours_noise.vector(case, VECTOR)
    return _rate_rows(f"{case.name}, vector of 10^6", case, ours, [*opendp, pydp, numpy])


def _scalar_rows(case: NoiseCase) -> list[Row]:
    peers: list[tuple[Work, float | None]] = [
        *((work, OPENDP_SCALAR) for work in opendp_noise.scalars(case, SLOW_CALLS)),
        (pydp_noise.loop(case, CALLS), PYDP_SCALAR),
    ]
    if diffprivlib_noise.supports(case):
        peers.append((diffprivlib_noise.scalar(case, SLOW_CALLS), None))
    return _rate_rows(f"{case.name}, one call at a time", case, ours_noise.scalar(case, CALLS), peers)


def _rate_rows(name: str, case: NoiseCase, ours: Work, peers: Sequence[tuple[Work, float | None]]) -> list[Row]:
    say(f"{name} ...")
    works = [ours, *(work for work, _ in peers)]
    for work in works:
        check_spread(case, work)
    our_rate, *rates = samples_per_second(works, repetitions=REPETITIONS)
    return [
        more_is_better(name, ours=our_rate, peer=work.who, peer_value=rate, asked=asked, unit="samples/s")
        for (work, asked), rate in zip(peers, rates, strict=True)
    ]


def _memory_row(case: NoiseCase) -> Row:
    name = f"{case.name}, peak memory of 10^7"
    say(f"{name} ...")
    peak = fresh_process.peak_bytes(
        "from bench import noise_case, ours_noise\n"
        f"case = noise_case.NoiseCase({case.law!r}, {case.scale!r})\n"
        f"ours_noise.vector(case, {MEMORY_SAMPLES}).run()\n"
    )
    return less_is_better(name, ours=peak / 1e6, peer="limit", peer_value=MEMORY_LIMIT_MB, asked=1.0, unit="MB")


def _import_rows() -> Iterator[Row]:
    """`import dither` loads its rooms when they are first used, so what a first draw imports is shown as well."""
    say("import dither ...")
    face, noise, numpy = (
        fresh_process.import_seconds(module, repetitions=IMPORT_REPETITIONS)
        for module in ("dither", "dither.noise", "numpy")
    )
    limit = IMPORT_LIMIT_SECONDS
    yield less_is_better("import dither, wall time", ours=face, peer="limit", peer_value=limit, asked=1.0, unit="s")
    yield less_is_better(
        "import dither.noise, wall time", ours=noise, peer="import numpy", peer_value=numpy, asked=None, unit="s"
    )
    found = fresh_process.imported_among("dither", LOADED_WHEN_USED)
    if found:
        say(f"import dither loads {', '.join(found)}")
    yield none_allowed("import dither, Ibis, matplotlib or the web stack", found=len(found), unit="packages")
