"""What a release does not protect from, in sentences for the person who signs it off."""

from __future__ import annotations

from collections.abc import Iterator

from sqlanon.policy.policy import Policy
from sqlanon.wording import listed

Limit = tuple[str, str]
"""A name for it, and what it means here."""


def limits(policy: Policy, least: float | None) -> list[Limit]:
    """What a release under this policy does not protect from. `least` is the smallest l that a sensitive column
    reaches, if that is known."""
    return [*_within_classes(policy, least), *_by_knowing_more(policy), *_by_what_is_released(policy)]


def _within_classes(policy: Policy, least: float | None) -> Iterator[Limit]:
    if policy.kind.prints_exact:
        yield (
            "Being recognized",
            "Quasi-identifiers are released as they are: whoever knows them sees that a person is in the table.",
        )
    elif not policy.sensitive:
        yield (
            "Learning from the class",
            "No column was named as sensitive. If one is, people in a class may share its value: name it, and "
            "require l or t.",
        )
    elif policy.unprotected:
        reason = "No diversity was required"
        if policy.models:
            reason += f" of {listed(policy.unprotected)}"
        if least is not None and least <= 1:
            reason += (
                ". At least one class has a single sensitive value, so an attacker learns it without identifying anyone"
            )
        else:
            reason += ". Where one value is frequent in a class, an attacker can guess it without identifying anyone"
        yield "Guessing from the class", f"{reason}. Require l or t."


def _by_knowing_more(policy: Policy) -> Iterator[Limit]:
    if policy.population is not None:
        yield (
            "Knowing who is in the table",
            "k counts people of the population. Whoever knows that a person is in the table has only the rows of a "
            "class to choose from.",
        )
    yield (
        "Knowing more than was assumed",
        f"Only {listed(policy.quasi)} were taken as known to others. Whoever knows another released column, or can "
        "rule people out by something else, has fewer candidates than k.",
    )
    yield (
        "Several releases",
        "Another release of the same people can be compared with this one, and the two together may reveal more than "
        "each. sqlanon audit counts that for stored releases.",
    )


def _by_what_is_released(policy: Policy) -> Iterator[Limit]:
    if policy.ranges in ("auto", "text") and policy.represent == "closure" and not policy.kind.prints_exact:
        ends = "Ranges" if policy.ranges == "text" else "Ranges of whole numbers and dates"
        yield (
            "Extreme values",
            f"{ends} end in real values: the oldest or the richest person's own number may be released. "
            "ranges = 'snapped' avoids that.",
        )
    if policy.pseudonymize:
        yield "The key of the pseudonyms", "Whoever has it can compute the pseudonym of any value."
    if policy.entity is None:
        yield (
            "People with several rows",
            "Rows are counted. A person who has more than one row is protected by fewer than k people: name the "
            "entity if that is possible.",
        )
