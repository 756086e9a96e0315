"""Randomized response to a sensitive question: python examples/sensitive_question.py (claim C9).

Nobody collects true answers: each person keeps theirs with probability p, else answers by chance. The share of "yes"
is estimated without bias all the same, and the interval says how well.
"""

import dither as dp

PEOPLE, TRUE_SHARE = 20000, 0.13


def main() -> None:
    """Ask everyone at several ε."""
    truth = ["yes"] * round(PEOPLE * TRUE_SHARE) + ["no"] * round(PEOPLE * (1 - TRUE_SHARE))
    print(f"Have you ever cheated on your taxes? {PEOPLE:,} people, of whom {TRUE_SHARE:.0%} did.\n")
    print("     ε    answers kept    said yes    estimated yes    95 % interval")
    for epsilon in ("0.1", "0.5", "1", "2"):
        question = dp.RandomizedResponse(answers=["no", "yes"], epsilon=epsilon)
        release = question.release(truth)
        said = release.value.count("yes") / PEOPLE
        estimate = question.estimate(release.value).estimate[1]
        low, high = (ends[1] for ends in release.interval(0.95))
        kept = float(question.keep)
        print(f"  {epsilon:>4} {kept:14.1%} {said:11.1%} {estimate:15.1%}     {low + 0.0:6.1%} to {high:.1%}")
    print("\nAt ε = 1 a person who said yes can say: 'the coin did'. It changes any odds by a factor of e at most.")


if __name__ == "__main__":
    main()
