"""What is measured of the ledger."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Writing:
    """So many durable charges in so much wall and CPU time, by so many writers; `sync` is one fsync on the same disk.

    `off` is how many charges were granted beyond the cap or refused before it.
    """

    writers: int
    charges: int
    seconds: float
    cpu: float
    sync: float
    off: int

    @property
    def rate(self) -> float:
        """Charges per second."""
        return self.charges / self.seconds

    @classmethod
    def best(cls, runs: Iterable["Writing"]) -> "Writing":
        """The fastest of several runs, with the charges that were wrong in any of them."""
        found = list(runs)
        fastest = max(found, key=lambda each: each.rate)
        return cls(**{**asdict(fastest), "off": sum(each.off for each in found)})

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Writing":
        return cls(**json.loads(line))
