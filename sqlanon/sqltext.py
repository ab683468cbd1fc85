"""The one place where SQL text is put together: names quoted, values written as literals, files of sql/ filled in."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
FOLDER = _HERE / "sql" if (_HERE / "sql").is_dir() else _HERE.parent / "sql"
"""sql/: shipped inside the package, or the checkout's top-level folder."""


def name(identifier: str) -> str:
    """An identifier that DuckDB reads as exactly this name."""
    return '"' + identifier.replace('"', '""') + '"'


def names(identifiers: Iterable[str]) -> str:
    """Several identifiers, separated by commas."""
    return ", ".join(map(name, identifiers))


def fresh_name(what: str) -> str:
    """A name that nothing in any database has yet, for what is temporary."""
    return f"sqlanon_{what}_{secrets.token_hex(6)}"


def literal(value: Any) -> str:
    """A value as SQL: text, numbers, booleans, NULL, lists and maps of them."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, Mapping):
        return "MAP {" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(literal, value)) + "]"


def is_path(path: object) -> bool:
    """Could the operating system have a file of this name? Not with NUL or half a character (a lone surrogate)."""
    return "\0" not in str(path) and is_encodable(str(path))


def is_encodable(text: str) -> bool:
    """Can DuckDB be told this text? Half a character (a lone surrogate) has no bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def text(file: str) -> str:
    """The text of one file of sql/."""
    return (FOLDER / file).read_text(encoding="utf-8").strip()


def render(file: str, **fragments: str) -> str:
    """A file of sql/ with every __placeholder__ replaced by a fragment of SQL; a missing one is a KeyError.

    Placeholders are identifiers, so that every file is SQL as it lies there.
    """
    return fill(text(file), fragments)


def fill(template: str, fragments: Mapping[str, str]) -> str:
    """SQL with every __placeholder__ replaced, in one pass: a name or literal that looks like one stays as it is."""
    return PLACEHOLDER.sub(lambda found: fragments[found.group(1)], template)


PLACEHOLDER = re.compile(r"\b__([a-z]\w*?)__\b")


def fold(identifier: str) -> str:
    """The identifier as DuckDB compares it: ASCII letters without their case."""
    return identifier.translate(_FOLDED)


_FOLDED = {ord(letter): ord(letter) + 32 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def query_or_none(source: str) -> str | None:
    """The text without its closing semicolon if it is a query, None if it can only be a name."""
    stripped = source.strip().rstrip(";").rstrip()
    return stripped if _OPENING.match(stripped, _after_comments(stripped)) else None


_OPENING = re.compile(r"\(|(?:select|from|with|values|table|pivot|unpivot)(?=[\s(*'\"$\[{\-/])", re.IGNORECASE)
_SPACE = re.compile(r"\s+|--[^\n]*")
_COMMENT_MARK = re.compile(r"/\*|\*/")


def _after_comments(sql: str) -> int:
    """Where the first word begins, in time that grows with the length: comments in /* */ nest, as DuckDB reads them."""
    place = 0
    while True:
        if space := _SPACE.match(sql, place):
            place = space.end()
        elif sql.startswith("/*", place):
            depth = 0
            for mark in _COMMENT_MARK.finditer(sql, place):
                depth += 1 if mark[0] == "/*" else -1
                if depth == 0:
                    place = mark.end()
                    break
            else:
                return len(sql)
        else:
            return place


def split_name(qualified: str) -> list[str] | None:
    """The parts of `a."b.c".d` without their quotes, or None if the text is not a qualified name."""
    part = r'(?:"(?:[^"]|"")+"|[^".]+)'
    if not re.fullmatch(rf"{part}(\.{part})*", qualified):
        return None
    pieces = [
        piece[1:-1].replace('""', '"') if piece.startswith('"') else piece.strip()
        for piece in re.findall(part, qualified)
    ]
    return pieces if all(pieces) else None


def listed_names(text: str) -> list[str]:
    """The names in `age, "a, b", sex`: double quotes protect a comma, and a name may have a line break."""
    found = re.findall(r'\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)', text)
    names = [quoted.replace('""', '"') or bare for quoted, bare in found]
    return [each.strip() for each in names if each.strip()]


@dataclass(frozen=True)
class Cte:
    """A named step of a query."""

    name: str
    body: str
    materialized: bool = False

    @property
    def sql(self) -> str:
        """The step as it stands in the with clause."""
        return f"{self.name} as {'materialized ' if self.materialized else ''}(\n{self.body}\n)"


def with_ctes(ctes: Iterable[Cte], body: str) -> str:
    """A query that reads top to bottom, of those steps that it needs: DuckDB would parse and bind the others too."""
    steps = ",\n".join(cte.sql for cte in read_by(body, list(ctes)))
    return f"with {steps}\n{body}" if steps else body


def read_by(body: str, ctes: Sequence[Cte]) -> list[Cte]:
    """Those of the steps that a query reads, itself or through another: whichever it names, but in comments, literals
    and quotes, where no step stands."""
    words, read = _words(body), []
    for cte in reversed(ctes):
        if cte.name in words:
            read.append(cte)
            words |= _words(cte.body)
    return read[::-1]


def _words(sql: str) -> set[str]:
    """The words of a query; all of them where a user's own text is harder to read."""
    return set((_WORD if _HARD.search(sql) else _BARE_WORD).findall(sql))


_WORD = re.compile(r"\w+")
_BARE_WORD = re.compile(r"""--[^\n]*|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\w+)""")
_HARD = re.compile(r"/\*|\$\w*\$|\be'", re.IGNORECASE)
"""Comments that nest, and literals that a quote does not end."""


def answer_sql(kinds: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> str:
    """A query that answers with these rows, in columns of these names and types, even if there are none."""
    empty = ", ".join(f"cast(null as {kind}) as {name(column)}" for column, kind in kinds.items())
    queries = [f"select {empty} where false"]
    for row in rows:
        values = zip(row, kinds.values(), strict=True)
        queries.append("select " + ", ".join(f"cast({literal(value)} as {kind})" for value, kind in values))
    return f"from ({' union all '.join(queries)})"
