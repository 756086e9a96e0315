"""One constant of the mathematics bent at a time: each must turn a row of `dither claims` red."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

_ROWS = ("tests/claims/test_claim_rows.py::test_it_holds",)

MUTATIONS = [
    Mutation(file, before, after, _ROWS)
    for file, before, after in [
        # C5 to C7: the formulas of the lectures, and the range in which they hold
        (
            "mechanisms/gaussian_calibration.py",
            "2 * ball(2 / delta).log() / ball(epsilon ** 2)",
            "2 * ball(1 / delta).log() / ball(epsilon**2)",
        ),
        ("mechanisms/gaussian_calibration.py", "2 * ball(Fraction(5, 4) / delta).log()", "2 * ball(1 / delta).log()"),
        ("mechanisms/gaussian_calibration.py", "ball(Fraction(9, 4)).max(2 *", "ball(Fraction(0)).max(2 *"),
        ("mechanisms/gaussian_calibration.py", "/ ball(epsilon)) ** 2 / 2", "/ ball(epsilon)) ** 2 / 3"),
        ("mechanisms/gaussian_calibration.py", "epsilon <= 1 and delta", "epsilon <= 9 and delta"),
        ("mechanisms/gaussian_calibration.py", "(epsilon < 1, ", "(epsilon < 17, "),
        ("guarantees/conversions.py", "ZCDP(guarantee.mu_squared / 2,", "ZCDP(guarantee.mu_squared / 3,"),
        # C2, C11, C29: scales and probabilities of noise
        ("noise/discrete_laplace.py", "ball(1 / (2 * self.scale)).coth()", "ball(1 / (3 * self.scale)).coth()"),
        ("noise/geometric.py", "return self._exponent(i).exp()", "return (self._exponent(i) * 1.01).exp()"),
        ("mechanisms/laplace.py", "return PureDP(self._loss,", "return PureDP(self._loss / 2,"),
        (
            "mechanisms/gaussian.py",
            "self.sensitivity_squared / largest_mu_squared",
            "largest_mu_squared(amount, self.delta) / largest_mu_squared",
        ),
        # D2, D3, C1, C7: profiles
        ("pairs/laplace.py", "inside = -((epsilon - top) / 2).expm1()", "inside = -(epsilon - top).expm1()"),
        ("pairs/gaussian.py", "q = ((epsilon / mu + mu / 2) / root)", "q = ((epsilon / mu + mu / 3) / root)"),
        ("guarantees/gaussian.py", "first = normal_cdf(mu / 2 - loss / mu)", "first = normal_cdf(mu / 3 - loss / mu)"),
        ("guarantees/finite.py", "if not is_at_most(a, b, epsilon)]", "if a > b]"),
        # C23, C27: total variation and the trade-off curve
        ("guarantees/approximate.py", "/ (1 + ball(-self._loss).exp())", "/ (2 + ball(-self._loss).exp())"),
        ("guarantees/approximate.py", "ball(-self._loss).exp() * ball(rest)", "ball(self._loss).exp() * ball(rest)"),
        # D5, C10, C26: who is protected
        ("adjacency.py", "if other != first:", "if other is not None and other != first:"),
        ("adjacency.py", "known is not None and (known.change == 'replace')", "known is None"),
        (
            "accounting/dominate.py",
            "common((adjacency_of(thing) for thing in known))",
            "adjacency_of(known[0])",
        ),
        ("mechanisms/histogram.py", "moves = self.max_bins * (2 if", "moves = self.max_bins * (1 if"),
        ("mechanisms/histogram.py", "moves = self.max_bins * (2 if", "moves = 1 * (2 if"),
        ("mechanisms/histogram.py", "sensitivity_squared=self.moves", "sensitivity_squared=self.moves**2"),
        ("mechanisms/gaussian.py", "failure(delta, n, allow_large_delta)", "failure(delta, None, allow_large_delta)"),
        ("mechanisms/additive.py", "not exact * int(n) < 1", "not exact * int(n) < 2"),
        # D6: sensitivities of a dataset
        (
            "sensitivity/order_statistics_replaced.py",
            "high = low + steps + self.last - self.first + 1",
            "high = low + steps + self.last - self.first",
        ),
        (
            "sensitivity/order_statistics_replaced.py",
            "discount[len(below) - 1 - row + column]",
            "discount[len(below) - 1 - row]",
        ),
        # C17, C18: global and smooth sensitivity
        (
            "sensitivity/records.py",
            "np.array(bounds[1]), np.array(bounds[0])",
            "np.array(bounds[1] * 0.99), np.array(bounds[0])",
        ),
        ("sensitivity/order_statistics.py", "math.ceil(probability * size)", "math.floor(probability * size)"),
        ("sensitivity/search.py", "upper((-step * t).exp())", "upper((-step * t * 1.01).exp())"),
        ("sensitivity/search.py", "found * (1 + SMOOTH_EXCESS / 2)", "found * (1 - SMOOTH_EXCESS / 2)"),
        ("sensitivity/order_statistics_added_removed.py", "+ np.maximum(needed[above] - below, 0)", "+ 0 * above"),
        ("sensitivity/order_statistics_added_removed.py", "wider = np.minimum(needed + 1, size)", "wider = needed"),
        # C9, C11, C12, C14, C16: selection
        ("mechanisms/metric.py", "for row in self.distances}) == 1 else 2", "for row in self.distances}) == 1 else 1"),
        (
            "mechanisms/metric.py",
            "ball(-Fraction(distance) / self.scale)",
            "ball(-Fraction(distance) / self.scale / 2)",
        ),
        ("mechanisms/laplace.py", "distance / amount if way", "2 * distance / amount if way"),
        (
            "mechanisms/laplace.py",
            "scale = steps / self.epsilon + Fraction(1, 4 * steps)",
            "scale = 2 * steps / self.epsilon",
        ),
        (
            "mechanisms/randomized_response.py",
            "TwoPointPair(odds=true / other)",
            "TwoPointPair(odds=1 + self.keep / other / 2)",
        ),
        ("mechanisms/selection.py", "factor=1 if monotone is True else 2", "factor=1"),
        (
            "mechanisms/selection.py",
            "ball(self.scale) * (Ball(self._known_count()).log()",
            "ball(2 * self.scale) * (Ball(self._known_count()).log()",
        ),
        ("mechanisms/selection_error.py", "(-a[j], m[j] - (j == k))", "(-a[j], m[j])"),
        # C20: propose-test-release
        (
            "mechanisms/tested_calibration.py",
            "1 + ball(2 / delta).log() / ball(half)",
            "ball(1 / (20 * delta)).log() / ball(half)",
        ),
        ("pairs/tested.py", "return min(Fraction(upper(self.passes(0))), Fraction(1))", "return Fraction(0)"),
        ("mechanisms/tested_calibration.py", "if not half < 1:", "if not half < 3:"),
        # C19: smooth sensitivity
        (
            "mechanisms/smooth_calibration.py",
            "2 * (exponent + 1) / epsilon, exponent)",
            "(exponent + 1) / epsilon, exponent)",
        ),
        (
            "mechanisms/smooth_calibration.py",
            "_short(epsilon / (2 * tail)), 2 / epsilon)",
            "_short(epsilon / (2 * tail)), 1 / epsilon)",
        ),
        ("mechanisms/smooth_calibration.py", "lambda: 5 * (2 * ball(2 / delta)", "lambda: 4 * (2 * ball(2 / delta)"),
        (
            "mechanisms/smooth_calibration.py",
            "if not found.keeps(epsilon, delta or Fraction(0)):",
            "if not found.keeps(2 * epsilon, delta or Fraction(0)):",
        ),
        ("mechanisms/smooth_calibration.py", "root * (1 + ahead)", "2 * root * (1 + ahead)"),
        # C24, C25: workloads and plans
        ("workloads/queries.py", "lengths + lengths[column] - 2 * inner", "lengths + lengths[column] - inner"),
        ("workloads/ranges.py", "holding[cell:] - 2 * both[cell:]", "holding[cell:] - both[cell:]"),
        ("workloads/marginals.py", "return 2 * sum((size > 1", "return sum((size > 1"),
        ("estimators/solving.py", "Fraction(far) / known.accuracy)", "Fraction(far) / known.accuracy / 2)"),
        ("estimators/solving.py", "sensitivity_squared=queries, epsilon", "sensitivity_squared=2 * queries, epsilon"),
        # C3, C30: composition
        ("accounting/dominate.py", "(1 if event.monotone else 2) * event.max_above", "event.max_above"),
        ("mechanisms/sparse_vector.py", "return (1 if self.monotone else 2) * self.max_above", "return self.max_above"),
    ]
]

# C20 again: the joint cost of test and answer, which a row sees only where it is largest.
MUTATIONS += [
    Mutation("pairs/tested.py", before, after, ("tests/pairs/test_tested_pairs.py",))
    for before, after in [
        ("up += self.passes(last) * self.answer.profile(epsilon - gain)", "up += self.passes(last) * Ball(0)"),
        ("return up.max(down + self.passes(last - 1)", "return up.max(0 * down + self.passes(last - 1)"),
        ("return self.test.tail(self.threshold - distance)", "return self.test.tail(self.threshold - distance + 1)"),
        ("return down.max(up + self.answer.profile(epsilon - gain))", "return up"),
        ("passes[i] * self._answers(losses - steep[i] - _ROUNDING)", "passes[i] * self._answers(losses)"),
        ("return max(self._leak, self.answer.infinity)", "return self._leak"),
        ("return self.answer.dots(losses) + float(self.answer.infinity)", "return self.answer.dots(losses)"),
    ]
]
