"""Measurements read in portions of builds are those read at once, wherever rows stand, however large portions are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fastgate.errors import ArgumentError, DataError
from fastgate.frames import Samples, pack, read_samples
from fastgate.frames.placement import find_placement
from fastgate.frames.portion_rows import lock_file
from fastgate.frames.portions import Portions, open_portions
from fastgate.frames.reading import open_source
from fastgate.progress import Step

MIB = 1 << 20
BASELINES = ["base-a", "base-b"]


def runs(n_builds: int = 24, n_cases: int = 60, seed: int = 1) -> pl.DataFrame:
    """600 rows a build, the baselines somewhere among them."""
    names = [f"build-{i:03d}" for i in range(n_builds)]
    names[5], names[17 % n_builds] = BASELINES
    n = n_builds * 2 * 5 * n_cases
    row = np.arange(n)
    return pl.DataFrame(
        {
            "build": pl.Series(names).gather(row // (10 * n_cases)),
            "suite": pl.Series(["s0", "s1"]).gather(row // (5 * n_cases) % 2),
            "kpi": pl.Series([f"k{i}" for i in range(5)]).gather(row // n_cases % 5),
            "case": [f"c{i}" for i in row % n_cases],
            "value": np.random.default_rng(seed).normal(size=n),
        }
    )


def in_halves(frame: pl.DataFrame) -> pl.DataFrame:
    """The second half of each build stands behind the first half of the next one."""
    half = frame.with_row_index().with_columns(
        where=pl.col("index") // 600 * 600 + pl.col("index") % 600 // 300 * 700
    )
    return half.sort("where", "index").drop("index", "where")


ORDERS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "build by build": lambda frame: frame,
    "in halves": in_halves,
    "suite by suite": lambda frame: frame.sort("suite", maintain_order=True),
    "in any order": lambda frame: frame.sample(fraction=1.0, shuffle=True, seed=2),
}


def cells_of(samples: Samples, builds: list[str]) -> dict[tuple[Any, ...], Any]:
    column = "build" if samples.shape == "runs" else "candidate"
    keys = samples.index.select(pl.col(pl.Enum).cast(pl.String)).rows()
    found = {}
    for row in range(samples.index.height):
        if samples.index[column][row] not in builds:
            continue
        values = [part[row].tobytes() for part in samples.parts]
        cases = samples.case_names.gather(samples.cell_cases(row)).to_list()
        facts = samples.index.select("n_duplicates", "case_fingerprint").row(row)
        found[keys[row]] = (values, cases, facts)
    return found


def assert_whole(portions: Portions, whole: Samples, baselines: list[str]) -> int:
    """Whether the portions are, put together, the samples; their number."""
    met: list[str] = []
    content = None
    every: dict[Any, Any] = {}
    beside = {}
    for portion in portions.read(baselines):
        met += portion.builds
        every |= cells_of(portion.samples, portion.builds)
        beside = cells_of(portion.samples, baselines)
        content = portion.content if content is None else content.plus(portion.content)
    assert sorted(met) == sorted(set(portions.builds) - set(baselines))
    assert every | beside == cells_of(whole, portions.builds)
    if baselines and portions.whole is None:
        known = portions.baselines(baselines)
        assert known is not None
        assert cells_of(known, baselines) == beside
    assert content is not None
    assert content.fingerprint == whole.fingerprint
    return len(set(met))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "ndjson", "frame", "query"])
def test_portions_are_the_whole(tmp_path: Path, order: str, kind: str) -> None:
    frame = ORDERS[order](runs())
    source: Any = tmp_path / f"runs.{kind}"
    if kind == "parquet":
        frame.write_parquet(source, row_group_size=1000)
    elif kind == "arrow":
        frame.write_ipc(source, record_batch_size=700)
    elif kind == "csv":
        frame.write_csv(source)
    elif kind == "ndjson":
        frame.write_ndjson(source)
    else:
        source = frame if kind == "frame" else frame.lazy()
    whole = read_samples(source)
    portions = open_portions(source, memory=MIB)
    assert portions.whole is None
    assert portions.n_rows == frame.height
    assert_whole(portions, whole, BASELINES)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mebibytes", [1, 2, 3, 100])
def test_any_size_of_portions(tmp_path: Path, order: str, mebibytes: int) -> None:
    frame = ORDERS[order](runs(n_cases=100))
    frame.write_parquet(tmp_path / "runs.parquet", row_group_size=500)
    portions = open_portions(tmp_path / "runs.parquet", memory=mebibytes * MIB)
    # 24 000 rows at once take 128 bytes each at most.
    assert (portions.whole is None) == (mebibytes < 3)
    assert_whole(portions, read_samples(frame), BASELINES)


def test_several_files_of_different_types(tmp_path: Path) -> None:
    frame = runs()
    for number, part in enumerate(frame.iter_slices(4000)):
        if number % 2:
            part = part.with_columns(pl.col("value").cast(pl.Float32), pl.col("suite").cast(pl.Categorical))
        part.write_parquet(tmp_path / f"{number}.parquet")
    portions = open_portions(tmp_path, memory=MIB)
    assert portions.whole is None
    assert_whole(portions, read_samples(tmp_path), BASELINES)


def test_files_of_text_and_types(tmp_path: Path) -> None:
    first, second = runs().head(6000), runs().slice(6000)
    first.write_csv(tmp_path / "1.csv")
    second.write_parquet(tmp_path / "2.parquet")
    portions = open_portions(tmp_path, memory=MIB)
    assert_whole(portions, read_samples(runs()), BASELINES)


@pytest.mark.parametrize("shape", ["pairs", "packed runs", "packed pairs", "trials", "integers"])
def test_shapes(tmp_path: Path, shape: str) -> None:
    frame = runs(n_cases=90)
    baselines = BASELINES
    if shape == "trials":
        frame = frame.with_columns(trial=pl.col("case").str.slice(1).cast(pl.Int64) % 3)
        frame = frame.with_columns(case=(pl.col("case").str.slice(1).cast(pl.Int64) // 3).cast(pl.String))
    if shape == "integers":
        frame = frame.with_columns(build=pl.col("build").rank("dense").cast(pl.Int32))
        baselines = ["1", "10"]
    if "pairs" in shape:
        frame = frame.rename({"build": "candidate", "value": "candidate_value"}).with_columns(
            baseline=pl.lit("old"), baseline_value=pl.col("candidate_value").reverse()
        )
        baselines = []
    if "packed" in shape:
        frame = pack(frame).sample(fraction=1.0, shuffle=True, seed=3)
    frame.write_parquet(tmp_path / "some.parquet")
    portions = open_portions(tmp_path / "some.parquet", memory=MIB)
    assert portions.whole is None
    assert_whole(portions, read_samples(tmp_path / "some.parquet"), baselines)


def test_a_build_larger_than_a_portion(tmp_path: Path) -> None:
    frame = runs(n_builds=18, n_cases=600)
    frame.write_parquet(tmp_path / "runs.parquet", row_group_size=1000)
    portions = open_portions(tmp_path / "runs.parquet", memory=MIB)
    assert_whole(portions, read_samples(frame), BASELINES)
    assert max(len(portion.builds) for portion in portions.read(BASELINES)) == 1


def test_small_files_and_moments_are_read_at_once(tmp_path: Path) -> None:
    frame = runs()
    frame.write_parquet(tmp_path / "runs.parquet")
    assert open_portions(tmp_path / "runs.parquet").whole is not None
    moments = frame.group_by("build", "suite", "kpi").agg(
        n=pl.len(), mean=pl.col("value").mean(), variance=pl.col("value").var()
    )
    portions = open_portions(moments, memory=MIB)
    assert portions.whole is not None
    assert [len(portion.builds) for portion in portions.read(BASELINES)] == [22]
    samples = read_samples(frame)
    assert open_portions(samples).whole is samples


def test_builds_and_where_they_stand() -> None:
    frame = pl.DataFrame({"build": ["b"] * 3 + ["a"] * 2 + ["b"] + ["long name number 1"] * 4})
    placement = find_placement(open_source(frame), "build", "build", 2)
    assert placement.builds == ["a", "b", "long name number 1"]
    assert placement.counts.tolist() == [2, 4, 4]
    assert placement.runs is not None
    assert placement.runs.tolist() == [1, 0, 1, 2]
    assert placement.ends.tolist() == [3, 5, 6, 10]
    assert placement.last_rows.tolist() == [5, 6, 10]
    assert placement.most_held() == 5  # the rows of b and a, before a is complete


def test_rows_read_are_told_of(tmp_path: Path) -> None:
    runs().write_parquet(tmp_path / "runs.parquet")
    steps: list[Step] = []
    for _ in open_portions(tmp_path / "runs.parquet", memory=MIB).read(BASELINES, steps.append):
        pass
    done = [step.done for step in steps]
    assert len(done) > 3
    assert done == sorted(done)
    assert steps[-1] == Step("reading", 14_400, 14_400, "rows")


@pytest.mark.parametrize("other", [runs().head(9000), pl.concat([runs(), runs(seed=4)])])
def test_data_that_change_while_they_are_read(other: pl.DataFrame) -> None:
    now = [runs()]
    query = runs().lazy().map_batches(lambda frame: now[0].select(frame.columns), projection_pushdown=False)
    portions = open_portions(query, memory=MIB)
    now[0] = other
    with pytest.raises(DataError, match="changed while they were read"):
        list(portions.read(BASELINES))


def test_a_fault_in_a_late_row(tmp_path: Path) -> None:
    frame = runs().with_columns(value=pl.col("value").cast(pl.String))
    frame[13_000, "value"] = "broken"
    frame.write_csv(tmp_path / "runs.csv")
    with pytest.raises(DataError, match="text that is no number"):
        list(open_portions(tmp_path / "runs.csv", memory=MIB).read(BASELINES))
    nameless = runs().with_columns(build=pl.when(pl.int_range(pl.len()) != 14_000).then("build"))
    nameless.write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(DataError, match="missing in some rows"):
        open_portions(tmp_path / "runs.parquet", memory=MIB)


@pytest.mark.parametrize("memory", [0, -1, 1000, 1.5e9, "2GB"])
def test_memory_that_is_none(memory: Any) -> None:
    with pytest.raises(ArgumentError, match="not enough memory"):
        open_portions(runs(), memory=memory)


def test_temporary_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs().sample(fraction=1.0, shuffle=True, seed=2).write_parquet(tmp_path / "runs.parquet")
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spare"))
    portions = open_portions(tmp_path / "runs.parquet", memory=MIB).read(BASELINES)
    next(portions)
    assert len(list((tmp_path / "spare").rglob("*.arrow"))) > 4
    portions.close()  # type: ignore[attr-defined]
    assert not list((tmp_path / "spare").iterdir())


def test_what_killed_processes_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, new, busy = (tmp_path / f"fastgate-rows-{name}" for name in ("old", "new", "busy"))
    for folder in (old, new, busy):
        folder.mkdir()
        (folder / "000000-000000.arrow").write_text("")
    for folder in (old, busy):
        os.utime(folder, (0, 0))
    frame = runs().sample(fraction=1.0, shuffle=True, seed=2)
    frame.write_parquet(tmp_path / "runs.parquet")
    with (busy / "lock").open("ab") as lock:
        os.utime(busy, (0, 0))
        lock_file(lock)
        for _ in open_portions(tmp_path / "runs.parquet", memory=MIB).read(BASELINES):
            pass
    assert not old.exists()
    assert new.exists()
    assert busy.exists()
    assert len(list(tmp_path.glob("fastgate-rows-*"))) == 2
