"""Small sweeps with known verdicts, for tests of what is shown of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import fastgate
from fastgate import BenchmarkResult

SUITES = ("chess", "maths", "prose")
BASELINES = ("old", "plain")
# Markup of rich, Markdown and HTML, a mention, a terminal's escape, a line break, a change of writing direction.
HOSTILE = "evil|`<b>[red]x[/red]</b>\x1b[31m\u202e@team\n*_y_*"

POLICY_TOML = """
gate = "benchmark"
name = "demo"
description = "three suites, two baselines"
baselines = ["old", "plain"]
min_suite_wins = 2
min_cases = 5
[kpis.score]
direction = "higher"
[kpis.cost]
direction = "lower"
[suites.chess]
decided_by = "score"
guards = { cost = {} }
[suites.maths]
decided_by = "score"
[suites.prose]
decided_by = "cost"
[tenants.strict]
min_suite_wins = 3
"""

PATTERN = np.array([-1.0, 0.4, 1.1, -0.5, 0.0, 0.8, -1.2, 0.9, -0.9, 0.4])


def runs(builds: Mapping[str, Sequence[float]], n_cases: int = 10) -> pl.DataFrame:
    """Measurements in which each build has the given advantage in chess, maths and prose.

    The baselines are level. No random numbers: the figures of reports can be written down.
    """
    rows: list[dict[str, Any]] = []
    for position, (build, advantages) in enumerate({"old": (0, 0, 0), "plain": (0, 0, 0), **builds}.items()):
        for suite, advantage in zip(SUITES, advantages, strict=True):
            for kpi, sign in (("score", 1.0), ("cost", -1.0)):
                spread = np.resize(np.roll(PATTERN, 3 * position), n_cases)
                gain = advantage if (kpi == "cost") == (suite == "prose") else 0.0
                for case, noise in enumerate(spread):
                    value = 10.0 + sign * gain * 0.4 + noise
                    rows.append(
                        {"build": build, "suite": suite, "kpi": kpi, "case": f"c{case}", "value": value}
                    )
    frame = pl.DataFrame(rows)
    used = pl.struct("suite", "kpi").is_in(
        [
            {"suite": "chess", "kpi": "score"},
            {"suite": "chess", "kpi": "cost"},
            {"suite": "maths", "kpi": "score"},
            {"suite": "prose", "kpi": "cost"},
        ]
    )
    return frame.filter(used)


@cache
def judged(**builds: tuple[float, float, float]) -> BenchmarkResult:
    """The result of a sweep; `builds` as in `runs`."""
    return fastgate.benchmark_gate(runs(builds), tomllib.loads(POLICY_TOML))


@cache
def swept(n_candidates: int) -> BenchmarkResult:
    """The result of a wide sweep: a third of the candidates pass, with a build of a hostile name among them."""
    kinds = [(6.0, 6.0, 6.0), (0.0, 0.0, 6.0), (-6.0, 0.0, 0.0)]
    few = runs({f"kind{number}": kind for number, kind in enumerate(kinds)})
    names = [f"build-{number:05d}" for number in range(n_candidates - 1)] + [HOSTILE]
    frames = [few.filter(pl.col("build").is_in(BASELINES))]
    for number in range(len(kinds)):
        mine = [name for position, name in enumerate(names) if position % len(kinds) == number]
        one = few.filter(pl.col("build") == f"kind{number}").drop("build")
        frames.append(pl.DataFrame({"build": mine}).join(one, how="cross"))
    return fastgate.benchmark_gate(pl.concat(frames), tomllib.loads(POLICY_TOML))
