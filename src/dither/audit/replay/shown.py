"""What is found in the data may be shown only where enough people have it: that is what δ pays for."""

from __future__ import annotations

from collections.abc import Iterable

from dither.audit.replay.calls import Call, Difference

__all__ = ["check_shown"]


def check_shown(call: Call) -> None:
    """Refuse groups or values that were shown with fewer people, noise and all, than the threshold asks for."""
    if call.kind not in ("groups", "discovered"):
        return
    threshold = call.terms["histogram"].threshold
    if any(count < threshold for count in _shown_counts(call)):
        raise Difference(
            f"in a call of the kind '{call.kind}' something is shown that fewer people have than the threshold."
        )


def _shown_counts(call: Call) -> Iterable[int]:
    if call.kind == "groups":
        return [count for table in call.answer for count in table.column(call.terms["people"]).to_pylist()]
    if isinstance(call.answer, list):  # of each group the counts and values
        return [count for group in call.answer for count, _ in group]
    _, counts = call.answer
    return [int(count) for count in counts]
