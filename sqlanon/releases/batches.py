"""How many new people are looked at together.

Whether new people are released is the one decision that must look at values that nobody has seen. It is made once for
all who wait, and who fails is never looked at again. So it should rarely fail: a larger batch has a more usual mix.
"""

from __future__ import annotations

from math import floor, lgamma, log, log1p

import numpy as np

from sqlanon.engine.session import Session, run
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import name as quoted

CHANCE = 0.01
"""How often a batch may fail, if new people have the values of those who are released."""
MOST = 20
"""A batch is never larger than this many times k unless the policy says so."""
OTHERWISE = 5
"""A batch is this many times k where a model has no simple chance."""


def batch_size(con: Session, policy: Policy, released: str, sensitive: list[str]) -> int:
    """How many new people must have come before they are added: a number that everybody can compute."""
    if policy.batch is not None:
        return max(policy.k, policy.batch)
    if not policy.models:
        return policy.k
    sizes = [OTHERWISE * policy.k] if set(policy.models) - {"l", "alpha"} else []
    for column in sensitive:
        least, most = policy.required("l", column), policy.required("alpha", column)
        shares = [share for share in (1 / least if least else None, most) if share is not None]
        if not shares:
            continue
        counted = (
            f"select count(*) as rows from {released} where {quoted(column)} is not null group by {quoted(column)}"
        )
        ((share,),) = run(con, f"select coalesce(max(rows) / sum(rows), 0) from ({counted})")
        sizes.append(least_size(policy.k, float(share), min(shares), MOST * policy.k))
    return max([policy.k, *sizes])


def least_size(low: int, share: float, limit: float, high: int) -> int:
    """About the least number of people of whom, by chance, no more than a `limit` have a value that has this share."""
    size = low
    while size < high:
        n = np.arange(floor(size * limit + 1e-9) + 1, size + 1)
        if share <= 0 or not len(n):
            return size
        if share < 1:
            ways = lgamma(size + 1) - np.array([lgamma(m + 1) + lgamma(size - m + 1) for m in n])
            if np.exp(ways + n * log(share) + (size - n) * log1p(-share)).sum() <= CHANCE:
                return size
        size += max(1, size // 20)
    return high
