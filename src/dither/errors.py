"""Every exception of dither.

    DitherError
    ├── ParameterError (ValueError)      a value breaks a rule; the message says the rule, the name, the next step
    │   ├── NotANumberError              the value is not one finite number: NaN, ±inf, a bool, text such as "1e999"
    │   └── AdjacencyMismatch            two promises protect different things, so they cannot be combined
    ├── OverBudget (ValueError)          a release would pass the budget; nothing was charged
    ├── CertificateError (ValueError)    a certificate is not as dither writes it, promises too much, or is in no ledger
    ├── PrecisionError (ArithmeticError) two numbers could not be distinguished at the largest working precision
    ├── EntropyError (RuntimeError)      randomness could not be had safely
    ├── MissingPackage (ImportError)     a package that this part of dither needs is not installed
    ├── EngineError (RuntimeError)       the engine that holds the data could not answer
    └── LedgerError (RuntimeError)       the ledger could not be written, or is not what was written
        ├── LedgerConflict               (a ParameterError too) the ledger is sound, and says something else
        └── TooManyFailures              questions failed after their charge; the owner has to look

Messages name parameters and public values. They never contain data.
"""

from __future__ import annotations

__all__ = [
    "AdjacencyMismatch",
    "CertificateError",
    "DitherError",
    "EngineError",
    "EntropyError",
    "LedgerConflict",
    "LedgerError",
    "MissingPackage",
    "NotANumberError",
    "OverBudget",
    "ParameterError",
    "PrecisionError",
    "TooManyFailures",
]


class DitherError(Exception):
    """The root of all errors that dither raises on purpose."""


class ParameterError(DitherError, ValueError):
    """A value breaks a rule. Nothing was drawn and nothing was spent."""


class NotANumberError(ParameterError):
    """A value does not mean exactly one finite number."""


class AdjacencyMismatch(ParameterError):
    """Two promises are about different neighbouring datasets; the message names both."""


class OverBudget(DitherError, ValueError):
    """A release would pass the budget. Nothing was charged; the message says both figures."""


class CertificateError(DitherError, ValueError):
    """A certificate is refused.

    Parameters
    ----------
    part : str
        The field that is wrong, or "ledger".
    reason : str
        What is wrong with it.
    """

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part}: {reason}")
        self.part = part
        self._reason = reason

    def __reduce__(self) -> tuple[type[CertificateError], tuple[str, str]]:
        """Processes send errors to each other by pickle, which would call the class with the whole message."""
        return type(self), (self.part, self._reason)


class PrecisionError(DitherError, ArithmeticError):
    """Two numbers could not be distinguished at the largest working precision."""


class EntropyError(DitherError, RuntimeError):
    """Randomness could not be had safely, or the test switch was used where it must stay off."""


class MissingPackage(DitherError, ImportError):
    """A package is not installed that only some of dither needs. The message says how to install it."""


class EngineError(DitherError, RuntimeError):
    """The engine that holds the data could not answer; its own words are not repeated, as they may be data."""


class LedgerError(DitherError, RuntimeError):
    """The ledger could not be read or written, or it was tampered with. No answer was given."""


class LedgerConflict(LedgerError, ParameterError):
    """What is asked does not go together with what is written down: another budget, another question under a key.

    Nothing was written and nothing was charged.
    """


class TooManyFailures(LedgerError):
    """So many questions failed after their charge that none is taken until the owner resumes. Nothing was charged."""
