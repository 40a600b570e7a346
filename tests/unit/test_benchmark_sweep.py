"""A sweep written to a folder is the gate's result, whatever the portions, and however often it was interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fastgate
from fastgate.errors import ArgumentError, DataError, PolicyError
from fastgate.gates.benchmark.gate import benchmark_gate
from fastgate.gates.benchmark.result import TABLES, BenchmarkResult
from fastgate.gates.benchmark.sweep import BenchmarkSweep, benchmark_sweep
from fastgate.progress import Step

MIB = 1 << 20
POLICY: dict[str, Any] = {
    "gate": "benchmark",
    "name": "sweep",
    "baselines": ["base-a", "base-b"],
    "min_suite_wins": 2,
    "kpis": {"k0": {"direction": "higher"}, "k1": {"direction": "lower"}},
    "suites": {f"s{i}": {"decided_by": "k0", "guards": {"k1": {}}} for i in range(3)},
}


def runs(n_builds: int = 26, n_cases: int = 100, seed: int = 1) -> pl.DataFrame:
    """600 rows a build; builds are better the higher their number, and the last one lacks a case."""
    names = [f"build-{i:03d}" for i in range(n_builds)]
    names[5], names[n_builds // 2] = "base-a", "base-b"
    n = n_builds * 3 * 2 * n_cases
    row = np.arange(n)
    build = row // (6 * n_cases)
    better = np.where(np.isin(build, [5, n_builds // 2]), 0.0, 0.03 * build)
    frame = pl.DataFrame(
        {
            "build": pl.Series(names).gather(build),
            "suite": pl.Series(["s0", "s1", "s2"]).gather(row // (2 * n_cases) % 3),
            "kpi": pl.Series(["k0", "k1"]).gather(row // n_cases % 2),
            "case": [f"c{i}" for i in row % n_cases],
            "value": np.random.default_rng(seed).normal(size=n)
            + np.where(row // n_cases % 2 == 0, better, 0.0),
        }
    )
    return frame.head(n - 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.parquet"
    runs().write_parquet(path, row_group_size=2000)
    return path


def assert_equal(one: BenchmarkResult, other: BenchmarkResult) -> None:
    for name in TABLES:
        mine, theirs = one.tables[name], other.tables[name]
        for frame in (mine, theirs):
            assert frame.columns == list(TABLES[name])
        text = pl.selectors.enum().cast(pl.String)
        assert mine.with_columns(text).equals(theirs.with_columns(text)), name
    assert one.evidence == other.evidence
    assert one.policy == other.policy
    assert one.verdict == other.verdict


@pytest.mark.parametrize("order", ["build by build", "suite by suite", "any"])
def test_the_gate_in_portions(tmp_path: Path, order: str) -> None:
    frame = runs()
    if order == "suite by suite":
        frame = frame.sort("suite", maintain_order=True)
    elif order == "any":
        frame = frame.sample(fraction=1.0, shuffle=True, seed=3)
    frame.write_parquet(tmp_path / "runs.parquet", row_group_size=2000)
    whole = benchmark_gate(frame, POLICY)
    assert set(whole.verdicts["verdict"].cast(pl.String)) == {"pass", "block"}
    assert_equal(benchmark_gate(tmp_path / "runs.parquet", POLICY, memory=MIB), whole)
    sweep = benchmark_sweep(tmp_path / "runs.parquet", POLICY, tmp_path / "out", memory=MIB)
    assert len(list((tmp_path / "out" / "cells").glob("*.parquet"))) > 4
    assert_equal(sweep.load(), whole)
    assert sweep.verdict == whole.verdict
    assert sweep.exit_code() == 1
    assert list(sweep) == list(whole)
    assert len(sweep) == 24
    assert sweep["build-025"] == "block"
    assert sweep.scan("cells").select(pl.len()).collect().item() == whole.cells.height
    assert_equal(benchmark_sweep(frame, POLICY, tmp_path / "at once").load(), whole)


@pytest.mark.parametrize(
    "options",
    [
        {"candidates": ["build-020", "build-003", "build-024"]},
        {"replicates": 30, "replicates_seed": 4},
        {"policy": {**POLICY, "test": "paired"}},
        {"policy": {**POLICY, "correction": {"method": "holm"}}},
        {"policy": {**POLICY, "correction": {"method": "bh", "family": "sweep"}}},
        {"policy": {**POLICY, "test": "bootstrap", "bootstrap": {"n_resamples": 199}}},
        {"policy": {**POLICY, "require_same_cases": False, "test": "paired"}},
    ],
    ids=["candidates", "replicates", "paired", "holm", "sweep", "bootstrap", "cases"],
)
def test_options(file: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    policy = options.pop("policy", POLICY)
    whole = benchmark_gate(file, policy, **options)
    assert_equal(benchmark_gate(file, policy, memory=MIB, **options), whole)
    assert_equal(benchmark_sweep(file, policy, tmp_path / "out", memory=MIB, **options).load(), whole)


def test_a_previous_result(file: Path, tmp_path: Path) -> None:
    before = benchmark_gate(runs(seed=7), POLICY)
    before.save(tmp_path / "before.json")
    for options in ({}, {"previous_candidate": "build-024"}):
        whole = benchmark_gate(file, POLICY, previous=before, **options)  # type: ignore[arg-type]
        sweep = benchmark_sweep(
            file, POLICY, tmp_path / "out", previous=tmp_path / "before.json", memory=MIB, **options
        )
        assert whole.suites["lost"].any()
        assert_equal(sweep.load(), whole)


class InterruptionError(Exception):
    """What ends a sweep in the middle."""


def interrupted(file: Path, folder: Path, after: int, **options: Any) -> None:
    def stop(step: Step) -> None:
        if step.stage == "judging" and step.done >= after:
            raise InterruptionError

    with pytest.raises(InterruptionError):
        benchmark_sweep(file, POLICY, folder, memory=MIB, listener=stop, **options)


def parts(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in sorted(folder.glob("*/*"))}


def test_an_interrupted_sweep_goes_on(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    interrupted(file, folder, 7)
    with pytest.raises(DataError, match="no saved result"):
        fastgate.load(folder)
    some = parts(folder)
    assert some
    interrupted(file, folder, 14, resume=True)
    more = parts(folder)
    assert more.items() > some.items()
    sweep = benchmark_sweep(file, POLICY, folder, memory=MIB, resume=True)
    assert parts(folder).items() > more.items()
    assert_equal(sweep.load(), benchmark_gate(file, POLICY))
    complete = parts(folder)
    again = benchmark_sweep(file, POLICY, folder, memory=MIB, resume=True)
    assert parts(folder) == complete
    assert again.verdicts.equals(sweep.verdicts)
    benchmark_sweep(file, POLICY, folder, memory=MIB)
    assert not parts(folder).items() & complete.items()


def test_a_file_is_never_half_written(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: pl.DataFrame, target: Any, **_: Any) -> None:
        target.write(b"PAR1 half of it")
        raise InterruptionError

    folder = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(pl.DataFrame, "write_parquet", broken)
        with pytest.raises(InterruptionError):
            benchmark_sweep(file, POLICY, folder, memory=MIB)
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert_equal(
        benchmark_sweep(file, POLICY, folder, memory=MIB, resume=True).load(), benchmark_gate(file, POLICY)
    )


def test_parts_of_something_else_are_judged_anew(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    interrupted(file, folder, 14)
    before = parts(folder)
    other = runs().with_columns(
        value=pl.when(pl.int_range(pl.len()) == 100).then(9.0).otherwise(pl.col("value"))
    )
    other.write_parquet(file)
    sweep = benchmark_sweep(file, POLICY, folder, memory=MIB, resume=True)
    assert_equal(sweep.load(), benchmark_gate(other, POLICY))
    kept = parts(folder).items() & before.items()
    # The row belongs to the first builds; the parts of others may be kept.
    assert kept
    assert len(kept) < len(before)
    stricter = {**POLICY, "alpha": 0.01}
    sweep = benchmark_sweep(file, stricter, folder, memory=MIB, resume=True)
    assert not parts(folder).items() & kept
    assert_equal(sweep.load(), benchmark_gate(other, stricter))


def test_a_damaged_part_is_judged_anew(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    interrupted(file, folder, 14)
    first, second, *_ = sorted((folder / "cells").glob("*.parquet"))
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    second.unlink()
    sorted((folder / "parts").glob("*.json"))[-1].write_text("{")
    sweep = benchmark_sweep(file, POLICY, folder, memory=MIB, resume=True)
    assert_equal(sweep.load(), benchmark_gate(file, POLICY))


def test_portions_of_another_size_leave_nothing_behind(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    interrupted(file, folder, 14)
    (folder / "notes.txt").write_text("not fastgate's")
    sweep = benchmark_sweep(file, POLICY, folder, memory=2 * MIB, resume=True)
    assert_equal(sweep.load(), benchmark_gate(file, POLICY))
    manifest = json.loads((folder / "result.json").read_bytes())
    named = {
        file["file"] for name, files in manifest["tables"].items() if name != "verdicts" for file in files
    }
    assert {name for name in parts(folder) if name.split("/")[0] in TABLES} == named
    assert (folder / "notes.txt").exists()


def test_a_changed_part_is_refused(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    benchmark_sweep(file, POLICY, folder, memory=MIB)
    part = sorted((folder / "suites").glob("*.parquet"))[1]
    pl.read_parquet(part).head(3).write_parquet(part)
    with pytest.raises(DataError, match="changed since it was saved"):
        fastgate.load(folder)


def test_what_the_policy_names_must_be_somewhere(file: Path, tmp_path: Path) -> None:
    suites = {**POLICY["suites"], "s3": POLICY["suites"]["s0"]}
    with pytest.raises(DataError, match="nothing of the policy's suite 's3'"):
        benchmark_sweep(file, {**POLICY, "suites": suites}, tmp_path / "out", memory=MIB)
    assert not (tmp_path / "out" / "result.json").exists()
    with pytest.raises(DataError, match="nothing of the policy's baseline 'base-c'"):
        benchmark_sweep(file, {**POLICY, "baselines": ["base-c"]}, tmp_path / "out", memory=MIB)
    late = runs()
    late = late.with_columns(kpi=pl.when(pl.col("build") == "build-024").then(pl.lit("k9")).otherwise("kpi"))
    late.write_parquet(file)
    with pytest.raises(DataError, match="kpis that the policy does not name"):
        benchmark_sweep(file, POLICY, tmp_path / "out", memory=MIB)
    ignoring = {**POLICY, "unlisted": "ignore"}
    sweep = benchmark_sweep(file, ignoring, tmp_path / "out", memory=MIB)
    assert sweep.evidence["ignored"] == {"kpis": ["k9"]}
    assert_equal(sweep.load(), benchmark_gate(late, ignoring))


def test_a_suite_that_only_candidates_have(file: Path, tmp_path: Path) -> None:
    frame = runs().filter((pl.col("suite") != "s2") | ~pl.col("build").str.starts_with("base"))
    frame.write_parquet(file)
    sweep = benchmark_sweep(file, POLICY, tmp_path / "out", memory=MIB)
    assert_equal(sweep.load(), benchmark_gate(frame, POLICY))


def test_faults_of_baselines_are_told_once(file: Path, tmp_path: Path) -> None:
    broken = (pl.col("build") == "base-a") & (pl.col("case") == "c7") & (pl.col("suite") == "s1")
    frame = runs().with_columns(value=pl.when(~broken).then("value"))
    frame.write_parquet(file)
    whole = benchmark_gate(frame, POLICY)
    faults = benchmark_sweep(file, POLICY, tmp_path / "out", memory=MIB).load().faults
    assert faults.equals(whole.faults)
    assert faults.filter(build="base-a", fault="missing_value").height == 2


def test_wrong_calls(file: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match="written to a folder"):
        benchmark_sweep(file, POLICY, tmp_path / "taken")
    with pytest.raises(ArgumentError, match="no candidate 'build-999'"):
        benchmark_sweep(file, POLICY, tmp_path / "out", candidates=["build-999"], memory=MIB)
    with pytest.raises(PolicyError):
        benchmark_sweep(file, {**POLICY, "alpha": 2}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_result_says_what_it_is(file: Path, tmp_path: Path) -> None:
    sweep = benchmark_sweep(file, POLICY, tmp_path / "out", memory=MIB)
    assert isinstance(sweep, BenchmarkSweep)
    assert sweep.gate == "benchmark"
    with pytest.raises(KeyError):
        sweep["nobody"]
    assert fastgate.load(tmp_path / "out").explain("build-020")["candidate"] == "build-020"


def test_one_run_at_a_time(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"

    def again(step: Step) -> None:
        if step.stage == "judging" and step.done:
            with pytest.raises(DataError, match="another run is writing"):
                benchmark_sweep(file, POLICY, folder, memory=MIB)

    sweep = benchmark_sweep(file, POLICY, folder, memory=MIB, listener=again)
    assert_equal(sweep.load(), benchmark_gate(file, POLICY))
    assert not (folder / ".lock").exists()


def test_a_folder_of_something_else_is_left_alone(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    assert benchmark_sweep(file, POLICY, folder).verdict == "block"  # an empty one is not
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match="holds something else"):
        benchmark_sweep(file, POLICY, other)
    (other / "result.json").write_text('{"gate": "stability"}')
    with pytest.raises(DataError, match="holds something else") as caught:
        benchmark_sweep(file, POLICY, other)
    assert "a result of the stability gate" in str(caught.value)
    assert (other / "thesis.txt").exists()


def test_a_result_saved_there_before_is_replaced(file: Path, tmp_path: Path) -> None:
    benchmark_gate(file, {**POLICY, "alpha": 0.01}).save(tmp_path / "out")
    sweep = benchmark_sweep(file, POLICY, tmp_path / "out", memory=MIB)
    assert {path.name for path in (tmp_path / "out").glob("*.parquet")} == {"verdicts.parquet"}
    assert_equal(sweep.load(), benchmark_gate(file, POLICY))


def test_what_was_kept_is_counted(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first = benchmark_sweep(file, POLICY, folder, memory=MIB, resume=True)
    assert (first.kept, first.parts > 4) == (0, True)
    again = benchmark_sweep(file, POLICY, folder, memory=MIB, resume=True)
    assert (again.kept, again.parts) == (first.parts, first.parts)


def test_a_full_disk_is_no_internal_error(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: pl.DataFrame, target: Any, **_: Any) -> None:
        raise pl.exceptions.ComputeError("parquet: IO error: No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(DataError, match="cannot be written") as caught:
        benchmark_sweep(file, POLICY, tmp_path / "out", memory=MIB)
    assert "make room, and go on with --resume" in str(caught.value)
