"""What is being measured now, on standard error, so that standard output holds only the result."""

import sys


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
