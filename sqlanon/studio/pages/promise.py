"""The fourth screen: what is promised, said back in one sentence, and the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from sqlanon.studio import looking, runs, telling
from sqlanon.studio.background import Job
from sqlanon.studio.draft import EFFORTS, Draft
from sqlanon.studio.facade import SqlanonError
from sqlanon.studio.looking import Profile
from sqlanon.studio.pages.common import Ask, NotFoundError, copies, redirect, render, strip
from sqlanon.studio.specs import number_of


def promise(ask: Ask) -> Response:
    """k, l, t and how hard to try."""
    profile = ask.profile()
    return _page(ask, profile, ask.draft(profile))


def change(ask: Ask) -> Response:
    """Keep the promise; with `run` begin it."""
    profile = ask.profile()
    ask.draft(profile)
    try:
        changed = _draft(ask, profile)
        draft = ask.desk.change(changed)
        if draft.quasi:
            draft.policy(ask.desk.prefix)
    except SqlanonError as problem:
        if ask.is_fragment:
            return render(ask, "_problem.html", problem=str(problem))
        return _page(ask, profile, ask.draft(profile), str(problem))
    if ask.is_fragment:
        return render(ask, "_sentence.html", is_oob=True, strip=strip(ask, ask.desk), **_said(ask, profile, draft))
    return redirect(ask, ask.url("promise"))


def start(ask: Ask) -> Response:
    """Run it: in the background, with a page that says how far it is."""
    profile = ask.profile()
    ask.draft(profile)
    try:
        draft = ask.desk.change(_draft(ask, profile))
        draft.policy(ask.desk.prefix)
    except SqlanonError as problem:
        return _page(ask, profile, ask.draft(profile), str(problem))
    if draft.columns("pseudonym") and not ask.studio.has_key(ask.source):
        return _page(ask, profile, draft, "Pseudonyms need a key. Make one first, below.")
    desk, source = ask.desk, ask.source
    shelf = ask.studio.shelf(source)
    job = ask.studio.start(
        "Anonymize",
        source,
        lambda job: runs.make(job, source, draft, desk.prefix, shelf, desk.runs, profile),
        next_page="result",
    )
    return redirect(ask, f"{ask.url('promise')}?job={job.number}")


def make_key(ask: Ask) -> Response:
    """A key for pseudonyms."""
    ask.studio.make_key()
    return redirect(ask, ask.url("promise"))


def progress(ask: Ask) -> Response:
    """How far a job is; at its end htmx goes on to what came of it."""
    job = ask.studio.jobs.find(ask.path["number"], ask.source.slug)
    if job is None:
        raise NotFoundError("There is no such run; it may be long over.")
    if job.is_over and job.problem is None and job.next_page:
        return redirect(ask, ask.url(job.next_page))
    if not ask.is_fragment:
        return redirect(ask, _page_of(ask, job))
    return render(ask, "_job.html", job=job)


def _page_of(ask: Ask, job: Job) -> str:
    """The page that a job was begun on."""
    return f"{ask.url('promise' if job.next_page == 'result' else 'release')}?job={job.number}"


def cancel(ask: Ask) -> Response:
    """Stop a job."""
    job = ask.studio.jobs.find(ask.path["number"], ask.source.slug)
    if job is None:
        raise NotFoundError("There is no such run; it may be long over.")
    job.cancel()
    if ask.is_fragment:
        return render(ask, "_job.html", job=job)
    return redirect(ask, _page_of(ask, job))


def _page(ask: Ask, profile: Profile, draft: Draft, problem: str | None = None) -> Response:
    number = ask.number("job")
    job = ask.studio.jobs.find(number, ask.source.slug) if number is not None else None
    if job is not None and job.is_over and job.problem is None and job.next_page:
        return redirect(ask, ask.url(job.next_page))
    others = [each for each in ask.studio.jobs.running(ask.source.slug) if each is not job]
    return render(
        ask,
        "promise.html",
        profile=profile,
        problem=problem,
        job=job,
        others=others,
        presets=telling.PRESETS,
        efforts=telling.EFFORTS,
        has_key=ask.studio.has_key(ask.source),
        current="promise",
        **_said(ask, profile, draft),
    )


def _said(ask: Ask, profile: Profile, draft: Draft) -> dict[str, Any]:
    """The sentence, the most that l can be, and the time that a run takes."""
    most = {}
    for column in draft.sensitive:
        found = ask.studio.most(ask.source, column)
        most[column] = found.value if found.is_ready and found.problem is None else None
    combinations = profile.rows
    if draft.quasi:
        key = ("combinations", frozenset(draft.quasi))
        counted = ask.studio.ask(ask.source, key, lambda con: looking.combinations_of(con, ask.source, draft.quasi))
        combinations = counted.value if counted.is_ready and counted.problem is None else profile.rows
    done = list(ask.desk.runs)
    times = {effort: telling.expected(profile.rows, combinations, effort, done) for effort in EFFORTS}
    return {
        "copies": copies(ask, draft),
        "sentence": telling.promise(draft),
        "most": most,
        "times": times,
        "draft": draft,
        "combinations": combinations,
    }


def _required(ask: Ask, profile: Profile, model: str) -> dict[str, float]:
    """What the form requires of each column: its fields are called l-3 and t-3 by the column's number."""
    given = {column.name: ask.text(f"{model}-{column.number}") for column in profile.columns}
    return {column: number_of(text) for column, text in given.items() if text}


def _draft(ask: Ask, profile: Profile) -> Callable[[Draft], Draft]:
    """What the form changes in a draft."""
    k = ask.text("k_other") if ask.text("k") == "other" else ask.text("k")
    if not k.isascii() or not k.isdigit() or not 2 <= int(k) <= 1_000_000:
        raise SqlanonError("k must be a whole number of 2 or more.")
    l_asked, t_asked = _required(ask, profile, "l"), _required(ask, profile, "t")
    if any(value < 1 for value in l_asked.values()):
        raise SqlanonError("l must be 1 or more; 2 means that no value has more than half of a class.")
    if not all(0 <= value <= 1 for value in t_asked.values()):
        raise SqlanonError("t must be a number from 0 to 1; 0.2 is a common choice.")
    share = number_of(ask.text("suppression")) if ask.text("suppression") else 0
    if not 0 <= share <= 50:
        raise SqlanonError("The share of rows that may be suppressed must be from 0 to 50 %.")
    effort = ask.text("effort", "balanced")

    def changed(draft: Draft) -> Draft:
        return replace(
            draft,
            k=int(k),
            l={column: value for column, value in l_asked.items() if column in draft.sensitive},
            t={column: value for column, value in t_asked.items() if column in draft.sensitive},
            is_separate=bool(ask.text("separate")) and len(draft.sensitive) > 1 and bool(l_asked or t_asked),
            max_suppression=share / 100 if share else None,
            is_snapped=bool(ask.text("snapped")),
            effort=effort if effort in EFFORTS else "balanced",
        )

    return changed
