"""GROUP BY → the sets of groups that it asks for: one, or with ROLLUP, CUBE and GROUPING SETS several."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from dither.engine.grouping_sets import MOST_SETS
from dither.engine.sql.refusal import refused

__all__ = ["sets_of"]

_SEVERAL: Final = ("rollup", "cube", "grouping_sets")
_GROUP_BY: Final = "GROUP BY"


def sets_of(group: exp.Group) -> list[list[exp.Expr]]:
    """The columns of each set, as they are written: all combinations of what the parts of GROUP BY ask for."""
    extra = [name for name, said in group.args.items() if said and name not in ("expressions", *_SEVERAL)]
    if extra:
        raise refused(group, f"{extra[0].upper()} is not answered. Name the columns.", _GROUP_BY)
    plain = list(group.expressions)
    parts = [(kind, each.expressions) for kind in _SEVERAL for each in group.args.get(kind) or []]
    if len(parts) == 1 and not parts[0][1]:  # GROUP BY a, b WITH ROLLUP
        parts, plain = [(parts[0][0], plain)], []
    sizes = [2 ** len(members) if kind == "cube" else len(members) + 1 for kind, members in parts]
    if math.prod(sizes) > MOST_SETS:
        raise refused(group, f"these are more than {MOST_SETS} sets of groups. Ask for fewer of them.", _GROUP_BY)
    members = [(kind, [_columns(each) for each in members]) for kind, members in parts]
    choices = itertools.product(*(_sets(kind, each) for kind, each in members))
    found = [[*plain, *itertools.chain(*each)] for each in choices]
    for each in found:
        if len(set(each)) < len(each):
            twice = next(node for node in each if each.count(node) > 1)
            raise refused(group, f"{twice.sql()[:60]!r} is grouped by twice.", _GROUP_BY)
    if len({frozenset(each) for each in found}) < len(found):
        raise refused(group, "a set of groups stands there twice. Name each once.", _GROUP_BY)
    return found


def _columns(node: exp.Expr) -> list[exp.Expr]:
    """What stands in parentheses together, as in ROLLUP ((a, b), c)."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this] if isinstance(node, exp.Paren) else [node]


def _sets(kind: str, members: Sequence[list[exp.Expr]]) -> list[list[exp.Expr]]:
    """The longest first, so that totals come after what they are of."""
    if kind == "grouping_sets":
        return list(members)
    if kind == "rollup":
        chosen = [members[:count] for count in range(len(members), -1, -1)]
    else:
        chosen = [list(each) for size in range(len(members), -1, -1) for each in itertools.combinations(members, size)]
    return [list(itertools.chain(*each)) for each in chosen]
