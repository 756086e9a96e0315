"""The one way in which an answer is written, and its digest: so a certificate can tell to which answer it belongs.

An answer is written as CSV in UTF-8, as `tidy` shapes it: what `--out answer.csv` holds. The digest is SHA-256 of these
bytes, whether lines end as on Unix or on Windows. They are noisy and were paid for, so whoever sees the digest learns
nothing that the answer does not tell. Of a single number it may tell the number itself, as there are few to try.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv

__all__ = ["answer_digest", "is_digest", "written_answer"]

_FORM: Final = re.compile("sha256:[0-9a-f]{64}")


def written_answer(table: pa.Table) -> bytes:
    """A table without lists as CSV."""
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(table, sink)
    return bytes(sink.getvalue())


def answer_digest(written: bytes) -> str:
    """What the certificate states of an answer that was written so."""
    return f"sha256:{hashlib.sha256(written.replace(bytes([13, 10]), bytes([10]))).hexdigest()}"


def is_digest(says: Any) -> bool:
    """Whether this is such a digest."""
    return isinstance(says, str) and _FORM.fullmatch(says) is not None
