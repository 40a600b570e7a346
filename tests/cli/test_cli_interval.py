from __future__ import annotations

import json

import polars as pl
import pytest

import fastgate
from fastgate.stats import bootstrap


def _refuse(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


def test_every_cell_is_shown(work, command):
    run = command("interval", "good.parquet", "--statistic", "median")
    assert (run.code, run.err) == (0, "")
    head, *lines = run.out.splitlines()
    assert head == "95 % BCa intervals of median: 12 cells (12 exact)"
    values = pl.read_parquet("good.parquet").filter(build="good", suite="chess", kpi="cost")["value"]
    expected = bootstrap(values, statistic="median")
    (line,) = (line.split() for line in lines if line.split()[:3] == ["good", "chess", "cost"])
    assert line[3:] == [
        f"{expected.estimate:.4g}",
        f"[{expected.ci_low:.4g},",
        f"{expected.ci_high:.4g}]",
        f"{expected.half_width:.3g}",
        "10",
        "exact",
        "ok",
    ]


def test_against_a_baseline(work, command):
    run = command("interval", "good.parquet", "--baseline", "old", "--method", "percentile")
    assert run.code == 0
    assert run.out.startswith("95 % percentile intervals of the difference in mean: 8 cells")
    assert command("interval", "good.parquet", "--baseline", "old", "--paired").code == 0


@pytest.mark.parametrize(("ending", "read"), [("parquet", pl.read_parquet), ("csv", pl.read_csv)])
def test_tables_are_written_whole(work, command, ending, read):
    options = ("--statistic", "std", "--engine", "resample", "--n-resamples", "499", "--seed", "5")
    run = command("interval", "both.csv", *options, "--confidence-level", "0.9", "-o", f"out.{ending}")
    assert run.code == 0
    expected = fastgate.intervals(
        "both.csv", statistic="std", engine="resample", n_resamples=499, seed=5, confidence_level=0.9
    )
    text = pl.col("build", "suite", "kpi", "engine", "status").cast(pl.String)
    assert read(work / f"out.{ending}").with_columns(text).equals(expected.with_columns(text))


def test_json_is_the_cells_and_nothing_else(work, command):
    run = command("interval", "good.parquet", "--statistic", "p90", "--json", "-o", "out.json")
    assert (run.code, run.err) == (0, "")
    plain = json.loads(run.out, parse_constant=_refuse)
    assert plain == json.loads((work / "out.json").read_text())
    assert (plain["measure"], plain["method"], plain["confidence_level"]) == ("p90", "bca", 0.95)
    assert [cell["status"] for cell in plain["cells"]] == ["ok"] * 12


def test_cells_without_an_interval_are_counted_and_no_failure(work, command):
    frame = pl.read_parquet("good.parquet").with_columns(
        value=pl.when(pl.col("build") == "plain").then(1.0).otherwise("value")
    )
    frame.write_parquet("constant.parquet")
    run = command("interval", "constant.parquet")
    assert run.code == 0
    assert run.out.endswith("4 cells without an interval to be trusted: 4 zero var equal\n")


def test_of_many_cells_the_first_are_shown(work, command):
    frame = pl.read_parquet("good.parquet")
    many = [frame.with_columns(build=pl.col("build") + f"-{i}") for i in range(5)]
    pl.concat(many).write_parquet("many.parquet")
    assert (
        "and 20 more cells; an output (-o) or --json holds all\n" in command("interval", "many.parquet").out
    )
    saved = command("interval", "many.parquet", "-o", "many.csv").out
    assert "and 20 more cells; the file holds all\n" in saved


def test_columns_have_other_names(work, command):
    pl.read_parquet("good.parquet").rename({"value": "measured"}).write_parquet("theirs.parquet")
    whole = command("interval", "good.parquet")
    assert command("interval", "theirs.parquet", "--column", "value=measured") == whole


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("nowhere.parquet",), "nowhere.parquet"),
        (("good.parquet", "--statistic", "p100"), "out of range"),
        (("good.parquet", "--method", "bayes"), "bayes"),
        (("good.parquet", "--baseline", "odl"), "did you mean 'old'?"),
        (("good.parquet", "--paired"), "need a baseline"),
        (("good.parquet", "--n-resamples", "10"), "too few resamples"),
        (("good.parquet", "-o", "out.xlsx"), ".parquet, .csv, .json"),
        (("good.parquet", "-o", "good.parquet"), "overwrite an input"),
    ],
)
def test_bad_input_is_2(work, command, options, words):
    run = command("interval", *options)
    assert (run.code, run.out) == (2, "")
    assert words in run.err
