"""How small the error of any factorisation can be: a bound from below that every convex solver must respect.

For V = WᵀW and noise that hides a column of length 1, every strategy A has the total squared error tr(V(AᵀA)^{-1}).
For all λ ≥ 0 with Σλ = 1 it is at least (tr √(Λ^½ V Λ^½))²: with X = AᵀA, diag X ≤ 1 and M = Λ^½VΛ^½,

    tr √M = tr((Λ^½XΛ^½)^½ · (Λ^½XΛ^½)^{-½} √M) ≤ √(tr Λ^½XΛ^½) · √(tr M (Λ^½XΛ^½)^{-1}) ≤ √(tr V X^{-1}),

by Cauchy and Schwarz. The best λ closes the gap. Here λ is found by SciPy, by climbing in ln λ; the library finds its
strategies in another way, and whatever SciPy finds, the bound is true up to rounding.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]


def least_error(gram: Floats) -> float:
    """The bound for the best λ that was found: the total squared error of W."""

    def minus_log_bound(logs: Floats) -> tuple[float, Floats]:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        scale = np.sqrt(shares)
        values, vectors = np.linalg.eigh(scale[:, None] * gram * scale)
        roots = np.sqrt(np.maximum(values, 0))
        parts = ((vectors**2) * roots).sum(axis=1) / roots.sum()
        return -2 * float(np.log(roots.sum())), shares - parts

    found = minimize(minus_log_bound, np.zeros(len(gram)), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return float(np.exp(-found.fun))
