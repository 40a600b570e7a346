"""How long a command takes from the shell: start-up, and the README's main command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent.parent / "data"
FASTGATE = [sys.executable, "-m", "fastgate"]


def run(command: list[str], expected: int = 0) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stderr


def time_command(benchmark: Any, command: list[str], expected: int = 0) -> None:
    benchmark.pedantic(run, (command, expected), rounds=9, warmup_rounds=2)


@pytest.mark.benchmark(group="fastgate --version")
class TestVersion:
    def test_fastgate(self, benchmark: Any) -> None:
        time_command(benchmark, [*FASTGATE, "--version"])

    def test_import_msgspec(self, benchmark: Any) -> None:
        time_command(benchmark, [sys.executable, "-c", "import msgspec"])


@pytest.mark.benchmark(group="the README's main command, kernels cached")
class TestMainCommand:
    def test_fastgate(self, benchmark: Any) -> None:
        command = [*FASTGATE, "benchmark", str(DATA / "automl_1h.parquet")]
        time_command(benchmark, [*command, "--policy", str(DATA / "automl_policy.toml")], expected=1)

    def test_import_numba_polars_pyarrow(self, benchmark: Any) -> None:
        time_command(benchmark, [sys.executable, "-c", "import numba, polars, pyarrow"])
