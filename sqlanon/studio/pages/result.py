"""The fifth screen: what holds, what it cost, and why. Released rows only, never a source row beside its release."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.responses import Response

import sqlanon
from sqlanon.studio import telling, why
from sqlanon.studio.background import Answer
from sqlanon.studio.charts import percent
from sqlanon.studio.facade import SqlanonError, size_bins
from sqlanon.studio.pages.common import Ask, NotFoundError, copies, redirect, render
from sqlanon.studio.runs import PATIENT, Result

ATTACKED = 20_000
"""People who are sought in a large release: this many are drawn."""


def result(ask: Ask) -> Response:
    """A run, the newest if none is named."""
    profile = ask.profile()
    draft = ask.draft(profile)
    found = ask.desk.runs.find(ask.number("run"))
    if found is None:
        if ask.number("run") is not None:
            raise NotFoundError("The rows of this run are no longer kept. Run it again on the screen Promise.")
        return render(ask, "no_result.html", current="result")
    facts = found.facts
    column, losses = _chosen(ask, found), telling.losses(found)
    bins = [
        (name, rows / max(1, facts.rows), is_small) for name, rows, is_small in size_bins(facts.sizes, found.policy.k)
    ]
    return render(
        ask,
        "result.html",
        found=found,
        facts=facts,
        is_current=found.draft == draft,
        losses=losses,
        bar_rows=[(each.column, each.loss, percent(each.loss)) for each in losses],
        bar_most=max([each.loss for each in losses], default=1.0) or 1.0,
        warnings=telling.warnings(found),
        risks=telling.risks(facts),
        bins=bins,
        chosen=column,
        runs=list(ask.desk.runs),
        copies=copies(ask, found.draft),
        attack=_attack_answer(ask, found, is_asked=False),
        attack_names=telling.ATTACKS,
        current="result",
        **_why(ask, found),
    )


def _chosen(ask: Ask, found: Result) -> Any:
    """The column whose distribution is shown: the one asked for, or the one that lost most."""
    columns = [column for column in found.facts.columns if column.bars is not None]
    number = ask.number("column")
    if number is not None and number < len(found.facts.columns) and found.facts.columns[number].bars is not None:
        return found.facts.columns[number]
    return max(columns, key=lambda column: column.loss or 0, default=None)


def reasons(ask: Ask) -> Response:
    """Which column costs most, as far as it is counted."""
    found = _asked(ask)
    return render(ask, "_why.html", found=found, facts=found.facts, **_why(ask, found))


def attacks(ask: Ask) -> Response:
    """Attack the release, or say how far that is."""
    found = _asked(ask)
    answer = _attack_answer(ask, found, is_asked=True)
    if not ask.is_fragment:
        return redirect(ask, f"{ask.url('result')}?run={found.number}#attacks")
    return render(ask, "_attacks.html", found=found, facts=found.facts, attack=answer, attack_names=telling.ATTACKS)


def use(ask: Ask) -> Response:
    """Go back to the policy of a run."""
    found = _asked(ask)
    ask.draft()
    ask.desk.change(lambda draft: found.draft)
    return redirect(ask, f"{ask.url('result')}?run={found.number}")


def _asked(ask: Ask) -> Result:
    found = ask.desk.runs.find(ask.number("run"))
    if found is None:
        raise NotFoundError("The rows of this run are no longer kept. Run it again on the screen Promise.")
    return found


def _why(ask: Ask, found: Result) -> dict[str, Any]:
    """The quick runs that are done; the others are begun."""
    source, profile = ask.source, ask.profile()
    quick = partial(ask.studio.background.ask, wait=0, pool="slow")
    base = quick((source.slug, "why", found.number, "base"), partial(why.quick, source, found))
    gains: list[tuple[str, Answer, Answer]] = []
    ks: list[tuple[int, Answer]] = []
    if base.is_ready and base.problem is None:
        for k in why.ks_of(found):
            ks.append((k, quick((source.slug, "why", found.number, k), partial(why.at_k, source, found, k))))
        for column in found.policy.quasi if len(found.policy.quasi) > 1 else ():
            left = partial(why.without, source, found, column, base.value)
            above = partial(why.with_coarser, source, found, profile, column, base.value)
            gains.append(
                (
                    column,
                    quick((source.slug, "why", found.number, "without", column), left),
                    quick((source.slug, "why", found.number, "coarser", column), above),
                )
            )
    answers = [base, *(answer for _, *pair in gains for answer in pair), *(answer for _, answer in ks)]
    done = sum(answer.is_ready for answer in answers)
    best = max(
        (each.value for _, *pair in gains for each in pair[:1] if each.is_ready and each.value),
        key=lambda gain: gain.gained,
        default=None,
    )
    return {
        "base_run": base,
        "gains": gains,
        "best": best,
        "curve": [(k, answer.value) for k, answer in ks if answer.is_ready and answer.problem is None],
        "why_done": done,
        "why_all": len(answers) if base.is_ready else 1 + 2 * len(found.policy.quasi) + len(why.ks_of(found)),
        "is_waiting": done < len(answers) or not base.is_ready,
    }


def _attack_answer(ask: Ask, found: Result, is_asked: bool) -> Answer | None:
    """The attacks, if they were requested."""
    key = (ask.source.slug, "attack", found.number)
    if not is_asked and not ask.studio.background.knows(key):
        return None
    return ask.studio.background.ask(key, partial(_attacked, ask, found), wait=0.3, pool="attack")


def _attacked(ask: Ask, found: Result) -> Any:
    """Attack on a connection of its own; of very many people some are sought."""
    source = ask.source
    with source.workspace.gate.reading(PATIENT), found.lock:
        con, release = found.release.con, found.release
        if found.facts.rows <= 5 * ATTACKED:
            return sqlanon.attack(con, release).rows
        some = f"select * from {source.relation} using sample reservoir({ATTACKED} rows) repeatable (1)"
        taken = ("quasi", "k", "sensitive", "l", "keep", "hierarchies", "ranges", "t")
        options = {option: value for option, value in found.policy.options().items() if option in taken}
        try:
            return sqlanon.attack(con, release.table, source=some, **options).rows
        except SqlanonError as problem:
            raise SqlanonError(f"The attacks could not be tried: {problem}") from None
