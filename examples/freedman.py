"""Freedman's paradox: python examples/freedman.py (claim C28).

Coin flips: a label, and features that have nothing to do with it. Look at every feature, keep those that seem to agree
with the label (turn those that seem not to around), and let them vote. On the rows that they were chosen on, the
vote looks like a discovery. On the population it is right half of the time.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import NDArray

import dither as dp
from dither.noise import UniformBelow

ROWS, FEATURES = 5000, 500

Flips: TypeAlias = NDArray[Any]
Query: TypeAlias = Callable[[Flips], Flips]


def coin_flips(rows: int, features: int) -> Flips:
    """Whether each feature agrees with the label, on each row: pure noise."""
    return UniformBelow(2).sample((rows, features))


def feature(index: int) -> Query:
    """The query: does this feature agree with the label?"""
    return lambda rows: rows[:, index]


def vote(answers: list[float]) -> Query:
    """The query: is the vote of all features, turned around where their answer was below one half, right?"""
    signs = [1 if answer >= 0.5 else -1 for answer in answers]
    return lambda rows: ((2 * rows - 1) @ signs > 0) + 0.5 * ((2 * rows - 1) @ signs == 0)


def naive(sample: Flips) -> float:
    """The same rows choose the features and judge the vote."""
    answers = [sample[:, index].mean() for index in range(FEATURES)]
    return float(vote(answers)(sample).mean())


def oracle(sample: Flips) -> tuple[dp.Oracle, Any]:
    """The same questions, one after the other, through the oracle."""
    asked = dp.Oracle(sample, queries=FEATURES + 1)
    answers = [asked.ask(feature(index)).value for index in range(FEATURES)]
    return asked, asked.ask(vote(answers))


def holdout(sample: Flips) -> Any:
    """Half of the rows choose and judge; the other half is asked whether to believe them."""
    train, fresh = sample[: ROWS // 2], sample[ROWS // 2 :]
    checked = dp.ReusableHoldout(train, fresh, threshold=0.06, checks=100, max_overfit=2)
    answers = [train[:, index].mean() for index in range(FEATURES)]
    return checked.check(vote(answers))


def main() -> None:
    """One experiment."""
    sample = coin_flips(ROWS, FEATURES)
    print(
        f"{FEATURES} features of pure noise on {ROWS:,} rows; on the population their vote is right 50 % of the time.\n"
    )
    union = dp.Oracle(sample, queries=FEATURES + 1, adaptive=False).promise.accuracy
    print(f"naive reuse   claims {naive(sample):6.1%}  (and believes it to ±{union:.1%})")
    asked, answer = oracle(sample)
    low, high = answer.interval(0.95)
    print(f"the oracle    claims {answer.value:6.1%}  ({asked.promise.route.name}; between {low:.1%} and {high:.1%})")
    found = holdout(sample)
    low, high = found.interval(0.95)
    seen = "overfitted" if found.is_overfit else "sound"
    print(f"the holdout   claims {found.value:6.1%}  ({seen}; between {low:.1%} and {high:.1%})")
    print(f"\n{asked}")


if __name__ == "__main__":
    main()
