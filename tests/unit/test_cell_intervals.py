"""Bootstrap intervals of every cell as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import fastgate
from fastgate.errors import ArgumentError, DataError
from fastgate.stats import bootstrap


def noise(seed: int, n: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).gamma(3.0, 5.0, n)


def runs(cells: dict[tuple[str, str, str], Any]) -> pl.DataFrame:
    rows = [
        (build, suite, kpi, f"c{case:03}", None if value is None else float(value))
        for (build, suite, kpi), values in cells.items()
        for case, value in enumerate(values)
    ]
    columns = ["build", "suite", "kpi", "case", "value"]
    return pl.DataFrame(rows, schema=columns, orient="row", schema_overrides={"value": pl.Float64})


SAMPLES = runs(
    {(b, s, "lat"): noise(i) for i, (b, s) in enumerate((b, s) for b in ("new", "old") for s in "ab")}
)
FIGURES = ("estimate", "ci_low", "ci_high", "standard_error", "bias")


@pytest.mark.parametrize("statistic", ["mean", "p95", 0.25, "std"])
@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_each_cell_has_the_interval_of_its_values(statistic: str | float, method: str) -> None:
    table = fastgate.intervals(SAMPLES, statistic=statistic, method=method, n_resamples=999)
    assert table.select("build", "suite").rows() == [("new", "a"), ("new", "b"), ("old", "a"), ("old", "b")]
    for i, row in enumerate(table.to_dicts()):
        key = f"{row['build']}\x1f{row['suite']}\x1flat"
        alone = bootstrap([noise(i)], statistic=statistic, method=method, n_resamples=999, keys=[key])
        assert [row[name] for name in FIGURES] == [getattr(alone, name)[0] for name in FIGURES]
        assert (row["engine"], row["status"], row["n"]) == (alone.engine[0], "ok", 40)
        assert row["half_width"] == pytest.approx(alone.half_width[0])


def test_against_a_baseline_it_is_the_gates() -> None:
    settings = {"engine": "resample", "n_resamples": 499, "seed": 3}
    table = fastgate.intervals(SAMPLES, statistic="std", baseline="old", **settings)
    policy = {
        "gate": "benchmark",
        "name": "t",
        "baselines": ["old"],
        "min_suite_wins": 1,
        "test": "bootstrap",
        "bootstrap": settings,
        "kpis": {"lat": {"direction": "lower", "statistic": "std"}},
        "suites": ["a", "b"],
    }
    cells = fastgate.benchmark_gate(SAMPLES, policy).cells
    keys = ["candidate", "baseline", "suite"]
    assert table.select(pl.col(keys).cast(pl.String)).equals(cells.select(pl.col(keys).cast(pl.String)))
    for name in ("ci_low", "ci_high", "half_width", "standard_error"):
        assert table[name].equals(cells[name])
    assert table["estimate"].equals(cells["delta"], check_names=False)


def test_a_cell_does_not_depend_on_the_others() -> None:
    settings = {"statistic": "std", "engine": "resample", "n_resamples": 499}
    whole = fastgate.intervals(SAMPLES, **settings).filter(pl.col("build") == "old")
    part = fastgate.intervals(SAMPLES.filter(pl.col("build") == "old")[::-1], **settings)
    assert whole.select(FIGURES).equals(part.select(FIGURES))


def test_paired_takes_differences_and_refuses_other_cases() -> None:
    frame = SAMPLES.filter(
        ~((pl.col("suite") == "b") & (pl.col("build") == "old") & (pl.col("case") == "c000"))
    )
    row, other = fastgate.intervals(frame, statistic="median", baseline="old", paired=True).to_dicts()
    expected = bootstrap(noise(0), noise(2), statistic="median", paired=True)
    assert (row["estimate"], row["ci_low"], row["ci_high"]) == (
        expected.estimate,
        expected.ci_low,
        expected.ci_high,
    )
    assert other["status"] == "unpaired_cases"
    assert all(other[name] is None for name in (*FIGURES, "half_width"))
    assert fastgate.intervals(frame, baseline="old")["status"].to_list() == ["ok", "ok"]


def test_ratio_of_means() -> None:
    row = fastgate.intervals(SAMPLES, statistic="ratio_of_means", baseline="old").to_dicts()[0]
    assert row["estimate"] == pytest.approx(noise(0).mean() / noise(2).mean())


def test_cells_without_an_interval_say_why() -> None:
    frame = runs(
        {
            ("a", "s", "k"): [1.0],
            ("b", "s", "k"): [1.0, 2.0, np.inf],
            ("c", "s", "k"): [2.0, 2.0, 2.0],
            ("d", "s", "k"): [1.0, None, 2.0, 4.0],
            ("e", "s", "k"): [1.0, 2.0, 4.0],
            ("f", "only", "k"): [1.0, 2.0, 4.0],
        }
    )
    frame = pl.concat([frame, frame.filter(pl.col("build") == "e").head(1)])
    table = fastgate.intervals(frame, statistic="median")
    assert table["status"].to_list() == [
        "too_few",
        "nonfinite",
        "zero_var_equal",
        "ok",
        "duplicate_case",
        "ok",
    ]
    assert table["n_missing"].to_list()[3] == 1
    assert table.filter(pl.col("build") == "c").select("ci_low", "ci_high").row(0) == (2.0, 2.0)
    assert table.filter(pl.col("build") == "e")["estimate"].to_list() == [None]
    against = fastgate.intervals(frame, statistic="median", baseline="d")
    assert against.filter(pl.col("candidate") == "f")["status"].to_list() == ["missing_cell"]
    repeated = fastgate.intervals(frame, statistic="median", baseline="e")
    assert set(repeated.filter(pl.col("suite") == "s")["status"]) == {"duplicate_case"}


def test_pairs_are_compared_with_the_baseline_of_their_row() -> None:
    frame = pl.DataFrame(
        {
            "candidate": ["new", "new"],
            "baseline": ["old", "older"],
            "suite": "a",
            "kpi": "lat",
            "candidate_values": [list(noise(0)), list(noise(1))],
            "baseline_values": [list(noise(2)), list(noise(3))],
        }
    )
    assert fastgate.intervals(frame)["baseline"].to_list() == ["old", "older"]
    row = fastgate.intervals(frame, statistic="p90", baseline="older", paired=True).to_dicts()
    assert [one["ci_low"] for one in row] == [
        bootstrap(noise(1), noise(3), statistic="p90", paired=True).ci_low
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"statistic": "p100"}, "out of range"),
        ({"statistic": "mode"}, "not known"),
        ({"statistic": "ratio_of_means"}, "needs a baseline"),
        ({"paired": True}, "need a baseline"),
        ({"baseline": "odl"}, "no baseline 'odl'"),
        ({"n_resamples": 10}, "too few resamples"),
        ({"confidence_level": 1.5}, "out of range"),
        ({"method": "bayes"}, "not known"),
        ({"engine": "saddlepoint", "statistic": "p95"}, "does not have"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        fastgate.intervals(SAMPLES, **options)


def test_a_baseline_alone_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no build to compare"):
        fastgate.intervals(SAMPLES.filter(pl.col("build") == "old"), baseline="old")


def test_moments_are_refused() -> None:
    frame = pl.DataFrame({"build": ["x"], "suite": "a", "kpi": "k", "n": 9, "mean": 2.0, "m2": 1.0})
    with pytest.raises(DataError, match="needs the values"):
        fastgate.intervals(frame)
