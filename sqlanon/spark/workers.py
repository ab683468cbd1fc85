"""What runs on Spark's workers: a block of tuples in, its groups and their labels out.

These functions are sent by name, so workers need sqlanon, in the driver's version. They import numpy, pyarrow and the
cores; no DuckDB. What the user can mend comes back as text in the column `error`: Spark shows an exception with a
traceback, which may hold values.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sqlanon.errors import SqlanonError
from sqlanon.keys import DIGITS
from sqlanon.udfs import legality
from sqlanon.udfs.after import blocks
from sqlanon.udfs.method import quiet
from sqlanon.udfs.models import Cells, Model, promise
from sqlanon.udfs.problem import Attribute, Floats, Groups, Ints, Numbers, Problem, Tree
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import seams, solve_block
from sqlanon.version import __version__

LOCAL = 1 << 32
"""Groups of one block are numbered below this, those of all blocks by block * LOCAL + group."""
Work = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True)
class Book:
    """What workers know of an attribute: its ranks, its tree or its number line, and how ranges of ranks are released.

    `labels` holds the text of each node of a tree as `Tree` orders them. Of a number line, `first` and `last` hold the
    texts with which a range begins and ends, for each rank, and `alone` what is released where a group shares one value
    of a line that is snapped otherwise. `is_pair` says that it is released as two columns, which
    Spark looks up by rank.
    """

    size: int
    weight: float
    place: Floats | None = None
    nodes: tuple[Ints, Ints, Ints] | None = None
    labels: Any = None
    first: Any = None
    last: Any = None
    alone: Any = None
    is_snapped: bool = False
    separator: str = "-"
    closing: str = "]"
    is_pair: bool = False

    @cached_property
    def attribute(self) -> Attribute:
        """As cores see it."""
        if self.nodes is not None:
            return Tree(*self.nodes)
        assert self.place is not None
        return Numbers(self.place)

    def printed(self, lo: Ints, hi: Ints) -> pa.Array:
        """The label of each range."""
        if isinstance(self.attribute, Tree):
            return self.labels.take(pa.array(self.attribute.common(lo, hi)))
        ends = (self.first, lo), (self.last, hi), (self.alone, lo)
        texts = ([None] * len(lo) if at is None else at.take(pa.array(rank)).to_pylist() for at, rank in ends)
        ranges = zip(*texts, (lo == hi).tolist(), strict=True)
        return pa.array([self._range(*each) for each in ranges], pa.string())

    def _range(self, first: str | None, last: str | None, alone: str | None, is_one: bool) -> str | None:
        """The text of a range, as sql/steps/print/labels_values.sql and labels_cells.sql have it."""
        if first is None or (is_one and not self.is_snapped):
            return first
        if is_one and alone is not None:
            return alone
        if last is None:
            return "*"
        return first if self.is_snapped and first == last else f"[{first}{self.separator}{last}{self.closing}"


@dataclass(frozen=True)
class Task:
    """What every worker gets: the request, the attributes, and how tuples are packed into columns.

    `radix` holds for each key column the multiplier and size of each rank in it. `codes` are the columns with sensitive
    codes, `who` that of the person where people are counted. `shares` are those of the whole table's sensitive values,
    `trees` the distances of t that are trees. `seed` drives all random numbers.
    """

    request: Request
    books: tuple[Book, ...]
    radix: dict[str, tuple[tuple[int, int], ...]]
    codes: tuple[str, ...] = ()
    who: str | None = None
    shares: tuple[Floats, ...] = ()
    distances: tuple[str | tuple[Ints, Ints, Ints], ...] = ()
    seed: int = 0
    tuples: int = 1
    version: str = __version__

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that make a tuple."""
        return (*self.radix, *self.codes, *((self.who,) if self.who else ()))

    @property
    def seeds(self) -> np.random.SeedSequence:
        """Where all random numbers come from, as on any other engine."""
        return np.random.SeedSequence(self.seed)

    def check_version(self) -> None:
        """Refuse to run by other code than the driver's."""
        if self.version != __version__:
            raise SqlanonError(
                f"Spark's workers have sqlanon {__version__}, and the driver has {self.version}: install the same one"
            )

    def ranks(self, table: pa.Table) -> Ints:
        """The ranks of each tuple, from its packed keys."""
        columns = [
            (table[key].to_numpy() // multiplier) % size
            for key, parts in self.radix.items()
            for multiplier, size in parts
        ]
        return np.column_stack(columns).astype(np.int64)

    def problem(self, ranks: Ints, counts: Ints, table: pa.Table) -> Problem:
        """What a core sees of these tuples, with models that compare with the whole table."""
        request = self.request
        codes = [table[column].to_numpy().astype(np.int64) for column in self.codes]
        if self.who:
            codes.append(np.unique(table[self.who].to_numpy(), return_inverse=True)[1].reshape(-1).astype(np.int64))
        problem = Problem(
            ranks=np.ascontiguousarray(ranks),
            counts=np.ascontiguousarray(counts, dtype=np.int64),
            attributes=tuple(book.attribute for book in self.books),
            weights=np.array(request.weights, dtype=np.float64),
            sensitive=np.column_stack(codes) if codes else None,
        )
        if not request.models and not self.who:
            return problem
        return promise(
            problem,
            request.models,
            is_strict=request.is_strict,
            c=request.recursive_c or 1.0,
            columns=[*request.sensitive, *([request.entity] if request.entity else ())],
            distances=[each if isinstance(each, str) else Tree(*each) for each in self.distances],
            people=request.k if self.who else None,
            shares=self.shares,
        )

    def sorted(self, table: pa.Table) -> tuple[pa.Table, Ints]:
        """The tuples and their ranks, in the order of ranks and codes: nothing depends on the order of arrival."""
        ranks = self.ranks(table)
        others = [table[column].to_numpy() for column in reversed(self.ids[len(self.radix) :])]
        order = np.lexsort((*others, *ranks.T[::-1]))
        return table.take(pa.array(order)), ranks[order]


def cluster_block(task: Task, other: blocks.Rule | None, is_whole: bool) -> Work:
    """The function that clusters one block of tuples. With an `other` rule, each group gets the block of that rule in
    which it is refined later; without, its labels."""

    def work(table: pa.Table) -> pa.Table:
        task.check_version()
        block = table["block"][0].as_py()
        table, ranks = task.sorted(table)
        problem = task.problem(ranks, table["rows"].to_numpy(), table)
        rng = blocks.draws(task.seeds, *(() if is_whole else (blocks.FORMING, block)))
        groups = solve_block(task.request, problem, rng, quiet, len(ranks) / task.tuples)
        heads = None if other is None else blocks.places_of(other, groups, ranks)
        return _entries(task, table, problem, groups, block, heads)

    return _guarded(work, task, ("part2",) if other is not None else _label_columns(task.books))


def refine_block(task: Task) -> Work:
    """The function that refines the groups of one block of the other cut, across the seams of the first, by the measure
    that the method keeps low."""

    def work(table: pa.Table) -> pa.Table:
        task.check_version()
        objective = seams(task.request)
        assert objective is not None, "nothing is refined without a measure"
        block = table["part2"][0].as_py()
        table, ranks = task.sorted(table)
        _, group = np.unique(table["grp"].to_numpy(), return_inverse=True)
        ids = np.column_stack([table[column].to_numpy() for column in task.ids])
        is_new = np.r_[True, (ids[1:] != ids[:-1]).any(axis=1)]
        first, of = np.flatnonzero(is_new), np.cumsum(is_new) - 1
        rows = table["rows"].to_numpy().astype(np.int64)
        heads = table.take(pa.array(first))
        problem = task.problem(ranks[first], np.bincount(of, weights=rows), heads)
        found = Groups.collect(of, group.reshape(-1), rows)
        rng = blocks.draws(task.seeds, blocks.REFINING, block)
        groups = blocks.refine_seams(problem, found, task.request.k, rng, objective, quiet)
        return _entries(task, heads, problem, groups, block, None)

    return _guarded(work, task, _label_columns(task.books))


def judge_block(task: Task) -> Work:
    """The function that says whether a block of tuples can be clustered on its own."""

    def work(table: pa.Table) -> pa.Table:
        block = table["block"][0].as_py()
        table, ranks = task.sorted(table)
        counts = table["rows"].to_numpy().astype(np.int64)
        problem = task.problem(ranks, counts, table)
        every = np.arange(len(counts))
        is_legal = (
            counts.sum() >= task.request.k and legality.are_legal(problem, every, np.zeros_like(every), counts)[0]
        )
        return pa.table({"block": [block], "tuples": [len(counts)], "is_legal": [bool(is_legal)]})

    return work


def place_block(rule: blocks.Cut, task: Task, column: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    """The function that gives each tuple the number of its block, where there are too many rules for an expression."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = rule.place(task.ranks(pa.Table.from_batches([batch])))
            yield batch.append_column(column, pa.array(places, pa.int64()))

    return work


def reached(model: Model, classes: tuple[str, ...]) -> Work:
    """The function that says what the worst of some classes reaches, from the rows of each code in each class."""

    def work(table: pa.Table) -> pa.Table:
        table = table.sort_by([(column, "ascending") for column in (*classes, "code")])
        keys = [table[column].combine_chunks().dictionary_encode("encode").indices.to_numpy() for column in classes]
        ids = np.column_stack(keys)
        number = np.r_[0, np.cumsum((ids[1:] != ids[:-1]).any(axis=1))]
        cells = Cells.collect(number, table["code"].to_numpy(), table["n"].to_numpy())
        return pa.table({"reached": [float(model.reached(cells).max())]})

    return work


def pseudonymize(columns: tuple[str, ...], key: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    """The function that puts keyed hashes in the place of texts. NULL stays NULL."""

    def hashed(text: str | None) -> str | None:
        return None if text is None else hmac.digest(key, text.encode(), "sha256").hex()[:DIGITS]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for column in columns:
                place = batch.schema.get_field_index(column)
                found = pa.array([hashed(text) for text in batch.column(place).to_pylist()], pa.string())
                batch = batch.set_column(place, column, found)
            yield batch

    return work


def _entries(
    task: Task, table: pa.Table, problem: Problem, groups: Groups, block: int, places: Ints | None
) -> pa.Table:
    """A row for each tuple and group: how many rows of the tuple, from the `first` of this part, go to the group."""
    order = np.lexsort((groups.group, groups.tuple))
    tuples, group, rows = groups.tuple[order], groups.group[order], groups.rows[order]
    before = np.cumsum(rows) - rows
    begins = np.flatnonzero(np.diff(tuples, prepend=-1))
    first = before - np.repeat(before[begins], np.diff(begins, append=len(tuples)))
    which = pa.array(tuples)
    found: dict[str, Any] = {column: table[column].take(which) for column in task.ids}
    found["grp"] = pa.array(np.where(group < 0, group, block * LOCAL + group), pa.int64())
    found |= {"rows": pa.array(rows, pa.int64()), "first": pa.array(first, pa.int64())}
    found["part"] = pa.array(np.full(len(rows), block), pa.int64())
    if places is not None:
        found["part2"] = pa.array(places[order], pa.int64())
    else:
        found |= _labels(task, problem, groups, group)
    found["error"] = pa.nulls(len(rows), pa.string())
    return pa.table(found)


def _labels(task: Task, problem: Problem, groups: Groups, group: Ints) -> dict[str, Any]:
    """What is released for the group of each entry; suppressed ones have * everywhere."""
    lo, hi, _ = groups.closure(problem)
    found: dict[str, Any] = {}
    place = pa.array(np.where(group < 0, len(lo), group))
    for number, book in enumerate(task.books, 1):
        if book.is_pair:
            nowhere = pa.array([None], pa.int64())
            for end, ranks in (("lo", lo), ("hi", hi)):
                every = pa.concat_arrays([pa.array(ranks[:, number - 1], pa.int64()), nowhere])
                found[f"{end}{number}"] = every.take(place)
        else:
            text = book.printed(lo[:, number - 1], hi[:, number - 1]).cast(pa.string())
            found[f"p{number}"] = pa.concat_arrays([text, pa.array(["*"])]).take(place)
    return found


def _label_columns(books: tuple[Book, ...]) -> tuple[str, ...]:
    """The columns in which the labels of groups come."""
    return tuple(
        column
        for number, book in enumerate(books, 1)
        for column in ((f"lo{number}", f"hi{number}") if book.is_pair else (f"p{number}",))
    )


def columns_of(task: Task, is_final: bool) -> str:
    """The names and types of what `cluster_block` and `refine_block` answer, as Spark writes them."""
    numbers = [*task.ids, "grp", "rows", "first", "part"]
    others = _label_columns(task.books) if is_final else ("part2",)
    listed = [f"{column} bigint" for column in numbers]
    listed += [f"{column} {'string' if column.startswith('p') and is_final else 'bigint'}" for column in others]
    return ", ".join([*listed, "error string"])


def _guarded(work: Work, task: Task, others: tuple[str, ...]) -> Work:
    """The work, with what the user can mend as a row of its own."""

    def guarded(table: pa.Table) -> pa.Table:
        try:
            return work(table)
        except SqlanonError as problem:
            empty: dict[str, Any] = {
                column: pa.nulls(1, pa.int64()) for column in (*task.ids, "grp", "rows", "first", "part")
            }
            for column in others:
                is_text = column.startswith("p") and column != "part2"
                empty[column] = pa.nulls(1, pa.string() if is_text else pa.int64())
            return pa.table(empty | {"error": pa.array([str(problem)], pa.string())})

    return guarded
