"""Welch's test with p-values of many cells, beside scipy, polars-ds, polars-statistics and a query by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.peers import WELCH
from benchmarks.workloads import WORKLOADS, first, title
from fastgate.stats import paired, welch

OURS = {
    "Welch's test": (welch, {"interval": False}),
    "Welch's test with intervals": (welch, {"interval": True}),
    "paired t test": (paired, {"interval": False}),
}


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("what", OURS)
def test_fastgate(benchmark: Any, name: str, what: str) -> None:
    sides = WORKLOADS[name]()
    benchmark.group = f"{what} of {title(name)} on each side"
    benchmark.extra_info |= {"side": "fastgate", "cells": len(sides[0])}
    test, options = OURS[what]
    result = benchmark.pedantic(test, sides, options, rounds=7, warmup_rounds=1)
    assert set(result.status) == {"ok"}


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("side", WELCH)
def test_peers(benchmark: Any, name: str, side: str) -> None:
    if side == "scipy ttest_ind(axis=1)" and name != "equal":
        pytest.skip("a matrix needs cells of equal size")
    make, limit = WELCH[side]
    part = first(WORKLOADS[name](), limit)
    benchmark.group = f"Welch's test of {title(name)} on each side"
    benchmark.extra_info |= {"side": side, "cells": len(part[0])}
    peer = make(*part)
    np.testing.assert_allclose(peer(), welch(*part, interval=False).pvalue, rtol=1e-6, atol=1e-10)
    benchmark.pedantic(peer, rounds=3)


def test_scipy_ttest_rel(benchmark: Any) -> None:
    sides = WORKLOADS["equal"]()
    benchmark.group = f"paired t test of {title('equal')} on each side"
    benchmark.extra_info |= {"side": "scipy ttest_rel(axis=1)", "cells": len(sides[0])}
    rows = [side.values.reshape(len(side), -1) for side in sides]

    def peer() -> Any:
        return stats.ttest_rel(*rows, axis=1).pvalue

    np.testing.assert_allclose(peer(), paired(*sides, interval=False).pvalue, rtol=1e-6, atol=1e-10)
    benchmark.pedantic(peer, rounds=3)
