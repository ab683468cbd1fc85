"""The draft of a policy: what the steward has chosen so far. Its TOML file is all that the studio keeps of it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlanon.studio.facade import Policy, SqlanonError, toml_text
from sqlanon.studio.specs import Spec

ROLES = ("out", "quasi", "sensitive", "keep", "pseudonym", "person")
"""What a column can be, in the order of the keys 1 to 6."""
OPTIONS = {"quasi": "quasi", "sensitive": "sensitive", "keep": "keep", "pseudonym": "pseudonymize"}
"""Roles that are a list of columns in a policy."""
EFFORTS = ("fast", "balanced", "best")


@dataclass(frozen=True)
class Draft:
    """Roles, hierarchies and promise for one source. A change makes a new one."""

    roles: dict[str, str] = field(default_factory=dict)
    """Column → role, without those left out."""
    unsafe: frozenset[str] = frozenset()
    """Kept columns that the steward keeps although they are nearly unique."""
    specs: dict[str, Spec] = field(default_factory=dict)
    """Column → what its hierarchy is made of."""
    k: int = 5
    l: dict[str, float] = field(default_factory=dict)  # noqa: E741 - the field's own name
    """Sensitive column → the l that is required of it."""
    t: dict[str, float] = field(default_factory=dict)
    """The same for t."""
    is_separate: bool = False
    """Is each sensitive column protected by itself, rather than also from people who know the others?"""
    max_suppression: float | None = None
    is_snapped: bool = True
    effort: str = "balanced"
    seed: int = 0
    rest: dict[str, Any] = field(default_factory=dict)
    """Options of the file that the studio has no field for; they are kept."""

    def columns(self, role: str) -> list[str]:
        """The columns with a role, in the order in which the source has them."""
        return [column for column, has in self.roles.items() if has == role]

    @property
    def quasi(self) -> list[str]:
        return self.columns("quasi")

    @property
    def sensitive(self) -> list[str]:
        return self.columns("sensitive")

    @property
    def person(self) -> str | None:
        return next(iter(self.columns("person")), None)

    def with_roles(self, roles: dict[str, str], order: list[str]) -> Draft:
        """The draft with some roles changed; there is one person column at most."""
        chosen = self.roles | roles
        people = [column for column in order if chosen.get(column) == "person"]
        if len(people) > 1:
            newest = next(
                (column for column in roles if roles[column] == "person" and self.roles.get(column) != "person"),
                people[0],
            )
            chosen |= {column: "out" for column in people if column != newest}
        kept = {column: chosen[column] for column in order if chosen.get(column, "out") != "out"}
        private = {column for column, role in kept.items() if role == "sensitive"}
        return replace(
            self,
            roles=kept,
            unsafe=self.unsafe & {column for column, role in kept.items() if role == "keep"},
            l={column: value for column, value in self.l.items() if column in private},
            t={column: value for column, value in self.t.items() if column in private},
        )

    def with_specs(self, specs: Mapping[str, Spec]) -> Draft:
        """The draft with some hierarchies changed."""
        changed = {**self.specs, **specs}
        return replace(self, specs={column: spec for column, spec in changed.items() if spec.kind != "none"})

    def options(self, prefix: str) -> dict[str, Any]:
        """The flat options of a policy, as SQL, Python and TOML all take them."""
        found: dict[str, Any] = {"quasi": self.quasi, "k": self.k}
        for role, option in OPTIONS.items():
            columns = [column for column in self.columns(role) if column not in self.unsafe]
            if role != "quasi" and columns:
                found[option] = columns
        if self.unsafe:
            found["unsafe_keep"] = [column for column in self.roles if column in self.unsafe]
        asked: dict[str, Any] = {"entity": self.person, "l": self._required(self.l), "t": self._required(self.t)}
        asked["max_suppression"] = self.max_suppression
        found |= {option: value for option, value in asked.items() if value is not None}
        found |= {"several": "separate"} if self.is_separate and (self.l or self.t) else {}
        found |= {"ranges": "snapped"} if self.is_snapped else {}
        found |= {"effort": self.effort} if self.effort != "balanced" else {}
        found |= {"seed": self.seed} if self.seed else {}
        found |= self.rest
        found["hierarchies"] = {column: self.spec(column).bound(prefix, column) for column in self.quasi}
        return found

    def _required(self, by_column: Mapping[str, float]) -> float | dict[str, float] | None:
        """What is required of the sensitive columns: one number if it is the same of all."""
        asked = {column: by_column[column] for column in self.sensitive if column in by_column}
        values = set(asked.values())
        if len(values) == 1 and len(asked) == len(self.sensitive):
            return values.pop()
        return asked or None

    @property
    def unprotected(self) -> list[str]:
        """The sensitive columns of which nothing is required."""
        return [column for column in self.sensitive if column not in self.l and column not in self.t]

    def spec(self, column: str) -> Spec:
        """What a column's hierarchy is made of; by default it has none."""
        return self.specs.get(column, Spec("none"))

    def define(self, prefix: str) -> dict[str, dict[str, Any]]:
        """The hierarchies that the policy needs and that are not stored: a name and what makes it."""
        return {
            str(spec.bound(prefix, column)): spec.definition()
            for column in self.quasi
            if (spec := self.spec(column)).is_own
        }

    def policy(self, prefix: str) -> Policy:
        """The policy, checked."""
        if not self.quasi:
            raise SqlanonError("No column is a quasi-identifier yet. Choose at least one on the screen Columns.")
        return Policy.of(self.options(prefix))

    def toml(self, source: str, prefix: str, name: str | None = None) -> str:
        """The file for `sqlanon run`."""
        own = {"source": source} | ({"name": name} if name else {})
        options = self.options(prefix)
        options = {o: v for o, v in options.items() if o != "hierarchies"} | {"hierarchies": options["hierarchies"]}
        return toml_text(own | {o: v for o, v in options.items() if v not in ({}, [])}, self.define(prefix))

    def save(self, path: Path, source: str, prefix: str) -> None:
        """Write the file, whole or not at all."""
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(self.toml(source, prefix), encoding="utf-8")
        beside.replace(path)


def _by_column(asked: Any, sensitive: list[str]) -> dict[str, float]:
    """What a file requires of each sensitive column: by one number for all, or column by column."""
    return dict(asked) if isinstance(asked, dict) else dict.fromkeys(sensitive, asked)


def read(path: Path, columns: list[str], prefix: str) -> Draft:
    """The draft of a file. Columns that the source no longer has are dropped."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise SqlanonError(f"The draft '{path.name}' cannot be read. Move it away to begin anew.") from None
    content.pop("source", None)
    content.pop("name", None)
    define = content.pop("hierarchy", {})
    bound = content.pop("hierarchies", {})
    roles: dict[str, str] = {}
    for role, option in OPTIONS.items():
        roles |= dict.fromkeys(content.pop(option, []), role)
    unsafe = content.pop("unsafe_keep", [])
    roles |= dict.fromkeys(unsafe, "keep")
    if (person := content.pop("entity", None)) is not None:
        roles[person] = "person"
    specs = {column: Spec.of(hierarchy, define) for column, hierarchy in bound.items()}
    known: dict[str, Any] = {
        name: content.pop(name) for name in ("k", "max_suppression", "effort", "seed") if name in content
    }
    private = [column for column, role in roles.items() if role == "sensitive"]
    known |= {model: _by_column(content.pop(model), private) for model in ("l", "t") if model in content}
    is_separate = content.get("several") == "separate"
    if is_separate or content.get("several") == "strict":
        content.pop("several")
    is_snapped = content.get("ranges") == "snapped"
    if is_snapped or content.get("ranges") == "auto":
        content.pop("ranges")
    draft = Draft(is_snapped=is_snapped, is_separate=is_separate, rest=content, **known)
    draft = draft.with_specs({column: spec for column, spec in specs.items() if column in columns})
    draft = draft.with_roles({c: role for c, role in roles.items() if c in columns}, columns)
    return replace(draft, unsafe=frozenset(unsafe) & set(draft.roles))
