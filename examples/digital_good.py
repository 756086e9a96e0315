"""The price of a digital good: python examples/digital_good.py (claim C13).

Each of n people says what they would pay, in cents. A price p earns q(p) = p·#{x ≥ p}. Neighbours
differ by adding or removing one answer, which moves q(p) by at most p ≤ 99, so Δ = 99 cents; adding an answer never
lowers a revenue, so the scores are monotone.
"""

import dither as dp
from dither.adjacency import ADD_REMOVE

PRICES = range(1, 100)
EPSILON = "0.5"


def main() -> None:
    """Sell at a private price and at the best one, for samples of several sizes."""
    print(f"ε = {EPSILON}, prices from 1 to 99 cents.\n")
    print("   people   private price   its revenue   best revenue     kept   bound on the loss, 95 %")
    for people in (100, 1000, 10000):
        # What people would pay: most of them little, some a lot. Fixed, so that only the noise is random.
        willing = [5 + (37 * i) % 60 + (35 if i % 5 == 0 else 0) for i in range(people)]
        revenue = [p * sum(x >= p for x in willing) for p in PRICES]
        mechanism = dp.Exponential(
            sensitivity=99, epsilon=EPSILON, monotone=True, candidates=len(PRICES), adjacency=ADD_REMOVE
        )
        price = mechanism.release(revenue, candidates=list(PRICES)).value
        earned, best = revenue[price - 1], max(revenue)
        bound = mechanism.error(0.05)
        print(
            f"{people:9,} {price:11d} ¢ {earned / 100:12,.2f} $ {best / 100:12,.2f} $ {earned / best:8.1%}"
            f" {bound / 100:18,.2f} $"
        )
    print("\nThe bound does not grow with the number of people: with more answers, privacy costs nothing to speak of.")


if __name__ == "__main__":
    main()
