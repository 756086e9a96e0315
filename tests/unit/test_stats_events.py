"""The event of an estimator covers all that might have been done, not only what an answer led to."""

import math
from fractions import Fraction
from typing import Any

import dither as dp
from dither.accounting import compose
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.events import Composed


def test_a_search_that_a_noisy_count_decides_on_does_not_show_in_the_event() -> None:
    """499 and 500 records: counts up to 499 lose ε/20, and lead to one sum with all the rest r: 1 − e^{(x−r)/2}."""
    data = [1.0, 2.0] * 250
    for name in ("sum", "mean", "variance", "std"):
        runs = [getattr(dp.stats, name)(data, epsilon=1, bounds=(0, 10)) for _ in range(50)]
        assert len({len(run.split) for run in runs}) == 2  # a search or none: all alike with probability 4e-15
        assert len({run.event for run in runs}) == 1
    mean = dp.stats.mean(data, epsilon=1, bounds=(0, 10))
    true = (1 - math.exp((0.9 - 0.95) / 2)) / (1 + math.exp(-0.05))
    assert compose([mean.event]).delta(0.95) >= true * (1 - 1e-6)
    assert mean.event.adjacency == ADD_REMOVE


def test_public_steps_are_told_one_by_one() -> None:
    def steps(**other: Any) -> int:
        event = dp.stats.mean([1.0, 2.0] * 400, epsilon=1, **other).event
        return len(event.events) if isinstance(event, Composed) else 1

    assert steps(bounds=(0, 10), adjacency=REPLACE_ONE) == 3
    assert steps() == 5
    assert steps(bounds=(0, 10), clip=False) == 1


def test_where_no_centre_is_found_the_number_of_records_has_a_share_to_speak_of() -> None:
    """A square measured from the middle of the bounds counts as much as the number of records is off by."""
    data, bounds = [1.0, 2.0] * 20, (0, 10)
    for clip in (True, False):
        few = dp.stats.variance(data, epsilon=1, bounds=bounds, clip=clip).split
        both = dp.stats.covariance(data, data, epsilon=1, bounds=(bounds, bounds), clip=clip).split
        assert min(few["count"], few["sum"], both["count"], both["sum of x"] + both["sum of y"]) > Fraction(1, 5)
        assert sum(few.values()) == sum(both.values()) == 1
    public = dp.stats.variance(data, epsilon=1, bounds=bounds, adjacency=REPLACE_ONE).split
    assert public == {"sum": Fraction(1, 5), "squares": Fraction(4, 5)}
