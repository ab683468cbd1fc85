"""What one studio holds: its folder, its databases, the drafts, and what is counted in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.studio import draft as drafts
from sqlanon.studio import looking
from sqlanon.studio.background import Answer, Background, Job, Jobs
from sqlanon.studio.draft import Draft
from sqlanon.studio.facade import Session, SqlanonError, hierarchy_names, samples
from sqlanon.studio.files import DATABASES, TABLES, Folder, slug
from sqlanon.studio.runs import Runs, Shelf
from sqlanon.studio.specs import Spec
from sqlanon.studio.trees import preview
from sqlanon.studio.workspace import Source, Workspace

DEMO_ROWS = 10_000
KEY = "pseudonyms.key"
ENOUGH = 1_200
"""Rows from which on every search takes part, also that with models."""


class Desk:
    """One source on the steward's desk: its draft and its runs."""

    def __init__(self, source: Source, folder: Folder) -> None:
        self.source = source
        self.prefix = source.slug.replace("-", "_")
        self.path = folder.path / f"{source.slug}.policy.toml"
        self.runs = Runs()
        self.lock = threading.Lock()
        self._draft: Draft | None = None
        self.note: str | None = None

    def draft(self, columns: list[str], known: Sequence[str]) -> Draft:
        """The draft as it is; at first that of the file, or an empty one with the hierarchies of the columns' names."""
        with self.lock:
            if self._draft is None:
                names = {column: (f"{self.prefix}_{column}", column) for column in columns}
                bound = {
                    column: Spec("stored", name=next(name for name in wanted if name in known))
                    for column, wanted in names.items()
                    if set(wanted) & set(known)
                }
                self._draft = Draft(specs=bound)
                if self.path.is_file() and not self.path.is_symlink():
                    try:
                        self._draft = drafts.read(self.path, columns, self.prefix)
                    except SqlanonError as problem:
                        self.note = str(problem)
            return self._draft

    def change(self, change: Callable[[Draft], Draft]) -> Draft:
        """Change the draft and write its file."""
        with self.lock:
            changed = change(self._draft or Draft())
            self._draft = changed
            if not self.path.is_symlink():
                changed.save(self.path, self.source.given, self.prefix)
            return changed


class Studio:
    """Everything."""

    def __init__(
        self, named: Sequence[str], out: Path, is_demo: bool = False, reading: Mapping[str, str] | None = None
    ) -> None:
        """`named` are databases and files, `reading` says how csv files among them are read, as `file_query` does."""
        self.folder = Folder(out)
        self.out = out
        self.background, self.jobs = Background(), Jobs()
        self.workspaces: list[Workspace] = []
        self.shelves: dict[int, Shelf] = {}
        self.desks: dict[str, Desk] = {}
        self.hierarchy_files: dict[str, Path] = {}
        self.published: dict[str, Path] = {}
        self.handed: dict[str, tuple[Path, Draft]] = {}
        """The file that was published last of a source, and by which draft."""
        self.stop: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._open(named, reading or {})
        if is_demo:
            self.add_demo()
        self.find_sources()

    def _open(self, named: Sequence[str], reading: Mapping[str, str]) -> None:
        """The databases and files that were named at the start."""
        files: dict[str, Path] = {}
        for typed in named:
            path = Path(typed).resolve()
            if not path.is_file():
                raise SqlanonError(f"There is no file '{typed}'")
            if path.name.lower().endswith(DATABASES):
                self._add(Workspace(path, self.folder.path))
            elif path.name.lower().endswith(TABLES):
                files[typed] = path
            else:
                raise SqlanonError(f"'{typed}' is neither a DuckDB database nor a csv, tsv or parquet file")
        self.hierarchy_files = {path.name: path for path in files.values() if path.suffix.lower() == ".csv"}
        if files:
            self._add(Workspace(self.folder.path / "releases.duckdb", self.folder.path, files, reading))

    def _add(self, workspace: Workspace) -> None:
        self.workspaces.append(workspace)
        self.shelves[id(workspace)] = Shelf(workspace)
        key = self.folder.path / KEY
        if key.is_file() and not key.is_symlink():
            with suppress(SqlanonError):
                workspace.use_key(sqlanon.read_key(key))

    def add_demo(self) -> None:
        """The sample tables, in a database below the folder."""
        path = self.folder.path / "demo.duckdb"
        if any(workspace.home == path for workspace in self.workspaces):
            return
        if not path.exists():
            with sqlanon.connect(path) as con:
                samples.create(con.duckdb, "patients")
                samples.create(con.duckdb, "adult", rows=DEMO_ROWS)
                for column, rows in samples.hierarchy_rows("adult").items():
                    sqlanon.create_hierarchy(con, f"adult_{column}", rows=rows)
        self._add(Workspace(path, self.folder.path))

    def find_sources(self) -> None:
        """Look again at what there is; desks that are there stay."""
        with self._lock:
            by_place = {(id(desk.source.workspace), desk.source.relation): desk for desk in self.desks.values()}
            taken: set[str] = set()
            desks: dict[str, Desk] = {}
            for workspace in self.workspaces:
                if workspace.problem is not None:
                    continue
                for source in workspace.sources(set()):
                    known = by_place.get((id(workspace), source.relation))
                    if known is not None and known.source.slug not in taken:
                        taken.add(known.source.slug)
                        desks[known.source.slug] = known
                        continue
                    named = replace(
                        source,
                        slug=slug(source.shown.rsplit(".", 1)[0] if source.kind == "file" else source.shown, taken),
                    )
                    desks[named.slug] = Desk(named, self.folder)
            self.desks = desks

    def shelf(self, source: Source) -> Shelf:
        return self.shelves[id(source.workspace)]

    def ask(self, source: Source, key: tuple[Any, ...], count: Callable[[Session], Any], **how: Any) -> Answer:
        """Something about a source, counted in the background on a connection of its own."""

        def counted() -> Any:
            with source.workspace.cursor(60) as con:
                return count(con)

        return self.background.ask((source.slug, *key), counted, **how)

    def profile(self, source: Source, wait: float = 0.35) -> Answer:
        return self.ask(source, ("profile",), lambda con: looking.profile_of(con, source), wait=wait)

    def rows(self, source: Source, wait: float = 0.1) -> Answer:
        return self.ask(source, ("rows",), lambda con: looking.count_of(con, source), wait=wait)

    def width(self, source: Source) -> int | None:
        """How many columns it has, if that is known."""
        answer = self.ask(source, ("width",), lambda con: len(looking.columns_of(con, source)), wait=0.1)
        return answer.value if answer.is_ready and answer.problem is None else None

    def alone(self, source: Source, columns: Sequence[str], person: str | None, wait: float = 0.0) -> Answer:
        """How many are unique by a set of columns."""
        key = ("alone", frozenset(columns), person)
        return self.ask(source, key, lambda con: looking.alone_of(con, source, sorted(columns), person), wait=wait)

    def most(self, source: Source, column: str) -> Answer:
        """The share of a column's most frequent value."""
        return self.ask(source, ("most", column), lambda con: looking.largest_share(con, source, column))

    def previewed(self, source: Source, column: str, spec: Spec, wait: float = 0.0) -> Answer:
        return self.ask(source, ("tree", column, spec), lambda con: preview(con, source, column, spec), wait=wait)

    def known_hierarchies(self, source: Source) -> list[str]:
        """The hierarchies that its database had when it was opened."""
        if not source.workspace.is_database:
            return []
        with source.workspace.memory() as con:
            own = self.shelf(source).names
            return [name for name in hierarchy_names(con) if name not in own]

    def start(self, what: str, source: Source, work: Callable[[Job], Any], next_page: str = "") -> Job:
        return self.jobs.start(what, source.slug, work, next_page)

    def has_key(self, source: Source) -> bool:
        """Is there a key for pseudonyms?"""
        return (self.folder.path / KEY).is_file()

    def make_key(self) -> None:
        """A key for pseudonyms, below the folder, which only its owner can read."""
        path = self.folder.inside(self.folder.path / KEY)
        if not path.exists():
            sqlanon.create_key(path)
        for workspace in self.workspaces:
            workspace.use_key(sqlanon.read_key(path))

    def warm(self) -> None:
        """Load what a first run would wait for, which also keeps Cancel prompt from the first run on."""

        def run() -> None:
            with sqlanon.connect() as con:
                samples.create(con.duckdb, "patients")
                samples.create(con.duckdb, "adult", rows=ENOUGH)
                quasi = ["age", "sex", "education"]
                sqlanon.anonymize(con, "patients", ["age", "sex"], 4, effort="best")
                sqlanon.anonymize(con, "adult", quasi, 4)
                sqlanon.anonymize(con, "adult", quasi, 4, sensitive=["occupation"], l=1.5)

        self.background.ask(("warm",), run, wait=0, pool="attack")

    def close(self) -> None:
        """Stop all work and close all databases."""
        self.jobs.cancel_all()
        self.background.close()
        end = time.monotonic() + 2
        while self.jobs.running() and time.monotonic() < end:
            time.sleep(0.05)
        for workspace in self.workspaces:
            workspace.close()
