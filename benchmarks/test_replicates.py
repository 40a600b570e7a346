"""Replicates of the whole rule, against the naive way: the cases drawn as data, and the gate judging each drawing."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from fastgate.cells import Cells
from fastgate.frames.samples import Samples
from fastgate.gates.benchmark.confidence.drawing_setting import setting
from fastgate.gates.benchmark.confidence.drawings import drawn_states, outcomes
from fastgate.gates.benchmark.confidence.replicates import multinomial_draw, replicate
from fastgate.gates.benchmark.confidence.rule_states import tally, verdicts_of
from fastgate.gates.benchmark.judgement import judge
from fastgate.gates.policy import effective
from fastgate.gates.verdict import VERDICTS

FULL = os.environ.get("FASTGATE_BENCH") == "full"
CANDIDATES, SUITES, BASELINES, KPIS, CASES = (1000 if FULL else 100), 8, 4, 6, 100
REPLICATES = 200
BUILDS = [*(f"c{i:04}" for i in range(CANDIDATES)), *(f"old{i}" for i in range(BASELINES))]


def policy(test: str) -> dict[str, Any]:
    return {
        "gate": "benchmark",
        "name": "replicates",
        "baselines": BUILDS[CANDIDATES:],
        "kpis": {f"kpi{i}": {"direction": "lower" if i % 2 else "higher"} for i in range(KPIS)},
        "suites": [f"suite{i}" for i in range(SUITES)],
        "suite_defaults": {"decided_by": "any", "guards": {"kpi4": {}, "kpi5": {"margin": 0.5}}},
        "min_suite_wins": 6,
        "test": test,
    }


@pytest.fixture(scope="module")
def samples() -> Samples:
    from fastgate.frames import read_samples

    rng = np.random.default_rng(11)
    n = len(BUILDS) * SUITES * KPIS
    better = 0.22 * (np.arange(n) < CANDIDATES * SUITES * KPIS) * np.where(np.arange(n) % 2, -1.0, 1.0)
    values = rng.normal(size=(n, CASES)) + better[:, None]
    frame = pl.DataFrame(
        {
            "build": np.repeat(BUILDS, SUITES * KPIS),
            "suite": np.tile(np.repeat([f"suite{i}" for i in range(SUITES)], KPIS), len(BUILDS)),
            "kpi": np.tile([f"kpi{i}" for i in range(KPIS)], len(BUILDS) * SUITES),
            "cases": [[f"{case:03}" for case in range(CASES)]] * n,
            "values": pl.Series(values.tolist(), dtype=pl.List(pl.Float64)),
        }
    )
    return read_samples(frame)


def drawn_samples(samples: Samples, weights: list[npt.NDArray[np.float64]]) -> Samples:
    """The cases drawn, as data: values gathered by numpy, case ids as they were."""
    (part,) = samples.parts
    grid = part.values.reshape(len(BUILDS), SUITES, KPIS, CASES)
    places = [np.repeat(np.arange(CASES), column.astype(np.int64)) for column in weights]
    gathered = np.stack([grid[:, suite][..., place] for suite, place in enumerate(places)], axis=1)
    cells = Cells(gathered.ravel(), part.offsets)
    return Samples(
        samples.shape, samples.index, (cells,), samples.case_lists, samples.case_names, None, samples.n_rows
    )


def naive(samples: Samples, rules: Any, names: list[str], count: int) -> list[list[str]]:
    draw = multinomial_draw(0)
    strata = [plan.groups[0].strata[0] for plan in setting(samples, rules, names[:1]).suites]
    found = []
    for number in range(count):
        weights = [draw(stratum, number, 1)[:, 0] for stratum in strata]
        verdicts = judge(drawn_samples(samples, weights), rules, names)["verdicts"]["verdict"]
        found.append(verdicts.cast(pl.String).to_list())
    return found


@pytest.mark.parametrize("test", ["welch", "paired"])
def test_replicates(benchmark: Any, samples: Samples, test: str) -> None:
    rules = effective(policy(test), None, gate="benchmark")
    names = BUILDS[:CANDIDATES]
    at = setting(samples, rules, names)
    counted = tally(outcomes(at, drawn_states(multinomial_draw(0)), 0, 3), None, (*at.shape, 3))
    ours = verdicts_of(counted, at.tables, rules.min_suite_wins, np.zeros(CANDIDATES, np.bool_))
    expected = naive(samples, rules, names, 3)
    assert np.array(VERDICTS)[ours].T.tolist() == expected
    assert len({verdict for drawing in expected for verdict in drawing}) > 1
    benchmark.group = f"replicates of the rule, {test} test, {CANDIDATES:,} candidates"
    benchmark.extra_info |= {"side": "fastgate", "cells": CANDIDATES * SUITES * BASELINES * KPIS * REPLICATES}
    benchmark.pedantic(
        replicate,
        (samples, rules, names),
        {"n_replicates": REPLICATES, "seed": 0},
        rounds=5,
        warmup_rounds=1,
    )


@pytest.mark.parametrize("test", ["welch", "paired"])
def test_naive_replicates(benchmark: Any, samples: Samples, test: str) -> None:
    """Ten of them: the time of 200 is twenty times that."""
    rules = effective(policy(test), None, gate="benchmark")
    names = BUILDS[:CANDIDATES]
    benchmark.group = f"replicates of the rule, {test} test, {CANDIDATES:,} candidates"
    benchmark.extra_info |= {
        "side": "cases drawn as data",
        "cells": CANDIDATES * SUITES * BASELINES * KPIS * 10,
    }
    benchmark.pedantic(naive, (samples, rules, names, 10), rounds=3, warmup_rounds=1)
