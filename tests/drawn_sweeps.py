"""Random policies and measurements for tests of judging without frames: all that the rule knows, and faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["random_policy", "random_previous", "random_runs"]

KPIS = ("quality", "cost", "safety", "speed")
BASELINES = ("old", "plain")
CANDIDATES = ("a", "b", "c", "d")

Generator = np.random.Generator


def random_policy(rng: Generator, n_suites: int = 4) -> dict[str, Any]:
    """A policy in which anything may be asked for."""

    def choice(*options: Any) -> Any:
        return options[int(rng.integers(len(options)))]

    suites: dict[str, Any] = {}
    for number in range(n_suites):
        names = [str(name) for name in rng.permutation(KPIS)[: int(rng.integers(1, 5))]]
        guards = {
            name: choice({}, {"margin": float(rng.choice([0.05, 0.5, 1.5]))})
            for name in names[1:]
            if rng.random() < 0.5
        }
        free = [name for name in names if name not in guards]
        suites[f"suite{number}"] = {
            "kpis": names,
            "guards": guards,
            "decided_by": choice("all", "any", free[0]),
        }
    policy: dict[str, Any] = {
        "gate": "benchmark",
        "name": "random",
        "baselines": list(BASELINES),
        "kpis": {name: {"direction": choice("higher", "lower")} for name in KPIS},
        "suites": suites,
        "alpha": choice(0.05, 0.2, 0.4, 0.01),
        "test": choice("welch", "welch", "paired"),
        "alternative": choice("two-sided", "one-sided"),
        "min_suite_wins": int(rng.integers(1, n_suites + 1)),
        "min_cases": choice(2, 2, 6),
        "max_missing_share": choice(0.0, 0.3, 0.9),
        "zero_variance": choice("undefined", "decide"),
        "require_same_cases": choice(True, True, False),
        "correction": {
            "method": choice("none", "none", "holm", "bh", "by", "bonferroni", "hochberg"),
            "family": choice("candidate", "sweep"),
        },
        "unlisted": "ignore",
    }
    strict = {"guards": {name: {"margin": 0.04} for name in next(iter(suites.values()))["guards"]}}
    alphas = {"alpha": policy["alpha"] / 2} if rng.random() < 0.5 else {}
    policy["tenants"] = {"strict": {"suites": {"suite0": strict} if strict["guards"] else {}, **alphas}}
    return policy


def _values(rng: Generator, n: int, gain: float, kind: str) -> npt.NDArray[np.float64]:
    values = gain + rng.normal(size=n)
    if kind == "lattice":
        return (values > 0.3).astype(float)
    if kind == "constant":
        return np.full(n, float(rng.integers(0, 2)) + 0.1)
    if kind == "rare":
        return (np.arange(n) == rng.integers(n)).astype(float)
    if kind == "outlier":
        values[rng.integers(n)] *= 1e9
    scale = {"tiny": 1e-200, "huge": 1e200, "large": 1e-3}.get(kind, 1.0)
    return values * scale + {"large": 1e9, "lost": 1e16}.get(kind, 0.0)


def random_runs(
    rng: Generator, policy: dict[str, Any], *, calm: bool = False, faults: bool = True, n_cases: int = 9
) -> pl.DataFrame:
    """Measurements of four candidates and two baselines, which may vary in odd ways unless calm.

    With faults any of them may lack, repeat or break anything.
    """
    rows: list[tuple[str, str, str, str, float | None]] = []
    kinds = ["plain"] * 4 + ["lattice"]
    if not calm:
        kinds += ["plain", "plain", "lattice", "constant", "rare", "outlier", "tiny", "huge", "large", "lost"]
    gains = {build: [0.0, 3.0, 4.0, 5.0] if calm else [-0.5, 0.0, 1.5, 3.0] for build in CANDIDATES}
    gains["b"] = [3.0, 4.0]
    for suite, rule in policy["suites"].items():
        n = int(rng.integers(6 if calm else 2, n_cases + 1))
        for kpi in rule["kpis"]:
            kind = str(rng.choice(kinds))
            shared = rng.normal(size=n) * float(rng.choice([0.0, 2.0])) if kind == "plain" else 0.0
            better = 1.0 if policy["kpis"][kpi]["direction"] == "higher" else -1.0
            for build in (*BASELINES, *CANDIDATES):
                gain = 0.0 if build in BASELINES else better * float(rng.choice(gains[build]))
                values: list[float | None] = list(_values(rng, n, gain, kind) + shared)
                cases = [f"{suite}-{case}" for case in range(n)]
                if faults and not calm and rng.random() < 0.15:
                    broken = rng.integers(5)
                    if broken == 0:
                        values[int(rng.integers(n))] = None
                    elif broken == 1:
                        values[int(rng.integers(n))] = float("inf")
                    elif broken == 2:
                        cases[-1] = cases[0] if rng.random() < 0.5 else "another"
                    elif broken == 3:
                        values, cases = values[1:], cases[1:]
                    elif build in CANDIDATES:
                        continue
                rows += [(build, suite, kpi, case, value) for case, value in zip(cases, values, strict=True)]
    schema = {
        "build": pl.String,
        "suite": pl.String,
        "kpi": pl.String,
        "case": pl.String,
        "value": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def random_previous(rng: Generator, policy: dict[str, Any]) -> pl.DataFrame:
    """Some suites that the previous release won."""
    rows = [
        (candidate, baseline, suite, True)
        for candidate in CANDIDATES
        for baseline in BASELINES
        for suite in policy["suites"]
        if rng.random() < 0.3
    ]
    schema = {"candidate": pl.String, "baseline": pl.String, "suite": pl.String, "won_before": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")
