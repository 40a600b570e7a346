"""Binomial intervals of a million cells beside statsmodels' `proportion_confint`, one group a method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from fastgate.stats.binomial import binomial_half_width, binomial_interval

N_CELLS = 1_000_000
METHODS = {
    "wald": "normal",
    "wilson": "wilson",
    "agresti-coull": "agresti_coull",
    "clopper-pearson": "beta",
    "jeffreys": "jeffreys",
}
CLOSED_FORM = ("wald", "wilson", "agresti-coull")


@pytest.fixture(scope="module")
def cells() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Suites of 50 to 1 000 cases at pass rates from 50 to 99 %, none passed or failed throughout."""
    generator = np.random.default_rng(1)
    trials = generator.integers(50, 1001, N_CELLS)
    successes = generator.binomial(trials, generator.uniform(0.5, 0.99, N_CELLS))
    return np.clip(successes, 1, trials - 1), trials


@pytest.mark.parametrize("method", METHODS)
def test_interval(method: str, cells: tuple[Any, Any], benchmark: Any) -> None:
    successes, trials = cells
    theirs = proportion_confint(successes[:1000], trials[:1000], method=METHODS[method])
    ours = binomial_interval(successes[:1000], trials[:1000], method=method)
    # statsmodels clips Wald's and Agresti-Coull's limits to [0, 1]; fastgate's half-widths must not be.
    np.testing.assert_allclose(np.clip(ours.ci_low, 0.0, 1.0), theirs[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.clip(ours.ci_high, 0.0, 1.0), theirs[1], rtol=1e-9, atol=1e-12)
    benchmark.group = f"binomial {method}, {N_CELLS:,} cells"
    benchmark.extra_info |= {"side": "fastgate", "cells": N_CELLS}
    rounds = 15 if method in CLOSED_FORM else 3
    result = benchmark.pedantic(
        binomial_interval, (successes, trials), {"method": method}, rounds=rounds, warmup_rounds=2
    )
    assert result.half_width.size == N_CELLS


@pytest.mark.parametrize("method", METHODS)
def test_statsmodels(method: str, cells: tuple[Any, Any], benchmark: Any) -> None:
    successes, trials = cells
    benchmark.group = f"binomial {method}, {N_CELLS:,} cells"
    benchmark.extra_info |= {"side": "statsmodels proportion_confint", "cells": N_CELLS}
    rounds = 15 if method in CLOSED_FORM else 3
    benchmark.pedantic(
        proportion_confint,
        (successes, trials),
        {"method": METHODS[method]},
        rounds=rounds,
        warmup_rounds=1,
    )


def test_mid_p(cells: tuple[Any, Any], benchmark: Any) -> None:
    benchmark.group = f"binomial mid-p, {N_CELLS:,} cells"
    benchmark.pedantic(binomial_half_width, cells, {"method": "mid-p"}, rounds=3, warmup_rounds=1)
