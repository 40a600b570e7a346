"""McNemar's tests and the intervals of paired proportions against the golden records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.stats.discordance import mcnemar
from fastgate.stats.proportions import paired_proportion_difference

RECORDS = records("mcnemar", "paired_2x2")
LEVELS = sorted({number(record["in"]["level"]) for record in RECORDS})
METHODS = {
    "tango": "tango",
    "newcombe": "newcombe_10",
    "newcombe-uncorrected": "newcombe_8",
    "bonett-price": "bonett_price",
    "wald": "wald",
}
TESTS = [
    ("exact", "two-sided", "p_exact"),
    ("exact", "less", "p_exact_worse"),
    ("exact", "greater", "p_exact_better"),
    ("mid-p", "two-sided", "p_midp"),
    ("asymptotic", "two-sided", "p_asym"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_interval(method: str, level: float) -> None:
    chosen = [record for record in RECORDS if number(record["in"]["level"]) == level]
    table = [np.array([record["in"][name] for record in chosen]) for name in ("n11", "n10", "n01", "n00")]
    result = paired_proportion_difference(*table, confidence_level=level, method=method)
    np.testing.assert_array_equal(result.n, sum(table))
    for cell, record in enumerate(chosen):
        low, high, half = record["out"][METHODS[method]]
        assert result.status[cell] == ("degenerate" if float(half) == 0.0 else "ok"), record["id"]
        assert relative_error(result.delta[cell], record["out"]["diff"]) <= 1e-15
        # Square-and-add half-widths have forms of their own; Tango's is the difference of its limits.
        scale = abs(float(record["out"]["diff"])) + float(half)
        assert abs(result.half_width[cell] - float(half)) <= (
            1e-15 * scale if method == "tango" else 5e-16 * float(half)
        )
        assert abs(result.ci_low[cell] - float(low)) <= 5e-16 * scale, record["id"]
        assert abs(result.ci_high[cell] - float(high)) <= 5e-16 * scale, record["id"]


@pytest.mark.parametrize(("method", "alternative", "key"), TESTS)
def test_every_p(method: str, alternative: str, key: str) -> None:
    regressions = np.array([record["in"]["n10"] for record in RECORDS])
    fixes = np.array([record["in"]["n01"] for record in RECORDS])
    result = mcnemar(regressions, fixes, method=method, alternative=alternative)
    assert result.status.tolist() == [record["out"]["status"].lower() for record in RECORDS]
    assert result.n_discordant.tolist() == [record["out"]["discordant"] for record in RECORDS]
    for cell, record in enumerate(RECORDS):
        wanted = record["out"][key]
        assert relative_error(result.statistic[cell], record["out"]["chi2"]) <= 5e-16
        if 0.0 < float(wanted) < 2.0**-1022:
            assert math.isclose(result.pvalue[cell], float(wanted), abs_tol=2.0**-1073, rel_tol=0.0)
        else:
            assert relative_error(result.pvalue[cell], wanted) <= 2e-13, record["id"]
