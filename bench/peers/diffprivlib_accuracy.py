"""diffprivlib: quantiles, mean and variance; one record is replaced, their number is public."""

from importlib.metadata import version

from diffprivlib import tools  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.accuracy_case import Cell, Estimator

WHO = f"diffprivlib {version('diffprivlib')}"


def estimator(cell: Cell) -> Estimator | None:
    if cell.change != "replace":
        return None
    bounds, epsilon = (0.0, float(cell.high)), cell.epsilon
    if cell.statistic == "mean":
        return lambda data: float(tools.mean(data, epsilon=epsilon, bounds=bounds))
    if cell.statistic == "variance":
        return lambda data: float(tools.var(data, epsilon=epsilon, bounds=bounds))
    return lambda data: float(tools.quantile(data, cell.statistic, epsilon=epsilon, bounds=bounds))
