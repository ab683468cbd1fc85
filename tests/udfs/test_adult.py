"""The loss on the Adult table, against literal implementations of the papers."""

from __future__ import annotations

import numpy as np
import pytest
from adult import needs_data, with_age_as_tree

from sqlanon.udfs.methods import kaca, kacpc
from sqlanon.udfs.problem import gcp

pytestmark = needs_data


def quiet(done: int, total: int, **facts: float) -> None:
    """Progress for nobody."""


def test_adult_has_the_tuples_it_should_have(table):
    assert (table.rows, len(table.ranks)) == (30162, 9727)


@pytest.mark.parametrize(("k", "reference"), [(10, 0.0427), (50, 0.1275)])
def test_kacpc_loses_what_the_literal_version_loses(table, k, reference):
    groups = kacpc.cluster(table, k, np.random.default_rng(0), quiet)
    assert gcp(table, groups) == pytest.approx(reference, rel=0.02)


every_reference = pytest.mark.parametrize(
    ("k", "beta", "reference"), [(10, 0, 0.0495), (10, 1, 0.0478), (50, 0, 0.1228)]
)


@pytest.mark.sweep
@every_reference
def test_kaca_with_age_as_a_tree_loses_what_the_literal_version_loses(table, k, beta, reference):
    groups = kaca.cluster(with_age_as_tree(table), k, np.random.default_rng(0), quiet, beta=beta)
    assert gcp(table, groups) == pytest.approx(reference, rel=0.05)


@pytest.mark.sweep
@every_reference
def test_kaca_with_age_as_numbers_loses_a_tenth_less_than_that(table, k, beta, reference):
    groups = kaca.cluster(table, k, np.random.default_rng(0), quiet, beta=beta)
    assert gcp(table, groups) <= 0.9 * reference
