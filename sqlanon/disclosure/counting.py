"""Small statistics that attacks count with."""

from __future__ import annotations

import math

import numpy as np

from sqlanon.privacy.covering import Codes, Floats


def centered(values: Floats, group: Codes) -> Floats:
    _, which = np.unique(group, return_inverse=True)
    which = which.reshape(-1)
    centred: Floats = values - (np.bincount(which, values) / np.bincount(which))[which]
    return centred


def correlation(left: Floats, right: Floats) -> float:
    """Spearman's: of the ranks, ties sharing theirs. 0 where one of them is always the same."""
    ranks = []
    for values in (left, right):
        _, which, counts = np.unique(np.round(values, 6), return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - (counts - 1) / 2)[which.reshape(-1)])
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def revealed(values: Codes, parts: Codes, l: float) -> tuple[float, float] | None:  # noqa: E741
    """The best guess about a person once some part is known to break l, and the best guess without that; None where
    no part can break it.

    A part breaks l by a value with the chance that dealing out the values gives it more than its share. Two such events
    at once are taken for as many as they are, so the guess is exact where they exclude each other.
    """
    counts = np.unique(values, return_counts=True)[1]
    rows = int(counts.sum())
    chances, shares = [], []
    for part, size in enumerate(parts.tolist()):
        for value, count in enumerate(counts.tolist()):
            drawn = np.arange(math.floor(size / l + 1e-9) + 1, min(size, count) + 1)
            ways = [
                math.comb(count, x) * math.comb(rows - count, size - x) / math.comb(rows, size) for x in drawn.tolist()
            ]
            if not sum(ways):
                continue
            here = float(drawn @ np.array(ways)) / sum(ways)
            others = counts * (size - here) / (rows - count)
            others[value] = here
            share = np.tile((counts - others) / (rows - size), (len(parts), 1))
            share[part] = others / size
            chances.append(sum(ways))
            shares.append(share)
    if not chances:
        return None
    return float(np.average(shares, axis=0, weights=chances).max()), float(counts.max() / rows)
