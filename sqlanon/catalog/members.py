"""Who is in a view: the digests of the people whose rows it has, and the salt and key check that go with them."""

from __future__ import annotations

import json

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.releases import Stored
from sqlanon.errors import PolicyError
from sqlanon.pipeline.digests import Digests
from sqlanon.sqltext import literal


def remember(catalog: Catalog, release: str, digests: Digests, key: str | None) -> None:
    """Write into the catalog how the people of a view are recognized."""
    catalog.run(
        f"insert into {catalog.schema}.release_members by name select $1 as release, $2 as salt, $3 as columns, "
        f"{_key_check(digests.salt, key)} as key_check",
        [release, digests.salt, json.dumps(dict(digests.types), ensure_ascii=False)],
    )


def recall(catalog: Catalog, stored: Stored, key: str | None) -> Digests | None:
    """How the people of a stored view are recognized; None where that was not kept."""
    found = catalog.run(
        f"select salt, columns, key_check from {catalog.schema}.release_members where release = $1", [stored.name]
    )
    if not found:
        return None
    salt, columns, key_check = found[0]
    if key is not None and catalog.run(f"select {_key_check(salt, key)}") != [(key_check,)]:
        raise PolicyError(
            f"The key is not the one that '{stored.name}' was made with, so its pseudonyms would not match"
        )
    return Digests(salt, json.loads(columns))


def _key_check(salt: str, key: str | None) -> str:
    """What tells one key from another, as SQL."""
    return f"sqlanon_pseudonym({literal(key)}, {literal(salt)})" if key is not None else "null"
