"""From a SQL text to a syntax tree, and the options of BigQuery that the parser does not know.

The parser is sqlglot's, in its general dialect; backticks quote names as well as double quotes do. Two things of
BigQuery are taken out as tokens before: `WITH DIFFERENTIAL_PRIVACY OPTIONS(...)` after SELECT, and the bounds of an
aggregate, `AVG(x, contribution_bounds_per_row => (0, 100))`, which becomes `AVG(PER_ROW(x, 0, 100))`.

Texts are refused that are long, or deeply nested: reading one takes milliseconds, whatever it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlglot.tokens
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from dither.errors import ParameterError
from dither.exact import is_unicode

__all__ = ["PER_GROUP", "PER_ROW", "Parsed", "parsed"]

PER_ROW: Final = "PER_ROW"
PER_GROUP: Final = "PER_GROUP"
_BOUNDS: Final = {"contribution_bounds_per_row": PER_ROW, "contribution_bounds_per_group": PER_GROUP}
_OPTIONS: Final = ("epsilon", "delta", "max_groups_contributed", "privacy_unit_column")
_LONGEST: Final = 50_000
_MOST_TOKENS: Final = 3_000
_MOST_LEVELS: Final = 60
_TOO_DEEP: Final = "this SQL text is nested too deeply. Name its parts by WITH ... AS, or write it flatter."


class _General(Dialect):
    """The general dialect of sqlglot; names may be quoted as in standard SQL, or as in BigQuery and MySQL.

    NULL comes last in ORDER BY unless the text says otherwise, as in DuckDB.
    """

    NULL_ORDERING = "nulls_are_last"

    class Tokenizer(sqlglot.tokens.Tokenizer):
        """It finds the words."""

        IDENTIFIERS = ['"', "`"]  # noqa: RUF012 - read so by sqlglot
        KEYWORDS = {  # noqa: RUF012 - BigQuery's names of numbers besides
            **sqlglot.tokens.Tokenizer.KEYWORDS, "FLOAT64": TokenType.DOUBLE, "INT64": TokenType.BIGINT
        }  # fmt: skip


@dataclass(frozen=True)
class Parsed:
    """One SELECT, and what its OPTIONS say."""

    tree: exp.Expr
    options: Mapping[str, Any] = field(default_factory=dict)


def parsed(text: str) -> Parsed:
    """Read a text; whatever is wrong with it is refused in one sentence."""
    if not isinstance(text, str):
        raise ParameterError(f"sql takes a text such as 'SELECT COUNT(*) FROM data', got {type(text).__name__}.")
    if len(text) > _LONGEST:
        raise ParameterError(f"a SQL text has at most {_LONGEST} characters, got {len(text)}.")
    if not is_unicode(text):
        raise ParameterError("a SQL text must be Unicode, and this one holds half of a surrogate pair.")
    try:
        tokens = _General().tokenize(text)
    except TokenError:
        raise ParameterError("this SQL text ends within a quote or a comment. Close it.") from None
    if len(tokens) > _MOST_TOKENS:
        raise ParameterError(f"a SQL text has at most {_MOST_TOKENS} words and signs, got {len(tokens)}.")
    if any("\0" in token.text for token in tokens if token.token_type is not TokenType.STRING):
        raise ParameterError("names in a SQL text hold no NUL, at which some engines end them.")
    if tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens = tokens[:-1]
    if not tokens or tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
        raise ParameterError("SQL questions begin with SELECT, or with WITH ... AS (...) SELECT.")
    tokens, options = _without_options(tokens)
    return Parsed(_tree(_with_bounds(tokens), text), options)


def _tree(tokens: Sequence[Token], text: str) -> exp.Expr:
    try:
        trees = _General().parser().parse(list(tokens), text)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        said = str(first.get("description") or "it is not SQL").partition(" but got <")[0].rstrip(".")
        raise ParameterError(
            f"this SQL text cannot be read at line {first.get('line', 1)}, near column {first.get('col', 1)}: {said}."
        ) from None
    except RecursionError:
        raise ParameterError(_TOO_DEEP) from None
    if len(trees) != 1 or trees[0] is None:
        raise ParameterError(f"one SELECT is answered at a time, and this text has {len(trees)} statements.")
    _not_too_deep(trees[0])
    return trees[0]


def _not_too_deep(tree: exp.Expr) -> None:
    level = [tree]
    for _ in range(_MOST_LEVELS):
        level = [child for node in level for child in node.iter_expressions()]
    if level:
        raise ParameterError(_TOO_DEEP)


def _without_options(tokens: list[Token]) -> tuple[list[Token], dict[str, Any]]:
    """The tokens without `WITH DIFFERENTIAL_PRIVACY OPTIONS(...)`, and what stands there."""
    for at in range(len(tokens) - 2):
        words = [token.text.upper() for token in tokens[at : at + 3]]
        if words == ["SELECT", "WITH", "DIFFERENTIAL_PRIVACY"]:
            break
    else:
        return tokens, {}
    if sum(map(_step, tokens[:at])) > 0:
        raise ParameterError("WITH DIFFERENTIAL_PRIVACY stands behind the outermost SELECT: there is the noise.")
    after = at + 3
    if [token.text.upper() for token in tokens[after : after + 2]] != ["OPTIONS", "("]:
        return [*tokens[: at + 1], *tokens[after:]], {}
    end = _closing(tokens, after + 1)
    return [*tokens[: at + 1], *tokens[end + 1 :]], _options(tokens[after + 2 : end])


def _options(tokens: Sequence[Token]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for said in _split(tokens):
        name = said[0].text.lower() if said else ""
        if name not in _OPTIONS:
            raise ParameterError(f"OPTIONS takes {', '.join(_OPTIONS)}; {name!r} is none of these.")
        if len(said) < 3 or said[1].token_type is not TokenType.EQ or name in found:
            raise ParameterError(f"OPTIONS takes each option once, as in {name}=1.")
        found[name] = "".join(token.text for token in said[2:])
    return found


def _with_bounds(tokens: list[Token]) -> list[Token]:
    """The tokens with each `f(x, contribution_bounds_per_row => (a, b))` written as `f(PER_ROW(x, a, b))`."""
    at = 1
    while at + 2 < len(tokens):
        name = _BOUNDS.get(tokens[at].text.lower())
        if name is None or tokens[at - 1].token_type is not TokenType.COMMA or tokens[at + 1].text != "=>":
            at += 1
            continue
        begin, end = _opening(tokens, at - 1), _closing(tokens, at + 2)
        ends = list(tokens[at + 3 : end])
        call = _like(tokens[at], TokenType.VAR, name), _like(tokens[at], TokenType.L_PAREN, "(")
        within = [*call, *tokens[begin + 1 : at], *ends, _like(tokens[at], TokenType.R_PAREN, ")")]
        tokens = [*tokens[: begin + 1], *within, *tokens[end + 1 :]]
        at = begin + len(within)
    return tokens


def _like(token: Token, of: TokenType, text: str) -> Token:
    return Token(of, text, token.line, token.col, token.start, token.end)


def _opening(tokens: Sequence[Token], at: int) -> int:
    """The place of the parenthesis that is open at a token."""
    depth = 0
    for place in range(at, -1, -1):
        depth += _step(tokens[place])
        if depth == 1:
            return place
    raise ParameterError("contribution bounds stand within the parentheses of an aggregate.")


def _closing(tokens: Sequence[Token], at: int) -> int:
    """The place of the parenthesis that closes the one at a token."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += _step(tokens[place])
        if depth == 0:
            return place
    raise ParameterError("a parenthesis of this SQL text is not closed.")


def _step(token: Token) -> int:
    return {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Parts between commas."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.COMMA:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if tokens else []
