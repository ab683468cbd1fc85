"""Hilbert's curve point by point, and the best of all cuts of a line of rows. Slow, and meant to be obviously right."""

from __future__ import annotations

from functools import cache

from literal import closure, range_distortion

from sqlanon.udfs.problem import Problem, Tree


def curve_value(point: list[int], order: int) -> int:
    """Hamilton, Compact Hilbert Indices, Algorithm 2."""
    size = len(point)
    value, entry, direction = 0, 0, 0
    for level in reversed(range(order)):
        half = sum((coordinate >> level & 1) << j for j, coordinate in enumerate(point))
        code = rotate_right(half ^ entry, direction + 1, size)
        digit = next(i for i in range(2**size) if i ^ i >> 1 == code)
        before = 2 * ((digit - 1) // 2) if digit else 0
        entry ^= rotate_right(before ^ before >> 1, -direction - 1, size)
        if digit:
            odd = digit if digit % 2 else digit - 1
            direction += len(bin(odd)) - len(bin(odd).rstrip("1"))
        direction = (direction + 1) % size
        value = value * 2**size + digit
    return value


def rotate_right(bits: int, by: int, size: int) -> int:
    digits = f"{bits:0{size}b}"
    by %= size
    return int(digits[size - by :] + digits[: size - by], 2)


def least_loss(problem: Problem, line: list[int], k: int) -> float:
    """The least summed NCP of all ways to cut a line of rows, given by their tuples, into runs of k or more."""

    @cache
    def least(rows: int) -> float:
        if rows == 0:
            return 0.0
        options = [least(cut) + (rows - cut) * ncp(problem, line[cut:rows]) for cut in range(rows - k + 1)]
        return min(options, default=float("inf"))

    return least(len(line))


def ncp(problem: Problem, rows: list[int]) -> float:
    total = 0.0
    for attribute, weight, node in zip(problem.attributes, problem.weights, closure(problem, rows), strict=True):
        lo, hi, _ = node
        if not isinstance(attribute, Tree):
            total += range_distortion(attribute, weight, node)
        elif lo < hi:
            total += weight * (hi - lo + 1) / attribute.leaves
    return total
