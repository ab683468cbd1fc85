"""What two policies or two releases differ in: roles of columns, options, and for releases loss, risk and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlanon import wording
from sqlanon.engine.session import unwrap
from sqlanon.errors import CatalogError, PolicyError, in_words
from sqlanon.policy.options import ROLES
from sqlanon.policy.policy import Policy
from sqlanon.releases.release import Release, open_release
from sqlanon.sqltext import answer_sql, fold

HEADER = ("what", "column", "before", "after")
TYPES = dict.fromkeys(("what", "column", "before", "after"), "varchar")
NONE = "-"


@dataclass(frozen=True)
class Change:
    """One thing that differs; `column` is the column it is about, if it is about one."""

    what: str
    column: str | None
    before: str
    after: str


@dataclass(frozen=True)
class Difference:
    """What two policies or releases differ in."""

    first: str
    second: str
    changes: tuple[Change, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def sql(self) -> str:
        """A query that answers with a row per change."""
        return answer_sql(TYPES, ((c.what, c.column, c.before, c.after) for c in self.changes))

    @property
    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [(c.what, c.column or "", c.before, c.after) for c in self.changes]

    def __str__(self) -> str:
        title = f"{self.first} and {self.second}"
        return f"{title}\n{wording.table_text(HEADER, self._rows)}" if self.changes else f"{title} are the same"

    def _repr_html_(self) -> str:
        return wording.table_html(f"{self.first} and {self.second}", HEADER, self._rows)


def diff(con: Any, first: Any, second: Any) -> Difference:
    """What changes from the first to the second: each is a stored release's name, a Release, a Policy, or the path of a
    policy file. Of two releases also their rows, classes, loss and risk are compared; `con` may be None otherwise."""
    shown, found = [], []
    for number, given in enumerate((first, second), 1):
        title, one = _found(con, given, number)
        shown.append(title)
        found.append(one)
    before, after = (one.policy if isinstance(one, Release) else one for one in found)
    changes = [*_roles(before, after), *_options(before, after)]
    if isinstance(found[0], Release) and isinstance(found[1], Release):
        changes += _measures(found[0], found[1])
    return Difference(shown[0], shown[1], tuple(changes))


def _found(con: Any, given: Any, number: int) -> tuple[str, Policy | Release]:
    if isinstance(given, Policy):
        return f"policy {number}", given
    if isinstance(given, Release):
        return given.name or f"release {number}", given
    if isinstance(given, Path) or (isinstance(given, str) and given.lower().endswith(".toml")):
        if not Path(given).is_file():
            raise CatalogError(f"There is no file '{given}'")
        return str(given), Policy.from_toml(given)
    if not isinstance(given, str):
        raise PolicyError("diff compares stored releases by name, releases, policies, or policy files")
    if con is None:
        where = in_words(python="give the connection", sql="open the database", command="add --db FILE")
        raise CatalogError(f"'{given}' is not a policy file (.toml). If it is a stored release, {where}")
    return given, open_release(unwrap(con), given)


def _role_of(policy: Policy) -> dict[str, tuple[str, str]]:
    """Each column with its role, by its name whatever the case."""
    return {fold(column): (column, role) for role in ROLES for column in getattr(policy, role)}


def _roles(before: Policy, after: Policy) -> Iterator[Change]:
    old, new = _role_of(before), _role_of(after)
    for column in dict.fromkeys([*old, *new]):
        shown = (new.get(column) or old[column])[0]
        roles = [of[column][1] if column in of else "not released" for of in (old, new)]
        if roles[0] != roles[1]:
            yield Change("role", shown, roles[0], roles[1])


def _options(before: Policy, after: Policy) -> Iterator[Change]:
    old, new = before.options(), after.options()
    for option in dict.fromkeys([*old, *new]):
        values = old.get(option), new.get(option)
        if option in ROLES or values[0] == values[1]:
            continue
        if any(isinstance(value, Mapping) for value in values):
            one, other = (value or {} for value in values)
            for column in dict.fromkeys([*one, *other]):
                if one.get(column) != other.get(column):
                    yield Change(option, column, _shown(one.get(column)), _shown(other.get(column)))
        else:
            yield Change(option, None, _shown(values[0]), _shown(values[1]))


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return (
        NONE
        if value is None
        else f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def _measures(before: Release, after: Release) -> Iterator[Change]:
    for what, told in _facts(before).items():
        if told != (now := _facts(after).get(what, NONE)):
            yield Change(what, None, told, now)
    for column in dict.fromkeys([*before.losses, *after.losses]):
        losses = [wording.percent(release.losses.get(column)) for release in (before, after)]
        if losses[0] != losses[1]:
            yield Change("loss", column, losses[0], losses[1])
    for model in dict.fromkeys([*before.proof.models, *after.proof.models]):
        one, other = (release.proof.models.get(model, {}) for release in (before, after))
        for column in dict.fromkeys([*one, *other]):
            values = [f"{of[column]:.4g}" if column in of else NONE for of in (one, other)]
            if values[0] != values[1]:
                yield Change(f"{model} reached", column, values[0], values[1])


def _facts(release: Release) -> dict[str, str]:
    """What is compared of a release, in words."""
    proof = release.proof
    return {
        "source": release.source,
        "rows": f"{proof.rows:,}",
        "rows suppressed": f"{release.suppressed:,}",
        "classes": f"{proof.classes:,}",
        "smallest class": f"{proof.k:,}",
        "highest risk": wording.percent(1 / proof.k if proof.k else None),
        "mean risk": wording.percent(proof.classes / proof.rows if proof.rows else None),
        "information loss": wording.percent(release.measured.get("gcp")),
    }
