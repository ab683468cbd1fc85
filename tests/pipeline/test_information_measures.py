"""The information measures against their definitions, row by row, on releases whose rows keep an id."""

import math
from collections import Counter

import duckdb
import numpy as np
import pytest

import sqlanon

Row = tuple[object, ...]
TREE = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"), ("e", "e", "*")]
COVERED = {"ab": "ab", "cd": "cd", "*": "abcde"}


@pytest.fixture(scope="module", params=range(4))
def tables(request: pytest.FixtureRequest) -> tuple[list[Row], list[Row], dict[str, float]]:
    """Source rows (letter, number, sensitive), the same rows as printed, and what sqlanon measured."""
    rng = np.random.default_rng(request.param)
    con = duckdb.connect()
    sqlanon.load(con)
    sqlanon.create_hierarchy(con, "letter", rows=TREE)
    con.execute("create table people (id integer, letter varchar, number integer, ill varchar)")
    con.executemany(
        "insert into people values (?, ?, ?, ?)",
        [
            (i, "abcde"[rng.integers(5)], int(rng.integers(8)), ["flu", "gout", None][rng.choice(3, p=[0.5, 0.4, 0.1])])
            for i in range(40)
        ],
    )
    options = {"quasi": ["letter", "number"], "k": 4, "sensitive": ["ill"], "seed": request.param}
    release = sqlanon.anonymize(con, "people", **options, unsafe_keep=["id"])
    source = con.execute("select letter, number, ill from people order by id").fetchall()
    printed = con.execute(f"select letter, number, ill from {release.table} order by id").fetchall()
    found = release.metrics()
    con.close()
    return source, printed, found


def covers(label: object, attribute: int) -> set[object]:
    """The values that a released label stands for."""
    if attribute == 0:
        return set(COVERED.get(str(label), str(label)))
    ends = [int(end) for end in str(label).strip("[]").split("-")] if str(label) != "*" else [0, 7]
    return set(range(ends[0], ends[-1] + 1))


def test_mutual_information_is_the_papers_sum_over_rows(tables: tuple[list[Row], list[Row], dict[str, float]]) -> None:
    source, printed, found = tables
    n, loss, entropy = len(source), 0.0, 0.0
    for j in (0, 1):
        counts = Counter(row[j] for row in source)
        for row, shown in zip(source, printed, strict=True):
            mass = sum(counts[value] for value in covers(shown[j], j))
            loss -= math.log2(counts[row[j]] / mass) / (2 * n)
            entropy -= math.log2(counts[row[j]] / n) / (2 * n)
    assert found["mi_loss"] == pytest.approx(loss)
    assert found["mi_utility"] == pytest.approx(entropy - loss)


def test_private_mutual_information_is_the_papers_sum_over_rows(
    tables: tuple[list[Row], list[Row], dict[str, float]],
) -> None:
    source, printed, found = tables
    n = len(source)
    prior = Counter(row[2] for row in source)
    loss, original, gains, gains_original = 0.0, 0.0, [], []
    for j in (0, 1):
        joint = Counter((row[j], row[2]) for row in source)
        counts = Counter(row[j] for row in source)
        after = before = start = 0.0
        for row, shown in zip(source, printed, strict=True):
            inside = covers(shown[j], j)
            after += math.log2(sum(joint[v, row[2]] for v in inside) / sum(counts[v] for v in inside))
            before += math.log2(joint[row[j], row[2]] / counts[row[j]])
            start += math.log2(prior[row[2]] / n)
        loss -= after / (2 * n)
        original -= before / (2 * n)
        gains.append((after - start) / n)
        gains_original.append((before - start) / n)
    assert found["pmi_loss"] == pytest.approx(loss)
    assert found["pmi_loss_relative"] == pytest.approx(loss - original)
    assert found["pmi_utility"] == pytest.approx(sum(gains) / 2)
    assert found["pmi_utility_l2"] == pytest.approx(math.hypot(*gains) / 2)
    assert found["pmi_utility_max"] == pytest.approx(max(gains))
    assert found["pmi_loss_l2"] == pytest.approx((math.hypot(*gains_original) - math.hypot(*gains)) / 2)
    assert found["pmi_loss_max"] == pytest.approx(max(gains_original) - max(gains))
    assert found["wmi_utility"] == pytest.approx((found["mi_utility"] + found["pmi_utility"]) / 2)


def test_ambiguity_and_divergence_follow_their_definitions(
    tables: tuple[list[Row], list[Row], dict[str, float]],
) -> None:
    source, printed, found = tables
    domain = sorted({row[1] for row in source})
    n = len(source)

    def size(shown: Row) -> int:
        return len(covers(shown[0], 0)) * len([v for v in domain if v in covers(shown[1], 1)])

    assert found["am"] == pytest.approx(sum(size(shown) for shown in printed) / n)
    own = Counter((row[0], row[1]) for row in source)
    divergence = 0.0
    for (letter, number), rows in own.items():
        share = sum(
            1 / n / size(shown) for shown in printed if letter in covers(shown[0], 0) and number in covers(shown[1], 1)
        )
        divergence += rows / n * math.log2(rows / n / share)
    assert found["kl_divergence"] == pytest.approx(divergence)


def test_class_measures_follow_their_definitions(tables: tuple[list[Row], list[Row], dict[str, float]]) -> None:
    _, printed, found = tables
    classes: dict[Row, Counter[object]] = {}
    for letter, number, ill in printed:
        classes.setdefault((letter, number), Counter())[ill] += 1
    suppressed = classes.get(("*", "*"), Counter())
    entropies = [
        -sum(c / counts.total() * math.log2(c / counts.total()) for c in counts.values()) for counts in classes.values()
    ]
    off = sum(c.total() - max(c.values()) for key, c in classes.items() if key != ("*", "*")) + suppressed.total()
    assert found["cm"] == pytest.approx(off / len(printed))
    assert found["mean_entropy_diversity"] == pytest.approx(sum(entropies) / len(entropies))
    assert found["minimum_entropy_diversity"] == pytest.approx(min(entropies), abs=1e-12)
    assert found["frequency_diversity"] == pytest.approx(min(c.total() / max(c.values()) for c in classes.values()))


def test_the_example_of_section_5_1_prefers_to_hide_the_outliers() -> None:
    con = duckdb.connect()
    sqlanon.load(con)
    ill = "unnest([0, 0, 0, 1, 0, 1, 1, 1, 1]) as ill"
    con.execute(f"create table d as select unnest(['a','a','a','a','b','b','b','b','c']) as x, {ill}")
    con.execute(f"create table g1 as select unnest(['a','a','a','*','*','b','b','b','*']) as x, {ill}")
    con.execute(f"create table g2 as select unnest(['a','a','*','a','*','b','b','b','*']) as x, {ill}")
    call = "anon.measure('{}', source := 'd', quasi := ['x'], sensitive := ['ill'], k := 3)"
    found = {g: dict(con.execute(f"select measure, value from {call.format(g)}").fetchall()) for g in ("g1", "g2")}
    assert found["g1"]["pmi_loss_relative"] == pytest.approx(-0.126, abs=5e-4)
    assert found["g2"]["pmi_loss_relative"] == pytest.approx(0.086, abs=5e-4)
    assert found["g1"]["pmi_loss"] == pytest.approx(0.595, abs=5e-4)
    assert found["g1"]["mi_loss"] == pytest.approx(found["g2"]["mi_loss"])
    con.close()


def test_every_measure_says_its_formula_range_direction_and_source_and_has_a_scalar() -> None:
    with sqlanon.connect() as con:
        con.execute("create table t as select i % 3 as a, i % 2 as b, i % 5 as s from range(60) r(i)")
        sqlanon.anonymize(con, "t", ["a", "b"], 5, sensitive=["s"], name="pub", method="wfcmeans")
        rows = con.execute("from anon.utility('pub')").fetchall()
        assert len(rows) == len({row[0] for row in rows}) == 29
        for measure, value, column, formula, span, better, source, note in rows:
            assert (value is None, note) == (False, None)
            assert all([formula, span, better, source])
            if measure in ("information_distortion_own", "lower_bound"):
                continue
            arguments = "'pub'" if column is None else "'pub', 'S'"
            assert con.execute(f"select anon.{measure}({arguments})").fetchall() == [(pytest.approx(value),)]
        assert con.execute("select anon.wmi_utility('pub', 's', mi_weight := 1)").fetchall() == [
            (pytest.approx({row[0]: row[1] for row in rows}["mi_utility"]),)
        ]


def test_a_divergence_of_too_many_pairs_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlanon.udfs.evaluate.divergence.MOST_PAIRS", 1)
    with sqlanon.connect() as con:
        con.execute("create table t as select i % 7 as a from range(60) r(i)")
        assert "kl_divergence" not in sqlanon.anonymize(con, "t", ["a"], 5, name="pub").metrics()
        assert con.execute("select anon.kl_divergence('pub')").fetchall() == [(None,)]
