"""The paired t test against 30-digit references: every status, and each number within a stated tolerance."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.cells import Cells
from fastgate.stats import PairedResult, pair_moments, paired, paired_from_moments, welch

EPSILON = 2.0**-52
RECORDS = records("paired")
OK = [(row, record["out"]) for row, record in enumerate(RECORDS) if record["out"]["status"] == "OK"]
LEVELS = [number(level) for level in RECORDS[0]["in"]["levels"]]
BASELINE = Cells.from_samples([[number(value) for value in record["in"]["a"]] for record in RECORDS])
CANDIDATE = Cells.from_samples([[number(value) for value in record["in"]["b"]] for record in RECORDS])


@pytest.fixture(scope="module")
def result() -> PairedResult:
    return paired(CANDIDATE, BASELINE)


def distance(value: float, expected: str) -> float:
    return float(abs(Decimal(float(value)) - Decimal(expected)))


def t_tolerance(expected: dict[str, Any]) -> float:
    return 8.0 * EPSILON * float(expected["cond_diff"]) + 1e-13 * abs(float(expected["t"]))


def test_every_status(result: PairedResult) -> None:
    assert len(OK) == 87
    assert result.status.tolist() == [record["out"]["status"].lower() for record in RECORDS]


def test_statistics(result: PairedResult) -> None:
    for row, expected in OK:
        assert result.n[row] == expected["n"]
        assert distance(result.statistic[row], expected["t"]) <= t_tolerance(expected)
        assert result.df[row] == float(expected["df"])
        assert relative_error(result.standard_error[row], expected["se"]) <= 1e-13
        largest = max(abs(float(expected["mean_a"])), abs(float(expected["mean_b"])))
        assert distance(result.mean_baseline[row], expected["mean_a"]) <= 4.0 * EPSILON * (
            largest + math.sqrt(float(expected["var_d"]))
        )
        tolerance = t_tolerance(expected) * float(expected["se"])
        assert distance(result.delta[row], expected["diff"]) <= tolerance


@pytest.mark.parametrize(
    ("alternative", "key"), [("two-sided", "p_two"), ("less", "p_less"), ("greater", "p_greater")]
)
def test_pvalues(alternative: str, key: str) -> None:
    pvalue = paired(CANDIDATE, BASELINE, alternative=alternative, interval=False).pvalue
    for row, expected in OK:
        wanted = Decimal(expected[key])
        tolerance = 1e-12 + abs(float(expected["t"])) * t_tolerance(expected)
        assert abs(float((Decimal(float(pvalue[row])) - wanted) / wanted)) <= tolerance


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[f"{level:.2f}" for level in LEVELS])
def test_intervals(level: int) -> None:
    result = paired(CANDIDATE, BASELINE, confidence_level=LEVELS[level])
    for row, expected in OK:
        low, high = expected["ci"][level]
        tolerance = t_tolerance(expected) * float(expected["se"]) + 1e-13 * (float(high) - float(low))
        assert distance(result.ci_low[row], low) <= tolerance
        assert distance(result.ci_high[row], high) <= tolerance


def test_effect_sizes_and_correlation(result: PairedResult) -> None:
    for row, expected in OK:
        t = abs(float(expected["t"]))
        for value, key in (
            (result.cohens_dz[row], "d_z"),
            (result.hedges_gz[row], "g_z"),
            (result.cohens_d[row], "d_av"),
        ):
            if expected[key] == "nan":
                assert math.isnan(value)
                continue
            tolerance = t_tolerance(expected) / t + 1e-13
            assert distance(value, expected[key]) <= tolerance * abs(float(expected[key]))
        if expected["r"] != "nan":
            assert distance(result.correlation[row], expected["r"]) <= 4.0 * expected["n"] * EPSILON


def test_effect_sizes_compare_with_those_of_welch(result: PairedResult) -> None:
    other = welch(CANDIDATE, BASELINE, interval=False)
    for row, expected in OK:
        if float(expected["cond_diff"]) < 1e3:
            assert result.hedges_g[row] == pytest.approx(other.hedges_g[row], rel=1e-11)
            assert result.cohens_d[row] == pytest.approx(other.cohens_d[row], rel=1e-11)
            assert relative_error(other.df[row], expected["welch_df"]) <= 1e-13
            assert other.statistic[row] == pytest.approx(float(expected["welch_t"]), rel=1e-11)


def test_undefined_tests_have_no_p(result: PairedResult) -> None:
    for row, record in enumerate(RECORDS):
        status = record["out"]["status"]
        if status in ("OK", "PRECISION_LOSS"):
            continue
        undefined = (
            result.df,
            result.pvalue,
            result.ci_low,
            result.ci_high,
            result.cohens_dz,
            result.hedges_g,
        )
        assert all(math.isnan(column[row]) for column in undefined)
        infinite = status == "ZERO_VAR_DIFF"
        wanted = math.copysign(math.inf, float(record["out"]["diff"])) if infinite else math.nan
        np.testing.assert_equal(result.statistic[row], wanted)


def test_from_moments_is_the_same(result: PairedResult) -> None:
    again = paired_from_moments(pair_moments(CANDIDATE, BASELINE))
    assert again.status.tolist() == result.status.tolist()
    for name, column in result._asdict().items():
        if name != "status":
            np.testing.assert_allclose(getattr(again, name), column, rtol=1e-13, err_msg=name)
