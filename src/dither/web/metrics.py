"""Counts and budgets in the text format of Prometheus. Nothing in it was computed from rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dither.web.service import Service

__all__ = ["metrics_text"]

_Values = Mapping[tuple[str, ...], float]


def metrics_text(service: Service) -> str:
    """What happened since the start of this process, and how each dataset stands."""
    real = {name: each.account for name, each in service.offered.items() if not each.is_practice}
    left: _Values = {
        (name, figure): float(amount) for name, account in real.items() for figure, amount in account.remaining.items()
    }
    unanswered: _Values = {(name,): float(account.failures.unanswered) for name, account in real.items()}
    events: _Values = {(name,): float(count) for name, count in sorted(dict(service.counts).items())}
    lines = [
        *_metric("dither_events_total", "counter", "What the service did.", ("event",), events),
        *_metric("dither_budget_remaining", "gauge", "What is left of a budget.", ("dataset", "figure"), left),
        *_metric(
            "dither_unanswered", "gauge", "Questions without an answer after their charge.", ("dataset",), unanswered
        ),
    ]
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, about: str, labels: tuple[str, ...], values: _Values) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for found, value in values.items():
        said = ",".join(f'{label}="{_escaped(each)}"' for label, each in zip(labels, found, strict=True))
        yield f"{name}{{{said}}} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
