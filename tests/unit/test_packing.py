"""The packed shape: what a long table packs to, reads back as the same samples, without copies where it can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fastgate.errors import DataError
from fastgate.frames import case_faults, pack, read_samples

KEYS = ["build", "suite", "kpi"]


def packed(builds: list[str], values: Any, cases: Any = None) -> pl.DataFrame:
    frame = pl.DataFrame({"build": builds, "suite": "s", "kpi": "k", "values": values})
    return frame if cases is None else frame.with_columns(cases=pl.Series(cases))


def long(n: int = 2000, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "build": [f"build {number}" for number in rng.integers(0, 7, n)],
            "suite": [f"suite {number}" for number in rng.integers(0, 3, n)],
            "kpi": [f"kpi {number}" for number in rng.integers(0, 2, n)],
            "case": [f"case {number}" for number in rng.integers(0, 500, n)],
            "value": rng.normal(size=n),
        }
    )
    return frame.with_columns(pl.when(pl.col("value") < 2.0).then("value"))


@pytest.mark.parametrize("unique", [True, False])
def test_packing_and_reading_again_changes_nothing(unique: bool, tmp_path: Path) -> None:
    frame = long().unique([*KEYS, "case"]) if unique else long()
    samples = read_samples(frame)
    table = pack(frame)
    assert table.columns == [*KEYS, "values", "cases"]
    assert table.schema["values"] == pl.List(pl.Float64)
    assert table.schema["cases"] == pl.List(pl.String)
    assert (samples.index["n_duplicates"].sum() == 0) == unique
    table.write_parquet(tmp_path / "x.parquet")
    for source in (
        table,
        table.to_arrow(),
        tmp_path / "x.parquet",
        table.sample(fraction=1, shuffle=True, seed=2),
    ):
        again = read_samples(source)
        assert again.index.equals(samples.index)
        assert again.values.values.tobytes() == samples.values.values.tobytes()
        assert again.values.offsets.tolist() == samples.values.offsets.tolist()
        assert again.cases.tolist() == samples.cases.tolist()
        assert again.fingerprint == samples.fingerprint


def test_pairs_pack_too() -> None:
    frame = long().unique([*KEYS, "case"]).rename({"build": "candidate", "value": "candidate_value"})
    frame = frame.with_columns(baseline=pl.lit("base"), baseline_value=pl.col("candidate_value") + 1)
    samples = read_samples(frame)
    table = pack(samples)
    assert table.columns == [
        "candidate",
        "baseline",
        "suite",
        "kpi",
        "candidate_values",
        "baseline_values",
        "cases",
    ]
    again = read_samples(table)
    assert again.index.equals(samples.index)
    assert again.fingerprint == samples.fingerprint
    np.testing.assert_array_equal(again.parts[1].values, again.parts[0].values + 1)


def test_trials_are_averaged_before_packing() -> None:
    frame = pl.DataFrame(
        {"build": "b", "suite": "s", "kpi": "k", "case": ["x", "x"], "trial": [1, 2], "value": [1.0, 2.0]}
    )
    assert pack(frame)["values"].to_list() == [[1.5]]
    assert pack(frame, trials="refuse")["values"].to_list() == [[1.0, 2.0]]


def test_moments_cannot_be_packed() -> None:
    with pytest.raises(DataError, match="moments cannot be packed"):
        pack(pl.DataFrame({"build": ["b"], "suite": "s", "kpi": "k", "n": 1, "mean": 1.0, "m2": 0.0}))


def test_sorted_lists_are_used_where_they_lie() -> None:
    frame = packed(["a", "b"], [[1.0, 2.0], [3.0]], [["x", "y"], ["x"]])
    samples = read_samples(frame)
    assert np.shares_memory(samples.values.values, frame["values"].explode().to_numpy())
    later = frame.slice(1)
    samples = read_samples(later)
    assert samples.values[0].tolist() == [3.0]
    assert samples.values.offsets.tolist() == [0, 1]
    assert np.shares_memory(samples.values.values, later["values"].explode().to_numpy())


def test_pairs_of_lists_are_used_where_they_lie() -> None:
    frame = pl.DataFrame(
        {"candidate": ["a"], "baseline": ["z"], "suite": "s", "kpi": "k"}
        | {"candidate_values": [[1.0, 2.0]], "baseline_values": [[3.0, 4.0, 5.0]]}
    )
    samples = read_samples(frame)
    assert samples.values.sizes.tolist() == [2, 3], "without case ids the two may have different sizes"
    for part, name in zip(samples.parts, ["candidate_values", "baseline_values"], strict=True):
        assert np.shares_memory(part.values, frame[name].explode().to_numpy())


def test_rows_in_any_order_and_any_chunks_are_cells_in_order() -> None:
    frame = packed(["c", "a", "b"], [[1.0, None], [], [2.0, 3.0]])
    split = pl.concat([frame.slice(0, 1), frame.slice(1)], rechunk=False)
    for source in (frame, split, split.to_arrow()):
        samples = read_samples(source)
        assert samples.index["build"].to_list() == ["a", "b", "c"]
        assert samples.values.sizes.tolist() == [0, 2, 2]
        np.testing.assert_array_equal(samples.values.values, [2.0, 3.0, 1.0, np.nan])
        assert samples.cases is None
        assert samples.index["case_fingerprint"].to_list() == [None] * 3


def test_cases_in_any_order_are_sorted_with_their_values() -> None:
    samples = read_samples(packed(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], [["y", "x"], ["x", "y"]]))
    assert samples.values.values.tolist() == [2.0, 1.0, 3.0, 4.0]
    assert samples.cases.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pl.Series([[1, 2], [3]], dtype=pl.List(pl.Int32)), [1.0, 2.0, 3.0]),
        (pl.Series([[True, False], [True]]), [1.0, 0.0, 1.0]),
        (pl.Series([["1.5", "2"], ["3"]]).cast(pl.List(pl.Decimal(8, 2))), [1.5, 2.0, 3.0]),
        (pl.Series([[1.5, None], None], dtype=pl.List(pl.Float32)), [1.5, np.nan]),
        (pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)), [1.0, 2.0, 3.0, 4.0]),
        (pl.Series([[None], []]), [np.nan]),
    ],
)
def test_lists_of_any_numbers(values: pl.Series, expected: list[float]) -> None:
    np.testing.assert_array_equal(read_samples(packed(["a", "b"], values)).values.values, expected)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Categorical, pl.String])
def test_case_ids_of_any_type(dtype: Any) -> None:
    cases = pl.Series([["2", "1"], [], ["10"]]).cast(pl.List(dtype))
    samples = read_samples(packed(["a", "b", "c"], [[2.0, 1.0], [], [10.0]], cases))
    assert samples.case_names.to_list() == ["1", "10", "2"]
    assert samples.values.values.tolist() == [1.0, 2.0, 10.0]


def test_parts_of_a_cell_are_joined_and_duplicates_found() -> None:
    frame = packed(["a", "b", "a"], [[1.0, 2.0], [9.0], [0.5]], [["x", "z"], ["x"], ["y"]])
    samples = read_samples(frame)
    assert samples.values[0].tolist() == [1.0, 0.5, 2.0]
    assert samples.index["n_duplicates"].to_list() == [0, 0]
    twice = read_samples(frame.with_columns(cases=pl.Series([["x", "z"], ["x"], ["z"]])))
    assert twice.index["n_duplicates"].to_list() == [1, 0]
    assert case_faults(twice, 0, 1).duplicated_in_candidate == ["z"]
    nameless = read_samples(frame.drop("cases"))
    assert nameless.index["n_duplicates"].to_list() == [1, 0], "nothing shows that they are parts"
    assert nameless.fingerprint == read_samples(frame.drop("cases").reverse()).fingerprint
    assert nameless.values[1].tolist() == [9.0]


@pytest.mark.parametrize(
    ("values", "cases", "part"),
    [
        ([[1.0, 2.0], [3.0]], [["x"], ["x"]], "1 cases and 2 values in row 1"),
        ([[1.0], None], [["x"], ["x"]], "1 cases and 0 values in row 2"),
        ([[1.0], [2.0]], [["x"], [None]], "the key 'cases' is missing"),
        ([[1.0], [2.0]], ["x", "y"], "'cases' does not hold lists"),
        ([1.0, 2.0], None, "'values' does not hold lists"),
        ([["1"], ["2"]], None, "'values' does not hold numbers"),
        ([[[1.0]], [[2.0]]], None, "'values' does not hold numbers"),
    ],
)
def test_unusable_lists_are_explained(values: Any, cases: Any, part: str) -> None:
    with pytest.raises(DataError) as caught:
        read_samples(packed(["a", "b"], values, cases))
    assert part in str(caught.value)
