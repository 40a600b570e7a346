"""``fastgate benchmark -o FOLDER/``: written as it comes, resumed after whatever ended it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import fastgate

if TYPE_CHECKING:
    from tests.cli.conftest import Command

POLICY = """
gate = "benchmark"
name = "nightly"
baselines = ["base"]
min_suite_wins = 2
suites = ["s0", "s1"]

[suite_defaults]
decided_by = "score"

[kpis.score]
direction = "higher"
"""


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Forty builds of 400 rows, and a policy."""
    n_builds, n_cases = 40, 200
    row = np.arange(n_builds * 2 * n_cases)
    build = row // (2 * n_cases)
    names = pl.Series(["base", *(f"build-{i:02d}" for i in range(1, n_builds))])
    pl.DataFrame(
        {
            "build": names.gather(build),
            "suite": pl.Series(["s0", "s1"]).gather(row // n_cases % 2),
            "kpi": "score",
            "case": row % n_cases,
            "value": np.random.default_rng(4).normal(size=row.size) + 0.02 * build,
        }
    ).write_parquet(tmp_path / "runs.parquet", row_group_size=1000)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def arguments(folder: Path, *more: str) -> list[str]:
    return ["benchmark", str(folder / "runs.parquet"), "--policy", str(folder / "policy.toml"), *more]


def test_a_sweep_into_a_folder(command: Command, sweep: Path) -> None:
    out = sweep / "tonight"
    streamed = command(*arguments(sweep, "-o", f"{out}/", "--memory", "1M"))
    at_once = command(*arguments(sweep, "-o", str(sweep / "tonight.json")))
    assert streamed.code == at_once.code == 1
    assert len(list((out / "cells").glob("*.parquet"))) > 4
    assert streamed.out.replace(str(out), "X") == at_once.out.replace(str(sweep / "tonight.json"), "X")
    assert "Hardest suites" in streamed.out
    saved, other = fastgate.load(out), fastgate.load(sweep / "tonight.json")
    assert saved.to_dict()["cells"] == other.to_dict()["cells"]
    assert command("explain", str(out), "--candidate", "build-12").code == 0


def test_other_outputs_beside_it(command: Command, sweep: Path) -> None:
    out = sweep / "tonight.parquet"
    shown = command(
        *arguments(sweep, "-o", str(out), "-o", str(sweep / "a.md"), "-o", str(sweep / "a.json"), "--json"),
        "--memory",
        "1M",
    )
    result = json.loads(shown.out)
    assert result == json.loads((sweep / "a.json").read_text())
    assert "39 candidates" in (sweep / "a.md").read_text()
    assert len(result["verdicts"]) == 39
    assert fastgate.load(out).verdict == "block"


def test_few_candidates_are_shown_each(command: Command, sweep: Path) -> None:
    shown = command(
        *arguments(sweep, "-o", f"{sweep}/two/", "--candidate", "build-01", "--candidate", "build-39")
    )
    assert "PASS build-39" in shown.out
    assert "BLOCK build-01" in shown.out
    quiet = command(*arguments(sweep, "-o", f"{sweep}/two/", "--candidate", "build-39", "-q"))
    assert (quiet.out, quiet.code) == ("pass\tbuild-39\n", 0)


def test_what_memory_is(command: Command, sweep: Path) -> None:
    for text, words in (("much", "'much' is no size, as 500M or 2GB are"), ("1K", "not enough memory")):
        failed = command(*arguments(sweep, "--memory", text))
        assert failed.code == 2
        assert words in failed.err
    for text in ("1GB", "1.5 GiB", "500m", "2097152"):
        assert command(*arguments(sweep, "--memory", text, "-q")).code == 1


def test_one_folder_is_enough(command: Command, sweep: Path) -> None:
    failed = command(*arguments(sweep, "-o", f"{sweep}/a/", "-o", f"{sweep}/b.parquet"))
    assert failed.code == 2
    assert "name one folder" in failed.err
    # The slash says what is wanted, whatever else the name says.
    assert command(*arguments(sweep, "-o", f"{sweep}/c.json/", "-q")).code == 1
    assert (sweep / "c.json" / "result.json").exists()


def test_resuming_takes_a_folder(command: Command, sweep: Path) -> None:
    failed = command(*arguments(sweep, "-o", str(sweep / "a.json"), "--resume"))
    assert failed.code == 2
    assert "say which, -o FOLDER/" in failed.err
    assert command(*arguments(sweep, "-o", f"{sweep}/new/", "--resume")).code == 1


def test_a_file_in_the_place_of_the_folder(command: Command, sweep: Path) -> None:
    (sweep / "taken").write_text("")
    failed = command(*arguments(sweep, "-o", f"{sweep}/taken/"))
    assert failed.code == 2
    assert "something else stands where the output would be written" in failed.err


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_sweep_is_resumed(command: Command, sweep: Path, how: signal.Signals) -> None:
    out = sweep / "tonight"
    # A drawing for each of many replicates makes every portion take its time.
    resumable = arguments(sweep, "-o", f"{out}/", "--memory", "1M", "--replicates", "20000")
    process = subprocess.Popen(
        [sys.executable, "-m", "fastgate", *resumable], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while not list(out.glob("parts/*.json")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, how)
    _, error = process.communicate()
    assert process.returncode == (-signal.SIGKILL if how is signal.SIGKILL else 128 + how), error
    assert not (out / "result.json").exists()
    begun = {path: path.stat().st_mtime_ns for path in out.glob("*/*")}
    failed = command("explain", str(out), "--candidate", "build-12")
    assert failed.code == 2
    assert "interrupted run" in failed.err

    assert command(*resumable, "--resume").code == 1
    kept = [path for path, written in begun.items() if path.exists() and path.stat().st_mtime_ns == written]
    assert kept
    # Nothing is left of what was being written.
    assert not list(out.rglob(".*"))
    assert command(*arguments(sweep, "-o", str(sweep / "at once.json"), "--replicates", "20000")).code == 1
    one, other = fastgate.load(out), fastgate.load(sweep / "at once.json")
    assert one.to_dict()["verdicts"] == other.to_dict()["verdicts"]
    assert one.to_dict()["cells"] == other.to_dict()["cells"]
    assert one.evidence == other.evidence
