"""Sensitivities of strategies, and bounds on errors of workloads, bent one at a time."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

_TESTS = (
    "tests/mechanisms/test_laplace_sums.py",
    "tests/workloads/test_workload.py",
    "tests/mechanisms/test_matrix_mechanism.py",
)

MUTATIONS = [
    Mutation(file, before, after, _TESTS)
    for file, before, after in [
        ("mechanisms/matrix.py", "longest if self.workload.has_unseen_cells else 0", "0"),
        ("mechanisms/matrix.py", "max(self._strategy.largest_distance(power), longest", "max(longest, longest"),
        ("mechanisms/laplace_sums.py", "-(squares / peaks ** 2) * math.log1p", "-(squares / peaks**3) * math.log1p"),
        ("mechanisms/laplace_sums.py", "-np.log1p(-parts).sum(axis=1)", "-np.log1p(-parts / 2).sum(axis=1)"),
        ("mechanisms/laplace_sums.py", "/ (1 - parts) ** 2)", "/ (1 - parts) ** 4)"),
        ("mechanisms/laplace_sums.py", "scipy.special.logsumexp(tails) <= wanted", "tails.max() <= wanted"),
        ("mechanisms/matrix.py", "far(miss, 0.5)", "far(miss, 2)"),
        ("mechanisms/matrix.py", "+ _SHIFT * lengths", "- _SHIFT * lengths"),
        ("workloads/strategies/direct.py", "return 2 * self._scale ** power", "return self._scale**power"),
        ("workloads/strategies/tree.py", "return 2 * sum((int(weight ** power)", "return sum((int(weight ** power)"),
        ("workloads/strategies/tree.py", "for weight in self._weights[:-1]", "for weight in self._weights[:-2]"),
        (
            "workloads/strategies/square_root.py",
            "return 2 * self.largest_column(power)",
            "return self.largest_column(power) // 2",
        ),
        ("workloads/strategies/residuals.py", "-sizes[i] if other", "sizes[i] if other"),
        ("workloads/strategies/residuals.py", "(n - 1) ** power) + n - 1", "(n - 1) ** power)"),
        (
            "workloads/strategies/optimal.py",
            "lengths[:, None] + lengths - 2 * square",
            "lengths[:, None] + lengths - 3 * square",
        ),
        ("workloads/strategies/optimal.py", "sum(axis=0).max())", "sum(axis=0).min())"),
    ]
]
