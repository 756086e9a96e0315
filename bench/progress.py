"""What is being measured now, on standard error, so that standard output holds only the result."""

import sys


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def bar(share: float, message: str) -> None:
    """How much is done: one line that is written over in a terminal, a line for each tenth elsewhere."""
    done = min(max(share, 0.0), 1.0)
    if sys.stderr.isatty():
        text = f"[{'#' * int(20 * done):<20}] {100 * done:3.0f} %  {message}"
        print(f"\r{text[:119]:<119}", end="" if done < 1 else "\n", file=sys.stderr, flush=True)
    elif int(10 * done) > _LAST[0]:
        _LAST[0] = int(10 * done)
        say(f"{100 * done:3.0f} %  {message}")


_LAST = [-1]
