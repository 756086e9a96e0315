"""What dither can do today: exact noise. Run it with `make demo`.

There is no dataset, no budget and no ledger here: those rooms are not built yet, and the demo says so.
"""

import sys
import time
from fractions import Fraction

import numpy as np

from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.noise.law import Integers, Law

SAMPLES = 1_000_000
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


def picture(law: Law, draws: Integers, last: int) -> None:
    """Observed share of each integer in −last … last, beside its certified probability."""
    values = range(-last, last + 1)
    exact = {x: float(law.pmf(x).mid()) for x in values}
    top = max(exact.values())
    print(styled("     x    observed    certified", "2"))
    for x in values:
        observed = np.count_nonzero(draws == x) / draws.size
        line = styled(bar(observed / top), "32")
        print(f"  {x:+4d}   {observed:.6f}    {exact[x]:.6f}   {line}")


def timed(law: Law) -> Integers:
    """A million draws, with their speed."""
    start = time.perf_counter()
    draws = law.sample(SAMPLES)
    rate = SAMPLES / (time.perf_counter() - start)
    print(
        f"  {SAMPLES:,} exact draws at {rate / 1e6:.1f} million a second, cryptographic randomness included."
    )
    return draws


def show_law(title: str, law: Law, last: int) -> None:
    """One law: how fast, how it looks, what is known of it for certain."""
    heading(title)
    picture(law, timed(law), last)
    print(f"  P[x = 0] lies within the ball {law.pmf(0).str(20)}")
    print(f"  With probability 95 % or more, |x| ≤ {law.quantile(0.975)}.")


def show_count() -> None:
    """A private count, done by hand."""
    heading("A count, protected by hand")
    count, epsilon = 1234, Fraction(1, 2)
    noise = DiscreteLaplace(1 / epsilon)
    within = noise.quantile(0.975)
    print(f"  True count (secret): {count}     ε = {epsilon}     one person changes it by 1, so scale = 1/ε")
    for _ in range(3):
        noisy = count + noise.sample()
        print(f"  Released: {noisy}   95 % interval: [{noisy - within}, {noisy + within}]")
    print(f"  Three answers cost 3 × ε = {3 * epsilon}. Nobody keeps that account for you yet.")


def show_scales() -> None:
    """The same law at scales far outside double precision."""
    heading("Any scale, still exact")
    for power in (-40, 0, 40, 100):
        scale = Fraction(2) ** power
        print(f"  scale 2^{power:<4d} one draw: {DiscreteLaplace(scale).sample():,}")


def main() -> None:
    """Print the demo."""
    print(styled("dither", "1") + ": differential privacy you can check")
    print(styled("This demo shows the noise only. Datasets, budgets, the ledger and the audits are", "33"))
    print(styled("not there yet; nothing below reads a table or keeps account of what is spent.", "33"))
    show_law("Discrete Laplace, scale 3:  P[x] ∝ e^{-|x|/3}", DiscreteLaplace(3), last=8)
    show_law("Discrete Gaussian, σ = 3:  P[x] ∝ e^{-x²/18}", DiscreteGaussian.from_sigma(3), last=8)
    show_count()
    show_scales()


if __name__ == "__main__":
    main()
