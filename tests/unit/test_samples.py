"""Samples from every shape and type; the faults of data stay with their cells."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from fastgate.errors import ArgumentError, DataError
from fastgate.frames import Samples, case_faults, read_samples
from fastgate.frames.samples import text_hashes

RUNS = pl.DataFrame(
    {
        "build": ["new", "base", "new", "base", "new"],
        "suite": ["s", "s", "s", "s", "t"],
        "kpi": ["k"] * 5,
        "case": ["b", "a", "a", "b", "a"],
        "value": [1.0, 2.0, None, 4.0, math.nan],
    }
)
PAIRS = pl.DataFrame(
    {
        "candidate": ["new", "new"],
        "baseline": ["base", "base"],
        "suite": ["s", "s"],
        "kpi": ["k", "k"],
        "case": ["b", "a"],
        "candidate_value": [1.0, None],
        "baseline_value": [4.0, 2.0],
    }
)


def same(one: Samples, other: Samples) -> bool:
    """Bit by bit."""
    return (
        one.index.equals(other.index)
        and one.shape == other.shape
        and all(
            a.values.tobytes() == b.values.tobytes() and a.offsets.tolist() == b.offsets.tolist()
            for a, b in zip(one.parts, other.parts, strict=True)
        )
        and (one.cases is None) == (other.cases is None)
        and (one.cases is None or other.cases is None or one.cases.tolist() == other.cases.tolist())
        and one.case_names.equals(other.case_names)
        and one.fingerprint == other.fingerprint
    )


def test_runs_become_cells_in_the_order_of_names() -> None:
    samples = read_samples(RUNS)
    assert samples.shape == "runs"
    assert samples.n_rows == 5
    assert samples.n_cells == 3
    assert samples.index.select("build", "suite").rows() == [("base", "s"), ("new", "s"), ("new", "t")]
    assert samples.index.schema["build"] == pl.Enum(["base", "new"])
    assert [cell.tolist() for cell in samples.values][:1] == [[2.0, 4.0]]
    assert np.isnan(samples.values[1][0])
    assert samples.values[1][1] == 1.0
    assert samples.case_names.to_list() == ["a", "b"]
    assert samples.cell_cases(1).tolist() == [0, 1]
    assert samples.index["n_duplicates"].to_list() == [0, 0, 0]
    fingerprints = samples.index["case_fingerprint"].to_list()
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]


def test_pairs_become_two_cells_a_row() -> None:
    samples = read_samples(PAIRS)
    assert samples.shape == "pairs"
    assert samples.n_cells == 2
    row = samples.index.row(0, named=True)
    assert (row["candidate"], row["baseline"], row["candidate_cell"], row["baseline_cell"]) == (
        "new",
        "base",
        0,
        1,
    )
    assert samples.index.schema["candidate"] == samples.index.schema["baseline"] == pl.Enum(["base", "new"])
    np.testing.assert_array_equal(samples.values[0], [np.nan, 1.0])
    np.testing.assert_array_equal(samples.values[1], [2.0, 4.0])
    assert samples.cell_cases(0).tolist() == samples.cell_cases(1).tolist() == [0, 1]
    assert len(samples.parts) == 2


@pytest.mark.parametrize(
    "where", ["polars", "lazy", "pandas", "table", "reader", "duckdb", "parquet", "csv", "ndjson", "arrow"]
)
def test_every_kind_of_source_gives_the_same_samples(where: str, tmp_path: Path) -> None:
    frame = RUNS.with_columns(pl.col("value").fill_nan(None))
    table = frame.to_arrow()
    path = tmp_path / f"x.{where}"
    if where in ("parquet", "csv", "ndjson"):
        getattr(frame, f"write_{where}")(path)
    elif where == "arrow":
        frame.write_ipc(path)
    sources: dict[str, Any] = {
        "polars": lambda: frame,
        "lazy": frame.lazy,
        "pandas": frame.to_pandas,
        "table": lambda: table,
        "reader": table.to_reader,
        "duckdb": lambda: duckdb.from_arrow(table),
    }
    source = sources[where]() if where in sources else path
    assert same(read_samples(source), read_samples(RUNS))


@pytest.mark.parametrize(
    "dtype",
    [
        pl.String,
        pl.Categorical,
        pl.Enum(["3", "20", "1"]),
        pl.Int8,
        pl.UInt16,
        pl.Int64,
        pl.UInt64,
        pl.Int128,
    ],
)
def test_keys_of_any_type_become_text(dtype: Any) -> None:
    frame = RUNS.with_columns(build=pl.Series(["3", "20", "3", "20", "1"]))
    typed = frame.with_columns(
        pl.col("build").cast(pl.Int64).cast(dtype) if dtype.is_integer() else pl.col("build").cast(dtype)
    )
    assert same(read_samples(typed), read_samples(frame))
    assert read_samples(typed).index["build"].to_list() == ["1", "20", "3"], "sorted as text"


def test_dates_are_names() -> None:
    frame = RUNS.with_columns(build=pl.lit("2024-05-01").str.to_date())
    assert read_samples(frame).index["build"].cast(pl.String).to_list()[0] == "2024-05-01"


def test_extreme_integers_keep_their_digits() -> None:
    largest = pl.Series([2**64 - 1, 2**63, 0, 1, 2], dtype=pl.UInt64)
    names = read_samples(RUNS.with_columns(case=largest)).case_names.to_list()
    assert names == sorted(["18446744073709551615", "9223372036854775808", "0", "1", "2"])


@pytest.mark.parametrize(
    "dtype", [pl.Float64, pl.Float32, pl.Int8, pl.Int64, pl.UInt64, pl.Decimal(20, 3), pl.Int128]
)
def test_values_of_any_type_become_floats(dtype: Any) -> None:
    samples = read_samples(RUNS.with_columns(pl.Series("value", [1, 2, None, 4, 0]).cast(dtype)))
    assert samples.values[0].tolist() == [2.0, 4.0]
    assert np.isnan(samples.values[1][0])


def test_booleans_are_zero_and_one_and_nothing_is_missing() -> None:
    flags = read_samples(RUNS.with_columns(value=pl.Series([True, False, None, True, True])))
    assert flags.values[0].tolist() == [0.0, 1.0]
    nothing = read_samples(RUNS.with_columns(value=pl.lit(None)))
    assert np.isnan(nothing.values.values).all()


def test_csv_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    texts = ["1e3", " 2.5 ", "NaN", "", "-inf", "Infinity", "True", "false", "NA", "null", "+.5"]
    lines = [f"b,s,k,{index:02},{text}" for index, text in enumerate(texts)]
    path.write_text("\n".join(["build,suite,kpi,case,value", *lines]) + "\n")
    nan, inf = math.nan, math.inf
    np.testing.assert_array_equal(
        read_samples(path).values[0], [1000.0, 2.5, nan, nan, -inf, inf, 1.0, 0.0, nan, nan, 0.5]
    )


def test_a_number_that_cannot_be_read_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('build,suite,kpi,case,value\nb,s,k,1,0.5\nb,s,k,2,"1,5"\nb,s,k,3,fast\n')
    with pytest.raises(DataError) as caught:
        read_samples(path)
    assert caught.value.received == "'1,5' in row 2, and 1 more"


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"value": pl.lit("0.5")}, "does not hold numbers"),
        ({"value": pl.lit([1.0])}, "belongs to the packed shape"),
        ({"value": pl.lit("2024-05-01").str.to_date()}, "received: Date"),
        ({"build": pl.lit(1.0)}, "1.0 and 1 would name different things"),
        ({"build": pl.lit(True)}, "received: Boolean"),
        ({"case": pl.Series(["a", None, "c", None, "e"])}, "2 of 5 rows without, the first is row 2"),
        ({"kpi": pl.lit(None)}, "5 of 5 rows without, the first is row 1"),
        ({"trial": pl.Series([1, None, 1, 1, 1])}, "the key 'trial' is missing"),
    ],
)
def test_an_unusable_column_is_explained(change: dict[str, Any], part: str) -> None:
    with pytest.raises(DataError) as caught:
        read_samples(RUNS.with_columns(**change))
    assert part in str(caught.value)
    assert str(next(iter(change))) in str(caught.value)


def test_mapping_and_extra_columns() -> None:
    renamed = RUNS.rename({"build": "model", "value": "score"}).with_columns(
        value=pl.lit("junk"), extra=pl.lit(1)
    )
    assert same(read_samples(renamed, {"build": "model", "value": "score"}), read_samples(RUNS))


def test_one_column_may_stand_for_two() -> None:
    samples = read_samples(RUNS, {"kpi": "suite"})
    assert samples.index.select("suite", "kpi").row(0) == ("s", "s")


def test_duplicates_stay_with_their_cell() -> None:
    twice = pl.concat([RUNS, RUNS.head(1).with_columns(value=7.0)])
    samples = read_samples(twice)
    assert samples.index["n_duplicates"].to_list() == [0, 1, 0]
    assert samples.values[1][1:].tolist() == [1.0, 7.0]
    assert samples.cell_cases(1).tolist() == [0, 1, 1]
    assert samples.values[0].tolist() == read_samples(RUNS).values[0].tolist()
    assert same(read_samples(twice.reverse()), samples)
    assert case_faults(samples, 1, 0).duplicated_in_candidate == ["b"]


def trials(rows: list[tuple[str, str, float | None]]) -> pl.DataFrame:
    frame = pl.DataFrame(
        rows, schema={"case": pl.String, "trial": pl.String, "value": pl.Float64}, orient="row"
    )
    return frame.with_columns(build=pl.lit("b"), suite=pl.lit("s"), kpi=pl.lit("k"))


def test_trials_are_averaged_within_their_case() -> None:
    frame = trials([("x", "2", 4.0), ("y", "1", 1.0), ("x", "10", 2.0), ("x", "1", 3.0)])
    samples = read_samples(frame)
    assert samples.values[0].tolist() == [3.0, 1.0]
    assert samples.cell_cases(0).tolist() == [0, 1]
    assert samples.index["n_duplicates"].to_list() == [0]
    assert read_samples(frame, trials="median").values[0].tolist() == [3.0, 1.0]


def test_equal_trials_give_their_value_exactly() -> None:
    frame = trials([("x", str(number), 0.1) for number in range(3)])
    assert read_samples(frame).values[0].tolist() == [0.1], "0.1 + 0.1 + 0.1 is not 0.3"


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_a_missing_trial_makes_its_case_missing_and_an_infinite_one_infinite(rule: Any) -> None:
    rows = [("a", "1", None), ("a", "2", 1.0), ("b", "1", math.inf), ("b", "2", -math.inf)]
    rows += [("c", "1", math.nan), ("c", "2", math.inf), ("d", "1", 1e308), ("d", "2", -1e308)]
    rows += [("e", "1", 1.7e308), ("e", "2", 1.7e308)]
    values = read_samples(trials(rows), trials=rule).values[0]
    np.testing.assert_array_equal(values, [np.nan, np.inf, np.nan, 0.0, 1.7e308])


def test_refused_trials_are_duplicates() -> None:
    frame = trials([("x", "2", 4.0), ("y", "1", 1.0), ("x", "1", 3.0)])
    samples = read_samples(frame, trials="refuse")
    assert samples.values[0].tolist() == [3.0, 4.0, 1.0]
    assert samples.index["n_duplicates"].to_list() == [1]
    assert read_samples(frame.filter(pl.col("trial") == "1"), trials="refuse").index[
        "n_duplicates"
    ].to_list() == [0]


def test_one_trial_twice_is_a_duplicate() -> None:
    frame = trials([("x", "1", 4.0), ("x", "1", 2.0), ("x", "2", 3.0), ("y", "1", 1.0), ("y", "2", 2.0)])
    samples = read_samples(frame)
    assert samples.values[0].tolist() == [2.0, 4.0, 3.0, 1.5]
    assert samples.index["n_duplicates"].to_list() == [2]
    with pytest.raises(ArgumentError, match="no such rule"):
        read_samples(frame, trials="first")  # type: ignore[arg-type]


def test_moments_are_taken_as_they_are() -> None:
    frame = pl.DataFrame(
        {
            "build": ["b", "a", "c", "d", "d"],
            "suite": "s",
            "kpi": "k",
            "n": [3, 1, 0, 2, 2],
            "mean": [1.0, 2.0, None, 3.0, 4.0],
            "variance": [0.5, None, None, 0.0, 1.0],
            "n_missing": [0, 2, 5, 0, 0],
            "case_fingerprint": pl.Series([5, -1, 7, 8, 9]),
        }
    )
    samples = read_samples(frame)
    moments = samples.moments
    assert samples.index["build"].to_list() == ["a", "b", "c", "d"]
    assert samples.values is None
    assert samples.n_cells == 4
    np.testing.assert_array_equal(moments.n, [1, 3, 0, 0])
    np.testing.assert_array_equal(moments.n_missing, [2, 0, 5, 0])
    np.testing.assert_array_equal(moments.mean, [2.0, 1.0, np.nan, np.nan])
    np.testing.assert_array_equal(moments.m2, [0.0, 1.0, np.nan, np.nan])
    np.testing.assert_array_equal(moments.constant, [True, False, False, False])
    assert samples.index["n_duplicates"].to_list() == [0, 0, 0, 1], "two rows for a cell: neither counts"
    assert samples.index["case_fingerprint"].to_list() == [2**64 - 1, 5, 7, None]
    assert read_samples(frame.reverse()).fingerprint == samples.fingerprint


@pytest.mark.parametrize("spread", ["m2", "variance", "sd", "std"])
def test_every_spread_means_the_same(spread: str) -> None:
    value = {"m2": 8.0, "variance": 4.0, "sd": 2.0, "std": 2.0}[spread]
    frame = pl.DataFrame({"build": ["b"], "suite": "s", "kpi": "k", "n": 3, "mean": 1.0, spread: value})
    assert read_samples(frame).moments.m2.tolist() == [8.0]


def test_smallest_and_largest_tell_a_constant() -> None:
    frame = pl.DataFrame(
        {"build": ["a", "b"], "suite": "s", "kpi": "k", "n": 5, "mean": 0.1, "m2": [1e-33, 0.0]}
    )
    assert read_samples(frame).moments.constant.tolist() == [False, True]
    with_ends = frame.with_columns(min=0.1, max=pl.Series([0.1, 0.2]))
    assert read_samples(with_ends).moments.constant.tolist() == [True, False]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"n": -1}, "'n' does not hold counts"),
        ({"n": 1.5}, "1.5 in row 1"),
        ({"n": None}, "None in row 1"),
        ({"n_missing": -3}, "'n_missing' does not hold counts"),
        ({"m2": -1e-9}, "'m2' is negative"),
        ({"mean": "x"}, "'mean' does not hold numbers"),
        ({"case_fingerprint": 0.5}, "holds no fingerprints"),
    ],
)
def test_impossible_moments_are_explained(change: dict[str, Any], part: str) -> None:
    row = {"build": "b", "suite": "s", "kpi": "k", "n": 3, "mean": 1.0, "m2": 2.0} | change
    with pytest.raises(DataError) as caught:
        read_samples(pl.DataFrame([row]))
    assert part in str(caught.value)


def test_case_faults_list_both_sides() -> None:
    frame = pl.DataFrame(
        {
            "build": ["base"] * 4 + ["new"] * 3,
            "suite": "s",
            "kpi": "k",
            "case": ["c", "a", "b", "b", "d", "b", "c"],
            "value": 1.0,
        }
    )
    faults = case_faults(read_samples(frame), 1, 0)
    assert faults == (["a"], ["d"], [], ["b"])
    with pytest.raises(ArgumentError, match="no such cell"):
        case_faults(read_samples(frame), 2, 0)


def test_case_fingerprints_are_the_sum_of_published_hashes() -> None:
    # The published test vectors of XXH64 with seed 0; the last is longer than its block of 32 bytes.
    vectors = {
        "": 0xEF46DB3751D8E999,
        "a": 0xD24EC4F1A98C6E5B,
        "abc": 0x44BC2CF5AD770999,
        "Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
    }
    assert text_hashes(pl.Series(list(vectors))).tolist() == list(vectors.values())
    frame = pl.DataFrame({"build": "b", "suite": "s", "kpi": "k", "case": list(vectors), "value": 1.0})
    assert read_samples(frame).index["case_fingerprint"].to_list() == [sum(vectors.values()) % 2**64]


def test_the_fingerprint_tells_contents_apart() -> None:
    prints = {
        read_samples(frame).fingerprint
        for frame in (
            RUNS,
            RUNS.with_columns(build=pl.col("build") + "x"),
            RUNS.with_columns(case=pl.col("case") + "x"),
            RUNS.with_columns(value=pl.Series([1.0, 2.0, None, 4.0, 0.0])),
            RUNS.with_columns(value=pl.Series([4.0, 2.0, None, 1.0, None])),
            RUNS.with_columns(value=pl.Series([-1.0, 2.0, None, 4.0, None])),
            RUNS.head(4),
            RUNS.with_columns(build=pl.Series(["new", "base", "new", "base", "base"])),
            PAIRS,
        )
    }
    assert len(prints) == 9


def test_the_same_case_may_have_several_positions_in_memory() -> None:
    # Longer than the 12 bytes that Arrow's string views hold themselves, in chunks of their own, shared prefixes.
    names = [f"a long name with number {number:04}" for number in range(50)]
    chunk = pl.DataFrame({"build": "b", "suite": "s", "kpi": "k", "case": names, "value": np.arange(50.0)})
    other = chunk.with_columns(build=pl.lit("a"), case=pl.Series([str(name) for name in names]))
    both = pl.concat([chunk, other.reverse()], rechunk=False)
    samples = read_samples(both)
    assert len(samples.case_names) == 50
    assert samples.values[0].tolist() == samples.values[1].tolist() == np.arange(50.0).tolist()


def test_samples_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    n = 400_000
    frame = pl.DataFrame(
        {
            "build": rng.integers(0, 20, n),
            "suite": rng.integers(0, 5, n),
            "kpi": "k",
            "case": rng.integers(0, 3000, n),
            "trial": rng.integers(0, 4, n),
            "value": rng.normal(size=n),
        }
    )
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
        found.append(read_samples(frame))
    assert same(*found)
