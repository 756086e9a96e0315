"""One step of selection, randomized response or sparse vector removed or bent at a time: each must make a test fail."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

_RACE = ("tests/noise/test_race.py",)
_SELECTION = ("tests/mechanisms/test_selection.py",)
_ERRORS = ("tests/mechanisms/test_selection_errors.py",)
_INTERVAL = ("tests/mechanisms/test_selection_interval.py",)
_METRIC = ("tests/mechanisms/test_metric_selection.py",)
_RESPONSE = ("tests/mechanisms/test_randomized_response.py",)
_SPARSE = ("tests/mechanisms/test_sparse_vector.py",)
_TIGHT = ("tests/mechanisms/test_every_mechanism.py::test_pure_privacy_is_tight",)
_BOUND = ("tests/mechanisms/test_every_mechanism.py::test_the_error_bound_holds_and_is_not_wider_than_needed",)
_REFUSED = ("tests/mechanisms/test_every_mechanism.py::test_bad_parameters_are_refused_and_nothing_is_drawn",)
_FIT = ("tests/mechanisms/test_selection_fit.py",)
_RANK_LAWS = ("tests/estimators/test_rank_laws.py::test_no_answer_of_a_quantile_loses_more_than_epsilon",)
_RANKS = ("tests/estimators/test_ranks.py::test_the_score_is_that_of_the_definition",)

_RACE_FILE = "noise/race.py"
_SELECTION_FILE = "mechanisms/selection.py"
_TOP_FILE = "mechanisms/top_k.py"
_ERROR_FILE = "mechanisms/selection_error.py"
_RESPONSE_FILE = "mechanisms/randomized_response.py"
_SPARSE_FILE = "mechanisms/sparse_vector.py"
_PLACES_FILE = "estimators/order_statistic.py"

MUTATIONS = [
    # The race
    Mutation(_RACE_FILE, "return -np.log(-np.log1p(-v))", "return -np.log(v)", _RACE),
    Mutation(_RACE_FILE, "return -(-(-v).log1p()).log()", "return -v.log()", _RACE),
    Mutation(_RACE_FILE, "(-(2 * v).log()).max(Ball(0)) +", "(-v.log()).max(Ball(0)) +", _RACE),
    Mutation(_RACE_FILE, "ball(prefix + 1) / whole) if prefix + 1 < whole", "ball(prefix) / whole) if prefix", _RACE),
    Mutation(
        _RACE_FILE,
        "noise.at(ball(prefix) / whole) if prefix else",
        "noise.at(ball(prefix + 1) / whole) if prefix else",
        _RACE,
    ),
    Mutation(_RACE_FILE, "2 * r.prefix + source.bits(1)", "2 * r.prefix + source.bits(2) // 2 * source.bits(1)", _RACE),
    Mutation(_RACE_FILE, "ball(scores.weight(runner.candidate)).log() - ball(shift)", "-ball(shift)", _RACE),
    Mutation(
        _RACE_FILE,
        "shifts = self._gaps(candidates) * -rate",
        "shifts = self._gaps(candidates) * -1.05 * rate",
        _RACE + _FIT,
    ),
    Mutation(_RACE_FILE, "2.0 ** (edge_bits + 1 - bits)", "0.0", _RACE),
    Mutation(_RACE_FILE, "math.exp(_MARGIN - least)", "math.exp(-1 - least)", _RACE),
    Mutation(_RACE_FILE, "_limit(leading - scores.largest_shift,", "_limit(leading,", _RACE),
    Mutation(_RACE_FILE, "if highest >= leading]", "if highest >= leading][:1]", _RACE),
    Mutation(_RACE_FILE, "int(candidates[i])", "int(near[i])", _RACE),
    Mutation(
        _RACE_FILE,
        "Fraction(self.best) - Fraction(self.values[candidate])",
        "Fraction(float(self.best) - float(self.values[candidate]))",
        _RACE,
    ),
    Mutation(_RACE_FILE, "if not highest < math.inf:", "if highest > math.inf:", _RACE),
    # Selection
    Mutation(_SELECTION_FILE, "factor=1 if monotone is True else 2)", "factor=1)", _SELECTION),
    Mutation(
        _SELECTION_FILE,
        "return factor * sensitivity / budget",
        "return factor / budget",
        _TIGHT,
    ),
    Mutation(_TOP_FILE, "epsilon=total / count", "epsilon=total", _SELECTION),
    Mutation(_TOP_FILE, "_winner(scores.without(winners))", "_winner(scores)", _SELECTION),
    Mutation(_TOP_FILE, "self.each._error(beta / self.count)", "self.each._error(beta)", _BOUND),
    Mutation(_TOP_FILE, "PureDP(self.count * self.each.epsilon", "PureDP(self.each.epsilon", _TIGHT),
    Mutation(_ERROR_FILE, "m[j] - (j == k)) for j", "m[j]) for j", _ERRORS),
    Mutation(
        _ERROR_FILE,
        "return 1 - (1 - (1 - a) ** count) / (count * a)",
        "return 1 - (1 - (1 - a) ** count) / ((count - 1) * a)",
        _ERRORS,
    ),
    Mutation(
        _ERROR_FILE, "return (count - 1) * a / (1 + (count - 1) * a)", "return count * a / (1 + count * a)", _ERRORS
    ),
    Mutation(_ERROR_FILE, "- between - a / (count * Ball(2) ** count)", "- between", _ERRORS),
    Mutation(_ERROR_FILE, "return total + lift.exp() / (size * Ball(2) ** size)", "return total", _ERRORS),
    Mutation(_ERROR_FILE, "(Ball(count - 1) / Ball(1).exp()).lambertw()", "Ball(count - 1).lambertw()", _ERRORS),
    Mutation(
        "mechanisms/metric.py",
        "return 1 if len({tuple(sorted(row))",
        "return 1 if 1 or len({tuple(sorted(row))",
        _METRIC,
    ),
    Mutation(
        "mechanisms/metric.py",
        "if Fraction(missing, unit) > rounding:",
        "if False:",
        _REFUSED,
    ),
    Mutation("mechanisms/metric.py", "beyond += chance", "beyond = chance", _BOUND),
    Mutation("mechanisms/piecewise_scores.py", "Scores.of(raced, np.maximum(sizes, 1))", "Scores.of(raced)", _FIT),
    Mutation("mechanisms/piecewise_scores.py", "np.where(sizes > 0, values, -math.inf)", "values", _INTERVAL),
    # Places of quantiles
    Mutation(_PLACES_FILE, "min(slope * count // 2, _TAIL", "max(slope * count // 2, _TAIL", _RANK_LAWS),
    Mutation(_PLACES_FILE, "self.slope * tail - self.loss)", "2 * self.slope * tail - self.loss)", _RANKS),
    Mutation(
        "estimators/ranks.py",
        "return d if is_replace(adjacency) else max(p, d - p)",
        "return max(p, d - p)",
        _RANK_LAWS,
    ),
    # Randomized response
    Mutation(_RESPONSE_FILE, "Bernoulli((count - 1) * self._false)", "Bernoulli(count * self._false)", _RESPONSE),
    Mutation(_RESPONSE_FILE, "by = 1 if count == 2 else 1 + others", "by = 1 if count == 2 else others", _RESPONSE),
    Mutation(_RESPONSE_FILE, "share = odds / (odds + count)", "share = odds / (odds + 1)", _RESPONSE),
    Mutation(_RESPONSE_FILE, ".lower().floor()", ".upper().ceil()", _RESPONSE),
    Mutation(_RESPONSE_FILE, "estimate = (shown / count - false) / keep", "estimate = shown / count / keep", _RESPONSE),
    Mutation(_RESPONSE_FILE, "(count * keep ** 2)", "(count * keep)", _RESPONSE),
    Mutation(_RESPONSE_FILE, "is_known = bool((known[places] == part).all())", "is_known = True", _RESPONSE),
    # Sparse vector
    Mutation(_SPARSE_FILE, "return (1 if self.monotone else 2) * self.max_above", "return self.max_above", _SPARSE),
    Mutation(
        _SPARSE_FILE, "return (1 if self.monotone else 2) * self.max_above", "return 1 if self.monotone else 2", _SPARSE
    ),
    Mutation(
        _SPARSE_FILE,
        "DiscreteLaplace(self.max_above * self._steps / self.answer_epsilon)",
        "DiscreteLaplace(self._steps / self.answer_epsilon)",
        _SPARSE,
    ),
    Mutation(_SPARSE_FILE, "            self._above += is_above", "            self._above += 0", _SPARSE),
    Mutation(_SPARSE_FILE, "self.comparison_epsilon + (self.answer_epsilon or 0)", "self.comparison_epsilon", _TIGHT),
    Mutation(_SPARSE_FILE, "if os.getpid() != self._process:", "if False:", _SPARSE),
    Mutation(
        _SPARSE_FILE,
        "steps + self._mechanism._query_noise.sample() >= self._threshold",
        "steps >= self._threshold",
        _SPARSE,
    ),
    Mutation(
        _SPARSE_FILE,
        "return self.grid.l1_steps(self.sensitivity)",
        "return int(self.sensitivity / self.grid.step)",
        _SPARSE,
    ),
]
