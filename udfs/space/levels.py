"""Levels of attributes: the steps of generalization that each offers, what they lose and how they weigh."""

from __future__ import annotations

import math

import numpy as np

from sqlanon.udfs.problem import Attribute, Floats, Ints, Numbers, Tree
from sqlanon.udfs.space.costs import Rate


def level_weights(height: int, beta: float) -> Floats:
    """What is kept at the paper's levels 1 (root) to `height`: WHD(p, q) is entry p - 1 less entry q - 1."""
    steps = 1.0 / np.arange(1, height) ** float(beta)
    return np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])


BINS = 64
"""Numbers are cut into this many bins at most."""
FINENESS = (4.0, 3.0, 2.0, 1.0, 0.5)


def fitting_lattice(attributes: tuple[Attribute, ...], steps: int) -> list[list[Ints]]:
    """The levels of all attributes, numbers as fine as `steps` allows."""
    *finer, coarsest = FINENESS
    for fineness in finer:
        lattice: list[list[Ints]] = []
        for attribute in attributes:
            lattice.append(levels(attribute, fineness))
            if math.prod(len(codes) for codes in lattice) > steps:  # those of many columns would take much memory
                break
        else:
            return lattice
    return [levels(attribute, coarsest) for attribute in attributes]


def levels(attribute: Attribute, fineness: float = 1.0) -> list[Ints]:
    """The class of each rank at every level, from the finest to a single class."""
    if isinstance(attribute, Tree):
        codes = [np.unique(attribute.lo[step], return_inverse=True)[1] for step in attribute.path[::-1]]
    else:
        every = np.arange(len(attribute.at))
        codes = [every, *_bins(attribute, fineness), np.zeros(len(every), dtype=np.int64)]
    distinct = codes[:1]
    for code in codes[1:]:
        if not np.array_equal(code, distinct[-1]):
            distinct.append(code)
    return distinct


def _bins(numbers: Numbers, fineness: float) -> list[Ints]:
    """The bin of each number for one width and first edge after the other."""
    unit = numbers.unit
    known = unit[~np.isnan(unit)]
    if len(known) < 3:
        return []
    width = max(2 * float(np.median(np.diff(known))), 1 / BINS)
    edges = max(1, int(fineness))
    found = []
    while width < 1:
        for edge in range(edges):
            # A little off, so that rounding takes no value out of the bin that starts with it.
            place = np.floor(unit / width + edge / edges + 1e-9)
            found.append(np.unique(np.where(np.isnan(unit), -1.0, place), return_inverse=True)[1])
        width *= 2 ** (1 / fineness)
    return found


def level_losses(rate: Rate, codes: list[Ints], ranks: Ints, value: Ints, counts: Ints) -> Floats:
    """What the table's rows lose on average at each level, by the rate of their sensitive value."""
    every = np.arange(rate.ranks)
    cell, cells = ranks * rate.values + value, rate.ranks * rate.values
    share = np.bincount(cell, weights=counts, minlength=cells).reshape(-1, rate.values) / counts.sum()
    mean = []
    for code in codes:
        order = np.lexsort((every, code))
        first = np.flatnonzero(np.r_[True, np.diff(code[order]) != 0])
        lo, hi = np.minimum.reduceat(every[order], first), np.maximum.reduceat(every[order], first)
        mean.append(float((rate(lo, hi)[code] * share).sum()))
    return np.array(mean)


def class_losses(rate: Rate, codes: list[Ints]) -> Floats:
    """What a rank's class loses at each level: levels × ranks."""
    every, losses = np.arange(rate.ranks), []
    for code in codes:
        order = np.argsort(code, kind="stable")
        first = np.flatnonzero(np.r_[True, np.diff(code[order]) != 0])
        lo, hi = np.minimum.reduceat(every[order], first), np.maximum.reduceat(every[order], first)
        losses.append(rate(lo, hi)[..., 0][code])
    return np.array(losses)
