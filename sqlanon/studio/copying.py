"""The same policy outside the studio: as a policy file, a command, SQL and Python, to copy."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from sqlanon.studio.draft import Draft
from sqlanon.studio.facade import literal
from sqlanon.studio.workspace import Source


class Copies:
    """What to copy for one draft of one source. `file` is where the draft's own file is."""

    def __init__(self, source: Source, draft: Draft, prefix: str, file: Path, name: str | None = None) -> None:
        self.source, self.draft, self.prefix, self.file, self.name = source, draft, prefix, file, name

    @property
    def is_whole(self) -> bool:
        """Is there a policy to copy yet?"""
        return bool(self.draft.quasi)

    def toml(self) -> str:
        return self.draft.toml(self.source.given, self.prefix, self.name)

    def command(self) -> str:
        return f"sqlanon run {shlex.quote(str(self.file))}{self._database()}"

    def _database(self) -> str:
        home = self.source.workspace
        return f" --db {shlex.quote(str(home.home))}" if home.is_database else ""

    def sql(self) -> str:
        """Statements for `sqlanon shell` or `sqlanon.connect()`: the hierarchies, then the release."""
        lines = []
        for hierarchy, definition in self.draft.define(self.prefix).items():
            lines.append(_create_hierarchy(hierarchy, definition))
        options = self.draft.options(self.prefix)
        given = [f"{option} := {_value(value)}" for option, value in options.items()]
        place = self.name or f"{self.prefix}_public"
        lines += [
            f"CREATE TABLE {place} AS",
            f"FROM anon.anonymize({literal(self.source.given)},",
            ",\n".join(f"    {each}" for each in given) + ");",
        ]
        return "\n".join(lines)

    def python(self) -> str:
        home = self.source.workspace
        lines = [
            "import sqlanon",
            "",
            f"con = sqlanon.connect({str(home.home)!r})" if home.is_database else "con = sqlanon.connect()",
        ]
        for hierarchy, definition in self.draft.define(self.prefix).items():
            given = ", ".join(f"{key}={value!r}" for key, value in definition.items())
            lines.append(f"sqlanon.create_hierarchy(con, {hierarchy!r}, {given}, replace=True)")
        options = self.draft.options(self.prefix)
        lines += ["release = sqlanon.anonymize(", "    con,", f"    {self.source.given!r},"]
        lines += [f"    {option}={value!r}," for option, value in options.items()]
        lines += [f"    name={self.name!r},"] if self.name else []
        return "\n".join([*lines, ")", "print(release)"])


def _value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{literal(key)}: {literal(each)}" for key, each in value.items())
        return f"MAP {{{pairs}}}"
    return str(literal(value))


def _create_hierarchy(hierarchy: str, definition: dict[str, Any]) -> str:
    quoted = f'"{hierarchy}"' if not hierarchy.isidentifier() else hierarchy
    if "rows" in definition:
        width = max(map(len, definition["rows"]))
        rows = [[*row[:-1], *[None] * (width - len(row)), row[-1]] for row in definition["rows"]]
        listed = ",\n    ".join(f"({', '.join(str(literal(cell)) for cell in row)})" for row in rows)
        return f"CREATE OR REPLACE HIERARCHY {quoted} AS SELECT * FROM (VALUES\n    {listed});\n"
    if "intervals" in definition:
        widths = ", ".join(f"{width:g}" for width in definition["intervals"])
        bounds = "".join(
            f" {key.upper()} {definition[key]:g}" for key in ("anchor", "below", "above") if key in definition
        )
        return f"CREATE OR REPLACE HIERARCHY {quoted} USING INTERVALS ({widths}){bounds};\n"
    return f"CREATE OR REPLACE HIERARCHY {quoted} USING {'PREFIX' if definition.get('prefix') else 'DATES'};\n"


def check_command(path: Path, draft: Draft) -> str:
    """The command that checks a published file."""
    quasi = shlex.quote(",".join(_listed(column) for column in draft.quasi))
    parts = [f"sqlanon check {shlex.quote(str(path))} --quasi {quasi} --k {draft.k}"]
    if draft.l or draft.t:
        parts.append(f"--sensitive {shlex.quote(','.join(map(_listed, draft.sensitive)))}")
        options = draft.options("")
        for model in ("l", "t"):
            asked = options.get(model)
            each = [f"{column}={value:g}" for column, value in asked.items()] if isinstance(asked, dict) else []
            parts += [f"--{model} {shlex.quote(one)}" for one in each]
            parts += [f"--{model} {asked:g}"] if isinstance(asked, (int, float)) else []
        parts += ["--several separate"] if "several" in options else []
    return " ".join(parts)


def _listed(column: str) -> str:
    return '"' + column.replace('"', '""') + '"' if set(column) & set(',"') else column


def check_query(table: str, draft: Draft, is_file: bool = False) -> str:
    """The query that checks a release in any DuckDB client: it returns the smallest class."""
    columns = ", ".join('"' + column.replace('"', '""') + '"' for column in draft.quasi)
    place = literal(table) if is_file else table
    return f"SELECT min(n) AS k FROM (SELECT count(*) AS n FROM {place} GROUP BY {columns});"
