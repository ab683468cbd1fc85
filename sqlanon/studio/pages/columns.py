"""The second screen: what each column is, and whom the present set singles out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from sqlanon.studio import telling
from sqlanon.studio.background import Answer
from sqlanon.studio.charts import percent
from sqlanon.studio.draft import ROLES, Draft
from sqlanon.studio.looking import Looked, Profile
from sqlanon.studio.pages.common import Ask, copies, redirect, render, strip

COUNTED = 40
"""Columns for which it is counted what adding or removing them does."""
SETS = 8
COUNTING = "hierarchy: counting …"


@dataclass(frozen=True)
class Effect:
    """What a column adds to those who are alone, or takes away."""

    number: int
    said: str
    is_waiting: bool


def columns(ask: Ask) -> Response:
    """All columns with their roles."""
    profile = ask.profile()
    draft = ask.draft(profile)
    return render(
        ask,
        "columns.html",
        profile=profile,
        draft=draft,
        names=ROLES,
        current="columns",
        **_live(ask, profile, draft),
    )


def live(ask: Ask) -> Response:
    """Who is alone with the present set, as far as it is counted."""
    profile = ask.profile()
    draft = ask.draft(profile)
    return render(
        ask,
        "_live.html",
        profile=profile,
        draft=draft,
        is_oob=True,
        strip=strip(ask, ask.desk),
        **_live(ask, profile, draft),
    )


def change(ask: Ask) -> Response:
    """Roles as the form has them."""
    profile = ask.profile()
    ask.draft(profile)
    roles = {column.name: role for column in profile.columns if (role := ask.text(f"role-{column.number}")) in ROLES}
    unsafe = frozenset(column.name for column in profile.columns if ask.text(f"unsafe-{column.number}"))

    def changed(draft: Draft) -> Draft:
        draft = draft.with_roles(roles, profile.names)
        return replace(draft, unsafe=unsafe & set(draft.columns("keep")))

    draft = ask.desk.change(changed)
    ask.studio.background.drop_waiting((ask.source.slug, "alone"))
    if not ask.is_fragment:
        return redirect(ask, ask.url("hierarchies" if ask.text("next") else "columns"))
    return render(
        ask,
        "_live.html",
        profile=profile,
        draft=draft,
        is_oob=True,
        strip=strip(ask, ask.desk),
        **_live(ask, profile, draft),
    )


def _fragment(ask: Ask, profile: Profile, draft: Draft) -> Response:
    """What changes beside the columns when a role does."""
    now = _live(ask, profile, draft)
    return render(ask, "_live.html", profile=profile, draft=draft, is_oob=True, strip=strip(ask, ask.desk), **now)


def suggest(ask: Ask) -> Response:
    """Take what `detect` thinks of each column."""
    profile = ask.profile()
    ask.draft(profile)
    roles = {column.name: column.suggested for column in profile.columns}
    ask.desk.change(lambda draft: draft.with_roles(roles, profile.names))
    return redirect(ask, ask.url("columns"))


def _live(ask: Ask, profile: Profile, draft: Draft) -> dict[str, Any]:
    """The numbers beside the columns; what is not counted yet is counted now."""
    now = ask.studio.alone(ask.source, draft.quasi, draft.person, wait=0.25)
    effects = [_effect(ask, draft, column, now) for column in profile.columns[:COUNTED]]
    coverage = [_coverage(ask, draft, column) for column in profile.columns]
    sets = [(names, share) for names, share in profile.sets if set(names) <= set(draft.quasi)] or list(profile.sets)
    return {
        "copies": copies(ask, draft),
        "now": now,
        "effects": effects,
        "coverage": [
            (column.number, tone, said) for column, (tone, said) in zip(profile.columns, coverage, strict=True)
        ],
        "sets": sets[:SETS],
        "are_chosen": any(set(names) <= set(draft.quasi) for names, _ in profile.sets),
        "people": "people" if draft.person else "rows",
        "is_waiting": not now.is_ready
        or any(effect.is_waiting for effect in effects)
        or any(said == COUNTING for _, said in coverage),
    }


def _effect(ask: Ask, draft: Draft, column: Looked, now: Answer) -> Effect:
    if column.name == draft.person or (column.suggested in ("out", "person") and column.name not in draft.quasi):
        return Effect(column.number, "", False)
    is_in = column.name in draft.quasi
    quasi = [name for name in draft.quasi if name != column.name] if is_in else [*draft.quasi, column.name]
    found = ask.studio.alone(ask.source, quasi, draft.person)
    if not found.is_ready or not now.is_ready:
        return Effect(column.number, "counting …", True)
    if found.problem is not None or now.problem is not None:
        return Effect(column.number, "", False)
    before, after = now.value.share, found.value.share
    said = f"{'without it' if is_in else 'with it'} {percent(after)} alone"
    if abs(after - before) < 0.0005:
        said = f"{'without it' if is_in else 'with it'} no difference"
    return Effect(column.number, said, False)


def _coverage(ask: Ask, draft: Draft, column: Looked) -> tuple[str, str]:
    """Whether a quasi-identifier's hierarchy covers it: a tone and a few words."""
    if column.name not in draft.quasi:
        return "", ""
    spec = draft.spec(column.name)
    if spec.kind == "none":
        return ("soft" if column.is_ranged or column.distinct <= 2 else "warn"), telling.uncovered(column)
    found = ask.studio.previewed(ask.source, column.name, spec)
    if not found.is_ready:
        return "soft", COUNTING
    if found.problem is not None:
        return "bad", found.problem
    if found.value.covers:
        return "good", "the hierarchy covers every value"
    values, rows = (telling.plural(found.value.gap_values, "value"), telling.plural(found.value.gap_rows, "row"))
    return "bad", f"the hierarchy lacks {values}, in {rows}"
