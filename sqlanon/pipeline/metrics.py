"""The metrics that methods are compared by: the measures of a release and what a comparison adds to them."""

from __future__ import annotations

PRIVATE = {
    "pmi_loss": "lower",
    "pmi_loss_relative": "lower",
    "pmi_loss_l2": "lower",
    "pmi_loss_max": "lower",
    "pmi_utility": "higher",
    "pmi_utility_l2": "higher",
    "pmi_utility_max": "higher",
    "wmi_utility": "higher",
    "cm": "lower",
    "mean_entropy_diversity": "higher",
    "minimum_entropy_diversity": "higher",
    "frequency_diversity": "higher",
}
"""The measures of a sensitive column, and which values are better."""
OURS = {"time": "lower", "risk": "lower", "mean_risk": "lower"}
"""What only a comparison measures: seconds of clustering, 1 / smallest class, and the mean of 1 / class over rows."""
METRICS = (
    {
        "ncp": "lower",
        "gcp": "lower",
        "lm": "lower",
        "am": "lower",
        "dm": "lower",
        "suppressed": "lower",
        "average_class_size": "lower",
        "mi_loss": "lower",
        "mi_utility": "higher",
        "precision": "higher",
        "distortion": "lower",
        "distortion_ratio": "lower",
        "modification_rate": "lower",
        "kl_divergence": "lower",
        "information_distortion": "lower",
        "information_distortion_own": "lower",
        "lower_bound": "lower",
    }
    | PRIVATE
    | OURS
)
"""What methods can be compared by, and which values are better."""


def is_lower_better(metric: str) -> bool:
    """Which way to sort; the measure of a sensitive column may be named cm(diagnosis)."""
    return METRICS[metric.partition("(")[0]] == "lower"
