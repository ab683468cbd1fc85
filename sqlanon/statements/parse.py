"""sqlanon's own statements, read with sqlglot's tokenizer. Everything that is not one of them stays as it was written.

CREATE [OR REPLACE] ANONYMIZED VIEW|TABLE name AS <select> OPTIONS (k = 5, quasi = [age, zip], ...)
DROP ANONYMIZED VIEW|TABLE [IF EXISTS] name
REFRESH ANONYMIZED VIEW name
ERASE 17, 18 FROM ANONYMIZED VIEW name
PUBLISH name TO 'file.duckdb' | 'file.parquet' | 'file.csv' [REPLACE] [OPTIONS (max_unique = 1)]
CREATE [OR REPLACE] HIERARCHY name FROM 'file.csv' | FROM TABLE t | FROM EDGES t | AS SELECT leaf, level1, ...
    | USING INTERVALS (5, 10, 20) [ANCHOR 0] [BELOW 18] [ABOVE 80] [ON t.c]
    | USING PREFIX [ON t.c] | USING DATES [ON t.c] | FLAT ON t.c
DROP HIERARCHY [IF EXISTS] name
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from sqlanon.errors import StatementError, did_you_mean
from sqlanon.sqltext import name as quoted

_OURS = re.compile(r"\b(anonymi[zs]ed|hierarchy|publish)\b", re.IGNORECASE)
_HIERARCHY_WAYS = ("FROM", "AS", "USING", "FLAT")
T = TypeVar("T")
QUOTED = ("STRING", "IDENTIFIER", "HEREDOC_STRING", "NATIONAL_STRING")
"""The kinds of tokens that are not words, as sqlglot names them."""
DEEPEST = 20
"""How deep lists and maps may nest in an option."""
_RULES = ("INTERVALS", "PREFIX", "DATES")


@dataclass(frozen=True)
class Plain:
    """A statement for DuckDB, byte for byte."""

    sql: str


@dataclass(frozen=True)
class CreateRelease:
    """CREATE ANONYMIZED VIEW or TABLE."""

    name: str
    kind: str
    replace: bool
    select: str
    options: dict[str, Any]


@dataclass(frozen=True)
class DropRelease:
    """DROP ANONYMIZED VIEW or TABLE."""

    name: str
    kind: str
    missing_ok: bool


@dataclass(frozen=True)
class RefreshRelease:
    """REFRESH ANONYMIZED VIEW."""

    name: str


@dataclass(frozen=True)
class ErasePeople:
    """ERASE ... FROM ANONYMIZED VIEW: values of the identity, or lists of them where it has several columns."""

    name: str
    people: list[Any]


@dataclass(frozen=True)
class Publish:
    """PUBLISH ... TO, with the options of `release.publish`."""

    name: str
    path: str
    replace: bool
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CreateHierarchy:
    """CREATE HIERARCHY, with the arguments of create_hierarchy."""

    name: str
    replace: bool
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DropHierarchy:
    """DROP HIERARCHY."""

    name: str
    missing_ok: bool


Statement = (
    Plain | CreateRelease | DropRelease | RefreshRelease | ErasePeople | Publish | CreateHierarchy | DropHierarchy
)


def parse(sql: str) -> list[Statement]:
    """The statements of a script. A script without any of ours is one Plain with the whole text."""
    if not _OURS.search(sql):
        return [Plain(sql)]
    tokens = _tokens(sql)
    if tokens is None:
        return [Plain(sql)]  # what sqlglot cannot read is DuckDB's to explain
    statements: list[Statement] = []
    for part in _split(tokens):
        reader = _Reader(sql, part)
        statements.append(_parse_one(reader))
    return [Plain(sql)] if all(isinstance(statement, Plain) for statement in statements) else statements


def split_script(text: str) -> tuple[list[str], str]:
    """The complete statements of a script, each with its semicolon, and the unfinished rest."""
    tokens = _tokens(text)
    if tokens is None:
        return [], text
    ends = [token.end + 1 for token in tokens if _kind(token) == "SEMICOLON"]
    starts = [0, *ends]
    return [text[start:end] for start, end in zip(starts, ends, strict=False)], text[starts[-1] :]


def _tokens(sql: str) -> list[Any] | None:
    """The tokens, None where there is no reading. sqlglot is slow to import and only our own statements need it."""
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.errors import TokenError

    try:
        return list(DuckDB().tokenize(sql))
    except TokenError:
        return None


def _kind(token: Any) -> str:
    return str(token.token_type.name)


def _split(tokens: list[Any]) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for token in tokens:
        if _kind(token) == "SEMICOLON":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


ANONYMIZED = ("ANONYMIZED", "ANONYMISED")
"""American and British."""


def _parse_one(reader: _Reader) -> Statement:
    replace = False
    if reader.accept("CREATE"):
        replace = reader.accept("OR", "REPLACE")
        if reader.accept_any(*ANONYMIZED):
            return _create_release(reader, replace)
        if reader.accept("HIERARCHY"):
            return _create_hierarchy(reader, replace)
    elif reader.accept("DROP"):
        if reader.accept_any(*ANONYMIZED):
            kind = reader.one_of("VIEW", "TABLE").lower()
            missing_ok = reader.accept("IF", "EXISTS")
            return reader.done(DropRelease(reader.name("the release's name"), kind, missing_ok))
        if reader.accept("HIERARCHY"):
            missing_ok = reader.accept("IF", "EXISTS")
            return reader.done(DropHierarchy(reader.plain_name("the hierarchy's name"), missing_ok))
    elif any(reader.accept("REFRESH", word) for word in ANONYMIZED):
        reader.one_of("VIEW")
        return reader.done(RefreshRelease(reader.name("the release's name")))
    elif reader.accept("ERASE"):
        people = reader.values()
        reader.one_of("FROM")
        reader.one_of("ANONYMIZED")
        reader.one_of("VIEW")
        return reader.done(ErasePeople(reader.name("the release's name"), people))
    elif reader.accept("PUBLISH"):
        name = reader.name("the release's name")
        reader.one_of("TO")
        path, replace = reader.string("'file.duckdb'"), reader.accept("REPLACE")
        return reader.done(Publish(name, path, replace, reader.options() if reader.accept("OPTIONS") else {}))
    return Plain(reader.text())


def _create_release(reader: _Reader, replace: bool) -> CreateRelease:
    kind = reader.one_of("VIEW", "TABLE").lower()
    name = reader.name("the release's name")
    reader.one_of("AS")
    begin = reader.here
    end = reader.find_last("OPTIONS")
    if end is None:
        reader.fail("OPTIONS (k = 5, quasi = [...]) is missing at the end", at_end=True)
    if end == begin:
        reader.fail("A SELECT is missing between AS and OPTIONS")
    select = reader.slice(begin, end)
    reader.here = end + 1
    options = reader.options()
    return reader.done(CreateRelease(name, kind, replace, select, options))


def _create_hierarchy(reader: _Reader, replace: bool) -> CreateHierarchy:
    name = reader.plain_name("the hierarchy's name")
    way = reader.one_of(*_HIERARCHY_WAYS)
    arguments: dict[str, Any]
    if way == "AS":
        arguments = {"query": reader.rest("a SELECT of leaf, level 1, ..., top")}
    elif way == "FLAT":
        reader.one_of("ON")
        arguments = {"flat": True, "on": reader.name("table.column")}
    elif way == "USING":
        arguments = _rule(reader)
    elif reader.accept("TABLE"):
        arguments = {"table": reader.name("the table's name")}
    elif reader.accept("EDGES"):
        arguments = {"edges": reader.name("the name of a table (child, parent)")}
    else:
        arguments = {"csv": reader.string("'file.csv', TABLE t or EDGES t")}
    return reader.done(CreateHierarchy(name, replace, arguments))


def _rule(reader: _Reader) -> dict[str, Any]:
    rule = reader.one_of(*_RULES)
    arguments: dict[str, Any] = {"intervals": reader.numbers()} if rule == "INTERVALS" else {rule.lower(): True}
    while rule == "INTERVALS" and (bound := reader.accept_any("ANCHOR", "BELOW", "ABOVE")):
        if bound.lower() in arguments:
            reader.here -= 1
            reader.fail(f"{bound} is given twice")
        arguments[bound.lower()] = reader.number()
    if reader.accept("ON"):
        arguments["on"] = reader.name("table.column")
    return arguments


class _Reader:
    """Walks over the tokens of one statement; whatever it did not expect becomes an error with line and column."""

    def __init__(self, sql: str, tokens: list[Any]) -> None:
        self.sql = sql
        self.tokens = tokens
        self.here = 0
        self.depth = 0

    def text(self) -> str:
        """The statement as it was written."""
        return self.slice(0, len(self.tokens))

    def slice(self, begin: int, end: int) -> str:
        """The text of some of its tokens and all that is between them."""
        return self.sql[self.tokens[begin].start : self.tokens[end - 1].end + 1]

    def _word(self, ahead: int = 0) -> str | None:
        position = self.here + ahead
        if position >= len(self.tokens) or _kind(self.tokens[position]) in ("STRING", "IDENTIFIER"):
            return None
        return str(self.tokens[position].text).upper()

    def accept(self, *words: str) -> bool:
        """Step over these words if they come next."""
        if any(self._word(ahead) != word for ahead, word in enumerate(words)):
            return False
        self.here += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Step over one of these words if it comes next."""
        return next((word for word in words if self.accept(word)), None)

    def one_of(self, *words: str) -> str:
        """The next word, which must be one of these."""
        if (word := self.accept_any(*words)) is None:
            expected = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
            found = self._word()
            self.fail(f"Expected {expected}{self._found()}.{did_you_mean(found, words) if found else ''}")
        return word

    def name(self, what: str) -> str:
        """A name, perhaps qualified, with the quotes it needs."""
        parts = [self._part(what)]
        while self.accept("."):
            parts.append(self._part(what))
        return ".".join(parts)

    def plain_name(self, what: str) -> str:
        """A name of one part, without its quotes."""
        part = self._part(what)
        if self._word() == ".":
            self.fail("A hierarchy's name has one part; quote a name with a dot in it")
        return part[1:-1].replace('""', '"') if part.startswith('"') else part

    def _part(self, what: str) -> str:
        if self.here >= len(self.tokens):
            self.fail(f"Expected {what}")
        token = self.tokens[self.here]
        is_word = bool(re.fullmatch(r"\w+", token.text)) and _kind(token) != "NUMBER"
        if _kind(token) != "IDENTIFIER" and (_kind(token) == "STRING" or not is_word):
            self.fail(f'Expected {what}{self._found()}; quote a name with other characters, "marital-status"')
        self.here += 1
        return str(token.text) if is_word else quoted(token.text)

    def string(self, what: str) -> str:
        """A text in single quotes."""
        if self.here >= len(self.tokens) or _kind(self.tokens[self.here]) != "STRING":
            self.fail(f"Expected {what}{self._found()}")
        self.here += 1
        return str(self.tokens[self.here - 1].text)

    def number(self) -> float:
        """A number, whole if it is written so."""
        sign = -1 if self.accept("-") else 1
        if self._word() == "." and self._word(1) is not None and str(self._word(1)).isdigit():
            self.here += 2
            return sign * float(f"0.{self.tokens[self.here - 1].text}")
        if self.here >= len(self.tokens) or _kind(self.tokens[self.here]) != "NUMBER":
            self.fail(f"Expected a number{self._found()}")
        self.here += 1
        digits = self.tokens[self.here - 1].text
        if len(digits) > 300:
            self.here -= 1
            self.fail("A number with this many digits cannot be read")
        try:
            return sign * (int(digits) if digits.isdigit() else float(digits))
        except ValueError:  # sqlglot takes 1e3-1.5 for one number
            self.here -= 1
            self.fail(f"Expected a number{self._found()}")

    def numbers(self) -> list[float]:
        """Numbers in parentheses."""
        return self._between("(", ")", self.number)

    def values(self) -> list[Any]:
        """Values, separated by commas."""
        found = [self._value()]
        while self.accept(","):
            found.append(self._value())
        return found

    def rest(self, what: str) -> str:
        """All that is left, as it was written."""
        if self.here >= len(self.tokens):
            self.fail(f"Expected {what}")
        begin, self.here = self.here, len(self.tokens)
        return self.slice(begin, self.here)

    def options(self) -> dict[str, Any]:
        """name = value, ... in parentheses."""
        options: dict[str, Any] = {}

        def option() -> None:
            key = self._part("an option's name").lower()
            if key in options:
                self.here -= 1
                self.fail(f"Option {key} is given twice")
            if not (self.accept("=") or self.accept(":=")):
                self.fail(f"Expected = after {key}{self._found()}")
            options[key] = self._value()

        self._between("(", ")", option)
        return options

    def _value(self) -> Any:
        if self._word() == "MAP" and self._word(1) == "{":
            self.here += 1
        kind = _kind(self.tokens[self.here]) if self.here < len(self.tokens) else None
        if self._word() == "[":
            return self._between("[", "]", self._value)
        if self._word() == "{":
            return self._map()
        if kind == "STRING":
            return self.string("a value")
        if kind == "NUMBER" or self._word() in ("-", "."):
            return self.number()
        if (word := self.accept_any("TRUE", "FALSE", "NULL")) is not None:
            return {"TRUE": True, "FALSE": False, "NULL": None}[word]
        is_name = kind == "IDENTIFIER"
        value = self._part("a value: a number, 'text', a name, [a list] or {a: map}")
        return value[1:-1].replace('""', '"') if is_name and value.startswith('"') else value

    def _map(self) -> dict[str, Any]:
        pairs = self._between("{", "}", self._pair)
        if len({key for key, _ in pairs}) < len(pairs):
            self.here -= 1
            self.fail("A key is given twice in a map")
        return dict(pairs)

    def _pair(self) -> tuple[str, Any]:
        key = self._value()
        if not (self.accept(":") or self.accept("=")):
            self.fail(f"Expected : in a map{self._found()}")
        return str(key), self._value()

    def _between(self, opening: str, closing: str, item: Callable[[], Any]) -> list[Any]:
        self.one_of(opening)
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail("Lists and maps are nested too deeplyly")
        items: list[Any] = []
        while not self.accept(closing):
            if items:
                self.one_of(",", closing)
                if self._word(-1) == closing:
                    break
            items.append(item())
        self.depth -= 1
        return items

    def find_last(self, word: str) -> int | None:
        """Where this word last stands outside parentheses, from here on."""
        depth, found = 0, None
        for position in range(self.here, len(self.tokens)):
            token = self.tokens[position]
            if _kind(token) in QUOTED:
                continue
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.text, 0)
            if depth == 0 and token.text.upper() == word:
                found = position
        return found

    def done(self, statement: T) -> T:
        """The statement, if nothing comes after it."""
        if self.here < len(self.tokens):
            self.fail(f"Expected the end of the statement{self._found()}")
        return statement

    def _found(self) -> str:
        return f", found '{self.tokens[self.here].text}'" if self.here < len(self.tokens) else ", found the end"

    def fail(self, message: str, at_end: bool = False) -> NoReturn:
        """Raise with the line and column of the token at hand."""
        is_past = at_end or self.here >= len(self.tokens)
        offset = self.tokens[-1].end + 1 if is_past else self.tokens[self.here].start
        line = self.sql.count("\n", 0, offset) + 1
        raise StatementError(message, line, offset - (self.sql.rfind("\n", 0, offset) + 1) + 1)
