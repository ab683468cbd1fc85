"""sqlanon wizard: from a file to a release by questions with proposed answers. Nothing is written before the last."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.errors import PolicyError, SqlanonError, not_one_of
from sqlanon.policy import toml
from sqlanon.policy.options import MAX_UNIQUE
from sqlanon.reporting.displays import summary
from sqlanon.sqltext import fold, listed_names, name
from sqlanon.wording import listed, plural, table_text

ROWS = 10
"""Released rows that are shown."""
FEW = 4
"""A text column with fewer values is released as it is, or loses little."""
QUIT = ("q", "quit", "exit")
ROLES = {
    "quasi": "Which columns may other people know (quasi-identifiers)?",
    "sensitive": "Which columns are to be protected, and released unchanged (sensitive)?",
    "keep": "Which other columns are released unchanged?",
}


class Quit(Exception):
    """The user wants to stop."""


@dataclass
class Wizard:
    """The questions about one file; `ask` reads an answer and `say` shows text. `reading` says how the file
    is read."""

    source: str
    reading: Mapping[str, str]
    ask: Callable[[str], str]
    say: Callable[[str], None]
    roles: dict[str, list[str]] = field(default_factory=dict)
    hierarchies: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    is_drafted: bool = False
    """Are hierarchies drafted for text columns that have none?"""

    @property
    def query(self) -> str:
        """What is anonymized: the file, or the query that reads it as it is to be read."""
        return sqlanon.file_query(self.source, **self.reading) if self.reading else self.source

    def run(self) -> bool:
        """Ask, show, and write what was agreed to; False if the user stopped, and then nothing is written."""
        try:
            with sqlanon.connect() as con:
                self._go(con)
        except (Quit, EOFError, KeyboardInterrupt):
            self.say("\nStopped. Nothing was written.")
            return False
        return True

    def _go(self, con: sqlanon.Connection) -> None:
        found = sqlanon.detect(con, self.query)
        self.columns = [one.columns[0] for one in found.columns]
        self.say(f"{found}\n\nReturn takes the answer in [brackets], q stops without a trace.\n")
        policy = self._policy(found)
        release = self._release(con, found, policy)
        self.say(f"\n{release.policy}\n\n{summary(release)}\n\n{self.preview(con, release)}\n")
        while not self._is_wanted(release):
            release = self._release(con, found, self._policy(found))
            self.say(f"\n{summary(release)}\n\n{self.preview(con, release)}\n")
        self._write(release)

    def _is_wanted(self, release: sqlanon.Release) -> bool:
        """Is it to be written? Where kept columns make rows unique that is no longer proposed."""
        is_safe = (release.unique_with_kept() or 0) <= MAX_UNIQUE
        question = "Is this what you want?" if is_safe else "Is this what you want, with unique rows?"
        return self._yes(question, is_safe)

    def _policy(self, found: sqlanon.Detection) -> dict[str, Any]:
        """The options that the answers make."""
        taken: set[str] = set()
        for role, question in ROLES.items():
            known = self.roles.get(role, found.columns_as(role))
            proposed = [column for column in known if fold(column) not in taken]
            self.roles[role] = self._columns(question, proposed, is_needed=role == "quasi")
            taken |= {fold(column) for column in self.roles[role]}
        options: dict[str, Any] = {role: columns for role, columns in self.roles.items() if columns}
        options["k"] = self._number("How many rows must look the same at least (k)?", 5, 2)
        if self.roles["sensitive"]:
            wanted = self._number("No sensitive value may take more than 1/l of a class. l, or 1 for no limit?", 2, 1)
            options |= {"l": wanted} if wanted > 1 else {}
        given = self._number("Percent of the rows that may be suppressed if the others then lose less?", 0, 0)
        return options | ({"max_suppression": given / 100} if given else {})

    def _release(self, con: sqlanon.Connection, found: sqlanon.Detection, options: dict[str, Any]) -> sqlanon.Release:
        """The release, in memory; where it cannot be made, the reason and the questions again."""
        quasi = [fold(column) for column in self.roles["quasi"]]
        for column in found.postcodes:
            is_new = column not in self.hierarchies and fold(column) in quasi
            if is_new and self._yes(f"Shorten {column} digit by digit (4350, 435*, 43**)?", True):
                sqlanon.create_hierarchy(con, column, prefix=True, replace=True)
                self.hierarchies.append(column)
        while True:
            self._draft(con)
            try:
                return sqlanon.anonymize(con, self.query, suggest=self.is_drafted, **options)
            except SqlanonError as problem:
                self.say(f"\nThat cannot be done: {problem}\n")
                options = self._policy(found)

    def _draft(self, con: sqlanon.Connection) -> None:
        """Ask whether hierarchies are to be drafted, where text would be released as * for want of one."""
        query = sqlanon.file_query(self.source, **self.reading)
        counts = con.duckdb.sql(
            f"select {', '.join(f'count(distinct {name(c)})' for c in self.columns)} from ({query})"
        )
        (values,) = counts.fetchall()
        kinds = con.duckdb.sql(query).types
        made = {fold(column) for column in (*self.hierarchies, *self.roles["sensitive"], *self.roles["keep"])}
        texts = [
            column
            for column, kind, number in zip(self.columns, kinds, values, strict=True)
            if str(kind).startswith(("VARCHAR", "ENUM")) and number >= FEW and fold(column) not in made
            if fold(column) in map(fold, self.roles["quasi"])
        ]
        if texts and not self.is_drafted:
            question = f"Draft groups for the values of {listed(texts)}? Without, values that differ become *."
            self.is_drafted = self._yes(question, True)

    def preview(self, con: sqlanon.Connection, release: sqlanon.Release) -> str:
        """Released rows below the range that each column has in the source. Which row became which is not told."""
        columns = release.relation().columns
        ranges = [self._range(con, column) for column in columns]
        shown = con.duckdb.sql(f"select columns(*)::varchar from {release.table} limit {ROWS}").fetchall()
        rows = [["NULL" if cell is None else cell for cell in row] for row in shown]
        before = table_text(["before:", *columns], [["", *ranges]])
        return f"{before}\n\n{table_text(['after: ', *columns], [['', *row] for row in rows])}"

    def _range(self, con: sqlanon.Connection, column: str) -> str:
        """A column of the source in a few characters: how many values it has, and for numbers from where to where."""
        if fold(column) not in map(fold, self.columns):
            return ""
        quoted, source = name(column), f"({sqlanon.file_query(self.source, **self.reading)})"
        ((kind, values, low, high),) = con.duckdb.sql(
            f"select any_value(typeof({quoted})), count(distinct {quoted}), min({quoted})::varchar, "
            f"max({quoted})::varchar from {source}"
        ).fetchall()
        return plural(values, "value") if kind in ("VARCHAR", "BOOLEAN", None) else f"{low} to {high}"

    def _write(self, release: sqlanon.Release) -> None:
        stem = Path(self.source).stem
        out = self._file("The release goes to", f"{stem}_public.csv")
        policy = self._file("The policy, to do the same again, goes to", f"{stem}_policy.toml")
        report = self._file("The report goes to", f"{stem}_report.html")
        made = [path for path in (out, policy, report) if not path.exists()]
        try:
            release.publish(out, max_unique=1)  # the question was answered
            policy.write_text(self._toml(release), encoding="utf-8")
            release.report(report, curve=False, published=out)
        except BaseException:
            for path in made:
                path.unlink(missing_ok=True)
            raise
        self.say(
            f"\nWrote {out}, {policy} and {report}. Next:\n"
            f"  read the report         {report}\n"
            f"  do the same again       sqlanon run {shlex.quote(str(policy))} -o again.csv\n"
            f"  check the file          {_check_command(out, release)}\n"
            f"  keep a record of it     sqlanon anonymize --name, in a database: sqlanon anonymize --help"
        )

    def _toml(self, release: sqlanon.Release) -> str:
        """The policy file: with the hierarchies that were made here."""
        defined = [f"\n[hierarchy.{toml.key(column)}]\nprefix = true\n" for column in self.hierarchies]
        own = {"source": self.query} | ({"suggest": True} if self.is_drafted else {})
        return release.policy.toml(**own) + "".join(defined)

    def _answer(self, question: str, proposed: str) -> str:
        answer = self.ask(f"{question} [{proposed}] ").strip()
        if answer.lower() in QUIT:
            raise Quit
        return answer or proposed

    def _columns(self, question: str, proposed: Sequence[str], is_needed: bool) -> list[str]:
        by_name = {fold(column): column for column in self.columns}
        while True:
            answer = self._answer(question, ",".join(proposed) or "none")
            given = [] if answer == "none" else listed_names(answer)
            unknown = [column for column in given if fold(column.strip()) not in by_name]
            if unknown:
                self.say(not_one_of("column", unknown[0], self.columns))
            elif is_needed and not given:
                self.say("At least one is needed.")
            else:
                return [by_name[fold(column.strip())] for column in given]

    def _number(self, question: str, proposed: int, low: int) -> float:
        while True:
            answer = self._answer(question, str(proposed))
            try:
                number = float(answer)
            except ValueError:
                number = float("nan")
            if number >= low:
                return int(number) if number.is_integer() else number
            self.say(f"'{answer}' is not a number of {low} or more.")

    def _yes(self, question: str, proposed: bool) -> bool:
        return self._answer(question, "yes" if proposed else "no").lower() in ("y", "yes")

    def _file(self, question: str, proposed: str) -> Path:
        """A file that does not exist yet, in a folder that does."""
        while True:
            path = Path(self._answer(question, proposed))
            wanted = Path(proposed).suffix
            endings = (".csv", ".parquet", ".duckdb") if wanted == ".csv" else (wanted,)
            if path.exists():
                self.say(f"'{path}' already exists: name another file.")
                proposed = f"{path.stem}_2{path.suffix}"
            elif path.suffix.lower() not in endings:
                self.say(f"'{path}' must end in {' or '.join(endings)}.")
            elif not path.parent.is_dir():
                self.say(f"There is no folder '{path.parent}'.")
            else:
                return path


def wizard(
    source: str,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
    reading: Mapping[str, str | None] | None = None,
) -> bool:
    """From a file to a release, a policy and a report; False if the user stopped. `reading` says how the file is read:
    encoding, decimal, delimiter, sheet."""
    if not Path(source).is_file():
        raise PolicyError(f"There is no file '{source}'")
    given = {option: value for option, value in (reading or {}).items() if value is not None}
    return Wizard(source, given, ask, say).run()


def _check_command(out: Path, release: sqlanon.Release) -> str:
    """The command that checks the file: with its sensitive columns, which would count as kept ones otherwise."""
    policy = release.policy
    words = ["sqlanon", "check", str(out), "--quasi", _listed(release.printed), "--k", str(policy.k)]
    if policy.sensitive:
        words += ["--sensitive", _listed(policy.sensitive)]
    if isinstance(policy.l, (int, float)):
        words += ["--l", f"{policy.l:g}"]
    return shlex.join(words)


def _listed(columns: Sequence[str]) -> str:
    return ",".join(name(column) if set(column) & set(',"') else column for column in columns)
