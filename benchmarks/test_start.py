"""How long a command takes from the shell: start-up, the README's main command, the first run of all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import child
from benchmarks.workloads import FULL

DATA = Path(__file__).parent.parent / "data"
MAIN = [
    *child.FASTGATE,
    "benchmark",
    str(DATA / "automl_1h.parquet"),
    "--policy",
    str(DATA / "automl_policy.toml"),
]
BLOCKED = (1,)
LIBRARIES = "import numba, polars, pyarrow"


def time_command(
    benchmark: Any, command: list[str], expected: tuple[int, ...] = (0,), rounds: int = 5
) -> None:
    benchmark.pedantic(child.run, (command, expected), rounds=rounds, warmup_rounds=1)


@pytest.mark.benchmark(group="fastgate --version")
class TestVersion:
    def test_fastgate(self, benchmark: Any) -> None:
        time_command(benchmark, [*child.FASTGATE, "--version"])

    def test_import_msgspec(self, benchmark: Any) -> None:
        time_command(benchmark, [sys.executable, "-c", "import msgspec"])


@pytest.mark.benchmark(group="the README's main command, kernels cached")
class TestMainCommand:
    def test_fastgate(self, benchmark: Any) -> None:
        time_command(benchmark, MAIN, BLOCKED)

    def test_import_numba_polars_pyarrow(self, benchmark: Any) -> None:
        time_command(benchmark, [sys.executable, "-c", LIBRARIES])


def test_first_run(benchmark: Any, tmp_path: Path) -> None:
    """Nothing compiled yet: one round, since the second finds the kernels of the first."""
    benchmark.group = "the README's main command, no kernel compiled yet"
    benchmark.extra_info["side"] = "fastgate"
    benchmark.pedantic(child.run, (MAIN, BLOCKED), {"NUMBA_CACHE_DIR": str(tmp_path)}, rounds=1)
    assert any(tmp_path.rglob("*.nbc"))


@pytest.mark.skipif(not FULL, reason="compiles every kernel, for minutes: with FASTGATE_BENCH=full")
class TestWarmup:
    def test_fastgate(self, benchmark: Any, tmp_path: Path) -> None:
        """Nothing compiled yet: one round."""
        benchmark.group = "fastgate warmup, no kernel compiled yet"
        command = [*child.FASTGATE, "warmup"]
        benchmark.pedantic(child.run, (command,), {"NUMBA_CACHE_DIR": str(tmp_path)}, rounds=1)

    def test_nothing_left_to_compile(self, benchmark: Any) -> None:
        benchmark.group = "fastgate warmup, kernels cached"
        benchmark.extra_info["side"] = "fastgate"
        benchmark.pedantic(child.run, ([*child.FASTGATE, "warmup"],), rounds=3, warmup_rounds=1)
