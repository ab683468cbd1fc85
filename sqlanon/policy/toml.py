"""Policy files: read by Python's own library, which cannot write TOML, and written here."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlanon.errors import PolicyError

OWN = ("source", "name", "suggest", "hierarchy")
"""The keys of a policy file that are not options of the policy."""


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a policy file says beside the policy (source, name, suggest and hierarchies, each None if it does not), and
    the policy's options."""
    try:
        options = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise PolicyError(f"Cannot read policy '{path}': {problem.strerror}") from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise PolicyError(f"'{path}' is not TOML: {problem}") from problem
    own = {key: options.pop(key, None) for key in OWN}
    for key in ("source", "name"):
        if own[key] is not None and not isinstance(own[key], str):
            raise PolicyError(f"{key} in '{path}' must be text")
    if own["suggest"] not in (None, True, False):
        raise PolicyError(f"suggest in '{path}' must be true or false")
    define = own["hierarchy"] or {}
    if not isinstance(define, dict) or not all(isinstance(table, dict) for table in define.values()):
        raise PolicyError(f"'{path}': define a hierarchy as a table, [hierarchy.zip] then prefix = true")
    return own, options


def value(given: Any) -> str:
    """A value as TOML: text, numbers, booleans, lists and inline tables of them. None is false, TOML has no null."""
    if given is None:
        return "false"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, (int, float)):
        return repr(given)
    if isinstance(given, str):
        return text(given)
    if isinstance(given, Mapping):
        return "{ " + ", ".join(f"{key(k)} = {value(v)}" for k, v in given.items()) + " }"
    return "[" + ", ".join(map(value, given)) + "]"


def text(given: str) -> str:
    """Text as TOML writes it: as JSON does, and DEL escaped too."""
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def key(given: str) -> str:
    """A key, in quotes where it must be."""
    return given if re.fullmatch(r"[A-Za-z0-9_-]+", given) else text(given)


def document(options: Mapping[str, Any]) -> str:
    """A file: plain options first, a table for each mapping after them."""
    lines = [f"{key(option)} = {value(given)}" for option, given in options.items() if not isinstance(given, Mapping)]
    for option, given in options.items():
        if isinstance(given, Mapping):
            lines += ["", f"[{key(option)}]", *(f"{key(k)} = {value(v)}" for k, v in given.items())]
    return "\n".join(lines) + "\n"
