"""What somebody who signs must know beside the figures: who asked for it and why, what else is out, and the file."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from html import escape
from pathlib import Path

from sqlanon import wording
from sqlanon.errors import CatalogError, PolicyError, SqlanonError
from sqlanon.releases.combinations import Combination, audit
from sqlanon.releases.release import Release
from sqlanon.sqltext import query_or_none

CHUNK = 1 << 20


@dataclass(frozen=True)
class Paper:
    """What is written above the place to sign; what is not known is left to be filled in."""

    author: str | None = None
    purpose: str | None = None
    recipient: str | None = None
    source_date: str | None = None
    published: str | None = None
    sha256: str | None = None

    @classmethod
    def of(
        cls,
        author: str | None = None,
        purpose: str | None = None,
        recipient: str | None = None,
        source_date: str | date | None = None,
        published: str | Path | None = None,
    ) -> Paper:
        """The paper, with the SHA-256 of the file that was published."""
        day = None
        if source_date is not None:
            try:
                day = date.fromisoformat(str(source_date)).isoformat()
            except ValueError:
                raise PolicyError(f"The date of the source is '{source_date}'; write it as 2026-01-31") from None
        name = digest = None
        if published is not None:
            name, digest = Path(published).name, sha256_of(Path(published))
        return cls(author, purpose, recipient, day, name, digest)

    def dated(self, source: str | None) -> Paper:
        """The paper with the date of the source, if that is a file and no other date was given."""
        return self if self.source_date is not None else replace(self, source_date=date_of(source))

    def as_dict(self) -> dict[str, str | None]:
        """For JSON."""
        return asdict(self)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    if not path.is_file():
        raise CatalogError(f"There is no file '{path}'")
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def date_of(source: str | None) -> str | None:
    """The day on which a source that is a file was last changed."""
    if source is None or query_or_none(source) is not None or not Path(source).is_file():
        return None
    return datetime.fromtimestamp(Path(source).stat().st_mtime, UTC).date().isoformat()


def others_of(release: Release) -> tuple[Combination, ...]:
    """The combinations of a stored release with others of the same source; none where that cannot be counted."""
    if release.name is None or release.frame is not None:
        return ()
    try:
        found = audit(release.con, release.source).combinations
    except SqlanonError:
        return ()
    return tuple(one for one in found if release.name in one.releases)


def combination_in_words(name: str, found: Combination) -> str:
    """What somebody who has all of these releases can do."""
    others = wording.listed([f"'{other}'" for other in found.releases if other != name])
    who = f"With {others}" if others else "With all of its versions"
    if found.verdict == "not tried":
        note = found.note or ""
        return f"{who}: not known, because {note[:1].lower()}{note[1:]}"
    below = f"{found.people_below_k:,} of {wording.plural(found.people, 'person', 'people')}"
    if found.verdict == "undecided":
        note = found.note or ""
        return f"{who}: {below} may be left with fewer than k = {found.k} rows; {note}."
    if not found.is_broken:
        return f"{who}: everybody stays among k = {found.k} rows or more."
    return f"{who}: {below} are left with fewer than k = {found.k} rows, somebody with {found.k_together}."


def _looks(value: str | None) -> str:
    """How a cell looks: a line to write on, or small enough for a digest."""
    return ' class="fill"' if not value else ' class="digest"' if len(value) == 64 else ""


def section(paper: Paper, title: str) -> str:
    """The last part of the report: what was asked by whom, and a place to sign."""
    asked = {
        "Author": paper.author,
        "Purpose": paper.purpose,
        "Recipient": paper.recipient,
        "Date of the source": paper.source_date,
        "Published file": paper.published,
        "SHA-256 of the file": paper.sha256,
    }
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td{_looks(value)}>{escape(value or "")}</td></tr>'
        for name, value in asked.items()
    )
    signed = "".join(f"<div><span>{what}</span></div>" for what in ("Name", "Place and date", "Signature"))
    return (
        f'<section class="card signing"><h2>To sign</h2><table><tbody>{rows}</tbody></table>'
        f"<p>I have read this report about {escape(title)} and agree to the release.</p>"
        f'<div class="lines">{signed}</div></section>'
    )
