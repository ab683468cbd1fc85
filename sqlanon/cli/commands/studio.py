"""sqlanon studio: a local web page on which a data steward goes from a table to a release."""

from __future__ import annotations

import argparse
from pathlib import Path

from sqlanon.cli.commands.arguments import READING, add_reading
from sqlanon.errors import SqlanonError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("file", nargs="*", help="DuckDB databases, and csv, tsv or parquet files")
    add_reading(parser, "how csv and tsv files are read")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("studio"),
        metavar="DIR",
        help="the folder for drafts, published files and reports (default: studio)",
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the link")
    parser.add_argument("--demo", action="store_true", help="open it on the sample data")


def run(arguments: argparse.Namespace) -> None:
    try:
        from sqlanon.studio.serving import serve
    except ModuleNotFoundError as missing:
        if missing.name not in ("starlette", "jinja2", "uvicorn", "markupsafe"):
            raise
        raise SqlanonError("The studio needs starlette, jinja2 and uvicorn: pip install 'sqlanon[studio]'") from None
    serve(
        arguments.file,
        arguments.out,
        port=arguments.port,
        is_demo=arguments.demo,
        opens_browser=not arguments.no_browser,
        reading={option: value for option in READING if (value := getattr(arguments, option)) is not None},
    )
