"""How the cost grows: times against cells, cases, candidates, resamples and threads, as a picture and as exponents.

    python -m benchmarks.curves

measures everything (some minutes), writes ``benchmarks/curves.svg`` and the table of exponents into the README. An
exponent is the slope of log time against log size over the upper half of the sizes: 1 where twice the work takes
twice the time. Each point is the quickest of several calls, on the same seeded input every time.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.readme import duration, write_between
from fastgate import threads
from fastgate.cells import Cells

PICTURE = Path(__file__).with_name("curves.svg")
BEGIN, END = "<!-- curves: written by benchmarks/curves.py -->", "<!-- /curves -->"
THREADS = "threads"

PASSES = 2  # over all sizes of a series, so that a busy moment does not bend it
ENOUGH = 0.2  # seconds of repeated calls for a point
TOO_LONG = 3.0  # seconds a call: a series ends before its next point would take longer

Timed = Callable[[], Any]


class Curve(NamedTuple):
    """A series to measure."""

    name: str
    short: str
    """Its label in the picture."""
    sizes: Sequence[int]
    prepare: Callable[[int], Timed]
    """Makes the input of one size and returns the call to time."""
    is_peer: bool = False
    shares: int = 1
    """What the time of a call is divided by: the cells that it does where one cell's time is wanted."""


class Panel(NamedTuple):
    """One question."""

    question: str
    axis: str
    """What the horizontal axis counts."""
    curves: Sequence[Curve]
    time: str = "time"
    """What the vertical axis shows."""


class Points(NamedTuple):
    """A series as measured."""

    curve: Curve
    sizes: list[int]
    seconds: list[float]

    @property
    def exponent(self) -> float:
        """The slope of log time against log size over the upper half of the sizes (four points at least)."""
        upper = slice(max(0, min(len(self.sizes) // 2, len(self.sizes) - 4)), None)
        x, y = np.log(self.sizes[upper]), np.log(self.seconds[upper])
        return float(np.polyfit(x, y, 1)[0])


def quickest(call: Timed) -> float:
    """The least of several calls' times, in seconds."""
    best, total, calls = math.inf, 0.0, 0
    while calls < 3 or (total < ENOUGH and calls < 200):
        began = time.perf_counter()
        call()
        took = time.perf_counter() - began
        best, total, calls = min(best, took), total + took, calls + 1
        if calls > 1 and took > TOO_LONG:
            break
    return best


def measure(curve: Curve) -> Points:
    """Times of all sizes, as far as they are bearable."""
    seconds: dict[int, float] = {}
    for _ in range(PASSES):
        before = None
        for size in curve.sizes:
            if before and seconds[before] * curve.shares * size / before > TOO_LONG:
                break
            took = quickest(curve.prepare(size)) / curve.shares
            seconds[size] = min(took, seconds.get(size, math.inf))
            before = size
    print(f"  {curve.name}: " + ", ".join(map(duration, seconds.values())), file=sys.stderr)
    return Points(curve, list(seconds), list(seconds.values()))


# ---- inputs ---------------------------------------------------------------------------------------------------


def two_samples(n_cells: int, n_cases: int) -> tuple[Cells, Cells]:
    """Candidate and baseline, `n_cases` values in each cell."""
    generator = np.random.default_rng(1)
    offsets = np.arange(n_cells + 1) * n_cases
    candidate, baseline = (
        Cells(generator.normal(mean, 0.1, n_cells * n_cases), offsets) for mean in (0.52, 0.5)
    )
    return candidate, baseline


def moments(n_cells: int, n_cases: int) -> Timed:
    """Fastgate's moments of one sample a cell."""
    from fastgate.stats.summary import moments_arrays

    cells = two_samples(n_cells, n_cases)[0]
    return lambda: moments_arrays(cells.values, cells.offsets)


def welch(n_cells: int, n_cases: int) -> Timed:
    """Fastgate's Welch test with p-values."""
    from fastgate.stats import welch

    sides = two_samples(n_cells, n_cases)
    return lambda: welch(*sides, interval=False)


def scipy_welch(n_cells: int, n_cases: int) -> Timed:
    """scipy's, in one call over the rows of two matrices."""
    from benchmarks.peers import scipy_axis

    return scipy_axis(*two_samples(n_cells, n_cases))


def polars_welch(n_cells: int, n_cases: int) -> Timed:
    """Polars' means and variances with scipy's tail."""
    from benchmarks.peers import polars_expressions

    return polars_expressions(*two_samples(n_cells, n_cases))


def intervals(n_cells: int, n_cases: int = 100, **options: Any) -> Timed:
    """Fastgate's BCa or percentile intervals of means."""
    from fastgate.stats.bootstrap_interval import bootstrap

    rows = np.random.default_rng(2).gamma(2.0, size=(n_cells, n_cases))
    return lambda: bootstrap(rows, **{"method": "percentile", **options})


def resampled(n_cells: int, n_resamples: int, shared: bool = False) -> Timed:
    """Fastgate's resampling engine."""
    return intervals(n_cells, engine="resample", n_resamples=n_resamples, shared=shared)


def scipy_bootstrap(n_resamples: int) -> Timed:
    """Scipy's percentile interval of one cell."""
    from scipy import stats

    row = np.random.default_rng(2).gamma(2.0, size=100)
    return lambda: stats.bootstrap(
        (row,), np.mean, method="percentile", n_resamples=n_resamples, vectorized=True, rng=1
    )


def named(kind: str, n: int, rows: Any) -> pl.Series:
    """Names of `n` things, gathered."""
    return pl.Series([f"{kind}{number:05}" for number in range(n)]).gather(rows)


SUITES, CASES = 8, 50
BENCHMARK_POLICY = {
    "gate": "benchmark",
    "name": "curves",
    "baselines": ["build00000", "build00001"],
    "kpis": {"score": {"direction": "higher"}},
    "suites": [f"suite{number:05}" for number in range(SUITES)],
}


def runs(candidates: int) -> pl.DataFrame:
    """A measurement a row: two baselines and so many candidates in eight suites of fifty cases."""
    rows = np.arange((candidates + 2) * SUITES * CASES)
    return pl.DataFrame(
        {
            "build": named("build", candidates + 2, rows // (SUITES * CASES)),
            "suite": named("suite", SUITES, rows // CASES % SUITES),
            "kpi": pl.Series(["score"]).gather(np.zeros_like(rows)),
            "case": named("case", CASES, rows % CASES),
            "value": np.random.default_rng(3).normal(0.5, 0.1, rows.size),
        }
    )


def benchmark_gate(candidates: int) -> Timed:
    """The benchmark gate from a frame in memory."""
    import fastgate

    frame = runs(candidates)
    return lambda: fastgate.benchmark_gate(frame, BENCHMARK_POLICY)


def polars_moments(candidates: int) -> Timed:
    """Polars' means and variances of the same frame, no verdicts."""
    frame = runs(candidates)
    keys, value = ("build", "suite", "kpi"), pl.col("value")
    return lambda: frame.group_by(keys).agg(value.mean().alias("mean"), value.var().alias("variance"))


CONDITIONS = {
    "suite_hash": "ab12", "seed_list_hash": "77", "temperature": 0.0, "top_p": 1.0, "max_tokens": 512,
    "grader_version": "3", "harness_version": "1.4",
}  # fmt: skip


def safety_gate(candidates: int) -> Timed:
    """The safety gate from frames in memory: five suites of a hundred cases a candidate."""
    import fastgate

    suites, cases = 5, 100
    rows = np.arange((candidates + 1) * suites * cases)
    builds = named("build", candidates + 1, np.arange(candidates + 1))
    frame = pl.DataFrame(
        {
            "build": named("build", candidates + 1, rows // (suites * cases)),
            "suite": named("suite", suites, rows // cases % suites),
            "case": named("case", cases, rows % cases),
            "passed": np.random.default_rng(4).random(rows.size) < 0.92,
        }
    )
    conditions = (pl.lit(value).alias(name) for name, value in CONDITIONS.items())
    manifests = pl.DataFrame({"build": builds}).with_columns(*conditions)
    return lambda: fastgate.safety_gate(frame, manifests, "litmus", baseline="build00000")


KINDS = ["paraphrase", "template", "model_version", "order_swap", "adversarial_framing"]


def stability_gate(candidates: int) -> Timed:
    """The stability gate from a frame in memory: eighty pairs of five probes a candidate."""
    import fastgate

    pairs = 80
    rows = np.arange(candidates * pairs * len(KINDS))
    generator = np.random.default_rng(5)
    kind = rows % len(KINDS)
    primary = generator.integers(0, 2, candidates * pairs)[rows // len(KINDS)]
    probe = primary ^ (generator.random(rows.size) < 0.1) ^ (kind == KINDS.index("order_swap"))
    frame = pl.DataFrame(
        {
            "build": named("judge", candidates, rows // (pairs * len(KINDS))),
            "pair": named("pair", pairs, rows // len(KINDS) % pairs),
            "kind": pl.Series(KINDS).gather(kind),
            "primary_choice": pl.Series(["A", "B"]).gather(primary),
            "probe_choice": pl.Series(["A", "B"]).gather(probe),
        }
    )
    policy = {"gate": "stability", "name": "curves", "letters": "raw"}
    return lambda: fastgate.stability_gate(frame, policy)


def on_threads(prepare: Callable[[], Timed]) -> Callable[[int], Timed]:
    """`prepare`'s call on a given number of threads."""
    call = prepare()  # one input for every number of threads

    def at(n_threads: int) -> Timed:
        def run() -> None:
            os.environ["FASTGATE_NUM_THREADS"] = str(n_threads)
            try:
                call()
            finally:
                del os.environ["FASTGATE_NUM_THREADS"]

        return run

    return at


def panels() -> list[Panel]:
    """The questions and the series that answer them."""
    cells = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000]
    cases = [5, 10, 30, 100, 300, 1_000, 3_000, 10_000]
    candidates = [10, 30, 100, 300, 1_000, 3_000, 10_000]
    resamples = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000]
    cores = list(range(1, threads.thread_count() + 1))
    return [
        Panel(
            "More cells",
            "cells of 100 + 100 values",
            [
                Curve("moments", "moments", cells, lambda n: moments(n, 100)),
                Curve("Welch's test with p", "Welch", cells, lambda n: welch(n, 100)),
                Curve("bootstrap, saddlepoint", "bootstrap", cells, lambda n: intervals(n)),
                Curve("scipy ttest_ind(axis=1)", "scipy Welch", cells, lambda n: scipy_welch(n, 100), True),
                Curve(
                    "Polars query, scipy stdtr", "Polars Welch", cells, lambda n: polars_welch(n, 100), True
                ),
            ],
        ),
        Panel(
            "Larger cells",
            "cases a cell, 1,000 cells",
            [
                Curve("moments", "moments", cases, lambda n: moments(1_000, n)),
                Curve("Welch's test with p", "Welch", cases, lambda n: welch(1_000, n)),
                Curve("bootstrap, saddlepoint", "bootstrap", cases[3:], lambda n: intervals(1_000, n)),
                Curve("scipy ttest_ind(axis=1)", "scipy Welch", cases, lambda n: scipy_welch(1_000, n), True),
                Curve(
                    "Polars query, scipy stdtr", "Polars Welch", cases, lambda n: polars_welch(1_000, n), True
                ),
            ],
        ),
        Panel(
            "More candidates",
            "candidates, frame in memory",
            [
                Curve("benchmark gate", "benchmark gate", candidates, benchmark_gate),
                Curve("safety gate", "safety gate", candidates, safety_gate),
                Curve("stability gate", "stability gate", candidates, stability_gate),
                Curve("Polars mean and var, no verdicts", "Polars moments", candidates, polars_moments, True),
            ],
        ),
        Panel(
            "More resamples",
            "resamples, one cell of 100 values",
            [
                Curve("bootstrap, resampled", "resampled", resamples, lambda n: resampled(10, n), shares=10),
                Curve(
                    "bootstrap, shared resamples",
                    "shared",
                    resamples,
                    lambda n: resampled(100, n, shared=True),
                    shares=100,
                ),
                Curve("scipy.stats.bootstrap", "scipy", resamples, scipy_bootstrap, True),
            ],
            time="time of a cell",
        ),
        Panel(
            "More threads",
            THREADS,
            [
                Curve("moments", "moments", cores, on_threads(lambda: moments(100_000, 100))),
                Curve("Welch's test with p", "Welch", cores, on_threads(lambda: welch(100_000, 100))),
                Curve("bootstrap, saddlepoint", "bootstrap", cores, on_threads(lambda: intervals(30_000))),
                Curve(
                    "bootstrap, resampled",
                    "resampled",
                    cores,
                    on_threads(lambda: intervals(300, engine="resample")),
                ),
                Curve("benchmark gate", "benchmark gate", cores, on_threads(lambda: benchmark_gate(1_000))),
            ],
        ),
    ]


# ---- what is written ------------------------------------------------------------------------------------------


def table(measured: Sequence[tuple[Panel, Sequence[Points]]]) -> str:
    """The exponents in Markdown, and the speed-up of the threads."""
    lines = [
        "| what grows | what is timed | from | to | time there | exponent |",
        "|---|---|---|---|---|---|",
    ]
    rows: list[str] = []
    for panel, series in measured:
        if panel.axis == THREADS:
            continue
        for row, points in enumerate(series):
            name = points.curve.name if points.curve.is_peer else f"**{points.curve.name}**"
            first = panel.axis if row == 0 else ""
            ends = f"{points.sizes[0]:,} | {points.sizes[-1]:,} | {duration(points.seconds[-1])}"
            rows.append(f"| {first} | {name} | {ends} | {points.exponent:.2f} |")
    lines += rows
    threaded = next(series for panel, series in measured if panel.axis == THREADS)
    last = threaded[0].sizes[-1]
    gains = ", ".join(f"{one.curve.name} {one.seconds[0] / one.seconds[-1]:.2f} ×" for one in threaded)
    if last > 1:
        lines += ["", f"{last} threads, times as fast as one: {gains}."]
    return "\n".join(lines)


def main() -> None:
    """Measure, draw, write."""
    from benchmarks.picture import draw

    began = time.perf_counter()
    measured = []
    for panel in panels():
        print(panel.question, file=sys.stderr)
        measured.append((panel, [measure(curve) for curve in panel.curves]))
    draw(measured, PICTURE)
    text = "![Times against sizes, a panel a question](benchmarks/curves.svg)\n\n" + table(measured)
    print(f"{time.perf_counter() - began:.0f} s, {PICTURE}\n\n{text}", file=sys.stderr)
    write_between(BEGIN, END, text)


if __name__ == "__main__":
    main()
