"""How releases, policies and hierarchies look in a terminal and in a notebook. No value of the source is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Protocol

from sqlanon import wording
from sqlanon.pipeline.metrics import rounded
from sqlanon.policy.words import added_in_words
from sqlanon.releases.release import Release


class Lost(Protocol):
    """What knows how much each of its columns lost, and why."""

    @property
    def losses(self) -> Mapping[str, float]:
        """What each column lost, the most first."""

    @property
    def notes(self) -> Mapping[str, str]:
        """Why some of them lost so much."""


TABLE = "border-collapse: collapse; text-align: left"
MOST = 4
"""Columns whose loss is told in a line."""
CELL = "padding: .15em 1.2em .15em 0; text-align: left; vertical-align: top"


def release_text(release: Release) -> str:
    """A release in a few lines: what holds, what it lost, what it is."""
    lines = [_title(release), ""]
    facts = release_facts(release)
    width = max(len(name) for name, _ in facts)
    return "\n".join([*lines, *(f"  {name:{width}}  {value}" for name, value in facts)])


def release_html(release: Release) -> str:
    """A release for a notebook."""
    title = _title(release)
    return f"<div><strong>{escape(title)}</strong>{_table(release_facts(release))}</div>"


def _title(release: Release) -> str:
    """Its name and the property that was verified when it was made."""
    policy = release.policy
    return f"{release.name or 'release'}: {policy.kind.claim(policy, release.proof.k)}"


def release_facts(release: Release) -> list[tuple[str, str]]:
    """What a release is, a name and a value each."""
    proof, measured, policy = release.proof, release.measured, release.policy
    told = [("verified", f"{proof.property}, k = {proof.k} (required: {policy.k}) when it was made")]
    if proof.linked_k is not None and not policy.linked:
        told.append(("linked k", f"{proof.linked_k}: people who share the rarest set of rows (not required)"))
    for model in dict.fromkeys(("l", "t", *policy.models)):
        for column, reached in proof.models.get(model, {}).items():
            required = policy.required(model, column)
            asked = f" (required: {required:g})" if required is not None else ""
            told.append((model, f"{reached:.3g}{asked} in {column}"))
    told.append(("rows", f"{proof.rows:,} in {wording.plural(proof.classes, 'class', 'classes')}"))
    if "gcp" in measured:
        bound = _gap(release, measured) if "lower_bound" in measured else ""
        told.append(("lost", f"{measured['gcp']:.1%} (GCP){bound}"))
    told.append(("quasi", ", ".join(policy.quasi)))
    roles = ("sensitive", "keep", "unsafe_keep", "pseudonymize")
    told += [(role, ", ".join(getattr(policy, role))) for role in roles if getattr(policy, role)]
    told.append(("method", policy.method))
    if added := added_in_words(policy, release.learned):
        told.append(("in addition", added))
    told.append(("table", release.table))
    return told


def release_dict(release: Release) -> dict[str, Any]:
    """A release for JSON: what it is, what was verified of it and what it lost, but no rows."""
    return {
        "name": release.name,
        "source": release.source,
        "table": release.table,
        "printed": list(release.printed),
        "policy": release.policy.options(),
        "proof": release.proof.as_dict(),
        "metrics": {measure: rounded(value) for measure, value in release.metrics().items()},
    }


def _table(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th scope="row" style="{CELL}">{escape(name)}</th><td style="{CELL}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table style="{TABLE}"><tbody>{cells}</tbody></table>'


def _gap(release: Release, measured: Mapping[str, float]) -> str:
    return wording.gap(measured["gcp"], measured["lower_bound"], bool(release.policy.models))


def summary(release: Release) -> str:
    """The proof and the loss in a line."""
    proof, metrics = release.proof, release.metrics()
    shown = ("l", *(model for model in release.policy.models if model != "l"))
    diversity = "".join(
        f", {m} = {value:.3g} in {column}" for m in shown for column, value in proof.models.get(m, {}).items()
    )
    lost = ""
    if "gcp" not in metrics:
        pass
    elif "lower_bound" in metrics:
        lost = f"; information loss {metrics['gcp']:.1%} (GCP{_gap(release, metrics)})"
    elif release.policy.kind.counts == "people":
        lost = f"; information loss {metrics['gcp']:.1%} (GCP)"
    if lost:
        lost += where_lost(release)
    classes = f"k = {proof.k} in {wording.plural(proof.classes, 'class', 'classes')}{diversity}"
    if release.suppressed:
        left_out = proof.left_out or 0
        how = f", {left_out:,} of them left out" if left_out else ""
        classes += f", {wording.plural(release.suppressed, 'row')} suppressed{how}"
    if proof.property != "k-anonymity":
        classes = f"{proof.property}, {classes}"
    unique = release.unique_with_kept()
    kept = "" if unique is None else f"\nwhoever also knows the kept columns finds {unique:.1%} of the rows unique"
    return f"verified on {wording.plural(proof.rows, 'released row')}: {classes}{lost}{kept}"


def where_lost(release: Lost) -> str:
    """``: zip 100.0% (text without hierarchy), cost 62.0%, age 9.0%``: the columns that lost most."""
    lost = [(column, loss) for column, loss in release.losses.items() if loss > 0]
    if not lost:
        return ""
    notes = {column: f" ({note})" for column, note in release.notes.items()}
    told = ", ".join(f"{column} {loss:.1%}{notes.get(column, '')}" for column, loss in lost[:MOST])
    more = f" and {wording.plural(len(lost) - MOST, 'other')}" if len(lost) > MOST else ""
    return f": {told}{more}"
