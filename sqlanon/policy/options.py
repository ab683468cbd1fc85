"""The options of a policy that are not a method's own, with their choices and ranges."""

from __future__ import annotations

from sqlanon.udfs.method import Parameter
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import DISTANCES, MODELS

RANGES = ("auto", "text", "columns", "snapped")
REPRESENTATIONS = ("closure", "center")
ROW_WEIGHT_COLUMN = "row_weight"
ROLES = ("quasi", "sensitive", "keep", "unsafe_keep", "pseudonymize")
"""What a column may be; it is one of them or not released."""
MOST_QUASI = 100
"""Quasi-identifiers, at most: DuckDB's queries nest only so deep."""
DEFAULT_METHOD = "auto"
RECURSIVE_C = Parameter("recursive_c", None, "the c of recursive_l")
T_DISTANCE = Parameter("t_distance", None, "how the distance between values is measured for t", choices=DISTANCES)
SEVERAL = Parameter(
    "several",
    "strict",
    "several sensitive columns: strict also protects from people who know the others, separate treats "
    "each column alone",
    choices=("strict", "separate"),
)
PSEUDONYMS = Parameter(
    "pseudonyms",
    "person",
    "what the pseudonym of the entity stands for: a person in all rows, or the person in one class only, so that it "
    "does not tie rows of different classes together",
    choices=("person", "class"),
)
DELETED = Parameter(
    "deleted",
    "withdraw",
    "people whom the source no longer has, when a view is refreshed: withdraw a cohort that nobody is left of, and "
    "part off those who left where any such part keeps k and the models; or hold their rows",
    choices=("withdraw", "hold"),
)
FORMING = Parameter(
    "forming",
    "free",
    "how classes come to keep the models: free lets the method look at sensitive values, blind hides them from it and "
    "joins groups afterwards",
    choices=("free", "blind"),
)
CHANGED = Parameter(
    "changed",
    "follow",
    "people whose quasi-identifiers change, when a view with an identity is refreshed: labels of whole cohorts follow "
    "them, or keep what was released. Without an identity, 'never' vows that rows do not change",
    choices=("follow", "keep", "never"),
)
UPDATED = Parameter(
    "updated",
    "keep",
    "sensitive values that change: the release keeps the values with which people were first released",
    choices=("keep",),
)
FAILED = Parameter(
    "failed",
    "leave_out",
    "new people who break a model all together, when a view is refreshed: leave them out for good, or release them as "
    "blank, with NULL in every sensitive column",
    choices=("leave_out", "blank"),
)
BATCH = "new people are added to a view once there are at least this many (and k)"
IDENTITY = "columns that identify a person, one row each, so that a refresh recognizes them; digested, never released"
ROW_WEIGHT = "release a column row_weight: the share of the people of a row's cohort who are in the source now"
POPULATION = "a table of everybody who might be in the source: k then counts the people whom a class covers (k-map)"
MAX_SUPPRESSION = Parameter(
    "max_suppression", None, "the share of rows that may be suppressed if that reduces the loss, such as 0.02", high=1
)
LINKED = (
    "with an entity: people are grouped by all of their rows, so that whoever knows all rows of a person finds k "
    "people who share them"
)
ROW_PRICE = Parameter(
    "row_price",
    None,
    "with linked: the price of dropping a row, where 1 (the default) is that of a row that loses everything. A lower "
    "price drops more rows and generalizes the others less",
    low=0.01,
)
ROW_ORDER = (
    "with linked: the quasi-identifier that a person's rows are in order of; by default the first date or timestamp"
)
ASKED = (*(model.option for model in MODELS.values()), RECURSIVE_C, T_DISTANCE, SEVERAL)
"""The options that require something of sensitive columns."""
PARAMETERS = tuple(sorted({parameter.name for method in METHODS.values() for parameter in method.parameters}))
"""The parameters of all methods: options of a policy like any other."""
MAX_UNIQUE = 0.2
"""The share of rows up to which a release is published that are unique to whoever also knows the kept columns."""
