"""Every question of a project: replayed on many pairs of made-up neighbours, and attacked on the worst of them.

No data is read and nothing is charged. A replay is certain where it finds something; the attacks share one `alpha`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

from dither.audit.attack.lower_bound import FEWEST_SAMPLES, attack
from dither.audit.attack.target import AttackTarget
from dither.audit.attack.verdict import Verdict
from dither.audit.project.made_up_tables import Neighbours, Side
from dither.audit.project.mentioned_columns import Inquiry, pools
from dither.audit.project.staged_question import Stage, staged
from dither.audit.replay import replay
from dither.engine.group_sensitivity import Added
from dither.errors import EngineError, ParameterError
from dither.exact import Number, check, rational
from dither.ledger.budget import Budget, amounts
from dither.unit import Person, TableUnit

__all__ = ["Examined", "examine"]

_RUNS, _NUMBERS = 300_000, 30_000_000
"""Of an attack at most, and what they draw together at most, where noise is added to many numbers at once."""
_FEW_RUNS, _CHOICES = 4_000, 20_000
"""The same where something is chosen for each group by itself, which takes a thousand times as long."""
_FEWEST_RUNS = 1_000
_SHARE_OF_REPLAY = 0.7
"""Of the time, for the bar."""
_FAILS = "the question fails on both tables, and is answered on others: an error distinguishes some neighbours."
_ENTRY = re.compile(r"entry (\d+)")

Progress = Callable[[float], object]


@dataclass(frozen=True)
class Examined:
    """What was found of one question."""

    question: str
    claim: Budget
    """What a release of it costs, by its own words and by the ledger."""
    replayed: int
    """How many pairs of neighbours were replayed."""
    difference: str | None
    """What a replay found, in words; None if all neighbours were treated alike, up to what is paid."""
    neighbours: tuple[Side, Side] | None
    """The two tables on which it found that."""
    verdict: Verdict | None
    """What the attack found; None if no table could be opened."""
    target: AttackTarget = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    """What each entry of an answer is."""

    @property
    def violated(self) -> bool:
        """Whether the claim is wrong: certainly by a replay, up to alpha by an attack."""
        return self.difference is not None or (self.verdict is not None and self.verdict.violated)

    @property
    def lower_bound(self) -> float:
        """No ε below this one is true, at the δ of the claim."""
        return 0.0 if self.verdict is None else self.verdict.lower_bound

    @property
    def witness(self) -> str | None:
        """The event of the attack and how often it happened, with the numbers of the answer by their names."""
        if self.verdict is None:
            return None
        words = str(self.verdict.witness)
        if len(self.labels) == 1:
            return words.replace("the answer", self._label(1))
        return _ENTRY.sub(lambda found: self._label(int(found[1])), words)

    def _label(self, entry: int) -> str:
        return self.labels[entry - 1] if entry <= len(self.labels) else f"entry {entry}"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "question": self.question,
            "claim": repr(self.claim),
            "violated": self.violated,
            "replayed_pairs": self.replayed,
            "difference": self.difference,
            "neighbours": None if self.neighbours is None else [each.words for each in self.neighbours],
            "lower_bound": self.lower_bound,
            "attack": None if self.verdict is None else self.verdict.as_dict(),
            "witness": self.witness,
        }


def examine(
    questions: Mapping[str, Inquiry],
    unit: TableUnit,
    kinds: Mapping[str, str],
    *,
    written: bool,
    pairs: int = 24,
    samples: int | None = None,
    alpha: Number = Fraction(1, 10**6),
    progress: Progress | None = None,
) -> list[Examined]:
    """Try to prove wrong what the questions of a project promise.

    `kinds` are those of columns, where they are stated; `written`, whether the source has texts alone. So many
    `pairs` are replayed for each question, and those of them that are worst cases by design are attacked. `samples` are
    runs a side for each question (as many as its noise is quick to draw, unless given), and `alpha` is the chance that
    any right question is accused. It needs the test switch: start Python with DITHER_TEST_DOOR=open.
    """
    share = rational(alpha, "alpha") / max(len(questions), 1)
    check.between(0, 1, alpha=rational(alpha, "alpha"))
    check.count(pairs=pairs)
    if samples is not None:  # the attack would refuse too few, after all replays; it has too few pairs to ask for more
        check.count(least=FEWEST_SAMPLES, samples=samples)
    person = unit.column if isinstance(unit, Person) else None
    for name, asked in questions.items():  # all are planned before one is tried, as what is found by then would be lost
        with _on_stage(name, asked, unit, kinds, person, written):
            pass
    found = []
    for number, (name, asked) in enumerate(questions.items()):
        with _on_stage(name, asked, unit, kinds, person, written) as (stage, tables):
            whole = _Examination(name, stage, tables, pairs, samples, share, _part(progress, number, len(questions)))
            found.append(whole.examined())
    return found


@contextmanager
def _on_stage(
    name: str, asked: Inquiry, unit: TableUnit, kinds: Mapping[str, str], person: str | None, written: bool
) -> Iterator[tuple[Stage, Neighbours]]:
    """The question, planned, and the tables that are made up for it; what is refused is refused by its name."""
    try:
        tables = Neighbours(pools([asked], kinds, person, written=written), unit, _grouping(asked), written)
        with (
            tempfile.TemporaryDirectory() as folder,
            staged(asked, unit, tables.empty(), Path(folder), written=written) as stage,
        ):
            yield stage, tables
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def _grouping(asked: Inquiry) -> frozenset[str]:
    """The columns of the source by which is grouped, or by which a column of a public table was found that groups."""
    if asked.per_person:
        return frozenset()
    found_by = {name: on for on, table in asked.public.items() for name in table.column_names}
    plain = (each for each in asked.group_by if isinstance(each, str) and each not in asked.columns)
    return frozenset(found_by.get(each, each) for each in plain)


def _part(progress: Progress | None, number: int, count: int) -> Progress:
    return (lambda share: None) if progress is None else (lambda share: progress((number + share) / count))


@dataclass(frozen=True)
class _Examination:
    """Of one question."""

    name: str
    stage: Stage
    tables: Neighbours
    pairs: int
    samples: int | None
    alpha: Fraction
    progress: Progress

    def examined(self) -> Examined:
        discovery = self.stage.plan.discovery
        tables = self.tables if discovery is None else replace(self.tables, shown_from=discovery.threshold)
        pairs = list(islice(tables.pairs(seed=1), self.pairs))
        difference, replayed = None, 0
        for pair in pairs:
            difference = self._difference(pair, pairs[:replayed])
            replayed += 1
            self.progress(_SHARE_OF_REPLAY * replayed / len(pairs))
            if difference is not None:
                break
        worst = pairs[: tables.designed] if difference is None else [pairs[replayed - 1]]
        target = AttackTarget(self.name, self.stage.many)
        return Examined(
            self.name,
            self.stage.plan.cost,
            replayed,
            difference,
            None if difference is None else worst[0],
            self._shown_by_answers(target, worst) if difference is not None else self._attacked(target, worst),
            target,
            tuple(self.stage.labels),
        )

    def _difference(self, pair: tuple[Side, Side], answered: Sequence[tuple[Side, Side]]) -> str | None:
        """What a replay finds. An error on both sides is a difference too, where tables like these have an answer.

        From a table that is answered to one that is not there is a way by single persons or rows, and on some step of
        it the error appears; where rows are replaced, the way goes through tables of one size.
        """
        verdict = replay(self.stage.release, *pair, seed=len(answered))
        if not (verdict.passed and isinstance(verdict.result, Exception)):
            return verdict.difference
        sizes = {side.table.num_rows for each in answered for side in each}
        if pair[0].table.num_rows in sizes or (sizes and self.tables.unit.adjacency.change != "replace"):
            return _FAILS
        raise EngineError(
            "the question is not answered even on a made-up table. Check that the machine has memory and disk."
        )

    def _shown_by_answers(self, target: AttackTarget, pair: list[tuple[Side, Side]]) -> Verdict | None:
        """The attack on a pair by which the question is refuted already; None if what is broken gives no answers."""
        if not all(self.stage.is_open(side) for side in pair[0]):
            return None
        try:
            return self._attacked(target, pair)
        except Exception:  # whatever a broken engine raises
            return None

    def _attacked(self, target: AttackTarget, pairs: list[tuple[Side, Side]]) -> Verdict:
        plan = self.stage.plan
        is_quick = all(isinstance(part.noise, Added) for part in plan.parts.values())
        most, drawn = (_RUNS, _NUMBERS) if is_quick else (_FEW_RUNS, _CHOICES)
        runs = max(_FEWEST_RUNS, min(most, drawn // (self.stage.groups * len(plan.parts))))
        return attack(
            target,
            pairs,
            claim=plan.cost,
            delta=amounts(plan.cost).get("delta", 0),
            samples=runs if self.samples is None else self.samples,
            alpha=self.alpha,
            progress=lambda share: self.progress(_SHARE_OF_REPLAY + (1 - _SHARE_OF_REPLAY) * share),
        )
