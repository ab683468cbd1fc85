"""A quasi-identifier as the pipeline sees it: how its values get ranks, and how ranges of ranks are released."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.errors import PolicyError, call, in_words, not_one_of, option, option_name
from sqlanon.families import BEYOND, DATE, TIMESTAMP, TypeFamily, distance_sql, is_fine, type_family
from sqlanon.hierarchies.hierarchy import Hierarchies, Hierarchy
from sqlanon.hierarchies.rules import Rule
from sqlanon.pipeline.cells import cells_sql, closing
from sqlanon.pipeline.source import Source
from sqlanon.policy import grid
from sqlanon.policy.grid import Width
from sqlanon.policy.limits import UNITS, Limit, widths_of
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import Cte, fold, literal, name, render

MOST = 100
"""How many quasi-identifiers a release may have: planning the joins of more takes DuckDB minutes, and of some
300 it refuses."""
WITHIN = 0.02
"""How far apart the values of a cell are to a core, as a share of what they are: it keeps equal values together."""
Guard = tuple[str, str, str]
"""An aggregate over the encoded tuples, the comparison that makes it a problem, and the message as SQL text."""


@dataclass(frozen=True)
class Attribute:
    """One quasi-identifier in a plan: number, column, its type's family, and its hierarchy if it has one."""

    number: int
    column: str
    type: str
    family: TypeFamily
    hierarchy: Hierarchy | None
    stored: Hierarchies
    """Where the nodes of stored hierarchies are."""
    weight: float = 1.0
    as_columns: bool = False
    is_snapped: bool = False
    may_be_tight: bool = False
    """May values be released as they are, although it is snapped? Ours are where all rows of a class share one."""
    width: Width | None = None
    limits: tuple[int | None, int | None] | None = None
    """The finest and the coarsest level that may be released, each if there is one."""

    @property
    def is_range(self) -> bool:
        """Is it printed by its two ends, having no hierarchy but an order?"""
        return self.hierarchy is None and self.family.is_ordered

    @property
    def has_cells(self) -> bool:
        """Are its ranges released from cell to cell?"""
        return self.is_range and self.is_snapped

    @property
    def kind(self) -> str:
        """What the core takes it for."""
        return "numbers" if self.is_range else "tree"

    @property
    def is_stored(self) -> bool:
        """Are its nodes stored, so that unused leaves count and values may be missing?"""
        return self.hierarchy is not None and self.hierarchy.rule is None

    @property
    def output(self) -> tuple[str, ...]:
        """The release's columns for this attribute."""
        return (f"{self.column}_min", f"{self.column}_max") if len(self.label_columns) == 2 else (self.column,)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Which columns of its labels are released."""
        return ("smallest", "largest") if self.is_range and self.as_columns else ("label",)

    @property
    def printed(self) -> tuple[str, ...]:
        """The names of its released columns inside the query."""
        return tuple(f"p{self.number}_{column}" for column in self.label_columns)

    @property
    def read(self) -> str:
        """How its column is read from the source: text as it is written, whatever the collation holds equal."""
        return f"{name(self.column)}{self.collation}"

    @property
    def collation(self) -> str:
        """What makes a text differ from every other text."""
        return ' collate "binary"' if self.type == "VARCHAR" else ""

    @property
    def value(self) -> str:
        """Its column inside the query."""
        return f"q{self.number}"

    @property
    def rank(self) -> str:
        """Its rank column."""
        return f"r{self.number}"

    @property
    def lo(self) -> str:
        """The smallest rank of a group."""
        return f"lo{self.number}"

    @property
    def hi(self) -> str:
        """The largest rank of a group."""
        return f"hi{self.number}"

    @property
    def domain(self) -> str:
        """The step with its values and their ranks."""
        return f"domain_{self.number}"

    @property
    def nodes(self) -> str:
        """The step with its nodes."""
        return f"nodes_{self.number}"

    @property
    def cells(self) -> str:
        """The step with the cells that its ranges are released by, where it is snapped."""
        return f"cells_{self.number}"

    @property
    def labels(self) -> str:
        """The step with its released ranges."""
        return f"labels_{self.number}"

    def key(self, column: str) -> str:
        """The expression that finds a value among the domain's: stored hierarchies hold text."""
        return f"cast({column} as varchar)" if self.is_stored else column

    @property
    def ctes(self) -> tuple[Cte, ...]:
        """Its domain, its cells if it is snapped, and last its nodes."""
        fragments = {"attribute": str(self.number), "domain": self.domain, "column": self.value}
        if self.is_stored:
            assert self.hierarchy is not None
            stored = {
                "hierarchy": literal(self.hierarchy.name),
                "nodes": self.stored.nodes,
                "hierarchies": self.stored.entries,
            }
            domain = render("steps/encode/domain_tree.sql", **fragments, **stored)
            nodes = render("steps/encode/nodes_tree.sql", **fragments, **stored)
        else:
            rule = (self.hierarchy and self.hierarchy.rule) or Rule("flat")
            domain = render(
                "steps/encode/domain_values.sql",
                **fragments,
                order=rule.order,
                position=self.family.position,
                distance=distance_sql(self.type, "value", "origin"),
            )
            if self.has_cells:
                within = str(WITHIN) if self.may_be_tight else "0"
                nodes = render("steps/encode/nodes_cells.sql", **fragments, cells=self.cells, within=within)
            elif self.is_range:
                nodes = render("steps/encode/nodes_values.sql", **fragments)
            else:
                levels = rule.levels_sql(self.domain, self.family)
                nodes = render("steps/encode/nodes_levels.sql", **fragments, levels=levels)
        drawn = cells_sql(self.domain, self.type, self.family, self.width) if self.has_cells else None
        steps = {self.domain: domain, self.cells: drawn, self.nodes: nodes}
        return tuple(Cte(step, body, materialized=True) for step, body in steps.items() if body is not None)

    @property
    def centers(self) -> str:
        """The step with the center of each group."""
        return f"centers_{self.number}"

    @property
    def centers_sql(self) -> str:
        """The center of each group: the mean of numbers, the median of dates, the mode of everything else."""
        center = self.family.center if self.is_range else "mode"
        return render(f"steps/print/centers_{center}.sql", domain=self.domain, rank=self.rank)

    def labels_sql(self, levels: str | None = None) -> str:
        """What is released for each range that a group covers: no node below its place in the list `levels`."""
        fragments = {"lo": self.lo, "hi": self.hi, "domain": self.domain, "nodes": self.nodes}
        if self.has_cells:
            ends = {"separator": literal(self.family.separator), "closing": literal(closing(self.family))}
            alone = {"is_alone": "spans.lo = spans.hi" if self.may_be_tight else "false"}
            return render("steps/print/labels_cells.sql", **fragments, **ends, **alone, cells=self.cells)
        if self.is_range:
            return render("steps/print/labels_values.sql", **fragments, separator=literal(self.family.separator))
        if self.limits is not None and self.limits[0]:
            fragments["nodes"] = f"(from {self.nodes} where level >= {self.limits[0]})"
        if levels is not None:
            fragments["nodes"] = f"(from {fragments['nodes']} where level >= coalesce(({levels})[{self.number}], 0))"
        return render("steps/print/labels_nodes.sql", **fragments)

    def guards(self, table: str) -> list[Guard]:
        """What must not be found in its values."""
        shown = self.column
        empty = f"Column '{shown}' has only NULLs. Leave it out of {option_name('quasi')}."
        guards: list[Guard] = [(f"count({self.value})", " = 0", literal(empty))]
        if self.family.may_be_infinite:
            endless = f"Column '{shown}' has NaN or infinite values. Replace them, for example by NULL."
            guards.append((f"count(*) filter (where not isfinite({self.value}))", " > 0", literal(endless)))
        if self.is_stored:
            assert self.hierarchy is not None
            gaps = f" of the values of column '{shown}' are not in hierarchy '{self.hierarchy.name}': "
            look = f"see them with {_gaps(table, shown, self.hierarchy.name)}."
            missing = f"count(distinct {self.value}) filter (where {self.rank} is null)"
            guards.append((missing, " > 0", f"{{count}} || {literal(gaps + look)}"))
        return guards


def _gaps(table: str, column: str, hierarchy: str) -> str:
    """How to see which values a hierarchy does not have."""
    query = f"FROM anon.hierarchy_gaps('{table}', '{column}', '{hierarchy}')"
    return in_words(python=query, sql=query, command=call("hierarchy_gaps", table, column, hierarchy))


def attributes_of(source: Source, policy: Policy, hierarchies: Hierarchies) -> tuple[Attribute, ...]:
    """The policy's quasi-identifiers with their types and hierarchies, or an error that names what does not fit."""
    if len(policy.quasi) > MOST:
        raise PolicyError(
            f"{len(policy.quasi)} quasi-identifiers are named, and {MOST} are the most that one query can have. Give "
            f"those that others may know; with this many columns every row is alone anyway"
        )
    by_name = hierarchies.by_name
    attributes = []
    for number, (asked, column) in enumerate(zip(policy.quasi, source.resolve_names(policy.quasi), strict=True), 1):
        family = type_family(column, source.types[column])
        if asked in policy.hierarchies:
            wanted = policy.hierarchies[asked]
            hierarchy = None if wanted is None else named_hierarchy(wanted, by_name)
        else:
            hierarchy = by_name.get(fold(column))
        limit = policy.limits.get(asked)
        if limit is not None and hierarchy is None:
            hierarchy = _implied(column, family, limit)
        if hierarchy and hierarchy.rule:
            hierarchy.rule.check(column, family, hierarchy.name)
        if policy.ranges == "snapped" and hierarchy is None and source.types[column] in BEYOND:
            raise PolicyError(
                f"{option('ranges', 'snapped')} cannot be used with column '{column}' of type {source.types[column]}: "
                f"cast it to HUGEINT in the source query, or give it a hierarchy"
            )
        width = policy.grid.get(asked)
        is_meant = width is not None or is_fine(source.types[column])
        is_auto = policy.ranges == "auto" and policy.represent == "closure" and is_meant
        if width is not None:
            if hierarchy is not None or not family.is_ordered:
                reason = "is released as labels of its hierarchy" if hierarchy else f"holds {family.name}"
                raise PolicyError(
                    f"{option_name('grid')} names '{column}', which {reason}: a grid is for numbers and dates "
                    f"without a hierarchy"
                )
            grid.check(column, family, width)
        attributes.append(
            Attribute(
                number=number,
                column=column,
                type=source.types[column],
                family=family,
                hierarchy=hierarchy,
                stored=hierarchies,
                weight=float(policy.weights.get(asked, 1.0)),
                as_columns=policy.ranges == "columns" and policy.represent == "closure",
                is_snapped=policy.ranges == "snapped" or is_auto,
                may_be_tight=is_auto and is_fine(source.types[column]),
                width=width,
                limits=None if limit is None or hierarchy is None else _levels(column, family, hierarchy, limit),
            )
        )
    return tuple(attributes)


def _implied(column: str, family: TypeFamily, limit: Limit) -> Hierarchy:
    """The hierarchy of a column that has limits and none of its own."""
    if family in (DATE, TIMESTAMP):
        if any(isinstance(end, (int, float)) for end in limit.values()):
            example = option("limits", {column: {"finest": "month", "coarsest": "year"}})
            raise PolicyError(f"{option_name('limits')}: '{column}' holds dates: give {', '.join(UNITS)}, as {example}")
        return Hierarchy(column, Rule("dates"))
    if family.is_ordered:
        return Hierarchy(column, Rule.intervals(widths_of(column, limit)))
    raise PolicyError(
        f"{option_name('limits')} names '{column}', which is {family.name} without a hierarchy: make one, and "
        f"name it by {option('hierarchies', {column: 'NAME'})}"
    )


def _levels(column: str, family: TypeFamily, hierarchy: Hierarchy, limit: Limit) -> tuple[int | None, int | None]:
    """A limit as levels: what a width or a part of a date is in the hierarchy."""
    rule = hierarchy.rule
    named: dict[float | str, int] = {}
    if rule is not None and rule.kind == "dates":
        named = {unit: level for level, unit in enumerate(UNITS, 1 if family is TIMESTAMP else 0)}
    elif rule is not None and rule.kind == "intervals":
        named = {width: level for level, width in enumerate(rule.settings["widths"], 1)}
    found = []
    for end in (limit.get("finest"), limit.get("coarsest")):
        level = named.get(end, end) if end is not None else None
        if isinstance(level, str) or (isinstance(level, float) and not level.is_integer()):
            raise PolicyError(
                f"{option_name('limits')}: '{column}' has no level '{end}' in its hierarchy '{hierarchy.name}'"
            )
        found.append(None if level is None else int(level))
    return found[0], found[1]


def named_hierarchy(wanted: str, by_name: dict[str, Hierarchy]) -> Hierarchy:
    """The hierarchy of this name, or an error that lists them."""
    if fold(wanted) not in by_name:
        raise PolicyError(not_one_of("hierarchy", wanted, [h.name for h in by_name.values()], "hierarchies"))
    return by_name[fold(wanted)]
