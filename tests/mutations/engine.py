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
            (
                "engine/question.py",
                "self._table_of(self._unit, self.query.levels)",
                "self._table_of(self.query.origin.unit, self.query.levels)",
            ),
            ("unit.py", "not grouped and unit.adjacency", "unit.adjacency"),
            (
                "tables/exact_totals.py",
                "(max(self.lattice.high, 0) - min(self.lattice.low, 0))",
                "(self.lattice.high - self.lattice.low)",
            ),
        ]
    ]
    + [
        Mutation("engine/group_sensitivity.py", before, after, _TESTS, within)
        for within, before, after in [
            ("Whole.pure", "else neighbour.groups * measure.most(rows)", "else measure.most(rows)"),
            (
                "Whole.pure",
                "measure.between_two(rows) if neighbour.is_in_place",
                "measure.most(rows) if neighbour.is_in_place",
            ),
            ("Whole.concentrated", "together if neighbour.is_in_place", "together // 2 if neighbour.is_in_place"),
            ("_gaussian", "neighbour.groups * most ** 2", "most ** 2"),
            ("BothEnds.pure", "neighbour.groups * most, epsilon", "neighbour.groups * most // 2, epsilon"),
            ("SquaresOfEnds._most", "self.step * neighbour.rows", "self.step"),
        ]
    ]
    + [
        Mutation(f"estimators/{file}.py", before, after, ("tests/estimators/test_neighbours.py",), within)
        for file, within, before, after in [
            ("sums", "released_total", "sensitivity=STEPS", "sensitivity=STEPS // 2"),
            ("sums", "released_places", "STEPS * (2", "STEPS // 2 * (2"),
            ("sums", "released_squares", "sensitivity=STEPS + 2", "sensitivity=STEPS // 2"),
            ("sums", "released_variance", "sensitivity=STEPS", "sensitivity=STEPS // 2"),
            ("range_search", "_Search.look", "2 if is_replace(self.adjacency) else 1", "1"),
        ]
    ]
    + [
        Mutation(
            file, before, after, ("tests/engine/test_range_losses.py", "tests/engine/test_found_ranges.py"), within
        )
        for file, before, after, within in [
            (
                "estimators/sums.py",
                "is_replace(adjacency) and (not is_known)",
                "is_known",
                "released_places",
            ),
            ("engine/found_ranges.py", "replaces=False", "replaces=True", "RangeNoise.found"),
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
    + [
        Mutation(file, before, after, ("tests/engine/test_found_over_time.py",))
        for file, before, after in [
            (
                "engine/keys_over_time.py",
                "neighbour.groups * self.participation.most(self.periods)",
                "neighbour.groups",
            ),
            ("engine/keys_over_time.py", ">= noise.selection.threshold", "> noise.selection.threshold - 2"),
            ("continual/discovery_threshold.py", "law.tail(threshold - 2)", "law.tail(threshold - 1)"),
        ]
    ]
)
