"""Binomial intervals against the golden records, every cell of a level in one call."""

from __future__ import annotations

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.stats.binomial import binomial_half_width, binomial_half_width_at, binomial_interval

RECORDS = records("binomial", "interval")
LEVELS = sorted({number(record["in"]["level"]) for record in RECORDS})
METHODS = {
    "wald": "wald",
    "wilson": "wilson",
    "agresti-coull": "agresti_coull",
    "clopper-pearson": "clopper_pearson",
    "jeffreys": "jeffreys",
    "mid-p": "mid_p",
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_record(method: str, level: float) -> None:
    chosen = [record for record in RECORDS if number(record["in"]["level"]) == level]
    successes = np.array([record["in"]["k"] for record in chosen])
    trials = np.array([record["in"]["n"] for record in chosen])
    result = binomial_interval(successes, trials, confidence_level=level, method=method)
    alone = binomial_half_width(successes, trials, confidence_level=level, method=method)
    np.testing.assert_array_equal(alone, result.half_width)
    for cell, record in enumerate(chosen):
        low, high, half = record["out"][METHODS[method]]
        constant = record["in"]["k"] in (0, record["in"]["n"])
        assert result.status[cell] == ("degenerate" if method == "wald" and constant else "ok")
        assert relative_error(result.estimate[cell], record["out"]["p"]) <= 1e-15
        assert relative_error(result.half_width[cell], half) <= 1e-14, record["id"]
        # Measured 4e-15; the unclipped limits near 0 are differences of numbers of the size of the width.
        slack = 1e-15 * float(half) if method in ("wald", "agresti-coull") else 0.0
        for limit, wanted in ((result.ci_low[cell], low), (result.ci_high[cell], high)):
            assert relative_error(limit, wanted) <= 1e-14 or abs(limit - float(wanted)) <= slack, record["id"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", LEVELS)
def test_half_width_at_the_rate_of_the_counts(method: str, level: float) -> None:
    # Up to 10⁶ trials the rounded rate leads back to its count within 1e-10, beyond it does not.
    chosen = [r for r in RECORDS if number(r["in"]["level"]) == level and r["in"]["n"] <= 1_000_000]
    successes = np.array([record["in"]["k"] for record in chosen])
    trials = np.array([record["in"]["n"] for record in chosen])
    half_width = binomial_half_width_at(successes / trials, trials, confidence_level=level, method=method)
    for cell, record in enumerate(chosen):
        assert relative_error(half_width[cell], record["out"][METHODS[method]][2]) <= 2e-10, record["id"]
