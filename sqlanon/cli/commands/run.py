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
)
from sqlanon.cli.shell import print_json, run_script
from sqlanon.errors import CatalogError, PolicyError
from sqlanon.policy.job import Job
from sqlanon.releases.publishing import refuse
from sqlanon.releases.release import was_published
from sqlanon.reporting.displays import release_dict, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("file", type=Path, help="script.sql, or policy.toml with a source and a policy")
    add_database(parser)
    parser.add_argument("--replace", action="store_true", help="replace a release that was already published")
    parser.add_argument("--json", action="store_true", help="print a JSON object for the policy, or for each result")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="publish a policy's release to this new file")
    add_publishing(parser)
    add_key_file(parser)


def run(arguments: argparse.Namespace) -> None:
    if not arguments.file.is_file():
        raise CatalogError(f"There is no file '{arguments.file}'")
    output: Path | None = arguments.output
    if arguments.file.suffix.lower() != ".toml":
        if output is not None:
            raise PolicyError("-o is for a policy file; a script says PUBLISH name TO 'file'")
        with made_or_gone(arguments), asked_database(arguments) as con:
            run_script(con, arguments.file.read_text(encoding="utf-8"), print_json if arguments.json else print)
        return
    job = Job.from_toml(arguments.file)
    if job.source is None:
        raise PolicyError(f"'{arguments.file}' names no source: source = \"patients\"")
    require_database(arguments, job.name)
    with asked_database(arguments, job.source) as con:
        if output is not None:
            refuse(con.duckdb, output)
        for hierarchy, definition in job.define.items():
            create_hierarchy(con, hierarchy, {**definition, "replace": True})
        if job.name is not None and not arguments.replace and was_published(con, job.name):
            raise CatalogError(
                f"Release '{job.name}' was published. A second one of the same people can be put together with it: use "
                f"--replace if it is to be replaced, another name, or sqlanon refresh for a view"
            )
        release = sqlanon.anonymize(con, job.source, policy=job.policy, name=job.name, replace=True)
        if output is not None:
            release.publish(output, **publishing(arguments))
        if arguments.json:
            print(json.dumps(release_dict(release)))
            return
        if job.name is None and output is None:
            print(release.relation())
        print(summary(release))
