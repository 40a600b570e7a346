"""The saddlepoint engine against 80-digit arithmetic: limits, refusals, and r* itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import number, records

from fastgate.stats.bootstrap_interval import bootstrap

RECORDS = records("saddlepoint")
# Of the limits, in standard deviations of the bootstrap law; of r*, absolute.
LIMIT = 1e-11
ROOT = 1e-10


def samples(record: dict[str, Any]) -> tuple[list[float], list[float] | None]:
    given = record["in"]
    if record["kind"] == "mean":
        return [number(value) for value in given["x"]], None
    if record["kind"] == "paired_diff":
        return [number(value) for value in given["d"]], None
    return [number(value) for value in given["b"]], [number(value) for value in given["a"]]


def test_the_records_are_there() -> None:
    assert len(RECORDS) == 104


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_limits_and_refusals(method: str) -> None:
    refused = answered = 0
    for record in RECORDS:
        first, second = samples(record)
        expected = record["out"]
        sd = float(expected["sd"])
        rounding = 4.0 * np.finfo(float).eps * max(map(abs, first + (second or [])))
        for limit in expected["limits"]:
            result = bootstrap(
                first, second, method=method, engine="saddlepoint", confidence_level=number(limit["level"])
            )
            wanted = [float(value) for value in limit[f"{method}_rstar"]]
            assert abs(result.estimate - float(expected["theta"])) <= rounding
            assert abs(result.standard_error / sd - 1.0) <= 1e-13 + rounding / sd
            if np.isnan(wanted).any():
                assert result.status == "no_root", record["id"]
                assert np.isnan([result.ci_low, result.ci_high]).all()
                refused += 1
                continue
            assert result.status in ("ok", "doubtful"), record["id"]
            errors = np.abs([result.ci_low - wanted[0], result.ci_high - wanted[1]])
            assert errors.max() <= LIMIT * sd + rounding, (record["id"], limit["level"])
            answered += 1
    assert refused >= 4
    assert answered >= 150


def test_paired_differences_are_those_of_the_pairs() -> None:
    for record in records("saddlepoint", "paired_diff"):
        first, second = ([number(value) for value in record["in"][name]] for name in ("b", "a"))
        differences = [number(value) for value in record["in"]["d"]]
        pairs = bootstrap(first, second, paired=True, engine="saddlepoint", method="percentile")
        single = bootstrap(differences, engine="saddlepoint", method="percentile")
        assert (pairs.ci_low, pairs.ci_high) == (single.ci_low, single.ci_high)


def test_signed_root_at_given_points() -> None:
    from scipy.optimize import brentq

    from fastgate.kernels.bootstrap_means import centre, mean_difference
    from fastgate.kernels.bootstrap_tilting import signed_root, standardise, tilt

    checked = 0
    for record in RECORDS:
        first, second = (np.array(values if values is not None else []) for values in samples(record))
        left, right = np.empty(first.size), np.empty(second.size)
        centre(first, 1.0 / first.size, left)
        if second.size:
            centre(second, -1.0 / second.size, right)
        theta = mean_difference(first, second)
        sd, third, fourth, far_left, far_right = standardise(left, right)
        sides = (left, right, far_left, far_right)
        assert abs(third / 6.0 - float(record["out"]["a"])) <= 1e-13 * (1.0 + abs(third))
        # The rounding of theta and x moves r* by as many standard deviations.
        rounding = 4.0 * np.finfo(float).eps * max(np.abs(first).max(), np.abs(second).max(initial=0.0)) / sd

        def excess(s: float, x: float, sides: tuple[Any, ...] = sides) -> float:
            return float(tilt(*sides, s)[1]) - x

        for point in record["out"]["points"]:
            x = (number(point["x"]) - theta) / sd
            s = x
            if abs(x) > 1e-9:
                far = 1.0 if x > 0 else -1.0
                while excess(far, x) * x < 0.0:
                    far *= 2.0
                s = brentq(excess, 0.0, far, args=(x,), xtol=1e-15, rtol=1e-15)
            root = signed_root(*sides, s, third, fourth)[0]
            assert abs(root - float(point["rstar"])) <= ROOT + rounding, (record["id"], point["x"])
            checked += 1
    assert checked > 1000
