"""What is measured of the ledger."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Writing:
    """So many durable charges in so much wall time, by so many processes; `sync` is one fsync on the same disk.

    `off` is how many charges were granted beyond the cap or refused before it.
    """

    writers: int
    charges: int
    seconds: float
    sync: float
    off: int

    @property
    def rate(self) -> float:
        """Charges per second."""
        return self.charges / self.seconds

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Writing":
        return cls(**json.loads(line))
