"""diffprivlib: permute-and-flip over a list of utilities."""

from importlib.metadata import version

from diffprivlib.mechanisms import PermuteAndFlip  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.timing import Work


def permute_and_flip(scores: list[float], epsilon: float) -> Work:
    mechanism = PermuteAndFlip(epsilon=epsilon, sensitivity=1, utility=scores)
    who = f"diffprivlib {version('diffprivlib')} permute-and-flip"
    return Work(who, len(scores), mechanism.randomise)
