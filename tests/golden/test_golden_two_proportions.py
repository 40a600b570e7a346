"""Differences of independent proportions against the golden records, every cell of a level in one call."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.stats.proportions import proportion_difference

RECORDS = records("two_proportions", "two_prop")
LEVELS = sorted({number(record["in"]["level"]) for record in RECORDS})
METHODS = {"newcombe": "newcombe", "agresti-caffo": "agresti_caffo", "wald": "wald"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_record(method: str, level: float) -> None:
    chosen = [record for record in RECORDS if number(record["in"]["level"]) == level]
    counts = [np.array([record["in"][name] for record in chosen]) for name in ("k2", "n2", "k1", "n1")]
    two_sided = proportion_difference(*counts, confidence_level=level, method=method)
    less = proportion_difference(*counts, confidence_level=level, method=method, alternative="less")
    greater = proportion_difference(*counts, confidence_level=level, method=method, alternative="greater")
    np.testing.assert_array_equal(two_sided.ci_low, less.ci_low)
    np.testing.assert_allclose(
        less.pvalue + greater.pvalue, np.where(np.isnan(less.pvalue), np.nan, 1.0), rtol=1e-15
    )
    for cell, record in enumerate(chosen):
        out = record["out"]
        low, high, half = out[METHODS[method]]
        assert two_sided.status[cell] == ("degenerate" if float(half) == 0.0 else "ok")
        assert relative_error(two_sided.delta[cell], out["diff"]) <= 1e-15
        assert relative_error(two_sided.half_width[cell], half) <= 1e-15
        # A limit is the difference of the estimate and half the width, and has the rounding of both.
        scale = abs(float(out["diff"])) + float(half)
        assert abs(two_sided.ci_low[cell] - float(low)) <= 5e-16 * scale, record["id"]
        assert abs(two_sided.ci_high[cell] - float(high)) <= 5e-16 * scale, record["id"]
        z = float(out["z_pooled"])
        assert relative_error(two_sided.statistic[cell], out["z_pooled"]) <= 5e-16
        tolerance = 0.0 if math.isnan(z) else 1e-15 * (1.0 + z * z)  # p inherits z·(the rounding of z)
        assert relative_error(two_sided.pvalue[cell], out["p_pooled_two"]) <= tolerance, record["id"]
        assert relative_error(less.pvalue[cell], out["p_pooled_less"]) <= tolerance, record["id"]
