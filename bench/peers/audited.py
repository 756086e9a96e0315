"""Laplace noise of the peers at ε = 1, as the auditor sees it: an input and a number of runs."""

from importlib.metadata import version

import numpy as np
import opendp.prelude as opendp  # type: ignore[import-not-found,import-untyped,unused-ignore]
import pydp.algorithms.numerical_mechanisms as pydp  # type: ignore[import-not-found,import-untyped,unused-ignore]
from diffprivlib import mechanisms  # type: ignore[import-not-found,import-untyped,unused-ignore]
from numpy.typing import NDArray

from dither.audit.attack.target import AttackTarget

opendp.enable_features("contrib")


def targets() -> list[AttackTarget]:
    """Each is asked for a real number of sensitivity 1."""
    return [
        AttackTarget(f"OpenDP {version('opendp')}", _opendp),
        AttackTarget(f"diffprivlib {version('diffprivlib')}", _diffprivlib),
        AttackTarget(f"PyDP {version('python-dp')}", _pydp),
    ]


def _opendp(value: float, runs: int) -> NDArray[np.float64]:
    domain = opendp.vector_domain(opendp.atom_domain(T="f64", nan=False), size=runs)
    measurement = opendp.m.make_laplace(domain, opendp.l1_distance(T="f64"), scale=1.0)
    return np.array(measurement([value] * runs), dtype=np.float64)


def _diffprivlib(value: float, runs: int) -> NDArray[np.float64]:
    mechanism = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    return np.array([mechanism.randomise(value) for _ in range(runs)])


def _pydp(value: float, runs: int) -> NDArray[np.float64]:
    mechanism = pydp.LaplaceMechanism(1.0, 1.0)
    return np.array([mechanism.add_noise(value) for _ in range(runs)])
