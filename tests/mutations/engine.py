"""Contribution bounds of a question: what bounding, noise and words must agree on, bent one at a time."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

_TESTS = ("tests/engine/test_sensitivity.py",)
_WITHIN = "max_groups=min(self.max_groups, groups)"

MUTATIONS = (
    [
        Mutation(file, before, after, _TESTS)
        for file, before, after in [
            ("unit.py", _WITHIN, "max_groups=max(1, min(self.max_groups, groups - 1))"),
            ("unit.py", _WITHIN, "max_groups=self.max_groups"),
            ("engine/question.py", "self._table_of(self._unit)", "self._table_of(self.query.origin.unit)"),
        ]
    ]
    + [
        Mutation("engine/group_sensitivity.py", before, after, _TESTS, within)
        for within, before, after in [
            ("Whole.pure", "neighbour.groups * most, epsilon", "most, epsilon"),
            ("BothEnds.pure", "neighbour.groups * most, epsilon", "neighbour.groups * most // 2, epsilon"),
            ("SquaresOfEnds._most", "self.step * neighbour.rows", "self.step"),
        ]
    ]
    + [
        Mutation(f"estimators/{file}.py", before, after, ("tests/estimators/test_neighbours.py",), within)
        for file, within, before, after in [
            ("sums", "released_total", "sensitivity=STEPS", "sensitivity=STEPS // 2"),
            ("sums", "released_places", "sensitivity=STEPS", "sensitivity=STEPS // 2"),
            ("sums", "released_squares", "sensitivity=STEPS + 2", "sensitivity=STEPS // 2"),
            ("sums", "released_variance", "sensitivity=STEPS", "sensitivity=STEPS // 2"),
            ("clipping", "_Search.look", "2 if is_replace(self.adjacency) else 1", "1"),
        ]
    ]
    + [
        Mutation(
            "mechanisms/histogram.py",
            "min(moves, self._size)",
            "min(moves, self._size - 1)",
            ("tests/mechanisms/test_histogram.py",),
        )
    ]
)
