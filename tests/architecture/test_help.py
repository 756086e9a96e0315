"""`help()` teaches how to call every public name: its docstring is in NumPy's format, and numpydoc validates it.

Checked everywhere (the codes are numpydoc's): there is a docstring (GL08) with known sections in the usual order (GL06,
GL07); the summary is one sentence on one line (SS01 to SS06); all parameters are documented, none that does not exist,
in the order of the signature, each with a type and a description (PR01 to PR07); what is returned is described (RT01,
RT03). A name that `import dither as dp` gives, and each of `dp.stats`, also has an example (EX01), which pytest runs.
"""

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import dither
from dither.exact import once
from tests.architecture.test_public_names import is_ours

# Modules whose public names have full help: what `import dither as dp` gives, and what that returns or takes.
COVERED = (
    "dither.accounting",
    "dither.accounting.noise_calibration",
    "dither.accounting.filters",
    "dither.accounting.risk",
    "dither.adaptive",
    "dither.adjacency",
    "dither.audit",
    "dither.audit.claims",
    "dither.audit.replay",
    "dither.audit.zoo",
    "dither.engine",
    "dither.engine.binning",
    "dither.engine.distribution_aggregates",
    "dither.engine.moment_aggregates",
    "dither.engine.period_release",
    "dither.engine.running_stream",
    "dither.engine.stream",
    "dither.errors",
    "dither.events",
    "dither.estimators",
    "dither.estimators.stats",
    "dither.exact",
    "dither.guarantees",
    "dither.ledger",
    "dither.mechanisms",
    "dither.noise",
    "dither.pairs",
    "dither.plots",
    "dither.sensitivity",
    "dither.tables.expression",
    "dither.testing",
    "dither.unit",
    "dither.web.client",
    "dither.workloads",
)

STATS = "dither.estimators.stats"

CHECKS = {
    *("GL06", "GL07", "GL08"),
    *("SS01", "SS02", "SS03", "SS04", "SS05", "SS06"),
    *("PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07"),
    *("RT01", "RT03"),
}
TOP_LEVEL_CHECKS = CHECKS | {"EX01"}
PROPERTY_CHECKS = CHECKS - {"RT01", "RT03"}  # a property is described by its summary


class PublicValidator(Validator):  # type: ignore[misc]
    """What is validated of one object; parameters whose names begin with an underscore are not for callers."""

    def __init__(self, obj_name: Any) -> None:
        super().__init__(get_doc_object(obj_name, config={"show_class_members": False}))

    @property
    def signature_parameters(self) -> tuple[str, ...]:
        if getattr(self.obj, "_is_protocol", False):
            return ()  # it is implemented, not called
        return tuple(name for name in super().signature_parameters if not name.startswith("_"))


@dataclass(frozen=True)
class Documented:
    """A public name, the object that has its docstring, and the checks that it must pass."""

    name: str
    value: Any
    checks: set[str]

    @property
    def faults(self) -> list[str]:
        found = validate(self.value, validator_cls=PublicValidator)["errors"]
        return [f"{self.name}: {code} {text}" for code, text in found if code in self.checks]


def documented(module_name: str) -> Iterator[Documented]:
    """The functions and classes that a module lists, with the public members that dither defines."""
    module = importlib.import_module(module_name)
    for name in module.__all__:
        value = getattr(module, name)
        if is_ours(value) and (inspect.isclass(value) or inspect.isroutine(value)):
            is_top_level = module_name == STATS or (name in dither.__all__ and getattr(dither, name) is value)
            yield Documented(f"{module_name}.{name}", value, TOP_LEVEL_CHECKS if is_top_level else CHECKS)
            if inspect.isclass(value):
                yield from members(f"{module_name}.{name}", value)


def members(owner_name: str, owner: type) -> Iterator[Documented]:
    """The methods and properties that a class has, inherited ones too, each where it is defined."""
    for name in dir(owner):
        home = next(base for base in owner.__mro__ if name in vars(base))
        member = vars(home)[name]
        if not name.startswith("_") and home.__module__.startswith("dither"):
            if isinstance(member, classmethod | staticmethod):
                yield Documented(f"{owner_name}.{name}", member.__func__, CHECKS)
            elif inspect.isfunction(member):
                yield Documented(f"{owner_name}.{name}", member, CHECKS)
            elif isinstance(member, property):
                yield Documented(f"{owner_name}.{name}", member.fget, PROPERTY_CHECKS)
            elif isinstance(member, once):
                yield Documented(f"{owner_name}.{name}", inspect.unwrap(member._compute), PROPERTY_CHECKS)


@pytest.mark.parametrize("module_name", COVERED)
def test_help_teaches_how_to_call_every_public_name(module_name: str) -> None:
    faults = [fault for found in documented(module_name) for fault in found.faults]
    assert faults == [], "\n".join(faults)


def test_every_top_level_name_is_covered() -> None:
    covered = {id(found.value) for module_name in COVERED for found in documented(module_name)}
    public = {name: getattr(dither, name) for name in dither.__all__}
    assert {name for name, value in public.items() if callable(value) and id(value) not in covered} == set()


def test_every_package_that_dp_gives_is_covered() -> None:
    given = (getattr(dither, name) for name in dither.__all__)
    assert {value.__name__ for value in given if inspect.ismodule(value)} <= set(COVERED)


def test_members_and_functions_are_found() -> None:
    names = {found.name for module_name in COVERED for found in documented(module_name)}
    laplace = "dither.mechanisms.Laplace"
    assert {laplace, f"{laplace}.release", f"{laplace}.guarantee", f"{laplace}.event", f"{laplace}.error"} <= names


def test_what_is_not_documented_would_be_seen() -> None:
    def silent(x: int) -> int:
        return x

    def incomplete(x: int, y: int) -> int:
        """Add one.

        Parameters
        ----------
        x : int
            A number.
        z : int
            Another one, of another function.
        """
        return x + y

    def complete(x: int) -> int:
        """Add one.

        Parameters
        ----------
        x : int
            A number.

        Returns
        -------
        int
            The next one.

        Examples
        --------
        >>> complete(1)
        2
        """
        return x + 1

    def codes(value: Any) -> set[str]:
        return {fault.split()[1] for fault in Documented("x", value, TOP_LEVEL_CHECKS).faults}

    assert codes(silent) == {"GL08"}
    assert codes(incomplete) == {"PR01", "PR02", "RT01", "EX01"}
    assert codes(complete) == set()
