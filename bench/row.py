"""One line of a comparison: ours, theirs, and how many times better ours is."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

Verdict = Literal["holds", "MISSED", "-"]


@dataclass(frozen=True, slots=True)
class Row:
    """`ratio` > 1 means that ours is better; `asked` is the smallest ratio that is good enough."""

    case: str
    ours: float
    peer: str
    peer_value: float
    ratio: float
    asked: float | None
    unit: str

    @property
    def verdict(self) -> Verdict:
        """Whether the asked ratio is reached; NaN never reaches anything."""
        if self.asked is None:
            return "-"
        return "holds" if self.ratio >= self.asked else "MISSED"

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> "Row":
        return cls(**json.loads(line))


def more_is_better(case: str, *, ours: float, peer: str, peer_value: float, asked: float | None, unit: str) -> Row:
    """A row of rates, such as samples per second: ratio = ours / theirs."""
    return Row(case, ours, peer, peer_value, ours / peer_value, asked, unit)


def less_is_better(case: str, *, ours: float, peer: str, peer_value: float, asked: float | None, unit: str) -> Row:
    """A row of costs, such as seconds or megabytes: ratio = theirs / ours."""
    return Row(case, ours, peer, peer_value, peer_value / ours, asked, unit)


def none_allowed(case: str, *, found: int, unit: str) -> Row:
    """A row of things that must not be there: the ratio is 1 if there are none, else 0."""
    return Row(case, float(found), "limit", 0.0, 0.0 if found else 1.0, 1.0, unit)
