"""A vote, published as a histogram: python examples/vote_histogram.py (claim C10).

One vote is in one bin, so adding or removing it moves one count by 1. The noise is integer noise: nothing is rounded,
and every bin gets some, also the empty one.
"""

import dither as dp

VOTES = {"red": 4120, "blue": 3987, "green": 811, "white": 14, "nobody": 0}
EPSILON = "0.5"


def main() -> None:
    """Release once, with intervals; then the same promise with replace-one neighbours."""
    election = dp.Histogram(bins=list(VOTES), epsilon=EPSILON)
    release = election.release(VOTES)
    low, high = release.interval(0.95)
    print(f"{sum(VOTES.values())} votes, {election.guarantee}\n")
    print("           released   95 % interval         not published")
    for name, shown, a, b in zip(VOTES, release.value, low, high, strict=True):
        print(f"  {name:8} {shown:8d}   {a:6d} to {b:<6d}    {VOTES[name]:6d}  {'█' * round(shown / 120)}")
    replaced = dp.Histogram(bins=list(VOTES), epsilon=EPSILON, adjacency=dp.adjacency.REPLACE_ONE)
    print(f"\nTypical error per bin: {election.expected_error:.1f} votes.")
    print(f"If a changed vote must be hidden as well as a missing one: {replaced.expected_error:.1f} votes.")
    found = dp.Histogram(epsilon=EPSILON, delta="1e-8")
    print(f"If even the names of the bins are secret: only bins of {found.threshold} or more are shown, at δ = 1e-8.")


if __name__ == "__main__":
    main()
