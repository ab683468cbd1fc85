"""The measures of a release, once: what each is, which values are better, and what its macro takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

from sqlanon.sqltext import literal
from sqlanon.udfs.method import Parameter

BETA = Parameter("beta", 0.0, "how much more steps near the top of a hierarchy cost in the distortion")
MI_WEIGHT = Parameter("mi_weight", 0.5, "the share of MI in wmi_utility", high=1.0)
MEASURED_BY = (BETA, MI_WEIGHT)
"""What measures take beside the release."""
HE, GOLDBERGER, LI, CHIU = "He et al. 2012", "Goldberger & Tassa 2010", "Li et al. 2006", "Chiu & Tsai 2007"


@dataclass(frozen=True)
class Measure:
    """A measure of a release; measures.sql of sql/steps/measure computes its value, or measures_of_columns.sql."""

    name: str
    better: str
    """lower, higher, or higher for privacy."""
    formula: str
    range: str
    source: str
    """The paper that it is from."""
    is_of_column: bool = False
    """Does it look at one sensitive column?"""
    parameter: Parameter | None = None
    has_macro: bool = True
    """Can it be asked for alone, select anon.gcp('release')?"""
    noun: str = ""
    """What its macro answers with, if its name does not say it."""
    missing: str = "centers do not say what they cover, and without rows there is nothing to measure"
    """Why its value may be NULL."""

    @property
    def direction(self) -> str:
        """Which way to sort: lower or higher."""
        return self.better.split()[0]


_of_column = partial(Measure, is_of_column=True)
MEASURES = (
    Measure("ncp", "lower", "sum of weight · (range / domain, or leaves / all leaves)", "0 to cells", HE),
    Measure("gcp", "lower", "ncp / (rows · sum of weights)", "0 to 1", HE),
    Measure("lm", "lower", "mean of (values − 1) / (all values − 1)", "0 to 1", GOLDBERGER),
    Measure(
        "am",
        "lower",
        "mean of the product of values covered",
        "1 or more",
        GOLDBERGER,
        missing="the product of the values covered in all columns is beyond 1e308, or rows are released as centers",
    ),
    Measure("dm", "lower", "sum of class size² + suppressed · rows", "rows · k to rows²", GOLDBERGER),
    Measure(
        "suppressed",
        "lower",
        "share of rows released as * everywhere, or left out",
        "0 to 1",
        "sqlanon",
        noun="share of suppressed rows",
    ),
    Measure("average_class_size", "lower", "rows / classes / k", "1 or more", GOLDBERGER),
    Measure("mi_loss", "lower", "− mean of log2 Pr(value | released)", "0 to mean entropy, bits", GOLDBERGER),
    Measure("mi_utility", "higher", "mean entropy − mi_loss", "0 to mean entropy, bits", GOLDBERGER),
    Measure(
        "precision",
        "higher",
        "1 − mean of (range / domain, or (height − 1) / (tree height − 1))",
        "0 to 1",
        "Wang et al. 2022",
    ),
    Measure("distortion", "lower", "sum of WHD(level before, level released)", "0 to cells", LI, parameter=BETA),
    Measure(
        "distortion_ratio", "lower", "distortion / that of the fully generalized table", "0 to 1", LI, parameter=BETA
    ),
    Measure("modification_rate", "lower", "share of cells that were changed", "0 to 1", LI),
    Measure(
        "kl_divergence",
        "lower",
        "sum of p · log2(p / released p) over tuples",
        "0 or more, bits",
        "Kifer & Gehrke 2006, in Goldberger & Tassa 2010",
        missing="there are too many classes and tuples to compare",
    ),
    Measure(
        "information_distortion",
        "lower",
        "sum of squared distances from class centers, weights 1 / columns",
        "0 or more",
        CHIU,
    ),
    Measure(
        "information_distortion_own", "lower", "the same with the learned weights", "0 or more", CHIU, has_macro=False
    ),
    Measure(
        "lower_bound",
        "lower",
        "a gcp that no k-anonymous release of the source goes below",
        "0 to gcp",
        "sqlanon",
        has_macro=False,
    ),
    _of_column("pmi_loss", "lower", "− mean of log2 Pr(sensitive | released)", "0 or more, bits", GOLDBERGER),
    _of_column("pmi_loss_relative", "lower", "pmi_loss − that of the source", "bits", GOLDBERGER),
    _of_column("pmi_loss_l2", "lower", "that of the source − pmi_utility_l2", "bits", GOLDBERGER),
    _of_column("pmi_loss_max", "lower", "that of the source − pmi_utility_max", "bits", GOLDBERGER),
    _of_column("pmi_utility", "higher", "mean over columns of I(sensitive; released)", "bits", GOLDBERGER),
    _of_column("pmi_utility_l2", "higher", "root of the sum of squares / columns", "bits", GOLDBERGER),
    _of_column("pmi_utility_max", "higher", "largest over columns", "bits", GOLDBERGER),
    _of_column(
        "wmi_utility", "higher", "w · mi_utility + (1 − w) · pmi_utility", "bits", GOLDBERGER, parameter=MI_WEIGHT
    ),
    _of_column("cm", "lower", "share of rows off their class's majority, or suppressed", "0 to 1", GOLDBERGER),
    _of_column(
        "mean_entropy_diversity",
        "higher for privacy",
        "mean over classes of the entropy",
        "0 or more, bits",
        GOLDBERGER,
    ),
    _of_column(
        "minimum_entropy_diversity",
        "higher for privacy",
        "smallest entropy of a class",
        "0 or more, bits",
        "Machanavajjhala et al. 2006",
    ),
    _of_column("frequency_diversity", "higher for privacy", "smallest 1 / largest share in a class", "1 or more", HE),
)
"""All measures; the macros, their help, what a comparison can be asked for and which values win follow from them."""
PRIVATE = {measure.name: measure.direction for measure in MEASURES if measure.is_of_column}
"""The measures of a sensitive column, and which values are better."""
OURS = {"time": "lower", "risk": "lower", "mean_risk": "lower"}
"""What only a comparison measures: seconds of clustering, 1 / smallest class, and the mean of 1 / class over rows."""
METRICS = {measure.name: measure.direction for measure in MEASURES} | OURS
"""What methods can be compared by, and which values are better."""


def is_lower_better(metric: str) -> bool:
    """Which way to sort; the measure of a sensitive column may be named cm(diagnosis)."""
    return METRICS[metric.partition("(")[0]] == "lower"


def described_sql() -> str:
    """From a measure's name to what is told of it, as a map in SQL."""
    entries = []
    for measure in MEASURES:
        told = {field: getattr(measure, field) for field in ("formula", "range", "better", "source", "missing")}
        fields = ", ".join(f"{literal(field)}: {literal(value)}" for field, value in told.items())
        entries.append(f"{literal(measure.name)}: {{{fields}}}")
    return "map {\n    " + ",\n    ".join(entries) + "\n}"


def rounded(value: float | None) -> float | None:
    """A loss as it leaves the database: three digits, from which nobody's value can be computed."""
    is_plain = value is None or not isfinite(value) or value == int(value)
    return value if is_plain else float(f"{value:.3g}")


def leaving(told: Any) -> Any:
    """Facts for JSON as they leave the database: every number in them with three digits, counts as they are."""
    if isinstance(told, float):
        return rounded(told)
    if isinstance(told, Mapping):
        return {key: leaving(value) for key, value in told.items()}
    return [leaving(value) for value in told] if isinstance(told, list | tuple) else told
