"""What the pages say, in sentences for somebody who knows the data and not the field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.studio.charts import percent
from sqlanon.studio.draft import Draft
from sqlanon.studio.facade import Column, Facts
from sqlanon.studio.looking import Looked
from sqlanon.studio.runs import Result

PRESETS = {
    5: "a common minimum for data that researchers share under an agreement",
    11: "US health statistics: no cell below 11 people (CMS)",
    12: "the European Medicines Agency's threshold for public clinical data: a risk of at most 9 %",
}
"""The k that are offered, and where they come from."""
EFFORTS = {
    "fast": "a first look",
    "balanced": "good for most releases",
    "best": "the least loss, for the release that is handed over",
}
ROLES = {
    "out": ("Left out", "It is not released."),
    "quasi": ("Quasi-identifier", "Others may know it. It is made coarser until people look alike."),
    "sensitive": ("Sensitive", "To be protected. It is released as it is."),
    "keep": ("Kept", "Harmless. It is released as it is."),
    "pseudonym": ("Pseudonym", "It is replaced by a code made with a secret key."),
    "person": ("Person", "It says whom a row is about. People are counted by it, and it is not released."),
}
ATTACKS = {
    "linkage": "Find a person by what is known of them, the worst case",
    "linkage_mean": "Find a person by what is known of them, on average",
    "homogeneity": "Learn a sensitive value because a whole class shares it",
    "background_knowledge": "Guess a sensitive value, with one value ruled out",
    "row_order": "Match rows by their order",
    "ends_of_ranges": "Read a person's own value off the end of a range",
    "intersection": "Combine this release with another one",
    "versions": "Put all versions together that were ever released",
    "minimality": "Conclude from how the method merges classes",
    "dealing": "Guess who has which value, and run the method again to check",
    "linked_rows": "Find a person by all of their rows",
    "linked_values": "Learn a value of a person from all of their rows",
}
MENDS = {
    "unique with kept columns": "Give them another role on the screen Columns, or leave them out.",
    "other releases of the same people": "Do not give both to the same reader.",
    "nothing lost at all": "Are all columns that others can know quasi-identifiers, and is none an identifier?",
}
"""What to do about a warning, by its kind; homogeneous classes are counted here."""
_YEARS = r"(^|_)ages?(_|$)|years?"


def listed(parts: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else parts[0] if parts else ""


def place(source: str) -> str:
    """A source in a table: of a file its name, of a query the file that it reads."""
    found = re.search(r"'([^']*[/\\\\][^']*)'", source)
    path = found[1] if found else source
    return re.split(r"[/\\\\]", path)[-1] if found or not re.search(r"\s", path) else source


def plural(count: int, noun: str, several: str | None = None) -> str:
    """1 row, 2 rows."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def promise(draft: Draft) -> str:
    """What the draft promises, in one sentence."""
    if not draft.quasi:
        return "Nothing is promised yet: no column is a quasi-identifier."
    known = listed([f"“{column}”" for column in draft.quasi])
    said = f"Whoever knows a person's {known} can pick their row with a chance of 1 in {draft.k} at best"
    if not draft.sensitive:
        return f"{said}."
    kept, open_to = [], []
    for column in draft.sensitive:
        if draft.l.get(column, 1) > 1 or column in draft.t:
            kept.append(column)
        else:
            open_to.append(column)
    parts = []
    for asked in dict.fromkeys(draft.l[column] for column in kept if draft.l.get(column, 1) > 1):
        secret = _secret([column for column in kept if draft.l.get(column) == asked])
        parts.append(f"cannot be sure of their {secret}: {percent(1 / asked)} of guesses are right at best")
    if close := [column for column in kept if draft.l.get(column, 1) <= 1]:
        parts.append(f"learns little about their {_secret(close)}: every class is close to the whole table")
    said = f"{said}, and {'; and '.join(parts)}" if parts else said
    if not open_to:
        return f"{said}."
    but = "; but they" if parts else ", but"
    return f"{said}{but} may learn their {_secret(open_to)} where a whole class has the same value."


def _secret(columns: Sequence[str]) -> str:
    return listed([f"“{column}”" for column in columns], "or")


def seconds(value: float) -> str:
    """A time as people say it."""
    if value < 1.5:
        return "a second"
    if value < 90:
        return f"{value:.0f} seconds" if value < 20 else f"{round(value / 5) * 5:.0f} seconds"
    return f"{value / 60:.0f} minutes"


def expected(rows: int, combinations: int, effort: str, done: Sequence[Result]) -> float:
    """Seconds that a run may take: as the last one with this effort did, or by its size."""
    for result in reversed(done):
        if result.draft.effort == effort:
            return result.seconds
    start, each = {"fast": (0.5, 1e-5), "balanced": (2.0, 1.0e-4), "best": (25.0, 1.2e-3)}[effort]
    share = min(1.0, combinations / 3_000)
    return 0.4 + start * share + each * combinations + rows * 2e-6


@dataclass(frozen=True)
class Lost:
    """What a column lost."""

    column: str
    loss: float
    said: str


def losses(result: Result) -> list[Lost]:
    """What each column lost, in words, the most first."""
    found = [
        Lost(column.name, column.loss or 0.0, _loss(column, result.spans.get(column.name)))
        for column in result.facts.columns
    ]
    return sorted(found, key=lambda each: -each.loss)


def _loss(column: Column, span: float | None) -> str:
    if not column.loss:
        return "as it was"
    if column.loss >= 0.9995:
        return "nothing is left: * in every row"
    if span and column.kind in ("dates", "timestamps"):
        return f"{_days(column.loss * span)} wide on average"
    if span and column.kind in ("whole numbers", "decimals", "floats"):
        unit = " years" if re.search(_YEARS, column.name.lower()) else ""
        return f"{column.loss * span:.3g}{unit} wide on average, of {span:.4g} in all"
    steps = [f"{percent(step.share)} {step.name}" for step in column.steps if step.share >= 0.005]
    return ", ".join(steps) or percent(column.loss)


def _days(days: float) -> str:
    if days < 60:
        return f"{days:.1f} days"
    return f"{days / 30.44:.1f} months" if days < 730 else f"{days / 365.25:.1f} years"


def one_in(chance: float | None) -> str:
    """A chance as people say it."""
    if not chance:
        return "none"
    return "certain" if chance >= 0.995 else f"1 in {1 / chance:,.0f}" if chance <= 0.5 else percent(chance)


def risks(facts: Facts) -> list[tuple[str, str]]:
    """The three attackers, a name and a sentence each."""
    found = facts.risks
    told = []
    if found.get("prosecutor_max"):
        mean = f", {one_in(found.get('prosecutor_mean'))} on average" if found.get("prosecutor_mean") else ""
        told.append(
            (
                "The prosecutor",
                "knows that a person is in the table. The chance to pick their row is "
                f"{one_in(found['prosecutor_max'])} at worst{mean}.",
            )
        )
    if found.get("journalist_max"):
        told.append(
            (
                "The journalist",
                "does not know who is in the table. The chance to be right about anybody is "
                f"{one_in(found['journalist_max'])} at worst.",
            )
        )
    if found.get("marketer"):
        told.append(
            (
                "The marketer",
                f"tries everybody. {percent(found['marketer'])} of the matches are right, "
                f"about {plural(round((found['marketer'] or 0) * facts.rows), 'person', 'people')}.",
            )
        )
    return told


def warnings(result: Result) -> list[str]:
    """What holds, but should be looked at before it is signed."""
    policy, facts = result.policy, result.facts
    told = [f"{warning.said} {MENDS[warning.kind]}" for warning in facts.warned if warning.kind in MENDS]
    for private in facts.private:
        alike = sum(classes for share, classes in private.largest if share >= 1)
        if alike and private.column in policy.unprotected:
            told.append(
                f"In {plural(alike, 'class', 'classes')} everybody has the same “{private.column}”. Nothing was "
                "required of it: set its l or t on the screen Promise."
            )
    if policy.ranges in ("auto", "text"):
        told.append("Ranges end in real values of people. Turn on snapped ranges on the screen Promise to avoid that.")
    if facts.suppressed or facts.left_out:
        told.append(
            f"{plural(facts.suppressed + facts.left_out, 'row')} lost everything (suppressed); "
            f"{facts.left_out:,} of them are not in the release at all."
        )
    return told + list(facts.notes)


def uncovered(column: Looked) -> str:
    """What happens to a column without a hierarchy."""
    if column.is_ranged:
        return "released as ranges"
    if column.distinct <= 2:
        return "released as it is, or as *"
    return "no hierarchy: it is released as it is, or as * where people differ"
