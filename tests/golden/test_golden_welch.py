"""Welch's test against 30-digit references: every status, and each number within a stated tolerance."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.cells import Cells
from fastgate.stats import WelchResult, moments, welch, welch_from_moments

EPSILON = 2.0**-52
RECORDS = records("welch")
OK = [(row, record["out"]) for row, record in enumerate(RECORDS) if record["out"]["status"] == "OK"]
LEVELS = [number(level) for level in RECORDS[0]["in"]["levels"]]
BASELINE = Cells.from_samples([[number(value) for value in record["in"]["a"]] for record in RECORDS])
CANDIDATE = Cells.from_samples([[number(value) for value in record["in"]["b"]] for record in RECORDS])


@pytest.fixture(scope="module")
def result() -> WelchResult:
    return welch(CANDIDATE, BASELINE)


def distance(value: float, expected: str) -> float:
    return float(abs(Decimal(float(value)) - Decimal(expected)))


def t_tolerance(expected: dict[str, Any]) -> float:
    """8 roundings of the larger mean, in standard errors, and 1e-13 relative."""
    return 8.0 * EPSILON * float(expected["cond_diff"]) + 1e-13 * abs(float(expected["t"]))


def test_the_records_are_there() -> None:
    assert len(RECORDS) == 355
    assert len(OK) == 305


def test_every_status(result: WelchResult) -> None:
    assert result.status.tolist() == [record["out"]["status"].lower() for record in RECORDS]


def test_sizes_and_differences(result: WelchResult) -> None:
    for row, record in enumerate(RECORDS):
        expected = record["out"]
        assert (result.n_baseline[row], result.n_candidate[row]) == (expected["n_a"], expected["n_b"])
        if expected["diff"] == "nan":
            assert math.isnan(result.delta[row])
        else:
            largest = max(abs(float(expected["mean_a"])), abs(float(expected["mean_b"])))
            spread = float(expected["se"]) if expected["se"] != "nan" else 0.0
            tolerance = 8.0 * EPSILON * largest + 1e-13 * (abs(float(expected["diff"])) + spread)
            assert distance(result.delta[row], expected["diff"]) <= tolerance


def test_statistic_df_and_standard_error(result: WelchResult) -> None:
    for row, expected in OK:
        assert distance(result.statistic[row], expected["t"]) <= t_tolerance(expected)
        assert relative_error(result.df[row], expected["df"]) <= 1e-13
        assert relative_error(result.standard_error[row], expected["se"]) <= 1e-13


@pytest.mark.parametrize(
    ("alternative", "key"), [("two-sided", "p_two"), ("less", "p_less"), ("greater", "p_greater")]
)
def test_pvalues(alternative: str, key: str) -> None:
    pvalue = welch(CANDIDATE, BASELINE, alternative=alternative, interval=False).pvalue
    underflown = 0
    for row, expected in OK:
        wanted = Decimal(expected[key])
        if float(wanted) < 2.0**-1022:
            underflown += 1
            assert pvalue[row] == pytest.approx(float(wanted), abs=2.0**-1074)
            continue
        tolerance = 1e-12 + abs(float(expected["t"])) * t_tolerance(expected)
        assert abs(float((Decimal(float(pvalue[row])) - wanted) / wanted)) <= tolerance
    assert underflown < len(OK) // 2


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[f"{level:.2f}" for level in LEVELS])
def test_intervals(level: int) -> None:
    result = welch(CANDIDATE, BASELINE, confidence_level=LEVELS[level])
    alpha = (1.0 - LEVELS[level]) / 2.0
    greater = welch(CANDIDATE, BASELINE, confidence_level=1.0 - alpha, alternative="greater")
    less = welch(CANDIDATE, BASELINE, confidence_level=1.0 - alpha, alternative="less")
    for row, expected in OK:
        low, high = expected["ci"][level]
        half = (float(high) - float(low)) / 2.0
        tolerance = t_tolerance(expected) * float(expected["se"]) + 1e-13 * half
        assert distance(result.ci_low[row], low) <= tolerance
        assert distance(result.ci_high[row], high) <= tolerance
        # One-sided intervals, with the whole of alpha on one side; the level's own rounding is felt in the quantile.
        assert greater.ci_low[row] == pytest.approx(float(low), abs=tolerance + 1e-12 * half)
        assert less.ci_high[row] == pytest.approx(float(high), abs=tolerance + 1e-12 * half)
        assert greater.ci_high[row] == math.inf
        assert less.ci_low[row] == -math.inf


def test_effect_sizes(result: WelchResult) -> None:
    for row, expected in OK:
        t = abs(float(expected["t"]))
        per_t = t_tolerance(expected) / t if t else math.inf
        for value, key in ((result.cohens_d[row], "d_s"), (result.hedges_g[row], "g_av")):
            if expected[key] == "nan":
                assert math.isnan(value)
                continue
            size = abs(float(expected[key]))
            if not size:
                assert value == pytest.approx(0.0, abs=EPSILON)
                continue
            tolerance = per_t + 1e-13
            if key == "g_av":
                # J(m) tends to 0 as m − 1 does, where one rounding of m is felt.
                excess = float(Decimal(expected["df_av"]) - 1)
                if excess < 4.0 * EPSILON:
                    assert math.isnan(value) or abs(value) < 1e-12 * abs(float(expected["d_av"]))
                    continue
                tolerance += 2.0 * EPSILON / excess
            assert distance(value, expected[key]) <= tolerance * size


def test_undefined_tests_have_no_p(result: WelchResult) -> None:
    for row, record in enumerate(RECORDS):
        status = record["out"]["status"]
        if status in ("OK", "PRECISION_LOSS"):
            continue
        undefined = (
            result.df,
            result.pvalue,
            result.ci_low,
            result.ci_high,
            result.cohens_d,
            result.hedges_g,
        )
        assert all(math.isnan(column[row]) for column in undefined)
        wanted = float(record["out"]["t"]) if status == "ZERO_VAR_DIFF" else math.nan
        np.testing.assert_equal(result.statistic[row], wanted)


def test_from_moments_is_the_same(result: WelchResult) -> None:
    """But for cells whose sums of squares are at the ends of float64, where rescaling rounds them."""
    again = welch_from_moments(moments(CANDIDATE), moments(BASELINE))
    assert again.status.tolist() == result.status.tolist()
    for name, column in result._asdict().items():
        if name != "status":
            np.testing.assert_allclose(getattr(again, name), column, rtol=1e-14, err_msg=name)
