"""What a policy asks for and what a release does not protect from, in words for people who do not read options."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from sqlanon.udfs.models import MODELS
from sqlanon.wording import listed

if TYPE_CHECKING:
    from sqlanon.policy.policy import Policy


def policy_in_words(policy: Policy) -> list[str]:
    """What the policy asks for, a sentence each."""
    told = [f"{listed(policy.quasi)} could identify a person together (quasi-identifiers).", policy.kind.asks(policy)]
    if policy.entity is not None:
        told.append(f"{policy.entity} tells whom a row is about: people are counted, not rows.")
    if policy.max_suppression is not None:
        told.append(
            f"Up to {policy.max_suppression:.3g} of the rows may be suppressed where the others then lose less."
        )
    if policy.sensitive:
        told.append(f"{listed(policy.sensitive)} {_is(policy.sensitive)} sensitive, and released unchanged.")
    told += _models(policy)
    kept = [*policy.keep, *policy.unsafe_keep]
    if kept:
        told.append(f"{listed(kept)} {_is(kept)} released unchanged, taken for harmless.")
    if policy.unsafe_keep:
        told.append(
            f"{listed(policy.unsafe_keep)} {_is(policy.unsafe_keep)} kept although nearly every row has its own."
        )
    if policy.pseudonymize:
        told.append(f"{listed(policy.pseudonymize)} {_is(policy.pseudonymize)} replaced by keyed codes (pseudonyms).")
    bound = [f"{column} by {hierarchy}" for column, hierarchy in policy.hierarchies.items() if hierarchy]
    if bound:
        told.append(f"Generalized along a hierarchy: {listed(bound)}.")
    weights = [f"{column} {weight:g}" for column, weight in policy.weights.items() if weight != 1]
    if weights:
        told.append(f"Columns that matter more or less than 1 when losses are weighed: {listed(weights)}.")
    told.append(_printed(policy))
    told.append(f"All other columns of the source are left out. Groups are found by the method {policy.method}.")
    return [_capital(sentence) for sentence in told if sentence]


def asked_in_words(policy: Policy) -> list[str]:
    """What a table was checked for, where nothing is known of how it was made."""
    told = [
        f"{listed(policy.quasi)} could identify a person together (quasi-identifiers).",
        f"Every combination of them must be shared by {policy.k} rows or more (k = {policy.k}).",
    ]
    if policy.sensitive:
        told.append(f"{listed(policy.sensitive)} {_is(policy.sensitive)} sensitive.")
    return told + _models(policy)


def _models(policy: Policy) -> list[str]:
    """What is asked of the sensitive columns."""
    told = []
    for column in policy.sensitive:
        for model, value in policy.models.items():
            shown = value if model == "alpha" else f"{value:g}"
            told.append(f"{_capital(MODELS[model].sentence.format(column=column, value=shown))}.")
    return told


def _printed(policy: Policy) -> str:
    if policy.kind.prints_exact:
        return ""
    if policy.represent == "center":
        return "A class prints its centre: the mean of numbers, the median of dates, the most frequent of the rest."
    return {
        "text": "Numbers and dates without a hierarchy are printed as ranges whose ends are real values.",
        "columns": "Numbers and dates without a hierarchy are printed as two columns, smallest and largest value.",
        "snapped": "Numbers and dates without a hierarchy are printed as ranges on a grid, and show no person's value.",
    }[policy.ranges]


def _is(columns: Sequence[str]) -> str:
    return "is" if len(columns) == 1 else "are"


def _capital(sentence: str) -> str:
    """A sentence begins with a capital, unless with a column's name: that is printed as it is."""
    first = sentence.split(" ", 1)[0]
    return sentence[:1].upper() + sentence[1:] if first in ("no", "every", "the") else sentence


def policy_html(policy: Policy) -> str:
    """A policy in words and as TOML, for a notebook."""
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in policy_in_words(policy))
    return f"<div><ul>{told}</ul><pre>{escape(policy.toml())}</pre></div>"
