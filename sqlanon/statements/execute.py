"""sqlanon.connect(): a DuckDB connection that also understands sqlanon's statements."""

from __future__ import annotations

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.hierarchies import create_hierarchy, drop_hierarchy, stored_hierarchy
from sqlanon.engine.files import ABOUT_TYPES
from sqlanon.engine.names import resolve
from sqlanon.engine.session import Session
from sqlanon.errors import PolicyError, not_one_of
from sqlanon.policy.options import ROLES
from sqlanon.policy.policy import Policy
from sqlanon.releases.erase import erase
from sqlanon.releases.making import anonymize
from sqlanon.releases.refresh import refresh
from sqlanon.releases.release import drop_release, open_release
from sqlanon.sqltext import answer_sql, fold, literal
from sqlanon.statements.parse import (
    CreateHierarchy,
    CreateRelease,
    DropRelease,
    ErasePeople,
    Plain,
    Publish,
    RefreshRelease,
    Statement,
)

HIERARCHY = {"hierarchy": "varchar", "kind": "varchar", "height": "integer", "leaves": "bigint"}
RELEASE = {
    "release": "varchar",
    "rows": "bigint",
    "classes": "bigint",
    "k": "bigint",
    "l": "map(varchar, double)",
    "gcp": "double",
}
"""What statements answer with: columns and their types."""
PUBLISHING = ("formulas", "max_unique", "strict")
"""The options of PUBLISH."""


def execute_statement(con: Session, statement: Statement) -> str:
    """Carry out a statement of ours; the SQL that answers it (a plain one's own text)."""
    if isinstance(statement, Plain):
        return statement.sql
    if isinstance(statement, CreateRelease):
        policy = Policy.of(statement.options)
        _refuse_columns_without_role(con, statement.select, policy)
        release = anonymize(
            con,
            statement.select,
            policy=policy,
            name=statement.name,
            kind=statement.kind,
            replace=statement.replace,
        )
        proof, gcp = release.proof, release.measured.get("gcp")
        row = (release.name, proof.rows, proof.classes, proof.k, proof.models.get("l", {}), gcp)
        return answer_sql(RELEASE, [row])
    if isinstance(statement, DropRelease):
        drop_release(con, statement.name, kind=statement.kind, missing_ok=statement.missing_ok)
        return f"select {literal(statement.name)} as dropped"
    if isinstance(statement, RefreshRelease):
        return refresh(con, statement.name).sql()
    if isinstance(statement, ErasePeople):
        return erase(con, statement.name, statement.people).sql()
    if isinstance(statement, Publish):
        for asked in statement.options:
            if asked not in PUBLISHING:
                raise PolicyError(not_one_of("option", asked, PUBLISHING))
        made = open_release(con, statement.name)
        about = made.publish(statement.path, replace=statement.replace, **statement.options)
        row = (statement.path, *(about[fact] for fact in ABOUT_TYPES))
        return answer_sql({"published": "varchar", **ABOUT_TYPES}, [row])
    if isinstance(statement, CreateHierarchy):
        create_hierarchy(con, statement.name, replace=statement.replace, **statement.arguments)
        tree = stored_hierarchy(Catalog.of(con), statement.name)
        return answer_sql(HIERARCHY, [(tree.name, tree.kind, tree.height, tree.leaves)])
    drop_hierarchy(con, statement.name, missing_ok=statement.missing_ok)
    return f"select {literal(statement.name)} as dropped"


def _refuse_columns_without_role(con: Session, select: str, policy: Policy) -> None:
    roles = {fold(column) for role in (*ROLES, "identity") for column in getattr(policy, role)}
    roles |= {fold(policy.entity or "")}
    without = [column for column in resolve(con, select).columns if fold(column) not in roles]
    if without:
        listed = ", ".join(f"'{column}'" for column in without)
        raise PolicyError(
            f"{listed} selected without a role. Name each in quasi, sensitive or keep, or leave it out of the SELECT"
        )
