"""Moments, their merging and the co-moment of pairs against exact rational arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.cells import Cells
from fastgate.stats import (
    merge_moments,
    merge_pair_moments,
    moments,
    pair_moments,
    paired,
    paired_from_moments,
)

EPSILON = 2.0**-52
SINGLE = records("moments", "single")
PAIRS = records("moments", "pair")
TINY, HUGE = 2.0**-1022, 2.0**1023


def values(record: dict[str, Any], name: str) -> list[float]:
    return [number(value) for value in record["in"][name]]


def chunks(record: dict[str, Any], name: str) -> list[list[float]]:
    bounds = np.cumsum([0, *record["in"]["chunks"]]).tolist()
    return [values(record, name)[low:high] for low, high in pairwise(bounds)]


def distance(value: float, expected: str) -> float:
    return float(abs(Decimal(value) - Decimal(expected)))


def check_sum(value: float, expected: str, tolerance: float) -> None:
    """A relative tolerance where float64 can hold the sum, else the float64 that the decimal rounds to."""
    if TINY < abs(float(expected)) < HUGE:
        assert relative_error(value, expected) <= tolerance
    else:
        assert value == pytest.approx(float(expected), abs=TINY)


def check_moments(result: Any, expected: dict[str, Any], sample: list[float], tolerance: float) -> None:
    """`tolerance` in roundings of each sum: relative for M2, of Σ|x − mean|³ for M3, of max|x| for the mean."""
    present = [value for value in sample if not math.isnan(value)]
    assert result.n == expected["n"] == len(present)
    assert result.n_missing == len(sample) - len(present)
    if not present:
        assert math.isnan(result.mean)
        assert math.isnan(result.variance)
        assert result.m2 == result.m3 == 0.0
        assert result.status == "too_few"
        assert not result.constant
        return
    assert result.status == ("ok" if len(present) > 1 else "too_few")
    assert result.constant == (min(present) == max(present))
    assert distance(result.mean, expected["mean"]) <= 2.0 * EPSILON * max(map(abs, present))
    check_sum(result.m2, expected["M2"], tolerance * EPSILON)
    if len(present) > 1:
        check_sum(result.variance, expected["var"], tolerance * EPSILON)
    else:
        assert math.isnan(result.variance)
    cubes = float(sum(abs(Decimal(x) - Decimal(expected["mean"])) ** 3 for x in present))
    if TINY / EPSILON < cubes < HUGE:
        assert distance(result.m3, expected["M3"]) <= tolerance * EPSILON * cubes


@pytest.mark.parametrize("record", SINGLE, ids=lambda record: record["id"])
def test_single(record: dict[str, Any]) -> None:
    sample = values(record, "x")
    check_moments(moments(sample), record["out"], sample, 4.0 * max(len(sample), 1))


def test_many_cells_give_the_bits_of_single_calls() -> None:
    samples = [values(record, "x") for record in SINGLE]
    together = moments(Cells.from_samples(samples))
    for cell, sample in enumerate(samples):
        alone = moments(sample)
        for name, column in together._asdict().items():
            np.testing.assert_array_equal(column[cell], getattr(alone, name), err_msg=name)


@pytest.mark.parametrize("record", SINGLE, ids=lambda record: record["id"])
def test_parts_and_their_merger(record: dict[str, Any]) -> None:
    parts = chunks(record, "x")
    for part, expected in zip(parts, record["out"]["parts"], strict=True):
        check_moments(moments(part), expected, part, 4.0 * max(len(part), 1))
    sample = values(record, "x")
    if max((abs(value) for value in sample if not math.isnan(value)), default=0.0) > 1e140:
        return  # sums of squares of the parts overflow; see test_merging_notices_what_it_cannot_hold
    merged = reduce(merge_moments, map(moments, parts))
    check_moments(merged, record["out"], sample, 4.0 * max(len(sample), 4))


def test_merging_notices_what_it_cannot_hold() -> None:
    merged = merge_moments(moments([1e200, 3e200]), moments([2e200]))
    assert merged.status == "nonfinite"
    assert math.isnan(merged.m2)


@pytest.mark.parametrize("record", PAIRS, ids=lambda record: record["id"])
def test_pairs(record: dict[str, Any]) -> None:
    check_pairs(pair_moments(values(record, "y"), values(record, "x")), record["out"])
    test = paired(values(record, "y"), values(record, "x"))
    assert test.n == record["out"]["n"]
    assert test.n_missing == record["out"]["n_missing"]
    if record["out"]["n"] > 1:
        assert abs(test.correlation - float(record["out"]["r"])) <= 4.0 * test.n * EPSILON


@pytest.mark.parametrize("record", PAIRS, ids=lambda record: record["id"])
def test_parts_of_pairs_and_their_merger(record: dict[str, Any]) -> None:
    parts = [pair_moments(y, x) for x, y in zip(chunks(record, "x"), chunks(record, "y"), strict=True)]
    for part, expected in zip(parts, record["out"]["parts"], strict=True):
        check_pairs(part, expected)
    merged = reduce(merge_pair_moments, parts)
    check_pairs(merged, record["out"])
    test = paired_from_moments(merged)
    whole = paired(values(record, "y"), values(record, "x"))
    assert test.status == whole.status
    if whole.status == "ok":
        assert test.statistic == pytest.approx(whole.statistic, rel=1e-9)
        assert test.correlation == pytest.approx(whole.correlation, abs=1e-12)


def check_pairs(result: Any, expected: dict[str, Any]) -> None:
    n = expected["n"]
    for side in result[:3]:
        assert side.n == n
        assert side.n_missing == expected["n_missing"]
    if n == 0:
        assert result.comoment == 0.0
        return
    tolerance = 4.0 * max(n, 4) * EPSILON
    for side, letter in ((result.baseline, "x"), (result.candidate, "y")):
        mean = expected[f"mean_{letter}"]
        assert distance(side.mean, mean) <= tolerance * (abs(float(mean)) + math.sqrt(side.m2))
        check_sum(side.m2, expected[f"M2_{letter}"], tolerance)
    scale = math.sqrt(float(expected["M2_x"]) * float(expected["M2_y"]))
    assert distance(result.comoment, expected["C"]) <= tolerance * scale
