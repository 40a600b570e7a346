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
def test_an_infinite_trial_makes_its_case_infinite_and_else_a_missing_one_missing(rule: Any) -> None:
    rows = [("a", "1", None), ("a", "2", 1.0), ("b", "1", math.inf), ("b", "2", -math.inf)]
    rows += [("c", "1", math.nan), ("c", "2", math.inf), ("d", "1", 1e308), ("d", "2", -1e308)]
    rows += [("e", "1", 1.7e308), ("e", "2", 1.7e308)]
    values = read_samples(trials(rows), trials=rule).values[0]
    np.testing.assert_array_equal(values, [np.nan, np.inf, np.inf, 0.0, 1.7e308])


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_an_infinite_trial_of_one_side_of_a_pair_stays_with_it(rule: Any) -> None:
    frame = PAIRS.with_columns(case=pl.lit("a"), trial=pl.Series([1, 2]))
    samples = read_samples(frame.with_columns(candidate_value=pl.Series([-math.inf, None])), trials=rule)
    assert [cell.tolist() for cell in samples.values] == [[-math.inf], [3.0]]


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
    with_ends = frame.with_columns(mean=pl.Series([0.1, 1e-170]), min=pl.Series([0.1, 0.0]))
    with_ends = with_ends.with_columns(max=pl.Series([0.1, 3e-170]))
    assert read_samples(with_ends).moments.constant.tolist() == [True, False], "squares may underflow"


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
        ({"min": 2.0, "max": 0.0}, "contradict each other: min is above max"),
        ({"min": 1e308, "max": -1e308}, "min is above max"),
        ({"min": 1.5, "max": 3.0}, "mean is below min"),
        ({"min": 1.5}, "mean is below min"),
        ({"min": -3.0, "max": 0.5}, "mean is above max"),
        ({"max": math.nextafter(1.0, 0.0) - 1e-14}, "mean is above max"),
        ({"n": 0}, "n is 0, and m2 is not"),
        ({"n": 1}, "n is 1, and m2 is not 0"),
        ({"n": 1, "m2": 0.0, "min": 0.0, "max": 2.0}, "n is 1, and min is not max"),
        ({"min": 1.0, "max": 1.0}, "m2 is too large for min and max"),
        ({"min": 0.0, "max": 2.0, "m2": 0.0}, "m2 is too small for min and max"),
        ({"n": 2, "min": 0.0, "max": 2.0, "m2": 1.0}, "the variance with divisor n - 1"),
        ({"min": -10.0, "max": 10.0}, "in row 1"),
    ],
)
def test_impossible_moments_are_explained(change: dict[str, Any], part: str) -> None:
    row = {"build": "b", "suite": "s", "kpi": "k", "n": 3, "mean": 1.0, "m2": 2.0} | change
    with pytest.raises(DataError) as caught:
        read_samples(pl.DataFrame([row]))
    assert part in str(caught.value)


def test_a_contradiction_names_its_row() -> None:
    frame = pl.DataFrame(
        {"build": ["a", "b"], "suite": "s", "kpi": "k", "n": 3, "mean": [1.0, 9.0], "m2": 2.0}
    )
    with pytest.raises(DataError, match="mean is above max") as caught:
        read_samples(frame.with_columns(min=0.0, max=2.0))
    assert "mean 9.0" in caught.value.received
    assert "in row 2" in caught.value.received


@pytest.mark.parametrize(
    "change",
    [
        {"mean": None},
        {"mean": math.nan},
        {"mean": math.inf},
        {"m2": None},
        {"m2": math.inf},
        {"min": -math.inf},
        {"max": math.inf},
        {"min": math.inf, "max": math.inf, "m2": 0.0},
        {"min": math.inf, "max": -math.inf},
    ],
)
def test_moments_that_are_not_finite_decide_nothing(change: dict[str, Any]) -> None:
    from fastgate.stats.summary import moments_from_summary

    row = {"build": "a", "suite": "s", "kpi": "k", "n": 3, "mean": 1.0, "m2": 2.0, "min": 0.0, "max": 2.0}
    moments = read_samples(
        pl.DataFrame([row | change, row | {"build": "b"}], infer_schema_length=None)
    ).moments
    assert moments.n.tolist() == [3, 3]
    assert np.isnan([moments.mean[0], moments.m2[0]]).all()
    assert not moments.constant[0]
    assert (moments.mean[1], moments.m2[1]) == (1.0, 2.0), "its neighbour is not affected"
    status = moments_from_summary(moments.n, moments.mean, m2=moments.m2).status
    assert status.tolist() == ["nonfinite", "ok"]


@pytest.mark.parametrize("scale", [1.0, 1e9, 1e-200, 1e150])
def test_moments_as_engines_compute_them_are_no_contradiction(scale: float) -> None:
    rng = np.random.default_rng(11)
    cells = {
        "even": np.arange(7.0),
        "two": np.array([0.1, 0.7]),
        "ends": np.array([0.0, 0.5, 1.0]),
        "halves": np.array([0.0] * 50 + [1.0] * 50),
        "constant": np.full(10, 0.1),
        "far": 1e9 + rng.normal(size=100),
        "one": np.array([0.3]),
    }
    long = pl.concat([pl.DataFrame({"build": name, "value": cell * scale}) for name, cell in cells.items()])
    value = pl.col("value")
    aggregated = long.group_by("build").agg(
        n=value.len(), mean=value.sum() / value.len(), variance=value.var(), min=value.min(), max=value.max()
    )
    samples = read_samples(aggregated.with_columns(suite=pl.lit("s"), kpi=pl.lit("k")))
    assert samples.moments.n.sum() == sum(cell.size for cell in cells.values())
    empty = {"build": "z", "suite": "s", "kpi": "k", "n": 0, "mean": None, "variance": None}
    assert read_samples(pl.DataFrame([empty | {"min": math.inf, "max": -math.inf}])).moments.n.tolist() == [0]


def files(folder: Path, **frames: pl.DataFrame) -> list[Path]:
    for name, frame in frames.items():
        frame.write_csv(folder / f"{name}.csv")
    return [folder / f"{name}.csv" for name in frames]


MOMENTS = pl.DataFrame({"build": ["b"], "suite": "s", "kpi": "k", "n": 3, "mean": 1.0, "m2": 2.0})
PACKED = pl.DataFrame({"build": ["b"], "suite": "s", "kpi": "k", "values": [[1.0]]})


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    ("frame", "extra", "columns"),
    [
        (RUNS.fill_nan(0.5), {"trial": 1}, None),
        (RUNS.fill_nan(0.5), {"seed": 1}, {"trial": "seed"}),
        (MOMENTS, {"n_missing": 2}, None),
        (MOMENTS, {"case_fingerprint": 2}, None),
        (MOMENTS, {"max": 2.0}, None),
        (PACKED, {"cases": ["x"]}, None),
    ],
)
def test_a_column_that_only_some_files_have_is_not_dropped(
    frame: pl.DataFrame, extra: dict[str, Any], columns: Any, swap: bool, tmp_path: Path
) -> None:
    (name,) = extra
    more = frame.with_columns(**{name: pl.lit(extra[name])}, build=pl.lit("other"))
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, part in zip(paths, [more, frame] if swap else [frame, more], strict=True):
        part.write_parquet(path)
    with pytest.raises(DataError, match=f"{name!r} is only in some") as caught:
        read_samples(paths, columns)
    assert "a.parquet" in str(caught.value)
    assert "b.parquet" in str(caught.value)
    for path in paths:
        assert read_samples(path, columns if name in pl.scan_parquet(path).collect_schema() else None).n_rows


def test_a_required_column_that_only_some_files_have_is_named(tmp_path: Path) -> None:
    paths = files(tmp_path, a=RUNS.drop("value"), b=RUNS)
    for order in (paths, paths[::-1]):
        with pytest.raises(DataError, match="'value' is only in some"):
            read_samples(order)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Int64, pl.String),
        (pl.Int64, pl.UInt64),
        (pl.UInt8, pl.UInt64),
        (pl.Int32, pl.Categorical),
        (pl.Int128, pl.Int8),
        (pl.Int64, "csv"),
        (pl.String, "csv"),
        (pl.Categorical, "csv"),
    ],
)
def test_files_may_write_their_keys_as_different_types(
    one: Any, other: Any, swap: bool, tmp_path: Path
) -> None:
    frame = RUNS.fill_nan(0.5).with_columns(
        case=pl.Series([2, 1, 1, 2, 1]), value=pl.col("value").cast(pl.Float32)
    )
    parts = [frame.head(2), frame.tail(3)]
    paths = []
    for part, dtype in zip(parts, (one, other), strict=True):
        paths.append(tmp_path / f"{len(paths)}.{'csv' if dtype == 'csv' else 'parquet'}")
        if dtype == "csv":
            part.write_csv(paths[-1])
        else:
            keys = pl.col("case")
            part.with_columns(
                keys.cast(dtype) if dtype.is_integer() else keys.cast(pl.String).cast(dtype)
            ).write_parquet(paths[-1])
    assert same(read_samples(paths[::-1] if swap else paths), read_samples(frame))


def test_numbers_and_names_of_typed_and_textual_files_are_told_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame({"build": "b", "suite": "s", "kpi": "k", "case": [1, 2], "value": [3, 4]})
    odd = frame.with_columns(case=pl.Series(["1", "02"]), build=pl.lit("c"), value=pl.Series([0.1, None]))
    frame.write_parquet(tmp_path / "a.parquet")
    odd.write_csv(tmp_path / "b.csv")
    samples = read_samples([tmp_path / "a.parquet", tmp_path / "b.csv"])
    assert samples.case_names.to_list() == ["02", "1", "2"]
    np.testing.assert_array_equal(samples.values.values, [3.0, 4.0, np.nan, 0.1])
    assert samples.cell_cases(0).tolist() == [1, 2]


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
