"""What a policy requires and what a release does not protect from, in words for people who do not read options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from sqlanon.udfs.method import measure_of
from sqlanon.udfs.models import MODELS
from sqlanon.wording import listed

if TYPE_CHECKING:
    from sqlanon.policy.policy import Policy


def policy_in_words(policy: Policy) -> list[str]:
    """What the policy requires, one sentence each."""
    told = [f"{listed(policy.quasi)} could together identify a person (quasi-identifiers).", policy.kind.asks(policy)]
    if policy.entity is not None:
        told.append(f"{policy.entity} identifies a person: people are counted, not rows.")
    if policy.linked:
        price = 1.0 if policy.row_price is None else policy.row_price
        told.append(f"All rows of a person are protected together, and dropping a row has the price {price:g}.")
    if policy.max_suppression is not None:
        told.append(
            f"Up to {policy.max_suppression:.3g} of the rows may be suppressed if that reduces the overall loss."
        )
    if policy.sensitive:
        told.append(f"{listed(policy.sensitive)} {_is(policy.sensitive)} sensitive, and released unchanged.")
    told += _models(policy)
    kept = [*policy.keep, *policy.unsafe_keep]
    if kept:
        told.append(f"{listed(kept)} {_is(kept)} released unchanged, and considered harmless.")
    if policy.unsafe_keep:
        told.append(
            f"{listed(policy.unsafe_keep)} {_is(policy.unsafe_keep)} kept although nearly every row has a "
            f"different value."
        )
    if policy.pseudonymize:
        told.append(f"{listed(policy.pseudonymize)} {_is(policy.pseudonymize)} replaced by keyed codes (pseudonyms).")
    if policy.pseudonyms == "class":
        told.append(f"The code of {policy.entity} is another one in every class, so that it does not tie classes.")
    if policy.identity:
        told.append(f"{listed(policy.identity)} {_is(policy.identity)} used to recognize people, and never released.")
    bound = [f"{column} by {hierarchy}" for column, hierarchy in policy.hierarchies.items() if hierarchy]
    if bound:
        told.append(f"Generalized by a hierarchy: {listed(bound)}.")
    limits = [f"{column} {_limit(limit)}" for column, limit in policy.limits.items()]
    if limits:
        told.append(f"Levels or widths that may be released: {listed(limits)}.")
    weights = [f"{column} {weight:g}" for column, weight in policy.weights.items() if weight != 1]
    if weights:
        told.append(f"Weights of columns in the loss, where not 1: {listed(weights)}.")
    if policy.forming == "blind" and policy.models:
        told.append("The method does not see sensitive values; groups that break a model are joined afterwards.")
    told.append(_printed(policy))
    told.append(f"All other columns of the source are left out. Groups are found by the method {policy.method}.")
    return [_capital(sentence) for sentence in told if sentence]


def added_in_words(policy: Policy, learned: Mapping[str, Any]) -> str:
    """What was done to a release beyond its method, by what the run reports: nothing, or a phrase."""
    told = [f"clustered in {learned['blocks']:,} blocks of similar tuples"] if learned.get("blocks") else []
    if learned.get("seams_polished_by"):
        told.append(f"groups refined across their borders by {learned['seams_polished_by']}")
    if policy.refine:
        told.append(f"groups improved by a search for a low {measure_of(policy.parameters)}")
    return listed(told)


def asked_in_words(policy: Policy) -> list[str]:
    """What a table was checked for, if nothing is known about how it was made."""
    told = [
        f"{listed(policy.quasi)} could together identify a person (quasi-identifiers).",
        f"Every combination of them must be shared by {policy.k} rows or more (k = {policy.k}).",
    ]
    if policy.sensitive:
        told.append(f"{listed(policy.sensitive)} {_is(policy.sensitive)} sensitive.")
    return told + _models(policy)


def _limit(limit: Mapping[str, Any]) -> str:
    finest, coarsest = limit.get("finest"), limit.get("coarsest")
    if finest == coarsest:
        return f"always {finest}"
    ends = [f"{finest} at the finest" if finest is not None else "", f"{coarsest} at the coarsest" if coarsest else ""]
    return ", ".join(end for end in ends if end)


def required_text(asked: float | Mapping[str, float]) -> str:
    """What a model requires: 2, or of each column 2 in diagnosis, 3 in ward."""
    if not isinstance(asked, Mapping):
        return f"{asked:g}"
    return ", ".join(f"{value:g} in {column}" for column, value in asked.items())


def _models(policy: Policy) -> list[str]:
    """What is required of the sensitive columns."""
    told = []
    for column in policy.sensitive:
        for model in policy.models:
            value = policy.required(model, column)
            if value is None:
                continue
            shown = value if model == "alpha" else f"{value:g}"
            told.append(f"{_capital(MODELS[model].sentence.format(column=column, value=shown))}.")
    return told


def _printed(policy: Policy) -> str:
    if policy.kind.prints_exact:
        return ""
    if policy.represent == "center":
        return (
            "A class is released as its center: the mean of numbers, the median of dates, the most frequent "
            "other value."
        )
    return {
        "auto": "Decimals, floats and timestamps without a hierarchy are released as ranges on a grid, which show no "
        "person's value; whole numbers and dates as ranges whose ends are real values.",
        "text": "Numbers and dates without a hierarchy are released as ranges whose ends are real values.",
        "columns": "Numbers and dates without a hierarchy are released as two columns, the smallest and the largest "
        "value.",
        "snapped": "Numbers and dates without a hierarchy are released as ranges on a grid, which show no person's "
        "value.",
    }[policy.ranges]


def _is(columns: Sequence[str]) -> str:
    return "is" if len(columns) == 1 else "are"


def _capital(sentence: str) -> str:
    """A sentence begins with a capital, unless with a column's name: that is shown unchanged."""
    first = sentence.split(" ", 1)[0]
    return sentence[:1].upper() + sentence[1:] if first in ("no", "every", "the") else sentence


def policy_html(policy: Policy) -> str:
    """A policy in words and as TOML, for a notebook."""
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in policy_in_words(policy))
    return f"<div><ul>{told}</ul><pre>{escape(policy.toml())}</pre></div>"
