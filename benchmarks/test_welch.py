"""Welch's test with p-values of many cells, beside scipy, polars-ds, polars-statistics and a query by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
