"""Pseudonyms: keyed hashes in the place of identifiers. The key is in this process's memory and nowhere else: a query
names it by a token, so neither SQL text nor logs nor the database ever hold it.
"""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlanon.errors import CatalogError, PolicyError, in_words, option_name

BYTES = 32
"""The bytes of a new key."""
FEWEST = 16
"""The bytes that a key must have."""
DIGITS = 32
"""The hexadecimal digits of a pseudonym: 128 bits, so that no two of even a billion values meet."""
VARIABLE = "SQLANON_KEY"
_keys: dict[str, bytes] = {}
_tokens = itertools.count(1)


def set_instance_key(instance: str, key: bytes | None) -> None:
    """Remember the key of a database instance, or forget it."""
    if key is None:
        _keys.pop(_of_instance(instance), None)
    else:
        _keys[_of_instance(instance)] = _checked(key)


def token_of(instance: str) -> str:
    """The token of an instance's key, or else of the environment's."""
    if _of_instance(instance) in _keys:
        return _of_instance(instance)
    if VARIABLE not in os.environ:
        given = "key=..., sqlanon.set_key(con, ...)"
        how = in_words(python=given, sql="sqlanon.set_key(con, ...) from Python", command="--key-file FILE")
        written = in_words(python="sqlanon.create_key(file)", sql="sqlanon key FILE", command="sqlanon key FILE")
        make = f"To make one: {written}"
        raise PolicyError(f"{option_name('pseudonymize')} needs a key: {how} or {VARIABLE} in the environment. {make}")
    _parsed(os.environ[VARIABLE], VARIABLE)
    return VARIABLE


@contextmanager
def lent(key: bytes) -> Iterator[str]:
    """A token for a key, good for one run."""
    token = f"run {next(_tokens)}"
    _keys[token] = _checked(key)
    try:
        yield token
    finally:
        del _keys[token]


def create_key(path: str | Path) -> None:
    """Write a new random key to a new file, as hexadecimal digits, that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise CatalogError(f"'{path}' already exists. A key is never overwritten") from None
    except OSError as problem:
        raise CatalogError(f"Cannot write '{path}': {problem.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(BYTES) + "\n")


def read_key(path: str | Path) -> bytes:
    """The key of a file that create_key wrote."""
    try:
        text = Path(path).read_text(encoding="ascii")
    except OSError as problem:
        raise CatalogError(f"Cannot read key file '{path}': {problem.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    return _parsed(text, f"'{path}'")


def _of_instance(instance: str) -> str:
    return f"instance {instance}"


def key_of_token(token: str) -> bytes:
    """The key that a token stands for."""
    if token == VARIABLE:
        return _parsed(os.environ.get(VARIABLE, ""), VARIABLE)
    if token not in _keys:
        raise PolicyError("The key of this query is gone: plan it again with the key at hand")
    return _keys[token]


def _parsed(text: str, where: str) -> bytes:
    """The key in hexadecimal digits. No message shows any of it, nor does the exception that it comes from."""
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) < FEWEST:
        raise PolicyError(
            f"{where} holds no key: {2 * FEWEST} or more hexadecimal digits, as sqlanon key FILE writes them"
        )
    return key


def _checked(key: object) -> bytes:
    if not isinstance(key, bytes) or len(key) < FEWEST:
        raise PolicyError(f"key must be {FEWEST} or more bytes, such as sqlanon.read_key(file) gives")
    return key
