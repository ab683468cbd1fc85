"""sqlanon run: run a SQL script or a policy file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import sqlanon
from sqlanon.cli.commands.arguments import (
    add_database,
    add_key_file,
    add_publishing,
    asked_database,
    create_hierarchy,
    made_or_gone,
    publishing,
    require_database,
    require_writable,
)
from sqlanon.cli.shell import print_json, run_script
from sqlanon.engine.errors import told
from sqlanon.engine.session import DatabaseError
from sqlanon.errors import SQL, CatalogError, PolicyError, SqlanonError, policy_file, read_in
from sqlanon.policy.job import Job
from sqlanon.releases.release import was_published
from sqlanon.reporting.displays import release_dict, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("file", type=Path, help="script.sql, or policy.toml with a source and a policy")
    add_database(parser)
    parser.add_argument(
        "--replace", action="store_true", help="replace a release that was already published, and an existing FILE"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object for the policy, or for each result")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="publish a policy's release to this new file")
    add_publishing(parser)
    add_key_file(parser)
    group = parser.add_argument_group(
        "on Spark", "a policy file, with sqlanon[spark] installed here and on the workers"
    )
    group.add_argument("--spark", metavar="URL", help="run on this Spark: sc://host:15002, or local[2]")
    group.add_argument("--source", help="the table, or folder of Parquet files, to anonymize (default: the file's)")
    group.add_argument("--target", help="the new table, or folder, that the release is written to (default: its name)")
    group.add_argument("--staging", metavar="FOLDER", help="where steps are kept (default: next to the target)")
    group.add_argument("--staging-table", metavar="SCHEMA", help="the same, as tables of a schema")


SPARK = ("source", "target", "staging", "staging_table")
"""What goes with --spark."""


def _run_on_spark(arguments: argparse.Namespace) -> None:
    """Run a policy file on Spark."""
    if arguments.file.suffix.lower() != ".toml":
        raise PolicyError("--spark is for a policy file, policy.toml")
    for option in ("db", "output"):
        if getattr(arguments, option) is not None:
            raise PolicyError(f"--spark writes to --target, not to --{option}")
    job = Job.from_toml(arguments.file)
    source, target = arguments.source or job.source, arguments.target or job.name
    if source is None or target is None:
        raise PolicyError("--spark needs a --source and a --target, or a policy file that has source and name")
    import sqlanon.spark

    release = sqlanon.spark.run_policy(
        sqlanon.spark.session_of(arguments.spark),
        job,
        source,
        target,
        staging=arguments.staging,
        staging_table=arguments.staging_table,
        key=sqlanon.read_key(arguments.key_file) if arguments.key_file is not None else None,
        replace=arguments.replace,
    )
    print(json.dumps(release.as_dict() | {"target": target}) if arguments.json else f"wrote {target}: {release!r}")


def run(arguments: argparse.Namespace) -> None:
    if not arguments.file.is_file():
        raise CatalogError(f"There is no file '{arguments.file}'")
    if arguments.spark is not None:
        with read_in(policy_file()):
            _run_on_spark(arguments)
        return
    if given := [option for option in SPARK if getattr(arguments, option) is not None]:
        raise PolicyError(f"--{given[0].replace('_', '-')} goes with --spark")
    if arguments.file.suffix.lower() != ".toml":
        if arguments.output is not None:
            raise PolicyError("-o is for a policy file; a script says PUBLISH name TO 'file'")
        with made_or_gone(arguments), asked_database(arguments) as con:
            _run_script(con, arguments)
        return
    with read_in(policy_file(arguments.db)):
        _run_policy(arguments, arguments.output)


def _run_script(con: sqlanon.Connection, arguments: argparse.Namespace) -> None:
    """Run a SQL script, whose errors speak SQL."""
    with read_in(SQL):
        try:
            run_script(con, arguments.file.read_text(encoding="utf-8"), print_json if arguments.json else print)
        except DatabaseError as problem:
            raise SqlanonError(told(problem)) from None


def _run_policy(arguments: argparse.Namespace, output: Path | None) -> None:
    """Run a policy file on DuckDB."""
    job = Job.from_toml(arguments.file)
    if job.source is None:
        raise PolicyError(f"'{arguments.file}' names no source: source = \"patients\"")
    require_database(arguments, job.name)
    with asked_database(arguments, job.source) as con:
        if output is not None:
            require_writable(con, arguments, job.source)
        for hierarchy, definition in job.define.items():
            create_hierarchy(con, hierarchy, {**definition, "replace": True})
        if job.name is not None and not arguments.replace and was_published(con, job.name):
            raise CatalogError(
                f"Release '{job.name}' was published. A second one of the same people can be put together with it: use "
                f"--replace if it is to be replaced, another name, or sqlanon refresh for a view"
            )
        release = sqlanon.anonymize(
            con, job.source, policy=job.policy, name=job.name, replace=True, suggest=job.suggest
        )
        if output is not None:
            release.publish(output, replace=arguments.replace, **publishing(arguments))
        if arguments.json:
            print(json.dumps(release_dict(release)))
            return
        if job.name is None and output is None:
            print(release.relation())
        print(summary(release))
