"""Welch's test with p-values of many cells, beside scipy, polars-ds, polars-statistics and a query by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from peers import WELCH
from workloads import WORKLOADS, first, title

from fastgate.stats import paired, welch


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("side", ["fastgate", "fastgate with intervals", "fastgate paired", *WELCH])
def test_welch(benchmark: Any, name: str, side: str) -> None:
    sides = WORKLOADS[name]()
    benchmark.group = f"Welch's test of {title(name)} on each side"
    benchmark.extra_info |= {"side": side, "cells": len(sides[0])}
    if side.startswith("fastgate"):
        test = paired if side == "fastgate paired" else welch
        options = {"interval": side == "fastgate with intervals"}
        result = benchmark.pedantic(test, sides, options, rounds=7, warmup_rounds=1)
        assert set(result.status) == {"ok"}
        return
    if side == "scipy ttest_ind(axis=1)" and name != "equal":
        pytest.skip("a matrix needs cells of equal size")
    make, limit = WELCH[side]
    part = first(sides, limit)
    benchmark.extra_info["cells"] = len(part[0])
    peer = make(*part)
    np.testing.assert_allclose(peer(), welch(*part, interval=False).pvalue, rtol=1e-6, atol=1e-10)
    benchmark.pedantic(peer, rounds=3)
