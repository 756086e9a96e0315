"""Contribution bounds of a question: what bounding, noise and words must agree on, bent one at a time."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

_TESTS = ("tests/engine/test_sensitivity.py",)
_WITHIN = "max_groups=min(self.max_groups, groups)"

MUTATIONS = [
    Mutation(file, before, after, _TESTS)
    for file, before, after in [
        ("unit.py", _WITHIN, "max_groups=max(1, min(self.max_groups, groups - 1))"),
        ("unit.py", _WITHIN, "max_groups=self.max_groups"),
        ("engine/query.py", "self._unit, query.keys", "query.origin.unit, query.keys"),
        ("engine/group_statistics.py", "neighbour.groups * most, epsilon", "most, epsilon"),
    ]
] + [
    Mutation(
        "mechanisms/histogram.py",
        "min(moves, self._size)",
        "min(moves, self._size - 1)",
        ("tests/unit/test_histogram.py",),
    )
]
