"""Differences of pass rates, exact McNemar tests and adjusted p-values of many cells, beside statsmodels and scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from benchmarks.workloads import FULL
from fastgate.stats.discordance import mcnemar
from fastgate.stats.multiplicity import adjust
from fastgate.stats.proportions import paired_proportion_difference, proportion_difference

N = 1_000_000 if FULL else 100_000
TIMES: dict[str, int] = {"rounds": 7, "warmup_rounds": 1}


@pytest.fixture(scope="module")
def tables() -> tuple[np.ndarray[Any, Any], ...]:
    """Cells of 50 to 500 replayed cases: passed in both runs, in the baseline alone, the candidate alone, neither."""
    generator = np.random.default_rng(1)
    cases = generator.integers(50, 501, N)
    shares = generator.dirichlet((30.0, 3.0, 3.0, 4.0), N)
    both, regressions, fixes, neither = generator.multinomial(cases, shares).T.astype(np.int64)
    return both + 1, regressions, fixes, neither + 1


@pytest.fixture(scope="module")
def counts(tables: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """Successes and trials of both runs, as if the cases were not the same ones."""
    both, regressions, fixes, neither = tables
    trials = both + regressions + fixes + neither
    return both + fixes, trials, both + regressions, trials


def label(benchmark: Any, group: str, side: str) -> None:
    benchmark.group = f"{group}, {N:,} cells"
    benchmark.extra_info |= {"side": side, "cells": N}


def test_newcombe(benchmark: Any, counts: Any) -> None:
    label(benchmark, "Newcombe's interval of two pass rates", "fastgate")
    ours = benchmark.pedantic(proportion_difference, counts, **TIMES)
    theirs = confint_proportions_2indep(*counts, method="newcomb")
    np.testing.assert_allclose(ours.ci_low, theirs[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.ci_high, theirs[1], rtol=1e-9, atol=1e-12)


def test_newcombe_statsmodels(benchmark: Any, counts: Any) -> None:
    label(benchmark, "Newcombe's interval of two pass rates", "statsmodels confint_proportions_2indep")
    benchmark.pedantic(confint_proportions_2indep, counts, {"method": "newcomb"}, **TIMES)


def test_tango(benchmark: Any, tables: Any) -> None:
    """No peer: none of them has Tango's interval of paired rates."""
    label(benchmark, "Tango's interval of paired pass rates", "fastgate")
    result = benchmark.pedantic(paired_proportion_difference, tables, **TIMES)
    assert np.all((result.ci_low <= result.delta) & (result.delta <= result.ci_high))


def binomial_tails(regressions: Any, fixes: Any) -> Any:
    smaller, discordant = np.minimum(regressions, fixes), regressions + fixes
    return np.minimum(1.0, 2.0 * stats.binom.cdf(smaller, discordant, 0.5))


def test_mcnemar(benchmark: Any, tables: Any) -> None:
    _, regressions, fixes, _ = tables
    label(benchmark, "exact McNemar test", "fastgate")
    ours = benchmark.pedantic(mcnemar, (regressions, fixes), **TIMES)
    np.testing.assert_allclose(ours.pvalue, binomial_tails(regressions, fixes), rtol=1e-9)


def test_mcnemar_scipy(benchmark: Any, tables: Any) -> None:
    _, regressions, fixes, _ = tables
    label(benchmark, "exact McNemar test", "scipy.stats.binom.cdf")
    benchmark.pedantic(binomial_tails, (regressions, fixes), **TIMES)


@pytest.fixture(scope="module")
def pvalues() -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).uniform(size=N) ** 3


@pytest.mark.parametrize(("method", "theirs"), [("holm", "holm"), ("bh", "fdr_bh")])
@pytest.mark.parametrize("side", ["fastgate", "statsmodels multipletests", "scipy false_discovery_control"])
def test_adjusted(benchmark: Any, pvalues: Any, side: str, method: str, theirs: str) -> None:
    label(benchmark, f"p-values adjusted by {method}", side)
    if side == "fastgate":
        ours = benchmark.pedantic(adjust, (pvalues, method), **TIMES)
        np.testing.assert_allclose(ours, multipletests(pvalues, method=theirs)[1], rtol=1e-12)
    elif side == "statsmodels multipletests":
        benchmark.pedantic(multipletests, (pvalues,), {"method": theirs}, **TIMES)
    elif method == "bh":
        benchmark.pedantic(stats.false_discovery_control, (pvalues,), **TIMES)
    else:
        pytest.skip("scipy has no Holm")
