"""Publishing: a release in a new file that holds nothing else, verified on what was read back from it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlanon.engine.files import ABOUT, FORMATS, Tables, defused, put, read, write_csv, write_duckdb, write_parquet
from sqlanon.engine.session import Session, is_in_transaction, run, translate_errors
from sqlanon.errors import BrokenPromiseError, CatalogError, PolicyError, option, option_name, replacing
from sqlanon.sqltext import fold, is_path


def refuse_unique(unique: float | None, kept: Sequence[str], most: float) -> None:
    """Raise if whoever knows the kept columns finds more rows unique than are allowed."""
    if isinstance(most, bool) or not isinstance(most, int | float) or not 0 <= most <= 1:
        raise PolicyError(f"{option_name('max_unique')} is {most!r}; it must be a number from 0 to 1")
    if unique is not None and unique > most:
        raise BrokenPromiseError(
            f"Whoever also knows the kept columns ({', '.join(kept)}) finds {unique:.1%} of the rows unique, and "
            f"{most:.1%} are allowed. Name them in {option_name('quasi')} or {option_name('sensitive')}, leave them "
            f"out, or publish with {option('max_unique', 1)} if nobody can know them"
        )


def refuse(con: Session, path: str | Path, replace: bool = False) -> Path:
    """The file to write, or an error that says why it cannot be."""
    target = Path(path)
    if not is_path(target):
        raise PolicyError(f"{str(target)!r} is not the path of a file")
    if target.suffix.lower() not in FORMATS:
        raise PolicyError(f"'{target}' must end in {FORMATS[0]}, {' or '.join(FORMATS[1:])}")
    if not target.parent.is_dir():
        raise CatalogError(f"There is no folder '{target.parent}'")
    is_open = run(con, "select path from duckdb_databases() where path is not null")
    if target.exists() and any(Path(other).exists() and target.samefile(other) for (other,) in is_open):
        raise CatalogError(f"'{target}' is an open database: publish to another file")
    if target.is_dir() or (target.exists() and not replace):
        raise CatalogError(f"'{target}' already exists. To overwrite it, use {replacing()}")
    if (wal := target.with_name(f"{target.name}.wal")).exists():
        raise CatalogError(f"'{wal}' exists, so '{target}' is in use or was not closed. Publish to another file")
    return target


def publish(
    con: Session,
    tables: Tables,
    path: str | Path,
    about: Mapping[str, Any],
    proof: object,
    prove: Callable[[Tables], object],
    replace: bool = False,
    formulas: bool = False,
) -> None:
    """Write tables to a new file: first under a temporary name, read back and verified there, then renamed, or not at
    all.

    `prove` must find of the file's tables what was found of those that are written, the `proof`.
    """
    target = refuse(con, path, replace)
    suffix = target.suffix.lower()
    if is_in_transaction(con):
        raise CatalogError("A transaction is open and can still be rolled back. COMMIT, then publish")
    if ABOUT in map(fold, tables) and suffix == ".duckdb":
        raise CatalogError(f"The file has a table '{ABOUT}' of its own: store the release under another name")
    if len(tables) > 1 and suffix != ".duckdb":
        raise PolicyError(f"The release has two tables ({', '.join(tables)}): publish them to a .duckdb file")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    write = {".duckdb": write_duckdb, ".parquet": write_parquet, ".csv": write_csv}[suffix]
    try:
        with translate_errors():
            if suffix == ".csv" and not formulas:
                tables = {table: defused(con, relation) for table, relation in tables.items()}
            write(con, tables, draft, about)
            with read(con, tables, draft, suffix) as written:
                if prove(written) != proof:
                    raise BrokenPromiseError(f"What '{target.name}' would hold does not read back as the release")
        put(draft, target, replace)
    finally:
        for left in (draft, draft.with_name(f"{draft.name}.wal")):
            left.unlink(missing_ok=True)
