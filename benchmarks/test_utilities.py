"""Bradley–Terry fits of 20 alternatives and 400 preferences each, beside choix and arenakit.

The peers fit one data set a call and give no covariance; they are timed on a few fits, whose number is in
`extra_info["cells"]`, so compare time per fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastgate.stats.utilities import UtilityArrays, fit_utilities_arrays

FITS = 10_000
ALTERNATIVES = 20
PREFERENCES = 400
PRIOR_SD = 1.5
GROUP = "Bradley-Terry, 20 alternatives, 400 preferences"

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def preferences() -> tuple[Array, Array, Array]:
    """left, right and outcome code (0 left won, 1 right), each of shape (FITS, PREFERENCES)."""
    rng = np.random.default_rng(42)
    strength = rng.normal(0, 1, (FITS, ALTERNATIVES))
    left = rng.integers(0, ALTERNATIVES, (FITS, PREFERENCES))
    right = (left + rng.integers(1, ALTERNATIVES, (FITS, PREFERENCES))) % ALTERNATIVES
    gap = np.take_along_axis(strength, right, 1) - np.take_along_axis(strength, left, 1)
    lost = rng.random((FITS, PREFERENCES)) > 1 / (1 + np.exp(gap))
    return left, right, lost.astype(np.int8)


def fit(preferences: tuple[Array, Array, Array], fits: int, prior_sd: float = PRIOR_SD) -> UtilityArrays:
    left, right, outcome = (np.ascontiguousarray(column[:fits]).reshape(-1) for column in preferences)
    return fit_utilities_arrays(
        left,
        right,
        outcome,
        np.empty(0),
        np.arange(fits + 1, dtype=np.int64) * PREFERENCES,
        np.empty(0, np.int64),
        np.arange(fits + 1, dtype=np.int64) * ALTERNATIVES,
        np.full(fits, prior_sd),
        covariance=True,
    )


def winners(preferences: tuple[Array, Array, Array], fits: int) -> list[list[tuple[int, int]]]:
    left, right, outcome = (column[:fits] for column in preferences)
    first = np.where(outcome == 0, left, right).tolist()
    second = np.where(outcome == 0, right, left).tolist()
    return [list(zip(*rows, strict=True)) for rows in zip(first, second, strict=True)]


@pytest.mark.benchmark(group=GROUP)
def test_fastgate(benchmark: Any, preferences: tuple[Array, Array, Array]) -> None:
    benchmark.extra_info["cells"] = FITS
    benchmark(fit, preferences, FITS)


@pytest.mark.benchmark(group=GROUP)
def test_one_fit_a_call(benchmark: Any, preferences: tuple[Array, Array, Array]) -> None:
    benchmark.extra_info |= {"cells": 1, "side": "fastgate, one fit a call"}
    benchmark(fit, preferences, 1)


@pytest.mark.benchmark(group=GROUP)
def test_choix_opt_pairwise(benchmark: Any, preferences: tuple[Array, Array, Array]) -> None:
    choix = pytest.importorskip("choix")
    data = winners(preferences, 10)
    alpha = 1 / (2 * PRIOR_SD**2)
    expected = fit(preferences, 10).utilities.reshape(10, -1)
    found = np.array([choix.opt_pairwise(ALTERNATIVES, rows, alpha=alpha) for rows in data])
    assert np.allclose(found - found.mean(axis=1, keepdims=True), expected, rtol=0, atol=1e-4)
    benchmark.extra_info |= {"cells": 10, "side": "choix opt_pairwise"}
    benchmark(lambda: [choix.opt_pairwise(ALTERNATIVES, rows, alpha=alpha) for rows in data])


@pytest.mark.benchmark(group=GROUP)
def test_choix_ilsr_pairwise(benchmark: Any, preferences: tuple[Array, Array, Array]) -> None:
    choix = pytest.importorskip("choix")
    wide = fit(preferences, 100, prior_sd=1e4)
    chosen = np.flatnonzero(wide.status == 0)[:50]
    every = winners(preferences, 100)
    data = [every[index] for index in chosen]
    # Its alpha is no Gaussian prior: compared where the likelihood alone has a maximum.
    found = np.array([choix.ilsr_pairwise(ALTERNATIVES, rows) for rows in data])
    expected = wide.utilities.reshape(100, -1)[chosen]
    assert np.allclose(found - found.mean(axis=1, keepdims=True), expected, rtol=0, atol=1e-4)
    benchmark.extra_info |= {"cells": len(data), "side": "choix ilsr_pairwise"}
    benchmark(lambda: [choix.ilsr_pairwise(ALTERNATIVES, rows) for rows in data])


@pytest.mark.benchmark(group=GROUP)
def test_arenakit(benchmark: Any, preferences: tuple[Array, Array, Array]) -> None:
    """On its sufficient statistics, so that building them from battles is not counted."""
    arenakit = pytest.importorskip("arenakit")
    wide = fit(preferences, 100, prior_sd=1e4)
    chosen = np.flatnonzero(wide.status == 0)[:10]
    counts = []
    for index in chosen:
        battles = [
            arenakit.Battle(
                model_a=str(i),
                model_b=str(j),
                winner="b" if code else "a",
                item_id=str(row),
                voter_id="judge",
            )
            for row, (i, j, code) in enumerate(zip(*(column[index] for column in preferences), strict=True))
        ]
        counts.append(arenakit.Arena(battles, [str(i) for i in range(ALTERNATIVES)]).counts())
    found = np.array([arenakit.fit_bt(each, prior=0.0).scores for each in counts])
    assert np.allclose(found, wide.utilities.reshape(100, -1)[chosen], rtol=0, atol=1e-4)
    benchmark.extra_info["cells"] = len(counts)
    benchmark(lambda: [arenakit.fit_bt(each, prior=0.0) for each in counts])
