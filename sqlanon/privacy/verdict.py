"""The three states of a verdict: it holds, it holds with warnings that are named, or it is broken; and what to do next.

A warning is not a failure: everything that was required is satisfied. It says what nothing was required of, and how to
require it, in the words of the interface in which it is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon import wording
from sqlanon.errors import call, in_words, option, option_name

HOLDS, WARNED, BROKEN = "holds", "holds with warnings", "BROKEN"
EMPTY, HOMOGENEOUS, KEPT, OTHERS, NOTHING_LOST = (
    "nothing to check",
    "homogeneous classes",
    "unique with kept columns",
    "other releases of the same people",
    "nothing lost at all",
)
"""What is warned about."""


@dataclass(frozen=True)
class Warned:
    """Something that should be looked at although all holds: which kind it is, a sentence, and what mends it."""

    kind: str
    said: str
    mend: str


def state(holds: bool, warnings: Sequence[Warned]) -> str:
    """Which of the three states it is."""
    return BROKEN if not holds else WARNED if warnings else HOLDS


def next_step(holds: bool, warnings: Sequence[Warned], otherwise: str, repair: str) -> str:
    """What to do next: repair what is broken, mend what is warned about, or go on."""
    if not holds:
        return f"do not give it out; {repair}"
    if not warnings:
        return otherwise
    mends = list(dict.fromkeys(warning.mend for warning in warnings))
    return f"{wording.listed(mends, 'and')}; or accept {'this' if len(warnings) == 1 else 'these'} and say so"


def told(holds: bool, warnings: Sequence[Warned], then: str) -> list[str]:
    """The verdict as lines: the state with the names of the warnings, each warning, and what to do next."""
    kinds = list(dict.fromkeys(warning.kind for warning in warnings)) if holds else []
    named = f": {', '.join(kinds)}" if kinds else ""
    said = [f"warning: {warning.said}" for warning in warnings] if holds else []
    return [*said, f"{state(holds, warnings)}{named}", f"next: {then}"]


def empty() -> Warned:
    """A table without rows satisfies everything that is required of rows."""
    return Warned(EMPTY, "There is nothing to check: no rows.", "check the table again once it has rows")


def homogeneous(column: str, overall: float | None = None) -> Warned:
    """A class has one value of a sensitive column, and nothing was required of it. `overall` is the share of its most
    frequent value in the whole table, if that is known."""
    said = f"In at least one class everybody has the same {column}, and nothing prevents it."
    possible = possible_l(overall)
    mend = f"require {option('l', possible)} of {column}" if possible is not None else f"leave out {column}"
    return Warned(HOMOGENEOUS, said, mend)


def possible_l(overall: float | None) -> float | None:
    """An l that classes can keep where a value has this share of the whole table: 2, or as much as there can be, with a
    digit after the point; None where nearly everybody has that value."""
    if overall is None or overall <= 0.5:
        return 2
    possible = math.floor(10 / overall + 1e-9) / 10
    return possible if possible > 1 else None


def unique_with(columns: Sequence[str], share: float) -> Warned:
    """Released columns that are not quasi-identifiers make rows unique."""
    said = f"Whoever also knows the kept columns ({', '.join(columns)}) finds {share:.1%} of the rows unique."
    them = "it" if len(columns) == 1 else "them"
    roles = f"{option_name('quasi')} or {option_name('sensitive')}"
    mend = f"name {wording.listed(list(columns))} in {roles}, or leave {them} out"
    return Warned(KEPT, said, mend)


def other_release(said: str) -> Warned:
    """Another release of the same people breaks k together with this one, or could not be tried."""
    return Warned(OTHERS, said, f"give out one of the releases only, or make them again with {option('strict')}")


def nothing_lost(source: str | None) -> Warned:
    """Every quasi-identifier is released as it is."""
    said = "Nothing was lost: every row shows its quasi-identifiers as they are in the source."
    look = "" if source is None else f" ({call('detect', source)})"
    mend = f"make sure that {option_name('quasi')} names everything that others can know, and no identifier{look}"
    return Warned(NOTHING_LOST, said, mend)


def publishing(name: str | None) -> str:
    """How a release is published."""
    said = in_words(
        python="release.publish('FILE')" if name is None else f"sqlanon.open_release(con, {name!r}).publish('FILE')",
        sql=f"PUBLISH {name or 'NAME'} TO 'FILE'",
        command=f"{call('publish', name or 'NAME')} -o FILE",
    )
    return f"publish it: {said}"
