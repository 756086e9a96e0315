"""The most common medical condition of a study: python examples/common_condition.py (claims C12, C13 and C14).

Each participant has any set of conditions; q(condition) = how many have it. One person moves each count by at most 1,
and adding a person only raises counts: between neighbours that differ by adding or removing a person the scores are
monotone, which halves the noise. (Replacing a person raises one count and lowers another.)
"""

import dither as dp
from dither.adjacency import ADD_REMOVE

PEOPLE = 2000
RATES = {
    "asthma": 0.08,
    "diabetes": 0.11,
    "hypertension": 0.31,
    "migraine": 0.12,
    "back pain": 0.29,
    "thyroid": 0.05,
}
EPSILON = "0.1"


def main() -> None:
    """Choose once by each of two mechanisms, and say how likely each choice was."""
    counts = {condition: round(PEOPLE * rate) for condition, rate in RATES.items()}
    print(f"{PEOPLE} people, ε = {EPSILON}. Which condition is the most common?\n")
    for name, mechanism in {
        "exponential mechanism": dp.Exponential(
            sensitivity=1, epsilon=EPSILON, candidates=len(counts), monotone=True, adjacency=ADD_REMOVE
        ),
        "noisy max (permute-and-flip)": dp.NoisyMax(
            sensitivity=1, epsilon=EPSILON, candidates=len(counts), monotone=True, adjacency=ADD_REMOVE
        ),
    }.items():
        release = mechanism.release(list(counts.values()), candidates=list(counts))
        print(f"{name:30} → {release.value}")
        print(f"{'':32} promise: {mechanism.guarantee.epsilon(0):g}-DP, whatever the data")
        print(f"{'':32} at most {mechanism.error(0.05):.0f} people fewer than the best, 95 % of the time")
    print("\nThe owner of the data may also look (these numbers are not private, do not publish them):")
    exponential = dp.Exponential(sensitivity=1, epsilon=EPSILON, monotone=True, adjacency=ADD_REMOVE)
    law = exponential.error_distribution(list(counts.values()))
    for gap, probability in zip(law.errors, law.probabilities, strict=True):
        condition = next(c for c, n in counts.items() if max(counts.values()) - n == gap)
        share = float(probability)
        print(
            f"  {condition:15} {counts[condition]:4d}  chosen with probability {share:.4f}  {'█' * round(40 * share)}"
        )


if __name__ == "__main__":
    main()
