"""The only files that the studio reads or writes: those named at the start, and those below one folder."""

from __future__ import annotations

import re
from pathlib import Path

from sqlanon.studio.facade import SqlanonError

DATABASES = (".duckdb", ".db", ".ddb")
TEXTS = (".csv", ".tsv")
TABLES = (*TEXTS, ".parquet")
PUBLISHED = (".csv", ".parquet", ".duckdb")
LISTED = 200
"""Files below the folder that are offered in a list at most."""


class FileError(SqlanonError):
    """A file that the studio does not read or write."""


class Folder:
    """The folder for everything that is written, by its real path."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path.resolve()

    def place(self, asked: str, endings: tuple[str, ...]) -> Path:
        """Where a file of this name goes: directly in the folder, under a plain name with one of the endings."""
        name = asked.strip()
        if not re.fullmatch(r"[^\x00-\x1f/\\:]{1,120}", name) or name.startswith(".") or name != Path(name).name:
            raise FileError("A file name has no slashes, no colons and no leading dot, and at most 120 letters")
        if not name.lower().endswith(endings):
            raise FileError(f"The name must end in {' or '.join(endings)}")
        return self.inside(self.path / name)

    def inside(self, path: Path) -> Path:
        """The path, if it really is below the folder: a link that leads elsewhere is refused."""
        if path.is_symlink() or not path.resolve().is_relative_to(self.path):
            raise FileError(f"'{path.name}' leads out of the folder of the studio")
        return path

    def found(self, asked: str) -> Path:
        """A file that is there already, by its name below the folder."""
        path = self.inside(self.path / asked)
        if not path.is_file():
            raise FileError(f"There is no file '{Path(asked).name}' in the folder of the studio")
        return path

    def listed(self, endings: tuple[str, ...]) -> list[str]:
        """The names of the files with these endings, directly in the folder."""
        names = [
            path.name
            for path in sorted(self.path.iterdir())
            if path.name.lower().endswith(endings) and path.is_file() and not path.is_symlink()
        ]
        return [name for name in names if not name.startswith(".")][:LISTED]


def slug(text: str, taken: set[str]) -> str:
    """A short name for an address and a file, which is not taken."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "table"
    number, found = 1, plain
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    taken.add(found)
    return found
