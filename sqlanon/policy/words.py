"""What a policy asks for and what a release does not protect from, in words for people who do not read options."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from sqlanon.udfs.methods import METHODS
from sqlanon.wording import listed

if TYPE_CHECKING:
    from sqlanon.policy.policy import Policy

MODELS = {
    "l": "no value of {column} holds more than 1/{value} of a class (l = {value})",
    "distinct_l": "every class has {value} or more different values of {column} (distinct l = {value})",
    "entropy_l": "the values of {column} are as mixed in every class as {value} equally frequent ones (entropy l)",
    "recursive_l": "the most frequent value of {column} does not outweigh the rarer ones (recursive l = {value})",
    "alpha": "no value of {column} has a share above {value:.0%} of a class (alpha)",
    "t": "the values of {column} in every class are within {value} of the whole table's (t-closeness)",
    "basic_beta": "no value of {column} gains more than {value} times its share of the table (basic beta)",
    "enhanced_beta": "no value of {column} gains more than {value} times its share of the table (enhanced beta)",
    "delta": "no value of {column} is e^{value} times more or less frequent in a class than in the table (delta)",
}
"""What each model asks of a sensitive column."""


def property_of(policy: Policy, k: int, are_people: bool = False) -> str:
    """The property that holds, as one sentence."""
    method = METHODS[policy.method]
    quasi = listed(policy.quasi)
    if method.is_exact:
        return (
            f"Nobody can tell which of the values of {policy.sensitive[0]} in a group of at least {k} rows belongs to "
            "which person."
        )
    if not method.is_homogeneous:
        return f"Every record could stand behind at least {k} rows, and every row for at least {k} records, by {quasi}."
    if policy.population is not None:
        return f"Every printed combination of {quasi} covers at least {k} people of the population."
    if are_people:
        return f"Every person is one of at least {k} who look the same in {quasi}."
    return f"Every row is one of at least {k} that look the same in {quasi}."


def policy_in_words(policy: Policy) -> list[str]:
    """What the policy asks for, a sentence each."""
    method = METHODS[policy.method]
    told = [f"{listed(policy.quasi)} could identify a person together (quasi-identifiers)."]
    if method.is_exact:
        told.append("They are printed as they are; the sensitive values stand apart, in groups.")
    elif not method.is_homogeneous:
        told.append(f"They are made coarser until every row could be {policy.k} people or more (k = {policy.k}).")
    elif policy.population is not None:
        told.append(
            f"They are made coarser until every combination covers {policy.k} people of a population or more (k-map)."
        )
    else:
        told.append(
            f"They are made coarser until every combination is shared by {policy.k} rows or more (k = {policy.k})."
        )
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
            told.append(f"{_capital(MODELS[model].format(column=column, value=shown))}.")
    return told


def _printed(policy: Policy) -> str:
    if METHODS[policy.method].is_exact:
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
