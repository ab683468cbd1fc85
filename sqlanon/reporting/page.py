"""The report: one HTML file about a release, or any table, that needs no network and can be forwarded and printed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from sqlanon import wording
from sqlanon.drawing import theme
from sqlanon.drawing.svg import Picture
from sqlanon.engine.frames import registered
from sqlanon.engine.session import unwrap
from sqlanon.errors import PolicyError
from sqlanon.policy import words
from sqlanon.privacy.check_sql import Verified
from sqlanon.releases.release import Release
from sqlanon.reporting import figures, limits, signing
from sqlanon.reporting.facts import UNNAMED, Facts, facts_of_release, facts_of_table
from sqlanon.sqltext import query_or_none
from sqlanon.version import __version__

STYLE = (Path(__file__).resolve().parent / "report.css").read_text(encoding="utf-8")
ATTACKERS = (
    ("prosecutor", "Prosecutor", "knows that the person is in the table", "prosecutor_max", "prosecutor_mean"),
    ("journalist", "Journalist", "does not know whether the person is in it", "journalist_max", "journalist_mean"),
    ("marketer", "Marketer", "wants to find as many people as possible", None, "marketer"),
)
"""The attackers of El Emam: who they are, and the measures of the highest and the mean chance that they have."""


def report(con: Any, table: Any, quasi: Sequence[str], path: str | Path, k: int = 5, **options: Any) -> Path:
    """Write a report about a table, file, query or frame, whoever made it.

    `options` are sensitive columns and what is required of them (l, t and so on), and with `source` what it was made
    from, with hierarchies and ranges as in a policy: then it also tells what was lost.
    """
    require_writable(Path(path))
    with registered(unwrap(con)) as named:
        if not isinstance(table, str):
            options = {"shown": "a frame"} | options
        if options.get("source") is not None:
            options["source"] = named(options["source"])
        return write(facts_of_table(con, named(table), quasi, k, **options), path)


def report_release(release: Release, path: str | Path, curve: bool | None = None, **paper: Any) -> Path:
    """Write a report about a release, verified again. `curve` says whether to draw what another k would cost, which
    takes a quick run for each k; by default for sources of up to 2,000 rows. `paper` is what is written above the
    place to sign: author, purpose, recipient, source_date, and `published`, the file whose SHA-256 is shown."""
    require_writable(Path(path))
    return write(facts_of_release(release, curve, signing.Paper.of(**paper)), path)


def require_writable(path: Path) -> None:
    """Can a report be written there? Asked before the work is done."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise PolicyError(f"'{path}' must end in .html")
    if not path.parent.is_dir():
        raise PolicyError(f"There is no folder '{path.parent}'")
    theme.require_matplotlib()


def write(facts: Facts, path: str | Path) -> Path:
    """Write the page."""
    path = Path(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        draft.write_text(page(facts), encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def page(facts: Facts) -> str:
    """The whole page."""
    kind = "Release report" if facts.is_release else "Privacy report"
    source = f" from <strong>{escape(facts.source)}</strong>" if facts.source else ""
    made = f"{facts.made_at:%d %B %Y, %H:%M} UTC"
    parts = [
        _verdict(facts, made),
        _numbers(facts),
        '<div class="two">',
        _survived(facts),
        _risk(facts),
        "</div>",
        _others(facts),
        _limits(facts),
        _check_again(facts),
        _policy(facts),
        _pictures(facts),
        _distributions(facts),
        _private(facts),
        _frontier(facts),
        _sample(facts),
        _measures(facts),
        signing.section(facts.paper, facts.heading) if facts.is_release else "",
    ]
    content = "\n".join(part for part in parts if part)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="sqlanon {__version__}">
<title>{escape(facts.heading)} – {kind.lower()}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<p class="kind">{kind}</p>
<h1>{escape(facts.heading)}</h1>
<p class="soft">{wording.plural(facts.rows, "row")}{source} · made {made} by sqlanon {__version__}</p>
</header>
<main>
{content}
</main>
<footer>
<p>Made by sqlanon {__version__} on {made}. This file loads nothing from the network.
Released rows that it shows may be the same as rows of the source.</p>
</footer>
</body>
</html>
"""


def _section(title: str, body: str, kind: str = "", lead: str = "") -> str:
    said = f'<p class="lead">{lead}</p>' if lead else ""
    return f'<section class="{kind}">\n<h2>{escape(title)}</h2>\n{said}{body}\n</section>'


def _head(columns: Iterable[str]) -> str:
    cells = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    return f"<thead><tr>{cells}</tr></thead>"


def _verdict(facts: Facts, made: str) -> str:
    """The property that holds, or what is broken, in words."""
    if facts.holds:
        title, said = facts.claim, f"Verified on the released values on {made}."
        asked = [proof for proof in facts.proofs if proof.asked is not None and proof.column]
        kept = wording.listed([f"{p.symbol} = {_number(p.asked or 0)} in {p.column}" for p in asked])
        said += f" Also required, and satisfied: {escape(kept)}." if kept else ""
        if facts.warnings:
            listed = "".join(f"<li>{escape(warning)}</li>" for warning in facts.warnings)
            said += f'</p><ul class="warnings">{listed}</ul><p>'
            many = wording.plural(len(facts.warnings), "warning")
            return _verdict_card("warned", title, said, facts, f"holds, with {many}")
        return _verdict_card("holds", title, said, facts)
    broken = [
        f"{p.symbol} is {_reached(p)}{f' in {p.column}' if p.column else ''}, required was {_number(p.asked or 0)}"
        for p in facts.proofs
        if not p.holds
    ]
    title = f"This table does not satisfy what was required: {wording.listed(broken)}."
    said = f"Counted on {made}. {escape(_smallest(facts))}"
    return _verdict_card("broken", title, said, facts)


def _verdict_card(verdict: str, title: str, said: str, facts: Facts, badge: str | None = None) -> str:
    """A card in one of three colors: holds, warned or broken."""
    sql = facts.proofs[0].sql
    asked = "Anybody who has the table can check this. The answer must be" if sql else ""
    shown = f"<p>{asked} {facts.policy.k} or more:</p>{_code(sql)}" if sql else ""
    return (
        f'<section class="verdict {verdict}"><h2><span class="badge">{badge or verdict}</span> {escape(title)}</h2>'
        f"<p>{said}</p>{shown}<p>Next: {escape(facts.next)}.</p></section>"
    )


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def _smallest(facts: Facts) -> str:
    small = sum(size * classes for size, classes in facts.sizes if size < facts.policy.k)
    return f"{wording.plural(small, 'row is', 'rows are')} in classes of fewer than {facts.policy.k}." if small else ""


def _numbers(facts: Facts) -> str:
    """What was verified and counted, as large numbers."""
    tiles = []
    for proof in facts.proofs:
        if proof.model in ("k", "l", "t") or proof.asked is not None:
            asked = f"required: {_number(proof.asked)}" if proof.asked is not None else "measured"
            about = f" · {_breaking(proof.column)}" if proof.column else ""
            tiles.append((proof.symbol, _reached(proof), f"{asked}{about}", not proof.holds))
    where = f"of {facts.rows_in:,} in the source" if facts.rows_in is not None else "in the table"
    lost = facts.suppressed + facts.left_out
    tiles.append(("rows out" if facts.is_release else "rows", f"{facts.rows:,}", where, False))
    share = lost / (facts.rows + facts.left_out) if facts.rows + facts.left_out else 0
    how = f"{share:.1%} of all: {facts.left_out:,} left out" if facts.left_out else f"{share:.1%} have only *"
    tiles.append(("suppressed", f"{lost:,}", how, False))
    if facts.classes is not None:
        who = "people who" if facts.entity else "rows that"
        tiles.append(("classes", f"{facts.classes:,}", f"of {who} look the same", False))
    if facts.loss is not None:
        bound = (
            f"no release below {wording.bound_percent(facts.lower_bound)}"
            if facts.lower_bound is not None
            else "0% keeps everything"
        )
        tiles.append(("lost (GCP)", f"{facts.loss:.1%}", bound, False))
    shown = "".join(
        f'<div class="tile{" bad" if is_bad else ""}"><dt>{name}</dt><dd><b>{value}</b><span>{note}</span></dd></div>'
        for name, value, note, is_bad in tiles
    )
    return f'<section aria-label="Key figures"><dl class="tiles">{shown}</dl></section>'


def _percent(share: float) -> str:
    """Whole percents, but never 100 % or 0 % of what is not."""
    return (
        f"{share:.0%}" if share in (0, 1) or 0.005 <= share < 0.995 else f"{share:.1%}" if share < 0.9995 else "> 99.9%"
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if value != int(value) else f"{value:.0f}"


def _reached(proof: Verified) -> str:
    return "–" if proof.reached is None else "∞" if proof.reached == float("inf") else _number(proof.reached)


def _survived(facts: Facts) -> str:
    """How much of each column is left."""
    known = [column for column in facts.columns if column.loss is not None]
    rows = "".join(
        f'<tr><th scope="row">{escape(c.name)}</th><td class="bar" style="--share:{1 - (c.loss or 0):.1%}">'
        f"{_percent(1 - (c.loss or 0))}</td><td>{_percent(c.unchanged or 0)}</td></tr>"
        for c in known
    )
    others = [
        (facts.policy.sensitive, "unchanged"),
        ((*facts.policy.keep, *facts.policy.unsafe_keep), "unchanged"),
        (facts.policy.pseudonymize, "pseudonyms"),
    ]
    if facts.is_release:
        rows += "".join(
            f'<tr><th scope="row">{escape(column)}</th><td colspan="2" class="soft">{what}</td></tr>'
            for columns, what in others
            for column in columns
        )
    if not known:
        notes = " ".join(map(escape, facts.notes)) or "Nothing is known about it."
        return _section("What survived", f"<p>{notes}</p>", "card")
    head = _head(("column", "kept", "unchanged"))
    said = _bound_in_words(facts)
    table = f'<div class="wide" tabindex="0"><table class="survived">{head}<tbody>{rows}</tbody></table></div>'
    return _section("What survived", f'{table}<p class="soft">{said}</p>', "card")


def _bound_in_words(facts: Facts) -> str:
    said = "Kept is 100% minus the average share of the column's range (or hierarchy) that a released cell spans."
    if facts.loss is not None and facts.lower_bound is not None:
        gap = wording.gap(facts.loss, facts.lower_bound, bool(facts.policy.models))
        said += f" In total {facts.loss:.1%} is lost{gap}."
    return said


def _risk(facts: Facts) -> str:
    """Who could be found again, by whom, with what chance."""
    if facts.policy.kind.prints_exact:
        told = "Anybody whose quasi-identifiers are known can be found, because these are released unchanged."
        hidden = "The release hides which sensitive value belongs to whom."
        return _section("Who could be found again", f"<p>{told} {hidden}</p>", "card")
    rows = []
    for _, name, knows, highest, mean in ATTACKERS:
        most = facts.risks.get(highest or "")
        usual = facts.risks.get(mean)
        rows.append(
            f'<tr><th scope="row">{name}<span class="soft">{knows}</span></th>'
            f"<td>{_chance(most)}</td><td>{_chance(usual)}</td></tr>"
        )
    head = _head(("attacker", "at worst", "on average"))
    alone = facts.risks.get("unique_rows")
    said = f"{alone:.1%} of the rows are unique in their class." if alone else "Nobody is unique in their class."
    said = said if alone is not None else "This release has no classes; every row matches at least k people."
    said += " Shown is the chance to pick a person's row if the quasi-identifiers are known."
    if facts.policy.population is None:
        said += " Without a population, the journalist has the same chance as the prosecutor."
    return _section(
        "Who could be found again",
        f'<div class="wide" tabindex="0"><table class="risks">{head}<tbody>{"".join(rows)}</tbody></table></div>'
        f'<p class="soft">{said}</p>',
        "card",
    )


def _chance(share: float | None) -> str:
    if not share:
        return "–"
    return f"{share:.1%}<span class='soft'>1 in {1 / share:,.0f}</span>"


def _others(facts: Facts) -> str:
    """The other releases of the same source by name, and what they give away together with this one."""
    if not facts.others:
        return ""
    told = "".join(f"<li>{escape(signing.combination_in_words(facts.title, one))}</li>" for one in facts.others)
    return _section("Other releases of the same source", f"<ul>{told}</ul>", "card")


def _limits(facts: Facts) -> str:
    least = min((p.reached for p in facts.proofs if p.model == "l" and p.reached is not None), default=None)
    items = "".join(
        f"<li><strong>{escape(name)}.</strong> {escape(said)}</li>" for name, said in limits.limits(facts.policy, least)
    )
    return _section("What this does not protect from", f'<ul class="limits">{items}</ul>', "card")


def _check_again(facts: Facts) -> str:
    """The SQL with which anybody can check it again."""
    parts = []
    for proof in facts.proofs:
        if proof.sql is not None:
            asked = f", required: {_number(proof.asked)}" if proof.asked is not None else ""
            about = f" of {proof.column}" if proof.column else ""
            parts.append(f"-- {proof.symbol}{about}: {_reached(proof)}{asked}\n{proof.sql}")
    if facts.proofs[0].sql is None:
        name = facts.title.replace("'", "\\'")
        parts.insert(
            0,
            "# this property needs the source as well: check it from Python\n"
            f"sqlanon.open_release(con, '{name}').verify()",
        )
    uses_macros = any("anon." in part for part in parts)
    lead = "Anybody with DuckDB can run this on the table and must get the answers of this report."
    if uses_macros:
        lead += " Names that begin with <code>anon.</code> are macros that sqlanon adds to a database."
    return _section("Check all of it again", _code("\n\n".join(parts)), "card", lead)


def _policy(facts: Facts) -> str:
    sentences = words.policy_in_words(facts.policy) if facts.is_release else words.asked_in_words(facts.policy)
    if facts.added:
        sentences.append(f"In addition to what {facts.policy.method} does: {facts.added}.")
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    body = f"<ul>{told}</ul>"
    if facts.is_release:
        policy = facts.policy
        if policy.population is not None and query_or_none(policy.population) is not None:
            policy = replace(policy, population="(a query)")  # it may hold values
        toml = policy.toml(source=facts.source, name=None if facts.title == UNNAMED else facts.title)
        body = f'<div class="two">{body}{_code(toml)}</div>'
    return _section("The policy" if facts.is_release else "What was required", body, "card")


def _figure(title: str, said: str, svg: str, kind: str = "") -> str:
    return f'<figure class="{kind}"><h3>{escape(title)}</h3>{svg}<figcaption>{escape(said)}</figcaption></figure>'


def _grid(pictures: Iterable[Picture]) -> str:
    shown = "\n".join(_figure(picture.title, picture.said, picture.svg()) for picture in pictures)
    return f'<div class="figures">\n{shown}\n</div>' if shown else ""


def _pictures(facts: Facts) -> str:
    body = _grid(figures.pictures(facts))
    notes = "".join(f'<p class="soft">{escape(note)}</p>' for note in facts.notes) if facts.is_release else ""
    return _section("Pictures", notes + body, "pictures") if body else ""


def _distributions(facts: Facts) -> str:
    found = (figures.column_picture(column, number) for number, column in enumerate(facts.columns, 1))
    body = _grid(picture for picture in found if picture is not None)
    if not body:
        return ""
    least = f"{facts.policy.k} {'rows' if facts.policy.entity is None else 'people'}"
    if facts.is_release or facts.source:
        title = "Before and after"
        lead = (
            f"Source bars for fewer than {least} are merged or left out. The release is read as an analyst would: "
            "the rows of a label are spread evenly over what it covers."
        )
    else:
        title, lead = "The columns", f"Bars for fewer than {least} are merged or left out."
    return _section(title, body, "", lead)


def _private(facts: Facts) -> str:
    policy = facts.policy
    found: list[Any] = []
    for number, private in enumerate(facts.private, 1):
        diverse, alpha, t = (policy.required(model, private.column) for model in ("l", "alpha", "t"))
        largest = min((share for share in (1 / diverse if diverse else None, alpha) if share), default=None)
        found += figures.private_pictures(private, number, largest, t)
    lead = "What a class reveals about the sensitive columns to somebody who knows which class a person is in."
    return _section("Sensitive columns, class by class", _grid(found), "", lead) if found else ""


def _frontier(facts: Facts) -> str:
    if facts.comparison is None:
        return ""
    svg, said = figures.comparison_svg(facts)
    methods = len(facts.comparison.methods)
    lead = f"From the stored comparison of {wording.plural(methods, 'method')} on the same rows."
    return _section("Risk and utility of other methods", _figure("Risk and utility", said, svg, "large"), "", lead)


def _sample(facts: Facts) -> str:
    if len(facts.sample) < 2:
        return ""
    header, *rows = facts.sample
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f'<div class="wide" tabindex="0"><table>{_head(header)}<tbody>{body}</tbody></table></div>'
    return _section("Some released rows", table, "", "As a recipient of the release sees them.")


def _measures(facts: Facts) -> str:
    told = {**{name: value for name, value in facts.risks.items() if value is not None}, **facts.metrics}
    if not told:
        return ""
    rows = "".join(f"<div><dt>{_breaking(name)}</dt><dd>{_measure(value)}</dd></div>" for name, value in told.items())
    return _section(
        "All measures",
        f'<dl class="measures card">{rows}</dl>',
        "",
        "Defined in the reference of sqlanon; for a stored release also <code>FROM anon.utility('name')</code>.",
    )


def _breaking(name: str) -> str:
    """A name that may continue on the next line after an underscore and before a bracket, not within a word."""
    return escape(name).replace("_", "_<wbr>").replace("(", "<wbr>(")


def _measure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e12 else f"{value:.4g}"
