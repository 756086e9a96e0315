"""PyDP: percentiles, bounded mean and variance; one record is added or removed."""

from importlib.metadata import version

from pydp.algorithms import laplacian  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.accuracy_case import Cell, Estimator

WHO = f"PyDP {version('python-dp')}"


def estimator(cell: Cell) -> Estimator | None:
    if cell.change != "add or remove":
        return None
    limits = {"lower_bound": 0.0, "upper_bound": float(cell.high), "dtype": "float"}
    if cell.statistic == "mean":
        return lambda data: float(laplacian.BoundedMean(epsilon=cell.epsilon, **limits).quick_result(data.tolist()))
    if cell.statistic == "variance":
        return lambda data: float(laplacian.BoundedVariance(epsilon=cell.epsilon, **limits).quick_result(data.tolist()))
    q = float(cell.statistic)
    return lambda data: float(
        laplacian.Percentile(epsilon=cell.epsilon, percentile=q, **limits).quick_result(data.tolist())
    )
