"""The thread pool: ranges cover every cell once, whatever the number of threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastgate import threads
from fastgate.errors import ArgumentError


@pytest.mark.parametrize("count", ["1", "2", "7"])
@pytest.mark.parametrize("n_cells", [0, 1, 2, 5, 1000])
@pytest.mark.parametrize("ragged", [False, True])
def test_every_cell_is_visited_once(
    monkeypatch: pytest.MonkeyPatch, count: str, n_cells: int, ragged: bool
) -> None:
    monkeypatch.setenv("FASTGATE_NUM_THREADS", count)
    visits = np.zeros(n_cells, np.int64)

    def kernel(start: int, stop: int, out: Any) -> None:
        assert start < stop
        out[start:stop] += 1

    sizes = np.random.default_rng(n_cells).integers(0, 3, n_cells) * 10**6
    work = np.concatenate(([0], np.cumsum(sizes))) if ragged else 1e6
    threads.run(kernel, n_cells, visits, work=work)
    assert (visits == 1).all()


def test_an_error_in_a_range_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "2")

    def kernel(start: int, stop: int) -> None:
        if start <= 50 < stop:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.run(kernel, 100, work=1e6)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_number_of_threads_that_is_none(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("FASTGATE_NUM_THREADS", text)
    with pytest.raises(ArgumentError, match="FASTGATE_NUM_THREADS"):
        threads.thread_count()


def test_unset_means_the_cores_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FASTGATE_NUM_THREADS", raising=False)
    assert 1 <= threads.thread_count() <= (os.cpu_count() or 1)


GATE = """
import json, sys, fastgate
result = fastgate.benchmark_gate(sys.argv[1], sys.argv[2])
print(json.dumps(result.to_dict()))
"""


def test_the_gate_gives_the_same_bits_on_any_number_of_threads(data: Path) -> None:
    def run(count: str) -> Any:
        environment = {**os.environ, "FASTGATE_NUM_THREADS": count}
        command = [
            sys.executable,
            "-c",
            GATE,
            str(data / "automl_1h.parquet"),
            str(data / "automl_policy.toml"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return json.loads(done.stdout)

    assert run("1") == run("2") == run("5")


def test_concurrent_calls(data: Path) -> None:
    import fastgate

    results: list[Any] = []

    def call() -> None:
        result = fastgate.benchmark_gate(data / "automl_1h.parquet", data / "automl_policy.toml")
        results.append(result.to_dict()["sha256"])

    callers = [threading.Thread(target=call) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(results) == 6
    assert len(set(results)) == 1
