"""One error term of a pair, a conversion, a composition or a filter removed at a time: each must make a test fail."""

from __future__ import annotations

from tests.mutations.mutation import several

_TAILS = ("tests/pairs/test_tails.py",)
_PAIRS = ("tests/pairs/test_every_pair.py",)


def _derived(test: str) -> tuple[str, ...]:
    return (f"tests/accounting/test_derived_events.py::test_{test}",)


_SOUND = ("tests/accounting/test_soundness.py",)
_ANSWERS = ("tests/accounting/test_safe_sides.py", "tests/accounting/test_answers.py")
_GUARANTEES = ("tests/guarantees/test_guarantees.py",)
_CERTIFIED = ("tests/exact/test_certified.py",)

MUTATIONS = [
    # One of two
    *several(
        "accounting/choices.py",
        ("tests/accounting/test_choices.py", "tests/accounting/test_mixes.py"),
        ("if bound > self._delta:", "if bound > 1.5 * self._delta:"),
        ("(middle + 1, high)", "(middle + 2, high)"),
        ("counts[_plain(pair.first)] += first", "counts[_plain(pair.first)] += count"),
    ),
    *several(
        "accounting/mixes.py",
        ("tests/accounting/test_mixes.py",),
        ("total += float(changes.sum()) + float(rest.sum())", "total += float(rest.sum())"),
        ("total += float(changes.sum()) + float(rest.sum())", "total += float(changes.sum())"),
        ("self._start > 0 and epsilon < self._first", "False"),
        ("largest += two.times * np.maximum(slope.real, 0.0)", "largest += 0.0"),
        ("finite += min(", "finite += max("),
    ),
    *several(
        "accounting/regridded.py",
        ("tests/accounting/test_mixes.py",),
        ("places = np.floor((losses - start) / own)", "places = np.ceil((losses - start) / own)"),
    ),
    *several(
        "accounting/nearly_continuous.py",
        ("tests/accounting/test_nearly_continuous.py",),
        ("max(2 * float(places[0]), float(np.max(np.diff(places), initial=0.0))) + 3 * _PLACE", "1 / sigma"),
        ("Fraction(sensitivity ** 2) / (variance - _ROUNDED_WITH)", "Fraction(sensitivity**2) / variance"),
        ("max(squared_mu, of_line)", "of_line"),
        ("kind(base.pair.above, first.rate)", "kind(base.pair.below, first.rate)"),
    ),
    # Tails of single pairs
    *several(
        "pairs/pair.py",
        _TAILS + _PAIRS,
        ("POSITION_ERROR = 2.0 ** (-50)", "POSITION_ERROR = 2.0**-60"),
        ("slack = error + POSITION_ERROR * (1 + np.abs(losses))", "slack = POSITION_ERROR * (1 + np.abs(losses))"),
        ("slack = error + POSITION_ERROR * (1 + np.abs(losses))", "slack = error"),
        ("p - scaled_q + slack * (p + scaled_q)", "p - scaled_q"),
        ("p - scaled_q + slack * (p + scaled_q)", "(p - scaled_q) + slack * (p - scaled_q)"),
        ("return (-upper(largest), upper(largest))", "return -lower(largest), lower(largest)"),
        (
            "return (max(lower(found), 0.0), min(upper(found), 1.0))",
            "return max(upper(found), 0.0), min(upper(found), 1.0)",
        ),
        (
            "return (max(lower(found), 0.0), min(upper(found), 1.0))",
            "return max(lower(found), 0.0), min(lower(found), 1.0)",
        ),
    ),
    *several(
        "pairs/gaussian.py",
        _TAILS + _PAIRS,
        ("ERFCX_ERROR = 2.0 ** (-48)", "ERFCX_ERROR = 2.0**-53"),
        ("ERFCX_ERROR + POSITION_ERROR * squares", "POSITION_ERROR * squares"),
        ("ERFCX_ERROR + POSITION_ERROR * squares", "ERFCX_ERROR"),
        ("above_p * above_p + np.abs(losses) + 1", "np.abs(losses) + 1"),
        ("above_p * above_p + np.abs(losses) + 1", "above_p * above_p + 1"),
    ),
    *several(
        "pairs/laplace.py",
        _TAILS + _PAIRS,
        ("POSITION_ERROR * (4 + self._top)", "POSITION_ERROR * 2.0**-8"),
        ("POSITION_ERROR * (4 + self._top)", "POSITION_ERROR * 4"),
        ("LaplacePair(min(self.largest, Fraction(step) * steps / 2))", "LaplacePair(Fraction(step) * (steps + 1) / 2)"),
    ),
    *several(
        "pairs/two_point.py",
        _TAILS + _PAIRS,
        ("POSITION_ERROR * (4 + 2 * top)", "POSITION_ERROR * 2.0**-8"),
        ("POSITION_ERROR * (4 + 2 * top)", "POSITION_ERROR * 4"),
        ("is_smaller = steps >= 1 and ball(smaller) < self.largest", "is_smaller = steps >= 1"),
    ),
    *several(
        "pairs/bounded_range.py",
        _TAILS + _PAIRS,
        ("POSITION_ERROR * (8 + 2 * eta)", "POSITION_ERROR * 2.0**-8"),
        ("POSITION_ERROR * (8 + 2 * eta)", "POSITION_ERROR * 8"),
    ),
    *several(
        "pairs/discrete_noise.py",
        _TAILS + _PAIRS,
        ("POSITION_ERROR * (16 + 4 * top)", "POSITION_ERROR * 2.0**-8"),
        ("POSITION_ERROR * (16 + 4 * top)", "POSITION_ERROR * 16"),
        ("POSITION_ERROR * (8 + z * z", "POSITION_ERROR * (z * z"),
        ("(8 + z * z + (z + shift / sigma) ** 2)", "8"),
        ("+ bound.union(-bound)", ""),
        ("min(shift, math.ceil(_LARGEST_MU * sigma)) + 12", "12"),
        ("if not shift <= _LARGEST_MU * sigma:", "if not shift:"),
        ("return total + rest.union(Ball(0))", "return total"),
        ("max(self.scale, 2 / (Fraction(step) * steps))", "2 / (Fraction(step) * (steps + 1))"),
    ),
    *several(
        "pairs/finite.py",
        _TAILS + _PAIRS,
        ("POSITION_ERROR * (8 + 2 * np.abs(np.clip(losses, -800, 800)))", "0.0"),
        ("(8 + 2 * np.abs(np.clip(losses, -800, 800)))", "8"),
        ("return upper(ball(ratio).log())", "return -upper(-ball(ratio).log())"),
        ("-upper(-ball(min(ratios)).log()), upper(", "-upper(-ball(min(ratios)).log()), -upper(-"),
    ),
    # Moments
    *several(
        "pairs/moments.py",
        _TAILS + _PAIRS + ("tests/accounting/test_errors.py",),
        ("_ROUNDING = 2.0 ** (-36)", "_ROUNDING = 0.0"),
        ("slack = _ROUNDING * (1 + sum((np.abs(part) for part in parts)))", "slack = _ROUNDING * 1"),
        ("np.expm1(negative)) * (1 + _ROUNDING)", "np.expm1(negative))"),
        ("low.union(_unfolded_ball(", "low.min(_unfolded_ball("),
        (".union((-epsilon.expm1()).max(Ball(0)))", ""),
        ("np.exp(negative) * bound - np.expm1(negative)", "-np.expm1(negative)"),
        ("return Ball(0).union(Ball(1))", "return bound(Ball(0))"),
        ("np.minimum(exponent + slack, 0.0)", "np.minimum(exponent, 0.0)"),
    ),
    *several(
        "pairs/gaussian_mixture.py",
        ("tests/pairs/test_gaussian_mixture.py", *_PAIRS),
        ("2 * ERFCX_ERROR + POSITION_ERROR * rounding", "POSITION_ERROR * 2.0**-8"),
        ("4 * reach ** 2", "0 * reach"),
        ("self._loss(x - radius)[0] < loss < self._loss(x + radius)[0]", "True"),
        ("return ends[0].union(ends[1])", "return ends[1]"),
        ("np.exp(np.minimum(losses[~inside], 0.0))", "1.0"),
        ("loss = -epsilon if self.is_swapped else epsilon", "loss = epsilon"),
    ),
    # Samples of other kinds, shuffled reports, selection, groups
    *several(
        "pairs/poisson_replaced.py",
        _PAIRS,
        ("2 * ERFCX_ERROR + POSITION_ERROR * rounding", "POSITION_ERROR * 2.0**-8"),
        ("place if epsilon >= 0 else -place", "place"),
    ),
    *several(
        "pairs/poisson_replaced.py",
        _derived("poisson_samples_where_one_is_replaced"),
        ("(here + np.exp(first + slack) * there) * _UP", "here"),
        ("(1 - share) * one + share * np.maximum(two, one)", "share * one"),
        ("ReplacedGaussianPair(base.squared_mu, rate)", "ReplacedGaussianPair(base.squared_mu / 2, rate)"),
    ),
    *several(
        "pairs/shuffled.py",
        _derived("shuffled_answers"),
        ("float(self.blanket / (1 - self.blanket))", "float(2 * self.blanket / (1 - self.blanket))"),
        ("(e * before + here) / (e + 1)", "here"),
        ("np.append(shares, 2 * _LEAST)", "np.append(shares * 0.9, 2 * _LEAST)"),
        ("(before + e * here) / (e + 1)", "before"),
    ),
    *several(
        "pairs/selected.py",
        _derived("the_best_of_many_runs"),
        ("places = sizes[order] - float(self.shift)", "places = sizes[order]"),
        ("float(self.factor) * _UP * whole", "whole"),
        ("odds * _whole(base, ball(place))", "0"),
        ("+ float(self.base.infinity) * _UP", ""),
        ("ball(mean) * _whole(base, Ball(0))", "ball(mean) * 0"),
    ),
    *several(
        "pairs/groups.py",
        _derived("groups_of_anything_are_between_one_step_and_the_sum_of_largest_losses"),
        ("_of_any(self.base.dots, each) + infinity", "_of_any(self.base.dots, each)"),
    ),
    *several(
        "pairs/groups.py",
        _derived("groups_of_a_table_by_a_chain_of_laws"),
        ("np.exp(np.minimum(before, _LARGEST)) *", "0.5 *"),
    ),
    *several(
        "pairs/shuffled.py",
        _derived("the_lower_end_of_shuffled_reports_is_an_example") + _derived("shuffled_answers"),
        ("p * before + (1 - p) * here", "before"),
        ("q * before + (1 - q) * here + _LEAST", "here"),
        ("law(self.reports - 1, float(q / (1 - q)), _BEYOND)", "law(self.reports, float(q / (1 - q)), _BEYOND)"),
    ),
    *several(
        "pairs/truncated.py",
        _derived("the_lower_end_of_cut_samples_is_an_example"),
        ("1 - at_least(population - 1, rate, batch)", "1"),
        ("return _down(fits + cut)", "return rate"),
    ),
    *several(
        "pairs/with_replacement.py",
        _derived("the_lower_end_of_draws_with_replacement_is_an_example"),
        ("PoissonRemovePair(base, max(share - Fraction(2, _GRID), share / 2))", "above"),
    ),
    *several(
        "pairs/bounded.py",
        (
            "tests/pairs/test_bounds.py",
            *_derived("the_lower_end_of_several_things_on_a_sample_is_one_of_them"),
        ),
        ("return self.below.tails(losses)", "return self.above.tails(losses)"),
        ("self.below.delta_bracket(epsilon)[0]", "self.above.delta_bracket(epsilon)[0]"),
        ("float(self.above.infinity) * (1 + _ROUNDING)", "0.0"),
    ),
    *several(
        "events/matrix_noise.py",
        _derived("trees_move_at_most_as_far_as_is_said") + _derived("matrices_move_at_most_as_far_as_is_said"),
        ("most = max(float(rounded @ rounded), float(sizes.sum()))", "most = 2 * float(sizes.sum())"),
        ("int(often @ often)", "2 * int(often @ often)"),
    ),
    *several(
        "pairs/truncated.py",
        _derived("poisson_samples_that_are_cut"),
        ("GaussianPair(4 * squared_mu)", "GaussianPair(squared_mu)"),
        ("at_least(population, rate, batch + 1)", "at_least(population, rate, batch + 2)", "truncated"),
        ("at_least(population - 1, rate, batch)", "at_least(population - 1, rate, batch + 1)", "truncated"),
    ),
    *several(
        "pairs/with_replacement.py",
        _derived("draws_with_replacement"),
        ("_copies(each, copies)) for copies", "each) for copies"),
        ("above = FixedSizePair(mixed, share)", "above = FixedSizePair(mixed, share / 2)"),
    ),
    *several(
        "pairs/moments.py",
        _derived("xi_only_moves_what_zcdp_says"),
        ("high + exactly_above(self.xi)", "high"),
    ),
    # Rounding of bounds that are made of other bounds
    *several(
        "pairs/groups.py",
        ("tests/pairs/test_rounding_of_bounds.py",),
        ("/ 2) + slack", "/ 2)"),
        ("(k + 1) / 2) - slack", "(k + 1) / 2)"),
    ),
    *several(
        "pairs/selected.py",
        ("tests/pairs/test_rounding_of_bounds.py",),
        ("places -= POSITION_ERROR * (4 + 4 * np.abs(places) + float(self.shift))", "places -= 0.0"),
        ("float(self.factor) * _UP * whole", "float(self.factor) * whole"),
    ),
    *several(
        "pairs/poisson_replaced.py",
        ("tests/pairs/test_rounding_of_bounds.py",),
        ("inner -= POSITION_ERROR * (8 - 2 * math.log(gamma) + 4 * np.abs(inner))", "inner -= 0.0"),
        ("np.maximum(two, one)) * _UP", "np.maximum(two, one))"),
        ("np.exp(first + slack) * there) * _UP", "np.exp(first + slack) * there)"),
    ),
    *several(
        "pairs/shuffled.py",
        ("tests/pairs/test_rounding_of_bounds.py",),
        ("slack = error + POSITION_ERROR * (1 + np.abs(losses))", "slack = 0.0"),
    ),
    *several(
        "events/matrix_noise.py",
        ("tests/pairs/test_rounding_of_bounds.py",),
        ("largest ** 2 * (1 + (length + 4 * times + 16) * _ROUNDING)", "largest ** 2"),
        ("(1 - (len(moved) + 4 * self._times + 16) * _ROUNDING)", "1"),
    ),
    # Samples and other mixtures
    *several(
        "pairs/subsampled.py",
        _TAILS + _PAIRS,
        (
            "error = POSITION_ERROR * (16 + 4 * np.abs(losses))",
            "error = 0 * losses",
            "PoissonRemovePair.tails",
        ),
        (
            "(16 + 4 * np.abs(losses))",
            "16 + 0 * losses",
            "PoissonRemovePair.tails",
        ),
        ("error[first:] += base.error + POSITION_ERROR", "error[first:] += POSITION_ERROR"),
        ("error[first:] += base.error + POSITION_ERROR * np.abs(inner[first:])", "error[first:] += base.error"),
        (
            "error = POSITION_ERROR * (16 + 4 * np.abs(losses))",
            "error = 0 * losses",
            "PoissonAddPair.tails",
        ),
        (
            "(16 + 4 * np.abs(losses))",
            "16 + 0 * losses",
            "PoissonAddPair.tails",
        ),
        ("error[:last] += base.error + POSITION_ERROR", "error[:last] += POSITION_ERROR"),
        ("error[:last] += base.error + POSITION_ERROR * np.abs(inner[:last])", "error[:last] += base.error"),
        ("whole = base.p + float(self.base.infinity)", "whole = base.p"),
        ("_UP = 1 + 4 * POSITION_ERROR", "_UP = 1.0"),
        (" * _UP - float(self.infinity) / _UP", " - float(self.infinity)", "PoissonRemovePair.dots"),
        ("self.base.dots(inner[first:]) * _UP)", "self.base.dots(inner[first:]))"),
        (
            "np.maximum(gamma, -np.expm1(np.minimum(before, 0.0)))",
            "np.maximum(0.0, -np.expm1(np.minimum(before, 0.0)))",
        ),
        ("np.maximum(super().dots(losses), _LEAST)", "super().dots(losses)"),
        ("np.maximum(left * whole * _UP, _LEAST)", "left * whole * _UP"),
        ("np.maximum(left * whole * _UP, _LEAST)", "np.maximum(left * whole, _LEAST)"),
        ("self.base.dots(inner) + float(self.base.infinity)", "self.base.dots(inner)"),
        ("losses - POSITION_ERROR * (largest + 4 * np.abs(losses))", "losses"),
        ("losses - POSITION_ERROR * (largest + 4 * np.abs(losses))", "losses - POSITION_ERROR * largest"),
        ("largest = 16 - math.log(gamma) - math.log(rest)", "largest = 16"),
        ("error = np.max([np.broadcast_to", "error = np.min([np.broadcast_to"),
        ("error + POSITION_ERROR * len(parts)", "error"),
        ("dots * (1 + POSITION_ERROR * (4 + len(self.pairs)))", "dots"),
        ("np.maximum(a.error, b.error) if self._is_even", "np.minimum(a.error, b.error) if self._is_even"),
        ("return np.maximum(a, b)", "return a"),
        ("np.maximum(dots * _UP - float(infinity) / _UP, 0.0)", "np.maximum(dots - float(infinity), 0.0)"),
        ("tails.error * tails.p + POSITION_ERROR", "POSITION_ERROR"),
        ("tails.error * tails.p + POSITION_ERROR * (tails.p + float(infinity))", "tails.error * tails.p"),
        ("np.maximum(error, tails.error)", "tails.error"),
        ("slack = 8 * POSITION_ERROR", "slack = 0.0"),
        ("return Ball(0).union(left.abs_upper())", "return Ball(0)"),
        ("return positive.profile(epsilon).union(negative.profile(epsilon))", "return positive.profile(epsilon)"),
    ),
    # Answers of a composition
    *several(
        "accounting/composition.py",
        _ANSWERS + _SOUND,
        ("rest = (1 - deltas) * _DOWN", "rest = 1 - deltas"),
        ("level = math.nextafter(float(alpha), 2.0)", "level = float(alpha)"),
    ),
    *several(
        "accounting/composed_brackets.py",
        _ANSWERS + _SOUND,
        ("_SUPPORT_SLACK = 2.0 ** (-44)", "_SUPPORT_SLACK = 0.0"),
        ("low = top * (1 - 2.0 ** (-40)) - slack", "low = top - slack"),
        ("low = top * (1 - 2.0 ** (-40)) - slack if is_exact else 0.0", "low = top * (1 - 2.0 ** (-40)) - slack"),
        ("math.inf if total is None else named(total)", "math.inf if total is None else float(total)"),
        ("*(math.inf if _exceeds(each, delta) else _in_sum(each)", "*(_in_sum(each)"),
        ("epsilon >= largest", "epsilon >= largest - Fraction(1, 1000)"),
        ("best = max(best, rough)", "best = min(best, rough)"),
        ("Bracket(best.lower, max(best.upper, above))", "Bracket(best.lower, best.upper)"),
    ),
    # Filters and calibration
    *several(
        "accounting/filters.py",
        _ANSWERS,
        ("after.epsilon > budget[0] or after.delta > budget[1]", "after.delta > budget[1]"),
        ("after.epsilon > budget[0] or after.delta > budget[1]", "after.epsilon > budget[0]"),
        ("if before.used + cost > budget:", "if cost > budget:"),
        (
            "return Fraction(upper(ball(epsilon) * (ball(epsilon) / 2).tanh()))",
            "return -Fraction(upper(-ball(epsilon) * (ball(epsilon) / 2).tanh()))",
        ),
        ("epsilon += count * each", "epsilon += each"),
        ("delta += count * leak", "delta += leak"),
        ("return sum((count * _zcdp_cost(pair)", "return sum((_zcdp_cost(pair)"),
        ("total += count * each", "total += each"),
        (
            "max((each.infinity for each in directions))",
            "min((each.infinity for each in directions))",
        ),
        ("max((top for top in tops", "min((top for top in tops"),
        ("return pair.width ** 2 / 8", "return pair.width**2 / 9"),
        ("return pair.squared_mu / 2", "return pair.squared_mu / 3"),
    ),
    *several(
        "accounting/scale_search.py",
        _ANSWERS,
        (
            "if math.isfinite(upper) and read_above(upper) <= allowed:",
            "if math.isfinite(upper) and read_above(upper) <= allowed * (1 + Fraction(1, 10**4)):",
        ),
    ),
    *several(
        "accounting/risk.py",
        ("tests/accounting/test_risk.py",),
        ("grown = tpr - odds * fpr", "grown = tpr - fpr"),
        ("(self.guess - 1 + self._rarer) / self._rarer", "(self.guess - 1 + self._rarer) / self._rarer * 2"),
        ("variance=event.variance * factor ** 2", "variance=event.variance * factor"),
        ("(low + alpha * left).min()", "(low + 2 * alpha * left).min()"),
    ),
    *several(
        "accounting/noise_calibration.py",
        _ANSWERS,
        (
            "return math.isfinite(upper) and read_above(upper) <= budget.epsilon",
            "return math.isfinite(upper) and read_above(upper) <= 2 * budget.epsilon",
        ),
        ("below(lambda: ball(bound) / -ball", "-below(lambda: -ball(bound) / -ball"),
        ("below(lambda: ball(bound) / (Ball(2)", "-below(lambda: -ball(bound) / (Ball(2)"),
    ),
    # Conversions between guarantees
    *several(
        "exact/certified.py",
        _CERTIFIED + _GUARANTEES,
        ("number = upper(value)", "number = -upper(-value)", "above"),
        ("not ball(Fraction(repr(number))) >= value", "False"),
        ("min(Fraction(number), Fraction(repr(number))) < value", "Fraction(number) < value"),
        ("min(Fraction(number), Fraction(repr(number))) < value", "Fraction(repr(number)) < value"),
        ("return -above(lambda: -real())", "return above(real)"),
        ("return -exactly_above(-value)", "return exactly_above(value)"),
        (
            "bits *= 2\n    return False",
            "bits *= 2\n    return True",
        ),
    ),
    *several(
        "guarantees/conversions.py",
        ("tests/accounting/test_safe_sides.py", "tests/claims/test_conversions.py"),
        (
            "fraction_above(lambda: concentrated(epsilon))",
            "fraction_above(lambda: concentrated(epsilon) * Ball(0.999999))",
        ),
        (
            "fraction_above(lambda: _gaussian_mu(epsilon))",
            "fraction_above(lambda: _gaussian_mu(epsilon) * Ball(0.999999))",
        ),
        ("sqrt(8 * epsilon)", "sqrt(epsilon)"),
        ("ZCDP(guarantee.mu_squared / 2,", "ZCDP(guarantee.mu_squared / 3,"),
    ),
]
