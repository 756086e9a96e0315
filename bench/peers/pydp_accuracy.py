"""PyDP: counts, percentiles, bounded sum, mean and variance; one record is added or removed."""

from importlib.metadata import version

from pydp.algorithms import laplacian  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.accuracy_case import Estimator, Setting

WHO = f"PyDP {version('python-dp')}"
MOMENTS = {"sum": laplacian.BoundedSum, "mean": laplacian.BoundedMean, "variance": laplacian.BoundedVariance}


def estimator(setting: Setting) -> Estimator | None:
    question = setting.question
    if setting.change != "add or remove" or setting.bounds is None or question.statistic == "top":
        return None
    if question.statistic == "count":
        return lambda data: float(laplacian.Count(epsilon=setting.epsilon, dtype="float").quick_result(data.tolist()))
    low, high = setting.bounds
    given = {"epsilon": setting.epsilon, "lower_bound": low, "upper_bound": high, "dtype": "float"}
    if question.statistic == "quantile":
        return lambda data: float(laplacian.Percentile(percentile=question.q, **given).quick_result(data.tolist()))
    return lambda data: float(MOMENTS[question.statistic](**given).quick_result(data.tolist()))
