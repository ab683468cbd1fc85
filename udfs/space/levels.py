"""Levels of attributes: the steps of generalization that each offers, what they lose and how they weigh."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sqlanon.udfs.problem import Attribute, Floats, Ints, Numbers, Tree
from sqlanon.udfs.space.costs import Rate


def level_weights(height: int, beta: float) -> Floats:
    """What is kept at the paper's levels 1 (root) to `height`: WHD(p, q) is entry p - 1 less entry q - 1."""
    steps = 1.0 / np.arange(1, height) ** float(beta)
    return np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])


BINS = 64
"""Numbers are cut into this many bins at most."""
FINENESS = (4.0, 3.0, 2.0, 1.0, 0.5)


Codes = npt.NDArray[np.int32]
"""Classes in half the memory: a column of numbers has as many at each of its levels as it has values."""


def fitting_lattice(attributes: tuple[Attribute, ...], steps: int) -> list[list[Codes]]:
    """The levels of all attributes, numbers as fine as `steps` allows."""
    *finer, coarsest = FINENESS
    fitting = next((fineness for fineness in finer if _fits(attributes, fineness, steps)), coarsest)
    return [levels(attribute, fitting) for attribute in attributes]


def _fits(attributes: tuple[Attribute, ...], fineness: float, steps: int) -> bool:
    """Are there no more combinations of levels than steps? Levels are counted one by one, as all take much memory."""
    size = 1
    for attribute in attributes:
        size *= sum(1 for _ in _distinct(attribute, fineness))
        if size > steps:
            return False
    return True


def levels(attribute: Attribute, fineness: float = 1.0) -> list[Codes]:
    """The class of each rank at every level, from the finest to a single class."""
    return list(_distinct(attribute, fineness))


def _distinct(attribute: Attribute, fineness: float) -> Iterator[Codes]:
    """The same one after the other, without those that are like the one before."""
    last = None
    for code in _levels(attribute, fineness):
        if last is None or not np.array_equal(code, last):
            yield code
            last = code


def _levels(attribute: Attribute, fineness: float) -> Iterator[Codes]:
    if isinstance(attribute, Tree):
        for step in attribute.path[::-1]:
            yield np.unique(attribute.lo[step], return_inverse=True)[1].astype(np.int32)
    else:
        yield np.arange(len(attribute.at), dtype=np.int32)
        yield from _bins(attribute, fineness)
        yield np.zeros(len(attribute.at), dtype=np.int32)


def _bins(numbers: Numbers, fineness: float) -> Iterator[Codes]:
    """The bin of each number for one width and first edge after the other, numbered from the lowest; NULL, which has no
    place and is the last, is in the first of all."""
    unit = numbers.unit
    known = unit[~np.isnan(unit)]
    if len(known) < 3:
        return
    width = max(2 * float(np.median(np.diff(known))), 1 / BINS)
    edges = max(1, int(fineness))
    bins = np.zeros(len(unit), dtype=np.int32)
    while width < 1:
        for edge in range(edges):
            # A little off, so that rounding takes no value out of the bin that starts with it.
            place = np.floor(known / width + edge / edges + 1e-9)
            bins[: len(known)] = np.cumsum(np.diff(place, prepend=place[0]) != 0) + (len(known) < len(unit))
            yield bins.copy()
        width *= 2 ** (1 / fineness)


def level_losses(rate: Rate, codes: list[Codes], ranks: Ints, value: Ints, counts: Ints) -> Floats:
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


def class_losses(rate: Rate, codes: list[Codes]) -> Floats:
    """What a rank's class loses at each level: levels × ranks."""
    every, losses = np.arange(rate.ranks), []
    for code in codes:
        order = np.argsort(code, kind="stable")
        first = np.flatnonzero(np.r_[True, np.diff(code[order]) != 0])
        lo, hi = np.minimum.reduceat(every[order], first), np.maximum.reduceat(every[order], first)
        losses.append(rate(lo, hi)[..., 0][code])
    return np.array(losses)
