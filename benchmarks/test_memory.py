"""The memory that judging a file takes as the file grows, each command in a process of its own.

``extra_info["peak_bytes"]`` is the most that the process held at once, its libraries and the mapped pages of its
files included.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import child
from benchmarks.workloads import BASELINES, BUILD_ROWS, FULL, write_sweep, write_sweep_policy

CANDIDATES = (2_500, 5_000, 10_000) if FULL else (125, 500)

READING = "import sys, polars; polars.read_parquet(sys.argv[1])"
GROUPING = """
import sys, polars
value = polars.col("value")
query = polars.scan_parquet(sys.argv[1]).group_by("build", "suite", "kpi")
query.agg(value.mean().alias("mean"), value.var().alias("var")).collect(engine="streaming")
"""
MEMORY = "2G" if FULL else "100M"  # what reading may take: every file but the shortest is larger by itself
SIDES = ["fastgate", "Polars reading the file alone", "Polars streaming group_by of mean and var"]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sweep's policy as a file."""
    return write_sweep_policy(tmp_path_factory.mktemp("policy") / "policy.toml")


@pytest.fixture(scope="module", params=CANDIDATES)
def sweep(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    path = tmp_path_factory.mktemp("memory") / "sweep.parquet"
    return request.param, write_sweep(path, request.param)


@pytest.mark.parametrize("side", SIDES)
def test_judging_a_file(
    benchmark: Any, sweep: tuple[int, Path], policy: Path, side: str, tmp_path: Path
) -> None:
    candidates, path = sweep
    rows = (candidates + BASELINES) * BUILD_ROWS
    written = ["-o", f"{tmp_path}/result/", "--memory", MEMORY]
    commands = {
        "fastgate": [*child.FASTGATE, "benchmark", path, "--policy", policy, "-q", *written],
        "Polars reading the file alone": child.python(READING, path),
        "Polars streaming group_by of mean and var": child.python(GROUPING, path),
    }
    expected = (0, 1, 3) if side == "fastgate" else (0,)
    benchmark.group = f"a sweep of {rows:,} rows in Parquet, judged by the command with --memory {MEMORY}"
    peak = benchmark.pedantic(child.peak_bytes, (commands[side], expected), rounds=1, warmup_rounds=0)
    benchmark.extra_info |= {"side": side, "peak_bytes": peak, "file_bytes": path.stat().st_size}
