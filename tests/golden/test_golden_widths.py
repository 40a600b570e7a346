"""Widths of normal and beta posteriors against the golden records, each file in one call per level."""

from __future__ import annotations

import numpy as np
import pytest
from reference import number, records, relative_error

from fastgate.stats.posterior import beta_width, normal_width

GAUSS = records("normal_width", "gauss")
BETA = records("beta_width", "beta")
GAUSS_LEVELS = sorted({number(record["in"]["level"]) for record in GAUSS})
BETA_LEVELS = sorted({number(record["in"]["level"]) for record in BETA})


@pytest.mark.parametrize("level", GAUSS_LEVELS)
def test_normal_width(level: float) -> None:
    chosen = [record for record in GAUSS if number(record["in"]["level"]) == level]
    sd = np.array([number(record["in"]["sd"]) for record in chosen])
    result = normal_width(sd, level, mean=[number(record["in"]["mean"]) for record in chosen])
    assert result.status.tolist() == ["ok" if value > 0 else "degenerate" for value in sd]
    for cell, record in enumerate(chosen):
        # The smallest doubles have few digits of their own: an exact tie of roundings is all one can ask for.
        tolerance = 1e-13 if sd[cell] != 5e-324 else 0.0
        assert relative_error(result.width[cell], record["out"]["width"]) <= tolerance
        assert relative_error(result.ci_low[cell], record["out"]["lo"]) <= 1e-13
        assert relative_error(result.ci_high[cell], record["out"]["hi"]) <= 1e-13


@pytest.mark.parametrize("level", BETA_LEVELS)
def test_beta_width(level: float) -> None:
    chosen = [record for record in BETA if number(record["in"]["level"]) == level]
    shapes = np.array([[number(record["in"]["a"]), number(record["in"]["b"])] for record in chosen])
    result = beta_width(shapes[:, 0], shapes[:, 1], level)
    assert set(result.status.tolist()) == {"ok"}
    columns = {
        "lo": result.ci_low,
        "hi": result.ci_high,
        "one_minus_lo": result.one_minus_low,
        "one_minus_hi": result.one_minus_high,
        "width": result.width,
    }
    for cell, record in enumerate(chosen):
        for name, column in columns.items():
            assert relative_error(column[cell], record["out"][name]) <= 1e-12, (record["id"], name)
