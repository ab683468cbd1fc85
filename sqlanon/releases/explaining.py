"""Why a release lost what it lost: by column, by what another request would save, and by its widest classes.

For those who have the source: the answers are about its values, though they show none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.arrays import problem_of
from sqlanon.engine.frames import registered
from sqlanon.engine.session import keep_steps, translate_errors
from sqlanon.errors import CatalogError, DataError, option
from sqlanon.pipeline.encode import Held, comma, measured_encoding
from sqlanon.pipeline.metrics import leaving, rounded
from sqlanon.pipeline.readback import Tolerance, box_ctes, is_suppressed_sql, known, with_ranks
from sqlanon.pipeline.reading import Reading
from sqlanon.releases.remaining import without_left_out
from sqlanon.releases.trying import tuples_of
from sqlanon.sqltext import Cte, answer_sql, literal, render, with_ctes
from sqlanon.udfs.evaluate.whatif import Answer, answers
from sqlanon.wording import plural, table_html

if TYPE_CHECKING:
    from sqlanon.releases.release import Release

WIDEST = 3
"""Classes that are explained."""
TYPES = {
    "about": "varchar",
    "column": "varchar",
    "loss": "double",
    "would_be": "double",
    "gained": "double",
    "said": "varchar",
}


@dataclass(frozen=True)
class Reason:
    """One reason: what it is about, the column if it is about one, the loss as it is and as it would be, and a
    sentence. `would_be` is an estimate: a quick search is made with and without the change, and the release's loss is
    taken to change in the same proportion."""

    about: str
    column: str | None
    loss: float
    would_be: float | None
    said: str

    @property
    def gained(self) -> float | None:
        """How much less would be lost."""
        return None if self.would_be is None else self.loss - self.would_be


@dataclass(frozen=True)
class Explanation:
    """The reasons for what a release lost, columns first."""

    release: str
    loss: float
    reasons: tuple[Reason, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        reasons = [asdict(reason) | {"gained": reason.gained} for reason in self.reasons]
        return {"release": self.release, "loss": rounded(self.loss), "reasons": leaving(reasons)}

    def sql(self) -> str:
        """A query that answers with a row per reason."""
        rows = ((r.about, r.column, r.loss, r.would_be, r.gained, r.said) for r in self.reasons)
        return answer_sql(TYPES, rows)

    def __str__(self) -> str:
        told = [f"{self.release}: information loss {self.loss:.1%}"]
        for about, title in TITLES.items():
            mine = [reason for reason in self.reasons if reason.about == about]
            told += ["", title, *(f"  {reason.said}" for reason in mine)] if mine else []
        return "\n".join(told)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title = f"{self.release}: information loss {self.loss:.1%}"
        rows = [(TITLES[reason.about], reason.said) for reason in self.reasons]
        return table_html(title, ("about", "what"), rows)


CHANGED = "The source has changed since the release was made, so nothing can be said about it"
TITLES = {
    "column": "What each column lost",
    "without": "Without a column the others would lose (estimated)",
    "coarser": "With a column one level coarser from the start (estimated)",
    "suppression": "With some rows suppressed (estimated)",
    "k": "With a smaller k (estimated)",
    "class": "The widest classes",
}


def explain(release: Release) -> Explanation:
    """Why the release lost what it lost. It takes the source as it was."""
    policy = release.policy
    if policy.represent != "closure" or not policy.kind.has_classes:
        raise CatalogError("Only a release of classes that are released as what covers them can be explained")
    with translate_errors(), registered(release.con) as named:
        catalog = Catalog.of(release.con)
        whole = catalog.read(named(release.origin), policy)
        _refuse_changed(catalog, whole, release)
        with without_left_out(catalog, whole.source, release.table, policy, release.proof) as rest:
            reading = catalog.read(rest.source, policy)
            with keep_steps(catalog.con, measured_encoding(reading)) as (held, _):
                steps = _steps(reading, release, held, rest.gone)
                try:
                    with translate_errors():
                        by_column, widest = _losses(catalog, reading, steps), _widest(catalog, reading, steps)
                except DataError:  # a released label means nothing of the source's any more
                    raise CatalogError(CHANGED) from None
            found = _answers(catalog, reading)
    names = [attribute.column for attribute in reading.attributes]
    lost = {reason.column: reason.loss for reason in by_column}
    weights = {attribute.column: attribute.weight for attribute in reading.attributes}

    def loss_of(columns: Sequence[str]) -> float:
        return sum(weights[c] * lost[c] for c in columns) / sum(weights[c] for c in columns)

    told = []
    for answer in found:
        if answer.question == "suppression" and (answer.value or 0) <= (policy.max_suppression or 0):
            continue  # no more than it was allowed
        others = [c for i, c in enumerate(names) if answer.question != "without" or i != answer.attribute]
        told.append(_told(answer, names, loss_of(others)))
    return Explanation(release.name or "release", loss_of(names), (*by_column, *told, *widest))


def notes_of(reading: Reading) -> dict[str, str]:
    """What keeps columns from being generalized well, as far as it is known."""
    columns = (attribute.column for attribute in reading.attributes)
    return {column: note for column in columns if (note := note_of(reading, column)) is not None}


def note_of(reading: Reading, column: str) -> str | None:
    """What is known of a column that keeps it from being generalized well."""
    for attribute in reading.attributes:
        if attribute.column == column and attribute.hierarchy is None and not attribute.is_range:
            return f"{attribute.family.name} without hierarchy"
    return None


def _refuse_changed(catalog: Catalog, reading: Reading, release: Release) -> None:
    ((rows,),) = catalog.run(f"select count(*) from {reading.source.relation}")
    if rows != release.proof.rows + (release.proof.left_out or 0):
        raise CatalogError(CHANGED)


def losses_sql(reading: Reading) -> str:
    """The query for what each column lost, over the steps of a measurement."""
    labels = " union all ".join(f"select attribute, rows, ncp from {known(a)}" for a in reading.attributes)
    return render("steps/explain/losses.sql", labels=labels)


def _steps(reading: Reading, release: Release, held: Held, gone: int) -> list[Cte]:
    """From the release to its labels and what each of them covers; `gone` rows are left out of both."""
    tolerance = Tolerance.EXACT if reading.policy.max_suppression is None else Tolerance.LACKING
    boxes = box_ctes(reading, release.table, tolerance=tolerance, left_out=gone)
    return [*measured_encoding(reading, held=held), *boxes]


def _losses(catalog: Catalog, reading: Reading, steps: list[Cte]) -> list[Reason]:
    told = []
    for column, loss in sorted(
        catalog.run(with_ctes(steps, losses_sql(reading))), key=lambda pair: (-pair[1], pair[0])
    ):
        note = note_of(reading, column)
        told.append(Reason("column", column, loss, None, f"{column} {loss:.1%}{f' ({note})' if note else ''}"))
    return told


def _answers(catalog: Catalog, reading: Reading) -> list[Answer]:
    """What other requests would lose, by a quick search over the source's tuples."""
    request, nodes, tuples = tuples_of(catalog, reading)
    return answers(problem_of(request, nodes, tuples), request)


def _widest(catalog: Catalog, reading: Reading, steps: list[Cte]) -> list[Reason]:
    """The classes that lose most, with the column that loses most in each."""
    attributes = reading.attributes
    sql = render(
        "steps/explain/widest.sql",
        columns=literal([a.column for a in attributes]),
        losses=comma(f"any_value({known(a)}.ncp)" for a in attributes),
        weighted=comma(f"any_value({known(a)}.ncp) * {literal(a.weight)}" for a in attributes),
        labels=comma(f"printed.{a.labels}" for a in attributes),
        joins=with_ranks("printed", attributes).removeprefix("printed"),
        is_suppressed=is_suppressed_sql(attributes, "printed."),
        weights=literal(sum(a.weight for a in attributes)),
        most=str(WIDEST),
    )
    told = []
    for rows, loss, column, share in catalog.run(with_ctes(steps, f"from (\n{sql}\n)")):
        said = f"a class of {plural(rows, 'row')} loses {loss:.1%}, most of it in {column} ({share:.1%})"
        told.append(Reason("class", column, loss, None, said))
    return told


def _told(answer: Answer, names: list[str], loss: float) -> Reason:
    """An answer in words; `loss` is what is lost now, and what would be is in the proportion of the answer."""
    would_be = min(1.0, loss * answer.then / answer.now) if answer.now > 0 else loss
    # What is coarser from the start was possible before; for all else, what was released is possible then, too.
    would_be = max(would_be, loss) if answer.question == "coarser" else min(would_be, loss)
    column = None if answer.attribute is None else names[answer.attribute]
    change = f"{would_be:.1%} instead of {loss:.1%}"
    said = {
        "without": f"without {column}: {change}",
        "coarser": f"{column} one level coarser: {change}",
        "suppression": f"{option('max_suppression', answer.value)}: {change}",
        "k": f"{option('k', answer.value)}: {change}",
    }[answer.question]
    return Reason(answer.question, column, loss, would_be, said)
