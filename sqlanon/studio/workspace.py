"""A database as the studio holds it: attached for reading to one in memory, which has no way to any other file.

Looking happens in memory: drafts of hierarchies and runs are tables there. The file is opened for writing only to
store, refresh or drop a release, and closed again at once.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.studio.facade import DatabaseError, Session, SqlanonError, hierarchy_names, literal, quoted, release_places
from sqlanon.studio.files import TEXTS, slug
from sqlanon.studio.gate import Gate

CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
OWN = ("anon", "information_schema", "pg_catalog")
"""Schemas without tables of the user's."""
TAKEN = ("memory", "temp", "system", "main", "anon")


@dataclass(frozen=True)
class Source:
    """A table, view or file that can be anonymized."""

    slug: str
    workspace: Workspace = field(repr=False)
    shown: str
    """As a reader knows it."""
    relation: str
    """As the working database reads it, in full and quoted."""
    asked: str
    """As the working database knows it by name."""
    given: str
    """As a policy file, SQL or a command names it."""
    stored_as: str
    """As its own database knows it by name, to store a release there."""
    kind: str


class Workspace:
    """One database file with its working database in memory, or all files of rows that were named."""

    def __init__(
        self,
        home: Path,
        folder: Path,
        files: Mapping[str, Path] | None = None,
        reading: Mapping[str, str] | None = None,
    ) -> None:
        """`files` are the paths as they were typed, and the real ones; `reading` says how those with text are read."""
        self.reading = dict(reading or {})
        self.home, self.typed = home, dict(files or {})
        self.files = tuple(self.typed.values())
        self.is_database = not files
        self.gate = Gate()
        self.problem: str | None = None
        self.key: bytes | None = None
        """The key of pseudonyms, if there is one."""
        self.alias = _alias(home.stem)
        self._scratch = tempfile.mkdtemp(prefix="sqlanon-studio-")
        self.con = sqlanon.connect(**CONFIG, temp_directory=self._scratch)
        self.tables = [self._import(path) for path in self.files]
        self.attach()
        self._lock(folder)

    def _lock(self, folder: Path) -> None:
        """From here on nothing but the home, the named files and the folder can be opened."""
        paths = [path for file in (self.home, *self.files) for path in (str(file), f"{file}.wal")]
        raw = self.con.duckdb
        raw.execute(f"set allowed_directories = {literal([f'{folder}/'])}")
        raw.execute(f"set allowed_paths = {literal(paths)}")
        raw.execute("set enable_external_access = false")
        raw.execute("set lock_configuration = true")

    def _import(self, path: Path) -> str:
        """The rows of a file as a table in memory; its name."""
        taken = {row[0] for row in self.con.duckdb.execute("select lower(table_name) from duckdb_tables()").fetchall()}
        table, number = path.stem, 1
        while table.lower() in taken:
            number += 1
            table = f"{path.stem} {number}"
        try:
            self.con.duckdb.execute(f"create table {quoted(table)} as {self._query(path)}")
        except DatabaseError as problem:
            raise SqlanonError(_unreadable(path, problem)) from None
        return table

    def _is_read_otherwise(self, path: Path) -> bool:
        """Was it said at the start how this file is to be read?"""
        return bool(self.reading) and path.name.lower().endswith(TEXTS)

    def _query(self, path: str | Path) -> str:
        """The query that reads a file."""
        return sqlanon.file_query(path, **(self.reading if self._is_read_otherwise(Path(path)) else {}))

    def use_key(self, key: bytes) -> None:
        """Make pseudonyms with this key, in memory and in the home."""
        self.key = key
        sqlanon.set_key(self.con, key)

    def attach(self) -> None:
        """Open the home for reading; where that fails, `problem` says why."""
        self.problem = None
        if not self.home.is_file():
            if self.is_database:
                self.problem = f"There is no database '{self.home.name}'."
            return
        try:
            sqlanon.open_readonly(self.home).close()  # it says in words what is wrong
            with self.con.duckdb.cursor() as cursor:
                cursor.execute(f"attach {literal(str(self.home))} as {quoted(self.alias)} (read_only)")
            if self.is_database:
                self._copy_hierarchies()
        except SqlanonError as problem:
            self.problem = str(problem).replace(str(self.home), self.home.name)
        except DatabaseError as problem:
            self.problem = f"'{self.home.name}' cannot be opened ({type(problem).__name__})."

    @property
    def is_attached(self) -> bool:
        """Is the home open for reading?"""
        with self.con.duckdb.cursor() as cursor:
            asked = "select 1 from duckdb_databases() where database_name = $1"
            return bool(cursor.execute(asked, [self.alias]).fetchall())

    @contextmanager
    def cursor(self, wait: float = 0.5) -> Iterator[Session]:
        """A connection of one's own to the working database, while nobody writes to the home."""
        with self.gate.reading(wait):
            cursor = self.con.duckdb.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    @contextmanager
    def memory(self) -> Iterator[Session]:
        """A connection for what is in memory only: it need not wait for a writer."""
        cursor = self.con.duckdb.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    @contextmanager
    def ledger(self) -> Iterator[Session | None]:
        """The home's own catalog for reading, while nobody writes; None where it has none of this version."""
        with self.gate.reading(), self._catalog() as con:
            yield con

    @contextmanager
    def _catalog(self) -> Iterator[Session | None]:
        with self.memory() as cursor:
            if not self.is_attached:
                yield None
                return
            cursor.execute(f"use {quoted(self.alias)}")
            try:
                sqlanon.load(cursor)
            except SqlanonError:
                yield None
                return
            yield cursor

    @contextmanager
    def writing(self, what: str, check: Callable[[], None] = lambda: None) -> Iterator[sqlanon.Connection]:
        """The home open for writing: closed for everybody else meanwhile, and closed again afterwards."""
        with self.gate.writing(what, check):
            with suppress(DatabaseError), self.con.duckdb.cursor() as cursor:
                cursor.execute(f"detach {quoted(self.alias)}")
            try:
                con = sqlanon.connect(self.home, **CONFIG, temp_directory=self._scratch)
                try:
                    con.duckdb.execute(f"set allowed_paths = {literal([str(file) for file in self.files])}")
                    con.duckdb.execute("set enable_external_access = false")
                    con.duckdb.execute("set lock_configuration = true")
                    if self.key is not None:
                        sqlanon.set_key(con, self.key)
                    yield con
                finally:
                    con.close()
            finally:
                self.attach()

    def sources(self, taken: set[str]) -> list[Source]:
        """What can be anonymized. `taken` are slugs of others."""
        if not self.is_database:
            return [
                Source(
                    slug(path.stem, taken),
                    self,
                    path.name,
                    quoted(table),
                    quoted(table),
                    self._query(typed) if self._is_read_otherwise(path) else typed,
                    self._query(path) if self._is_read_otherwise(path) else str(path),
                    "file",
                )
                for table, (typed, path) in zip(self.tables, self.typed.items(), strict=True)
            ]
        with self.cursor() as cursor:
            rows = cursor.execute(_TABLES, {"database": self.alias, "own": list(OWN)}).fetchall()
        released = self._released()
        found = []
        for schema, table, kind in rows:
            if (schema.lower(), table.lower()) in released:
                continue
            place = ".".join(map(quoted, (self.alias, schema, table)))
            given = _plain(table) if schema == "main" else f"{_plain(schema)}.{_plain(table)}"
            shown = table if schema == "main" else f"{schema}.{table}"
            found.append(Source(slug(shown, taken), self, shown, place, place, given, given, kind))
        return found

    def _released(self) -> set[tuple[str, str]]:
        """The stored releases of the home: they are no sources."""
        with self.ledger() as con:
            places = release_places(con).values() if con is not None else ()
            return {(schema.lower(), table.lower()) for schema, table in places}

    def _copy_hierarchies(self) -> None:
        """The home's hierarchies in the working database, to preview and to use."""
        with self._catalog() as con:
            outlines = [] if con is None else [sqlanon.show_hierarchy(con, name) for name in hierarchy_names(con)]
        with self.memory() as cursor:
            for outline in outlines:
                given: dict[str, Any] = {outline.kind: True}
                if outline.kind == "intervals":
                    given = {key: value for key, value in outline.settings.items() if key != "widths"}
                    given["intervals"] = outline.settings["widths"]
                elif outline.kind == "tree":
                    given = {"rows": paths(outline.nodes)}
                with suppress(SqlanonError):
                    sqlanon.create_hierarchy(cursor, outline.name, **given, replace=True)

    def close(self) -> None:
        """Give everything up; what spilled to the disk is removed."""
        with suppress(DatabaseError):
            self.con.close()
        shutil.rmtree(self._scratch, ignore_errors=True)


_TABLES = """
select schema_name, table_name, 'table' from duckdb_tables()
where database_name = $database and not internal and not list_contains($own, lower(schema_name))
union all
select schema_name, view_name, 'view' from duckdb_views()
where database_name = $database and not internal and not list_contains($own, lower(schema_name))
order by 1, 2
"""


def paths(nodes: Sequence[tuple[int, str, int, bool]]) -> list[tuple[str, ...]]:
    """The rows of an outline, which lists depth, label, leaves and whether it is a leaf, depth first: each is a value,
    level 1, ..., top."""
    above: list[str] = []
    found = []
    for depth, label, _, is_leaf in nodes:
        del above[depth:]
        above.append(label)
        if is_leaf:
            found.append(tuple(reversed(above)))
    return found


def _alias(stem: str) -> str:
    """The name of an attached database: its file's, as far as that is a plain one."""
    plain = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower() or "database"
    return f"{plain}_file" if plain in TAKEN or plain[0].isdigit() else plain


def _plain(name: str) -> str:
    """A name as one writes it: quoted where it must be."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, flags=re.ASCII) else quoted(name)


def _unreadable(path: Path, problem: DatabaseError) -> str:
    """Why a file cannot be read. DuckDB's own text may show a line of it."""
    said = str(problem).lower()
    if "unicode" in said or "encod" in said:
        return f"'{path.name}' is not UTF-8 text: name its encoding, --encoding latin-1, or save it as UTF-8"
    return f"'{path.name}' cannot be read as a table ({type(problem).__name__})"
