"""What dither can do today. Run it with `make demo`.

The table is made up, so the demo may show the truth beside each answer.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dither as dp
from dither.errors import OverBudget
from dither.noise import DiscreteLaplace

SAMPLES = 1_000_000
VISITS = 200_000
CITIES = ("Lyon", "Nantes", "Nice", "Paris")
WIDTH = 46
IN_TERMINAL = sys.stdout.isatty()


def styled(text: str, code: str) -> str:
    """Text in a terminal style, or plain text where there is no terminal."""
    return f"\x1b[{code}m{text}\x1b[0m" if IN_TERMINAL else text


def heading(text: str) -> None:
    """A section title."""
    print("\n" + styled(text, "1;36"))


def bar(share: float) -> str:
    """A horizontal bar, drawn to an eighth of a character."""
    eighths = round(share * WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def visits() -> pa.Table:
    """Visits of 50,000 people to doctors in four cities, with what each cost; the same in every run."""
    row = np.arange(VISITS)
    mixed = (row * 2654435761) % 2**32 / 2**32  # spread like chance, without any
    return pa.table({
        "person": row % 50_000,
        "city": np.array(CITIES)[(4 * mixed**2).astype(int)],
        "cost": np.round(np.exp(3 + 1.5 * ((row * 40503) % 2**16 / 2**16)), 2),
    })  # fmt: skip


def show_table() -> None:
    """A grouped table with error bars, charged to a ledger before anything is read."""
    heading("A table: visits and mean cost by city, of each person at most four visits in each city")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.parquet"
        table = visits()
        pq.write_table(table, path)
        unit = dp.Person("person", max_groups=4, max_rows_per_group=4)
        with dp.Dataset(path, unit=unit, budget=dp.PureDP(1), ledger=Path(folder) / "visits.ledger") as data:
            question = data.group_by("city", keys=list(CITIES)).agg(
                visits=dp.count(), cost=dp.mean("cost", bounds=(0, 100))
            )
            print(f"  the plan, before any data is touched:\n{indented(str(question.plan(epsilon=0.8)))}")
            answer = question.release(epsilon=0.8).to_arrow().to_pylist()
            for row in answer:
                here = table.filter(pa.compute.equal(table["city"], row["city"]))
                print(
                    f"  {row['city']:<7} {row['visits']:>6} visits in [{row['visits_low']}, {row['visits_high']}]   "
                    f"{row['cost']:.1f} in [{row['cost_low']:.1f}, {row['cost_high']:.1f}]   "
                    f"(true, secret: {here.num_rows} and {pa.compute.mean(here['cost']).as_py():.1f})"
                )
            print(f"  spent {data.spent['epsilon']} of 1; one more question at 0.8 is refused before it is asked:")
            try:
                question.release(epsilon=0.8)
            except OverBudget as refusal:
                print(f"  {refusal}")


def indented(text: str) -> str:
    """Each line a little to the right."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def show_count() -> None:
    """A private count with its error bar and its cost."""
    heading("A private count")
    mechanism = dp.Laplace(sensitivity=1, epsilon=0.5)
    print(f"  {mechanism}: one person changes the count by 1. Known before any data is seen:")
    print(f"  95 % of all answers are within ±{mechanism.error(0.05):g}; one answer costs {mechanism.guarantee}.")
    for _ in range(3):
        release = mechanism.release(1234)
        low, high = release.interval(0.95)
        print(f"  released {release.value}   95 % interval [{low}, {high}]   (true count, secret: 1234)")


def show_calibration() -> None:
    """The textbook constant beside the exact one."""
    heading("Exact calibration instead of a textbook constant")
    textbook = dp.Gaussian(sensitivity=1, epsilon="0.99", delta=1e-6, calibration="S1")
    exact = dp.Gaussian(sensitivity=1, epsilon="0.99", delta=1e-6)
    saved = 1 - exact.expected_error / textbook.expected_error
    print("  Gaussian noise for ε = 0.99, δ = 1e-6, mean absolute error of one answer:")
    print(f"  textbook (claim C6) {textbook.expected_error:.3f}   exact {exact.expected_error:.3f}   saved {saved:.0%}")


def show_composition() -> None:
    """What many answers cost together, from both sides."""
    heading("What many answers cost together, bracketed from both sides")
    laplace = dp.Laplace(sensitivity=1, scale=50)
    gaussian = dp.Gaussian(sensitivity=1, sigma=20)
    start = time.perf_counter()
    low, high = dp.compose([laplace.event] * 1000 + [gaussian.event] * 200).bracket(1e-6)
    seconds = time.perf_counter() - start
    print("  1000 × Laplace(scale 50) and 200 × Gaussian(σ 20), δ = 1e-6:")
    print(f"  ε lies between {low:.6f} and {high:.6f}, certified; found in {seconds:.2f} s.")


def show_noise() -> None:
    """The noise itself: exact, and as fast as NumPy."""
    heading("Exact noise: P[x] ∝ e^{-|x|/3}, observed beside certified")
    law = DiscreteLaplace(3)
    law.sample(1000)  # the first vector lays out the table
    start = time.perf_counter()
    draws = law.sample(SAMPLES)
    rate = SAMPLES / (time.perf_counter() - start)
    exact = {x: float(law.pmf(x).mid()) for x in range(-6, 7)}
    for x, probability in exact.items():
        observed = np.count_nonzero(draws == x) / draws.size
        print(f"  {x:+3d}   {observed:.6f}   {probability:.6f}   {styled(bar(observed / exact[0]), '32')}")
    print(f"  {SAMPLES:,} exact draws at {rate / 1e6:.0f} million a second, cryptographic randomness included.")
    print(f"  P[x = 0] lies within the ball {law.pmf(0).str(20)}")


def show_selection() -> None:
    """The best of several candidates, chosen privately."""
    heading("The most common condition, chosen privately")
    counts = {"asthma": 412, "diabetes": 655, "hypertension": 803, "migraine": 231}
    mechanism = dp.NoisyMax(sensitivity=1, epsilon=0.1, monotone=True)
    chosen = mechanism.release(list(counts.values()), candidates=list(counts)).value
    print(f"  {mechanism.guarantee} paid for: {chosen}   (counts, secret: {counts})")


def main() -> None:
    """Print the demo."""
    print(styled("dither", "1") + ": differential privacy you can check")
    print(styled("All data below are made up, so the truth may stand beside each answer.", "33"))
    show_table()
    show_count()
    show_calibration()
    show_composition()
    show_selection()
    show_noise()
    print("\nNext: .venv/bin/dither claims  (every theorem of the lectures, checked on the spot)")


if __name__ == "__main__":
    main()
