"""Writing TOML: Python's own library only reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


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
