"""diffprivlib: quantiles, sum, mean and variance; one record is replaced, their number is public."""

from importlib.metadata import version

from diffprivlib import tools  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.accuracy_case import Estimator, Setting

WHO = f"diffprivlib {version('diffprivlib')}"
MOMENTS = {"sum": tools.sum, "mean": tools.mean, "variance": tools.var}


def estimator(setting: Setting) -> Estimator | None:
    question = setting.question
    if setting.change != "replace" or setting.bounds is None:
        return None
    given = {"epsilon": setting.epsilon, "bounds": setting.bounds}
    if question.statistic == "quantile":
        return lambda data: float(tools.quantile(data, question.q, **given))
    return lambda data: float(MOMENTS[question.statistic](data, **given))
