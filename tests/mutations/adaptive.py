"""The transfer theorem, the routes and the accounts of the oracle and of the holdout, one place bent at a time."""

from __future__ import annotations

from tests.mutations.mutation import Mutation

__all__ = ["MUTATIONS"]

_NUMBERS = ("tests/adaptive/test_transfer.py",)
_ORACLE = ("tests/adaptive/test_oracle.py",)
_REFUSALS = ("tests/adaptive/test_refusals.py",)
_ROUTES = ("tests/adaptive/test_attacks.py", "tests/adaptive/test_oracle.py")
_HOLDOUT = ("tests/adaptive/test_holdout.py",)

MUTATIONS = [
    Mutation("adaptive/transfer.py", "ball(epsilon / 4).tanh() + 2", "ball(epsilon / 5).tanh() + 2", _NUMBERS),
    Mutation(
        "adaptive/transfer.py", "2 / (1 + ball(epsilon / 2).exp())", "1 / (1 + ball(epsilon / 2).exp())", _NUMBERS
    ),
    Mutation("adaptive/transfer.py", "1 - (1 - law.tail(x)) ** count", "law.tail(x)", _NUMBERS),
    Mutation("adaptive/mean.py", "GaussianDP.from_square(times * squared", "GaussianDP.from_square(squared", _ORACLE),
    Mutation("adaptive/mean.py", "PureDP(times * Fraction(_ONE)", "PureDP(Fraction(_ONE)", _ORACLE),
    Mutation(
        "adaptive/mean.py", "((array >= 0) & (array <= 1)).all()", "not ((array < 0) | (array > 1)).any()", _REFUSALS
    ),
    Mutation("adaptive/mean.py", "np.where(array > 0, np.minimum(array, 1), 0)", "np.minimum(array, 1)", _REFUSALS),
    Mutation("adaptive/mean.py", "np.rint(array * _ONE)", "(np.rint(array) * _ONE)", _ORACLE),
    Mutation("adaptive/oracle.py", "        self._asked += len(queries)", "        self._asked += 0", _ORACLE),
    Mutation("adaptive/turns.py", "if os.getpid() != self._process:", "if False:", _ORACLE),
    Mutation("adaptive/oracle.py", "self._order[number * size:(number + 1) * size]", "self._order[:size]", _ORACLE),
    Mutation("adaptive/oracle.py", "np.argsort(keys)", "np.arange(rows)", _ORACLE),
    Mutation("adaptive/oracle.py", "self._examples.checked(query) for", "query for", _REFUSALS),
    Mutation(
        "adaptive/oracle.py", "Examples.of(self._sample, examples)", "Examples.of(self._sample, sample)", _REFUSALS
    ),
    Mutation("adaptive/sample.py", "(np.abs(values - backwards) > _LAST_BITS).any() or", "", _REFUSALS),
    Mutation("adaptive/sample.py", "or (np.abs(values[:_ALONE] - alone) > _LAST_BITS).any()", "", _REFUSALS),
    Mutation("adaptive/sample.py", "data.flags.writeable = False", "pass", _REFUSALS),
    Mutation("adaptive/sample.py", "        except BaseException:", "        except Exception:", _REFUSALS),
    Mutation("adaptive/sample.py", "[(start, middle), (middle, stop)]", "[(start, middle)]", _REFUSALS),
    Mutation("adaptive/holdout.py", "self._holdout.settled(function)", "self._holdout.tried(query, '')[1]", _REFUSALS),
    Mutation("adaptive/routes.py", "+ Fraction(1, 2 * self.levels)", "", _ROUTES, within="Rounding._bound"),
    Mutation(
        "adaptive/holdout_rules.py",
        "(self.levels * (self.checks - i)) / (i + 1)",
        "(self.levels * (self.checks - i)) / (i + 2)",
        _HOLDOUT,
    ),
    Mutation("adaptive/holdout_rules.py", "self.checks + self.max_overfit, beta)", "self.max_overfit, beta)", _HOLDOUT),
    Mutation(
        "adaptive/holdout_rules.py", "self.sparse.epsilon + answers.stated_epsilon", "self.sparse.epsilon", _HOLDOUT
    ),
    Mutation("adaptive/holdout.py", "            self._overfit += 1", "            self._overfit += 0", _HOLDOUT),
    Mutation("adaptive/holdout.py", "            self._checked += 1", "            self._checked += 0", _HOLDOUT),
]
