"""When answers are given, and how many requests are taken.

How long an answer takes depends on the rows. So answers and refusals of a release are given at multiples of a fixed
period after the question came: what is left to see is the number of periods (docs/threat_model.md).
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field

__all__ = ["Limits", "wait_for"]

_MOST_CALLERS = 10_000


def wait_for(began: float, period: float, now: float) -> float:
    """Seconds until the next multiple of the period after `began`; at least one period passes in any case.

    >>> wait_for(began=10.0, period=1.0, now=12.25)
    0.75
    """
    if not period > 0:
        return 0.0
    return max(0.0, began + period * max(1, math.ceil((now - began) / period)) - now)


@dataclass
class Limits:
    """So many requests a second of each caller, with a burst of two seconds' worth."""

    per_second: float
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)
    _gate: threading.Lock = field(default_factory=threading.Lock)

    def allow(self, caller: str) -> bool:
        """Whether one more request of this caller is taken now."""
        now, most = time.monotonic(), 2 * self.per_second
        with self._gate:
            if len(self._left) > _MOST_CALLERS:
                self._left.clear()
            left, at = self._left.get(caller, (most, now))
            left = min(most, left + (now - at) * self.per_second)
            self._left[caller] = (left - 1 if left >= 1 else left, now)
            return left >= 1
