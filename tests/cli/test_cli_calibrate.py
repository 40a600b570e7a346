from __future__ import annotations

import json

import polars as pl
import pytest

import fastgate

POLICY = ("--policy", "demo.toml", "--draws", "60")


def test_the_table_stands_alone(work, command):
    run = command("calibrate", "both.csv", *POLICY, "--candidate", "even", "--improvement", "2sd")
    assert run.code == 0
    assert run.err == ""
    for text in (
        "calibration of the benchmark gate, policy demo",
        "at least 2 wins against every baseline",
        "60 draws each (seed 0); ± is the standard error of a share",
        "With the data of even",
        "identical to the baselines",
        "an identical rebuild of this one",
        "better than the baselines by 2 sd",
        "identical, one suite or more lost to a baseline",
        "identical, two suites or more lost to a baseline",
        "rebuild, one suite no longer won: review",
        "rebuild, more suites no longer won: block",
        "by arithmetic",
        "How to read this",
    ):
        assert text in run.out
    assert "good" not in run.out
    assert max(map(len, run.out.splitlines())) <= 100


def test_it_says_what_the_function_says(work, command):
    run = command("calibrate", "both.csv", *POLICY, "--seed", "5", "--improvement", "score=1", "--json")
    found = fastgate.calibrate("both.csv", "demo.toml", draws=60, seed=5, improvements=["score=1"])
    assert json.loads(run.out) == found.to_dict()


def test_outputs_hold_the_whole_table(work, command):
    names = ("c.json", "c.csv", "c.parquet")
    run = command("calibrate", "both.csv", *POLICY, *(part for name in names for part in ("-o", name)))
    assert run.code == 0
    table = pl.read_parquet("c.parquet")
    assert table["candidate"].unique(maintain_order=True).to_list() == ["even", "good"]
    assert table.height == 2 * (5 + 5 + 3 * 3)
    assert pl.read_csv("c.csv").height == table.height
    assert json.loads((work / "c.json").read_text())["table"] == table.to_dicts()


def test_many_candidates_are_cut_short(work, command):
    from example_results import runs

    runs({f"c{number:02}": (1.0, 1.0, 1.0) for number in range(12)}).write_parquet("many.parquet")
    run = command("calibrate", "many.parquet", *POLICY)
    assert run.out.count("With the data of") == 10
    assert "and 2 more candidates; an output (-o) or --json holds all" in run.out
    assert "the file holds all" in command("calibrate", "many.parquet", *POLICY, "-o", "c.json").out


def test_faulty_data_are_called_so(work, command):
    broken = pl.read_parquet("good.parquet").filter(
        (pl.col("build") != "good") | (pl.col("case") != "c1") | (pl.col("suite") != "prose")
    )
    broken.write_parquet("broken.parquet")
    run = command("calibrate", "broken.parquet", *POLICY)
    assert "The data are at fault in 2 comparisons, and that alone blocks it" in " ".join(run.out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--improvement", "lots"), "the improvement 'lots' cannot be read"),
        (("--improvement", "scor=1"), "did you mean 'score'?"),
        (("--draws", "0"), "draws is out of range"),
        (("--candidate", "nobody"), "nobody"),
        (("-o", "c.xml"), ".parquet"),
        (("-o", "both.csv"), "overwrite an input"),
    ],
)
def test_wrong_usage_is_2(work, command, arguments, message):
    run = command("calibrate", "both.csv", "--policy", "demo.toml", *arguments)
    assert run.code == 2
    assert message in run.err
    assert run.out == ""


def test_replicates_are_told_in_every_report(work, command):
    run = command(
        "benchmark", "both.csv", "--policy", "demo.toml", "--replicates", "200", "-o", "r.json", "-o", "r.md"
    )
    assert run.code == 1
    assert "passes in 100 % of 200 resamplings of the cases" in run.out
    assert "is blocked in 100 % of 200 resamplings of the cases" in run.out
    note = "They are not the probability that a build is better."
    assert note in " ".join(run.out.split())
    comment = (work / "r.md").read_text()
    assert "It passes in 100 % of 200 resamplings of the cases." in comment
    assert "| passes in |" in comment
    assert note in comment
    saved = json.loads((work / "r.json").read_text())
    assert [(row["replicates"], row["share_pass"]) for row in saved["verdicts"]] == [(200, 0.0), (200, 1.0)]
    assert saved["evidence"]["replicates"] == {"n": 200, "seed": 0}


def test_without_replicates_no_word_of_them(work, command):
    run = command("benchmark", "both.csv", "--policy", "demo.toml", "-o", "r.md")
    assert "resampling" not in run.out + (work / "r.md").read_text()
    assert "passes in" not in run.out + (work / "r.md").read_text()


def test_many_candidates_have_a_column_of_shares(work, command):
    from example_results import runs

    kinds = {f"c{number:02}": (6.0 * (number % 2),) * 3 for number in range(9)}
    runs(kinds).write_parquet("many.parquet")
    run = command("benchmark", "many.parquet", "--policy", "demo.toml", "--replicates", "50", "--seed", "3")
    assert "passes in" in run.out
    assert "100 %" in run.out
    assert "50 resamplings (seed 3)" in run.out


def test_replicates_that_are_none_are_wrong_usage(work, command):
    run = command("benchmark", "both.csv", "--policy", "demo.toml", "--replicates", "0")
    assert run.code == 2
    assert "replicates is out of range" in run.err


def test_help_fits_a_terminal(command):
    run = command("calibrate", "--help")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("Usage: fastgate calibrate")
    assert all(len(line) <= 80 for line in run.out.splitlines())
