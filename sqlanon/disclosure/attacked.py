"""What came of the attacks on a release: each with its verdict, and all of them with theirs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlanon import wording
from sqlanon.privacy import verdict
from sqlanon.privacy.verdict import Warned
from sqlanon.sqltext import literal


@dataclass(frozen=True)
class Attack:
    """What was tried, how far it got, how far chance alone gets, and what is promised against it.

    The verdict is `holds` where it got no further than promised, `BROKEN` where it did, `open` where it got somewhere
    and nothing is promised, or `not tried`.
    """

    attack: str
    column: str | None
    tried: str
    got: float | None
    chance: float | None
    promise: float | None
    verdict: str
    other: str | None = None
    """The release that this one is combined with."""

    @property
    def told(self) -> list[str]:
        """A line of the table in words."""
        what = f"{self.attack}{f' of {self.column}' if self.column else ''}"
        what += f" with {self.other}" if self.other else ""
        return [what, self.verdict, *map(wording.percent, (self.got, self.chance, self.promise))]


HEADER = ("attack", "verdict", "got", "by chance", "promised")


@dataclass(frozen=True)
class Attacks:
    """The attacks on one release."""

    release: str
    rows: tuple[Attack, ...]
    warnings: tuple[Warned, ...] = ()
    """What holds and should be looked at."""
    next: str = ""
    """What to do next."""

    @property
    def holds(self) -> bool:
        """Did no attack get further than what is promised?"""
        return all(row.verdict != "BROKEN" for row in self.rows)

    @property
    def state(self) -> str:
        """holds, holds with warnings or BROKEN."""
        return verdict.state(self.holds, self.warnings)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = {"release": self.release, "holds": self.holds, "state": self.state}
        warned = [asdict(warning) for warning in self.warnings]
        return told | {"warnings": warned, "next": self.next, "attacks": [asdict(row) for row in self.rows]}

    @property
    def verdict(self) -> str:
        """In a line: the state, and which attacks nothing is promised against."""
        found = dict.fromkeys(row.attack for row in self.rows if row.verdict == "open")
        still = f"; {len(found)} open, which nothing is promised against: {', '.join(found)}" if found else ""
        return f"{self.state}{still}"

    @property
    def told(self) -> list[str]:
        """The verdict in lines, the last of which says what to do next."""
        *warned, state, then = verdict.told(self.holds, self.warnings, self.next)
        return [*warned, state + self.verdict.removeprefix(self.state), then]

    def __str__(self) -> str:
        table = wording.table_text(HEADER, [row.told for row in self.rows])
        return "\n".join([self.release, table, *self.told])

    def _repr_html_(self) -> str:
        title = f"{self.release}: {self.verdict}"
        return wording.table_html(title, HEADER, [row.told for row in self.rows], self.told)

    def sql(self) -> str:
        """A query that answers with a row per attack."""
        kinds = ("varchar", "varchar", "varchar", "double", "double", "double", "varchar")
        rows = [
            "(" + ", ".join(f"{literal(v)}::{kind}" for v, kind in zip(asdict(row).values(), kinds, strict=False)) + ")"
            for row in self.rows
        ]
        return f'from (values {", ".join(rows)}) as attacks(attack, "column", tried, got, chance, promise, verdict)'


def verdict_of(got: float, promise: float | None, is_open: bool) -> str:
    """How an attack ended that got this far, by what is promised; `is_open` if it got anywhere."""
    if promise is None:
        return "open" if is_open else "holds"
    return "BROKEN" if got > promise * (1 + 1e-9) else "holds"
