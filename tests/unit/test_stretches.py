"""Rows whose cells stand together take a way of their own, with the same samples as in any other order."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from fastgate.frames import Samples, measured_rows, read_samples
from fastgate.frames.codes import pieces_of
from fastgate.frames.stretches import find_stretches, model_rows

KEYS = ["build", "suite", "kpi"]


def table(n_builds: int = 4, n_cases: int = 60, case: str = "case-{}", **more: Any) -> pl.DataFrame:
    """Cells of `n_cases`, build by build; text cases stand in the order of their numbers, not of their names."""
    n = n_builds * 2 * 3 * n_cases
    row = np.arange(n)
    number = row % n_cases
    return pl.DataFrame(
        {
            "build": [f"build-{i}" for i in row // (6 * n_cases)],
            "suite": [f"suite-{i}" for i in row // (3 * n_cases) % 2],
            "kpi": [f"kpi-{i}" for i in row // n_cases % 3],
            "case": [case.format(i) for i in number] if case else number,
            "value": np.random.default_rng(3).normal(size=n),
            **more,
        }
    )


def stands(frame: pl.DataFrame) -> bool:
    columns = {name: frame[name] for name in frame.columns if name != "value"}
    return find_stretches(columns, KEYS, pieces_of([*columns.values(), frame["value"]])) is not None


def assert_same(one: Samples, other: Samples) -> None:
    assert one.index.equals(other.index)
    assert one.case_names.equals(other.case_names)
    assert np.array_equal(one.cases, other.cases)  # type: ignore[arg-type]
    for mine, theirs in zip(one.parts, other.parts, strict=True):
        assert np.array_equal(mine.offsets, theirs.offsets)
        assert np.array_equal(mine.values.view(np.int64), theirs.values.view(np.int64))
    assert one.fingerprint == other.fingerprint


def in_any_order(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=5)


@pytest.mark.parametrize("case", ["case-{}", "a case with quite a long name {}", ""])
@pytest.mark.parametrize("n_cases", [16, 60, 257])
def test_the_same_samples_as_in_any_order(case: str, n_cases: int) -> None:
    frame = table(n_cases=n_cases, case=case)
    assert stands(frame) or "long" in case
    assert not stands(in_any_order(frame))
    assert_same(read_samples(frame), read_samples(in_any_order(frame)))


def test_cells_in_several_stretches() -> None:
    frame = table(n_cases=200)
    halves = [frame.filter(pl.col("value") < 0), frame.filter(pl.col("value") >= 0)]
    interleaved = pl.concat(
        [part for build in range(4) for half in halves for part in [half.filter(build=f"build-{build}")]]
    )
    # Lists of cases differ from stretch to stretch here: whichever way is taken, the samples are the same.
    assert_same(read_samples(interleaved), read_samples(in_any_order(frame)))
    quarters = table(n_cases=200).with_row_index().with_columns(part=pl.col("index") % 200 // 50)
    apart = quarters.sort("part", "index").drop("part", "index")
    assert stands(apart)
    assert_same(read_samples(apart), read_samples(in_any_order(frame)))


def test_repeated_cases_and_missing_values() -> None:
    frame = table(n_cases=100).with_columns(
        value=pl.when(pl.col("value") > 1).then(None).otherwise(pl.col("value"))
    )
    twice = pl.concat([frame, frame.filter(build="build-1", suite="suite-0")])
    assert stands(twice)
    samples = read_samples(twice)
    assert samples.index.filter(build="build-1", suite="suite-0")["n_duplicates"].to_list() == [100] * 3
    assert samples.index["n_duplicates"].sum() == 300
    assert_same(samples, read_samples(in_any_order(twice)))


@pytest.mark.parametrize("rule", ["mean", "median", "refuse"])
def test_trials(rule: Any) -> None:
    frame = table(n_cases=90, case="")
    frame = frame.with_columns(trial=pl.col("case") % 3, case="c" + (pl.col("case") // 3).cast(pl.String))
    assert stands(frame)
    one, other = read_samples(frame, trials=rule), read_samples(in_any_order(frame), trials=rule)
    assert_same(one, other)
    assert (one.index["n_duplicates"].sum() > 0) == (rule == "refuse")


def test_several_files_of_one_table(tmp_path: Any) -> None:
    frame = table(n_builds=6, n_cases=120)
    for number, part in enumerate(frame.iter_slices(1000)):
        part.write_parquet(tmp_path / f"{number}.parquet")
    assert_same(read_samples(tmp_path), read_samples(in_any_order(frame)))


def test_pairs() -> None:
    frame = table(n_cases=80).rename({"build": "candidate", "value": "candidate_value"})
    frame = frame.with_columns(baseline=pl.lit("old"), baseline_value=pl.col("candidate_value") / 2)
    assert_same(read_samples(frame), read_samples(in_any_order(frame)))


def test_rows_that_stand_together_are_not_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("the way of rows in any order was taken")

    monkeypatch.setattr(measured_rows, "_anyhow", refused)
    assert read_samples(table()).n_rows == 4 * 6 * 60


def test_model_rows() -> None:
    frame = table(n_builds=2, n_cases=20)
    columns = {name: frame[name] for name in frame.columns if name != "value"}
    stretches = find_stretches(columns, KEYS, pieces_of(list(columns.values())))
    assert stretches is not None
    rows, offsets = model_rows(stretches)
    assert rows.tolist() == list(range(20))
    assert offsets.tolist() == [0, 20]
    assert stretches.lists.tolist() == [0] * 12
