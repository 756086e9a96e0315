"""One constant, sign or rounding of the mechanisms that add noise bent at a time: each must make a test fail."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

_ADDITIVE = ("tests/mechanisms/test_additive.py",)
_CALIBRATION = ("tests/mechanisms/test_gaussian_calibration.py",)
_HISTOGRAM = ("tests/mechanisms/test_histogram.py",)
_BOUND = ("tests/mechanisms/test_every_mechanism.py::test_the_error_bound_holds_and_is_not_wider_than_needed",)
_ATTACKS = ("tests/mechanisms/test_attacks.py",)

MUTATIONS = [
    # Laplace
    Mutation(
        "mechanisms/laplace.py", "steps / self.epsilon + Fraction(1, 4 * steps)", "steps / self.epsilon", _ADDITIVE
    ),
    Mutation(
        "mechanisms/laplace.py",
        "self.scale if self.epsilon is None else steps / self.epsilon",
        "self.scale if self.epsilon is None else steps / self.epsilon / 2",
        _ADDITIVE,
    ),
    Mutation(
        "mechanisms/laplace.py",
        "grid.l1_steps(self.sensitivity, self.dimension)",
        "grid.l1_steps(self.sensitivity)",
        _ADDITIVE,
    ),
    Mutation("mechanisms/laplace.py", "return 1 / ball(1 / law.scale).sinh()", "return ball(law.scale)", _ADDITIVE),
    Mutation("mechanisms/laplace.py", "if not steps:", "steps = steps or 1\n        if False:", _ATTACKS),
    # Additive
    Mutation("mechanisms/additive.py", "self.law.quantile(1 - miss / 2)", "self.law.quantile(1 - miss)", _ADDITIVE),
    Mutation(
        "mechanisms/additive.py", "self._error(per_coordinate(exact, self.dimension))", "self._error(exact)", _ADDITIVE
    ),
    Mutation("mechanisms/additive.py", "if _size(value) > self.dimension:", "if False:", _ADDITIVE),
    Mutation("mechanisms/additive.py", "np.array(value, dtype=object)", "np.asarray(value)", _ADDITIVE),
    # Gaussian
    Mutation("mechanisms/gaussian_calibration.py", "* (1 - back)", "* (1 + back)", _CALIBRATION),
    Mutation(
        "mechanisms/gaussian_calibration.py",
        "-float((value / ball(delta)).log())",
        "-float((value / ball(2 * delta)).log())",
        _CALIBRATION,
    ),
    Mutation(
        "mechanisms/gaussian_calibration.py", "ball(Fraction(shift, 2))", "ball(Fraction(shift, 3))", _CALIBRATION
    ),
    Mutation("mechanisms/gaussian_calibration.py", "law.tail(n + shift)", "law.tail(n + shift + 1)", _CALIBRATION),
    Mutation(
        "mechanisms/gaussian_calibration.py", "2 * ball(2 / delta).log()", "2 * ball(1 / delta).log()", _CALIBRATION
    ),
    Mutation("mechanisms/gaussian_calibration.py", "Fraction(5, 4) / delta", "Fraction(6, 5) / delta", _CALIBRATION),
    Mutation("mechanisms/gaussian_calibration.py", "ball(Fraction(9, 4)).max(", "ball(Fraction(2)).max(", _CALIBRATION),
    Mutation("mechanisms/gaussian_calibration.py", "ball(1 + Fraction(1, 10 ** 12))", "ball(1)", _CALIBRATION),
    Mutation(
        "mechanisms/gaussian_calibration.py", "/ ball(epsilon)) ** 2 / 2", "/ ball(epsilon)) ** 2 / 3", _CALIBRATION
    ),
    Mutation(
        "mechanisms/gaussian_calibration.py", "epsilon <= 1 and delta <=", "epsilon <= 2 and delta <=", _CALIBRATION
    ),
    Mutation(
        "mechanisms/gaussian_calibration.py",
        "limits['dwork-roth'] = (epsilon < 1,",
        'limits["dwork-roth"] = (epsilon <= 1,',
        _CALIBRATION,
    ),
    Mutation(
        "mechanisms/gaussian.py",
        "self.sensitivity_squared / (2 * amount)",
        "self.sensitivity_squared / amount",
        _CALIBRATION,
    ),
    Mutation(
        "mechanisms/gaussian.py",
        "self.distance_squared / (2 * self.variance)",
        "self.distance_squared / (4 * self.variance)",
        _ADDITIVE,
    ),
    Mutation(
        "mechanisms/gaussian.py", "ball(variance - Fraction(1, 12))", "ball(variance - Fraction(1, 2))", _ADDITIVE
    ),
    Mutation("mechanisms/gaussian.py", "if moving > self.dimension:", "if False:", _ADDITIVE),
    Mutation(
        "mechanisms/lattice_gaussian.py", "if _holds(mu_squared, zeta, coordinates, width):", "if True:", _CALIBRATION
    ),
    Mutation("mechanisms/lattice_gaussian.py", "-2 * Ball.pi() ** 2", "-20 * Ball.pi() ** 2", _CALIBRATION),
    Mutation(
        "mechanisms/lattice_gaussian.py",
        "distance_squared / (variance - width) * (1 + zeta) ** 2",
        "distance_squared / variance",
        _CALIBRATION,
    ),
    # Histograms
    Mutation(
        "mechanisms/discovery_threshold.py",
        "self.law.tail(self.threshold - 2)",
        "self.law.tail(self.threshold - 1)",
        _HISTOGRAM,
    ),
    Mutation("mechanisms/discovery_threshold.py", "return at(enough)", "return at(enough - 1)", _HISTOGRAM),
    Mutation("mechanisms/discovery_threshold.py", "return at(enough)", "return at(enough + 1)", _HISTOGRAM),
    Mutation("mechanisms/discovery_threshold.py", "kept = (new * log_kept).exp()", "kept = log_kept.exp()", _HISTOGRAM),
    Mutation(
        "mechanisms/histogram.py", "shown = noisy >= self.threshold", "shown = noisy > self.threshold - 2", _HISTOGRAM
    ),
    Mutation("mechanisms/histogram.py", "self._noising.reach(beta))", "self._noising.reach(beta / 2))", _BOUND),
    Mutation("mechanisms/histogram.py", "found = counts > 0", "found = counts >= 0", _HISTOGRAM),
    Mutation("mechanisms/histogram.py", "(2 if self.adjacency.change == 'replace' else 1)", "1", _HISTOGRAM),
    Mutation("mechanisms/additive.py", "not exact * int(n) < 1", "not exact * int(n) <= 1", _HISTOGRAM),
    Mutation("mechanisms/histogram.py", "order = _sorted(names)", "order = np.arange(len(names))", _HISTOGRAM),
    # Staircase
    Mutation(
        "mechanisms/staircase.py",
        "law = DiscreteStaircase.best(steps, self.epsilon)",
        "law = DiscreteStaircase.best(steps, self.epsilon * 2)",
        _ADDITIVE,
    ),
]
