"""Intake against a slow reference in plain Python, in any order, kind and partition; garbage only raises our errors."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fastgate.errors import DataError, FastgateError
from fastgate.frames import Samples, codes, pack, read_frame, read_samples

INTAKE = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "B", "", "10", "9", "é", "日本語のとても長い名前", "exactly12byte", "a long name, part 1"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
VALUES = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 0.1, 1.0]),
)


@st.composite
def long_frames(draw: st.DrawFn, with_trials: bool = False) -> pl.DataFrame:
    """Rows of few builds, suites and cases, so that cells, ties and duplicates come up."""
    n = draw(st.integers(1, 60))
    pools = {key: draw(st.lists(NAMES, min_size=1, max_size=4)) for key in ("build", "suite", "kpi")}
    pools["case"] = draw(st.lists(NAMES, min_size=1, max_size=40))
    if with_trials:
        pools["trial"] = draw(st.lists(NAMES, min_size=1, max_size=4))
    rows = {key: draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n)) for key, pool in pools.items()}
    values = draw(st.lists(VALUES, min_size=n, max_size=n))
    schema = dict.fromkeys(rows, pl.String)
    return pl.DataFrame(rows, schema=schema).with_columns(value=pl.Series(values, dtype=pl.Float64))


def order(value: float) -> tuple[bool, float, bool]:
    """NaN last, -0.0 before 0.0."""
    if math.isnan(value):
        return True, 0.0, False
    return False, value, math.copysign(1.0, value) > 0


def typical(values: list[float], rule: str) -> float:
    if any(map(math.isinf, values)):
        return next(value for value in values if math.isinf(value))
    if any(map(math.isnan, values)):
        return math.nan
    if rule == "mean":
        total = 0.0
        for value in values[1:]:
            total += value - values[0]
        mean = values[0] + total / len(values)
        if not math.isfinite(mean):
            mean = 0.0
            for value in values:
                mean += value / len(values)
        return mean
    ordered = sorted(values)
    upper, lower = ordered[len(values) // 2], ordered[(len(values) - 1) // 2]
    if lower == upper or len(values) % 2:
        return upper + 0.0
    return lower + (upper - lower) / 2 if (lower < 0) == (upper < 0) else (lower + upper) / 2


def reference(
    frame: pl.DataFrame, rule: str = "mean"
) -> dict[tuple[str, ...], tuple[list[str], list[float], int]]:
    """Cell to its cases, values and number of duplicates."""
    trials = "trial" in frame.columns
    cells: dict[tuple[str, ...], dict[str, list[tuple[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in frame.iter_rows(named=True):
        value = math.nan if row["value"] is None else row["value"]
        cells[row["build"], row["suite"], row["kpi"]][row["case"]].append(
            (row["trial"] if trials else "", value)
        )
    result = {}
    for key, cases in cells.items():
        names: list[str] = []
        values: list[float] = []
        for case in sorted(cases, key=str.encode):
            entries = sorted(cases[case], key=lambda entry: (entry[0].encode(), order(entry[1])))
            distinct = len({trial for trial, _ in entries})
            if trials and rule != "refuse" and distinct == len(entries):
                entries = [("", typical([value for _, value in entries], rule))]
            names += [case] * len(entries)
            values += [value for _, value in entries]
        result[key] = names, values, len(names) - len(set(names))
    return result


def found(samples: Samples) -> dict[tuple[str, ...], tuple[list[str], list[float], int]]:
    cells = samples.values
    assert cells is not None
    keys = samples.index.select(pl.col("build", "suite", "kpi").cast(pl.String)).rows()
    assert keys == sorted(keys, key=lambda key: [part.encode() for part in key])
    return {
        key: (
            samples.case_names.gather(samples.cell_cases(cell)).to_list(),
            cells[cell].tolist(),
            samples.index["n_duplicates"][cell],
        )
        for cell, key in enumerate(keys)
    }


def bits(samples: Samples) -> tuple[Any, ...]:
    parts = [(part.values.tobytes(), part.offsets.tobytes()) for part in samples.parts]
    cases = None if samples.cases is None else samples.cases.tobytes()
    return parts, cases, samples.index.rows(), samples.case_names.to_list(), samples.fingerprint


@INTAKE
@given(long_frames())
def test_long_rows_against_the_reference(frame: pl.DataFrame) -> None:
    # repr tells NaN, -0.0 and every digit.
    assert repr(found(read_samples(frame))) == repr(dict(sorted_cells(reference(frame))))


def sorted_cells(cells: dict[tuple[str, ...], Any]) -> list[tuple[tuple[str, ...], Any]]:
    return sorted(cells.items(), key=lambda item: [part.encode() for part in item[0]])


@pytest.mark.parametrize("rule", ["mean", "median", "refuse"])
@INTAKE
@given(frame=long_frames(with_trials=True))
def test_trials_against_the_reference(rule: Any, frame: pl.DataFrame) -> None:
    assert repr(found(read_samples(frame, trials=rule))) == repr(dict(sorted_cells(reference(frame, rule))))


@INTAKE
@given(long_frames(with_trials=True), st.integers(0, 2**32), st.integers(1, 20))
def test_any_order_and_any_partition_give_the_same_bits(frame: pl.DataFrame, seed: int, piece: int) -> None:
    expected = bits(read_samples(frame))
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    chunked = pl.concat(
        [shuffled.slice(start, piece) for start in range(0, frame.height, piece)], rechunk=False
    )
    assert bits(read_samples(shuffled)) == expected
    assert bits(read_samples(chunked)) == expected
    with pytest.MonkeyPatch.context() as patch:
        # Pieces of few rows, and keys that are recoded since their product is "too large".
        patch.setattr(codes, "_PIECE_ROWS", piece)
        patch.setattr(codes, "_KEY_LIMIT", 3)
        assert bits(read_samples(shuffled)) == expected


@INTAKE
@given(long_frames(), st.integers(0, 2**32))
def test_packed_and_categorical_forms_give_the_same_samples(frame: pl.DataFrame, seed: int) -> None:
    samples = read_samples(frame)
    expected = bits(samples)
    assert bits(read_samples(pack(frame).sample(fraction=1, shuffle=True, seed=seed))) == expected
    keys = pl.col("build", "suite", "kpi", "case")
    assert bits(read_samples(frame.with_columns(keys.cast(pl.Categorical)))) == expected
    assert bits(read_samples(frame.to_arrow())) == expected


@INTAKE
@given(long_frames(with_trials=True))
def test_pairs_are_two_runs(frame: pl.DataFrame) -> None:
    """A table of pairs gives, on each side, what a table of runs of that side alone gives."""
    rows = frame.rename({"build": "candidate", "value": "candidate_value"})
    rows = rows.with_columns(baseline=pl.lit("b"), baseline_value=pl.col("candidate_value") * -2.0)
    samples = read_samples(rows)
    candidates = read_samples(frame)
    baselines = read_samples(frame.with_columns(pl.col("value") * -2.0))
    for part, alone in zip(samples.parts, (candidates, baselines), strict=True):
        assert part.values.tobytes() == alone.values.values.tobytes()
        assert part.offsets.tolist() == alone.values.offsets.tolist()
    assert samples.index["n_duplicates"].to_list() == candidates.index["n_duplicates"].to_list()
    both = samples.values
    pairs = samples.index.select("candidate_cell", "baseline_cell").rows()
    for row, (candidate, baseline) in enumerate(pairs):
        assert both[candidate].tobytes() == candidates.values[row].tobytes()
        assert both[baseline].tobytes() == baselines.values[row].tobytes()


@INTAKE
@given(long_frames())
def test_case_fingerprints_are_equal_for_equal_sets_of_cases(frame: pl.DataFrame) -> None:
    samples = read_samples(frame.unique(["build", "suite", "kpi", "case"]))
    sets = [frozenset(samples.cell_cases(cell).tolist()) for cell in range(samples.n_cells)]
    prints = dict(zip(samples.index["case_fingerprint"].to_list(), sets, strict=True))
    assert len(prints) == len(set(sets))
    # Fingerprints of disjoint parts add up to that of the whole, in whatever process each was made.
    names = samples.case_names
    half = frame.filter(pl.col("case").is_in(names.head(len(names) // 2).to_list()))
    rest = frame.filter(~pl.col("case").is_in(names.head(len(names) // 2).to_list()))
    total: dict[Any, int] = defaultdict(int)
    for part in (half, rest):
        if part.height:
            index = read_samples(part.unique(["build", "suite", "kpi", "case"])).index
            for *key, fingerprint in index.select("build", "suite", "kpi", "case_fingerprint").rows():
                total[tuple(key)] += fingerprint
    whole = samples.index.select("build", "suite", "kpi", "case_fingerprint").rows()
    assert {tuple(key): fingerprint for *key, fingerprint in whole} == {
        key: value % 2**64 for key, value in total.items()
    }


SUFFIXES = ["parquet", "csv", "tsv", "json", "ndjson", "arrow", "arrows", "feather", "csv.gz", "dat"]
HEADS = [
    b"",
    b"PAR1",
    b"ARROW1\0\0",
    b"\xff\xff\xff\xff",
    b"build,suite,kpi,case,value\n",
    b'{"build": ',
    b"[",
    b"\x1f\x8b",
]


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(INTAKE, max_examples=25)
@given(st.sampled_from(HEADS), st.binary(max_size=300))
def test_garbage_raises_nothing_but_our_errors(suffix: str, head: bytes, noise: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{suffix}"
        path.write_bytes(head + noise)
        for read in (read_frame, read_samples):
            with contextlib.suppress(FastgateError):
                assert read(path) is not None


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@settings(INTAKE, max_examples=25)
@given(frame=long_frames(), kept=st.floats(0, 1, exclude_max=True))
def test_files_cut_short_are_refused(kind: str, frame: pl.DataFrame, kept: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{kind}"
        if kind == "parquet":
            frame.write_parquet(path)
        else:
            frame.write_ipc(path)
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * kept)])
        with pytest.raises(DataError):
            read_samples(path)


def test_the_reference_is_not_trivial() -> None:
    frame = pl.DataFrame(
        {"build": "b", "suite": "s", "kpi": "k", "case": ["y", "x", "x"], "value": [1.0, 3.0, 2.0]}
    )
    assert reference(frame) == {("b", "s", "k"): (["x", "x", "y"], [2.0, 3.0, 1.0], 1)}
    assert np.isnan(typical([1.0, math.nan], "mean"))
