"""What the shell completes: sqlanon's statements, DuckDB's keywords, tables, columns, functions and macros."""

from __future__ import annotations

from sqlanon.engine.session import DatabaseError, Session, run
from sqlanon.policy.options import PARAMETERS
from sqlanon.policy.policy import OPTIONS
from sqlanon.sqltext import name, render

DELIMITERS = " \t\n,;()[]{}=<>+-*/%|'"
STATEMENTS = (
    "CREATE OR REPLACE ANONYMIZED VIEW",
    "CREATE OR REPLACE ANONYMIZED TABLE",
    "DROP ANONYMIZED VIEW IF EXISTS",
    "DROP ANONYMIZED TABLE",
    "CREATE OR REPLACE HIERARCHY",
    "DROP HIERARCHY",
    "REFRESH ANONYMIZED VIEW",
    "ERASE",
    "PUBLISH TO",
    "OPTIONS",
    "USING INTERVALS ANCHOR BELOW ABOVE ON",
    "USING PREFIX",
    "USING DATES",
    "FROM EDGES",
    "FLAT ON",
)
"""Our own statements; each of their words is completed."""


class Completer:
    """Readline's completer over a connection: asked for a word's first, second, ... completion."""

    def __init__(self, con: Session) -> None:
        self.con = con
        self.found: list[str] = []

    def complete(self, text: str, state: int) -> str | None:
        """The completion of this number, or None if there are no more."""
        if state == 0:
            self.found = self.words(text)
        return self.found[state] if state < len(self.found) else None

    def words(self, text: str) -> list[str]:
        """All completions of a word, in the case in which it was begun where that is no name's."""
        ours = {word for statement in STATEMENTS for word in statement.split()}
        catalog = self._catalog()
        keywords = ours | {word for kind, word in catalog if kind == "keyword"}
        known = [word for kind, word in catalog if kind != "keyword"]
        known += [*OPTIONS, *PARAMETERS, *sorted(keywords), ".help", ".quit", ".schema", ".tables"]
        folded = text.lower()
        found = dict.fromkeys(word for word in known if word.lower().startswith(folded) and word.lower() != folded)
        return [word.lower() if word in keywords and text.islower() else word for word in found]

    def _catalog(self) -> list[tuple[str, str]]:
        """What the catalog has now; nothing where it cannot be read, in a transaction that failed."""
        try:
            rows = run(self.con, render("steps/complete/completions.sql"))
        except DatabaseError:
            return []
        return [(kind, word if kind != "name" or _is_plain(word) else name(word)) for kind, word in rows]


def _is_plain(word: str) -> bool:
    return word.replace(".", "_").isidentifier() and word.isascii()
