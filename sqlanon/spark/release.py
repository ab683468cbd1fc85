"""A release on Spark: its rows as a DataFrame, the proof, what it cost, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlanon import wording
from sqlanon.pipeline.promises import classes_of
from sqlanon.pipeline.proof import Proof
from sqlanon.policy.kinds import ENTITIES, HOMOGENEOUS
from sqlanon.policy.policy import Policy
from sqlanon.privacy.check_sql import Verified, check_k, check_model
from sqlanon.privacy.proof import entity_of
from sqlanon.reporting.displays import where_lost
from sqlanon.reporting.facts import Facts
from sqlanon.reporting.page import require_writable, write
from sqlanon.reporting.signing import Paper
from sqlanon.spark.desk import Desk, desk_of
from sqlanon.spark.failures import in_our_words
from sqlanon.spark.measuring import Measured
from sqlanon.spark.proving import prove
from sqlanon.spark.staging import Staging
from sqlanon.udfs.models import MODELS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from sqlanon.pipeline.models import Sensitive

RELEASED = "released"
"""The step that has the rows of the release."""


@dataclass(frozen=True)
class SparkRelease:
    """A verified release: `df` reads its rows where they were written, which `discard` removes.

    `proof` holds the property that holds and what was counted on the released rows.
    """

    df: DataFrame = field(repr=False)
    policy: Policy
    proof: Proof
    printed: tuple[str, ...]
    measured: Measured = field(repr=False)
    staging: Staging = field(repr=False)
    define: Mapping[str, Mapping[str, Any]] = field(repr=False)
    empty: pa.Table = field(repr=False)
    """The columns that were read, without rows."""
    zone: str = field(repr=False)
    rows: int = 0
    """How many rows the source had."""
    notes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Why some columns lost so much, as far as that was seen when the release was made."""

    def verify(self) -> Proof:
        """Prove what is released again, now; raises BrokenPromiseError if the rows no longer keep the promise."""
        proof = in_our_words("verifying the release", self._proved)
        linked_k = self.proof.linked_k if proof.linked_k is None else proof.linked_k
        return replace(proof, left_out=self.proof.left_out, linked_k=linked_k)

    def _proved(self) -> Proof:
        promise = classes_of(self.policy, self.printed, entity_of(self.df.columns, self.policy))
        with self.desk() as desk:
            return prove(self.df, promise, self.policy, desk, desk.reading.sensitive)

    def metrics(self) -> dict[str, float]:
        """What the release lost, as measured when it was made: gcp, lm, precision and so on."""
        return dict(self.measured.measures)

    @property
    def losses(self) -> dict[str, float]:
        """What each quasi-identifier lost, the most first."""
        return dict(self.measured.losses)

    def discard(self) -> None:
        """Remove the rows from the staging."""
        in_our_words("removing the release", self.staging.drop)

    def report(
        self,
        path: str | Path,
        *,
        author: str | None = None,
        purpose: str | None = None,
        recipient: str | None = None,
        source_date: str | None = None,
    ) -> Path:
        """Write all that is to be told of the release to one HTML file, verified again."""
        require_writable(Path(path))
        proof = self.verify()
        paper = Paper.of(author=author, purpose=purpose, recipient=recipient, source_date=source_date)
        return write(self._facts(proof, paper), path)

    def desk(self) -> AbstractContextManager[Desk]:
        """The driver's DuckDB with the hierarchies of the policy, for as long as it takes to prove something."""
        return desk_of(self.policy, self.define, self.empty, self.zone)

    def _facts(self, proof: Proof, paper: Paper) -> Facts:
        """What the report tells. The release has no name and its source none that a reader knows."""
        policy, measures = self.policy, self.measured.measures
        entity = entity_of(self.df.columns, policy) if policy.entity is not None else None
        kind = ENTITIES if entity is not None else HOMOGENEOUS
        notes = ["It was made on Spark. Measures that compare it with its source row by row are left out."]
        if policy.entity is not None and entity is None:
            notes.append(
                f"Rows are counted here, because {policy.entity}, which identifies a person, is not released. When "
                f"the release was made, people were counted: every class had at least {self.proof.k} people."
            )
        with self.desk() as desk:
            proofs = self._proofs(proof, entity, {one.column: one for one in desk.reading.sensitive})
        return Facts(
            title="release",
            is_release=True,
            source=None,
            policy=policy,
            claim=kind.claim(policy, proof.k),
            proofs=proofs,
            rows=proof.rows,
            rows_in=self.rows,
            suppressed=self.measured.suppressed,
            left_out=proof.left_out or 0,
            classes=proof.classes,
            sizes=self.measured.sizes,
            risks=risks(self.measured.sizes),
            columns=self.measured.columns,
            private=(),
            loss=measures.get("gcp"),
            lower_bound=None,
            metrics=measures,
            entity=entity,
            sample=self.measured.sample,
            notes=tuple(notes),
            paper=paper,
        )

    def _proofs(self, proof: Proof, entity: str | None, sensitive: Mapping[str, Sensitive]) -> tuple[Verified, ...]:
        shown = "your_table"
        policy = self.policy
        proofs = [Verified("k", None, proof.k, policy.k, True, check_k(shown, self.printed, entity))]
        for model, by_column in proof.models.items():
            for column, reached in by_column.items():
                sql = check_model(shown, shown, self.printed, model, sensitive[column], policy, entity)
                is_measured = policy.entity is not None and entity is None and MODELS[model].counts_people
                asked = None if is_measured else policy.required(model, column)
                proofs.append(Verified(model, column, reached, asked, True, sql))
        return tuple(proofs)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: what was asked, what was verified and what it lost, but no rows."""
        told = {"printed": list(self.printed), "policy": self.policy.options(), "proof": self.proof.as_dict()}
        return told | {"metrics": self.metrics()}

    def __repr__(self) -> str:
        proof, lost = self.proof, self.measured.measures.get("gcp")
        classes = wording.plural(proof.classes, "class", "classes")
        loss = "" if lost is None else f"; information loss {lost:.1%} (GCP){where_lost(self)}"
        return f"release on Spark: k = {proof.k} in {classes}, {wording.plural(proof.rows, 'row')}{loss}"


def risks(sizes: tuple[tuple[int, int], ...]) -> dict[str, float | None]:
    """The risks of El Emam that class sizes tell, as `anon.risk` has them without a population."""
    rows = sum(size * classes for size, classes in sizes)
    classes = sum(count for _, count in sizes)
    if not rows:
        return {}
    highest, mean = 1 / min(size for size, _ in sizes), classes / rows
    found: dict[str, float | None] = {"prosecutor_max": highest, "prosecutor_mean": mean, "journalist_max": highest}
    found |= {"journalist_mean": mean, "marketer": mean}
    below = {"unique_rows": 2, "rows_below_3": 3, "rows_below_5": 5, "rows_below_10": 10}
    return found | {
        measure: sum(size * count for size, count in sizes if size < least) / rows for measure, least in below.items()
    }
