"""SQL, compiled to the questions of Python.

    text ──► parsing ──► syntax tree ──► selection ──► Query, aggregates      (what is charged and answered)
                                                  └──► after_noise            (what is done with noisy answers)

Nothing of the text reaches an engine: the tree is walked by a whitelist, and what is asked is built by the methods of
`Query` that Python users call. So a text costs what its question in Python costs, and everything that protects that
question protects this one. What is not on the whitelist is refused by name, before anything is charged.
"""

from __future__ import annotations

from dither.engine.sql.question import SqlQuestion, question_of

__all__ = ["SqlQuestion", "question_of"]
