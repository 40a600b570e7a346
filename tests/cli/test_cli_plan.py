from __future__ import annotations

import json

import polars as pl
import pytest

from fastgate import benchmark_plan


def _refuse(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


def test_a_plan_from_a_pilot(work, command):
    run = command("plan", "good.parquet", "--policy", "demo.toml", "--effect", "1.5")
    assert (run.code, run.err) == (0, "")
    found = benchmark_plan("demo.toml", "good.parquet", effect=1.5)
    lines = run.out.splitlines()
    assert lines[0] == "plan for policy demo: win 2 of 3 suites against each of 2 baselines"
    assert lines[1:3] == ["Welch's t test, two-sided, alpha 0.05", "a candidate better by 1.5"]
    rule = found.rule
    cases = f"{rule['cases']} cases per suite ({rule['total_cases']} cases in all)"
    assert lines[4] == f"{cases} let such a candidate pass in 80 % of runs"
    row = found.comparisons.filter(suite="maths", baseline="old").row(0, named=True)
    (line,) = (line.split() for line in lines if line.split()[:2] == ["maths", "score"])
    assert line[3] in ("old", "plain")
    assert line[4:8] == [f"{row['sd']:.3g}", f"{row['correlation']:.2f}", "+1.5", "10"]
    assert "chess cost" not in run.out
    assert "Guards are taken to be neither better nor worse" in run.out
    assert lines[-1].startswith("    ") or lines[-1].startswith("  - ")


def test_a_plan_from_stated_figures(work, command):
    options = ("--standardised-effect", "0.5", "--correlation", "0.5", "--power", "0.9", "--cases", "40")
    run = command("plan", "--policy", "demo.toml", *options, "--tenant", "strict", "--json")
    assert (run.code, run.err) == (0, "")
    plain = json.loads(run.out, parse_constant=_refuse)
    found = benchmark_plan(
        "demo.toml", standardised_effect=0.5, correlation=0.5, power=0.9, cases=40, tenant="strict"
    )
    assert plain == json.loads(json.dumps(found.to_dict()))
    assert plain["rule"]["required"] == 3
    assert plain["rule"]["cases_at_least"] <= plain["rule"]["cases"] <= plain["rule"]["cases_at_most"]


def test_effects_by_kpi(work, command):
    run = command(
        "plan", "good.parquet", "--policy", "demo.toml", "--effect", "score=1", "--effect", "cost=2", "--json"
    )
    effects = {
        row["suite"]: row["effect"] for row in json.loads(run.out)["comparisons"] if row["role"] == "decides"
    }
    assert effects == {"chess": 1.0, "maths": 1.0, "prose": 2.0}
    part = command("plan", "good.parquet", "--policy", "demo.toml", "--effect", "score=1")
    assert part.code == 0
    assert "no effect is stated for the KPI: prose" in part.out


def test_no_plan_is_said(work, command):
    options = ("--policy", "demo.toml", "--effect", "cost=1", "--sd", "1")
    run = command("plan", *options)
    assert run.code == 0
    assert "No plan: only 1 of 3 suites have the figures, and 2 must be won" in run.out
    limit = command(
        "plan", "--policy", "demo.toml", "--tenant", "strict", "--standardised-effect", "1", "--power", "0.99"
    )
    assert "No number of cases lets such a candidate pass in 99 % of runs" in limit.out
    assert "guards fail by chance" in limit.out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_keeps_to_the_width(work, command, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    run = command("plan", "good.parquet", "--policy", "demo.toml", "--pilot-effect")
    assert run.code == 0
    assert max(map(len, run.out.splitlines())) <= width
    assert "overstate" in run.out


@pytest.mark.parametrize(("ending", "read"), [("parquet", pl.read_parquet), ("csv", pl.read_csv)])
def test_comparisons_are_written(work, command, ending, read):
    run = command(
        "plan", "both.csv", "--policy", "demo.toml", "--effect", "1", "-o", f"out.{ending}", "-o", "out.json"
    )
    assert run.code == 0
    expected = benchmark_plan("demo.toml", "both.csv", effect=1.0)
    written = read(work / f"out.{ending}")
    assert written.columns == expected.comparisons.columns
    assert written["cases_needed"].to_list() == expected.comparisons["cases_needed"].to_list()
    assert json.loads((work / "out.json").read_text())["settings"]["candidates"] == ["even", "good"]


def test_columns_have_other_names(work, command):
    pl.read_parquet("good.parquet").rename({"value": "measured"}).write_parquet("theirs.parquet")
    options = ("--policy", "demo.toml", "--effect", "1")
    theirs = command("plan", "theirs.parquet", *options, "--column", "value=measured")
    assert theirs == command("plan", "good.parquet", *options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("good.parquet",), "not stated"),
        (("nowhere.parquet", "--effect", "1"), "nowhere.parquet"),
        (("--effect", "1"), "without the noise"),
        (("--effect", "much"), "neither a number nor KPI=NUMBER"),
        (("--effect", "score=much"), "neither a number nor KPI=NUMBER"),
        (("--effect", "score=1", "--effect", "score=2"), "given twice"),
        (("--effect", "1", "--effect", "score=2"), "stands alone"),
        (("--effect", "scor=1", "--sd", "1"), "did you mean 'score'?"),
        (("good.parquet", "--effect", "-1"), "above 0"),
        (("good.parquet", "--effect", "1", "--candidate", "god"), "did you mean 'good'?"),
        (("both.csv", "--pilot-effect"), "several candidates"),
        (("good.parquet", "--effect", "1", "--power", "80"), "out of range"),
        (("good.parquet", "--effect", "1", "-o", "out.xlsx"), ".json, .csv, .parquet"),
        (("good.parquet", "--effect", "1", "-o", "good.parquet"), "overwrite an input"),
        (("--standardised-effect", "1", "--tenant", "nobody"), "nobody"),
    ],
)
def test_bad_input_is_2(work, command, options, words):
    run = command("plan", *options, "--policy", "demo.toml")
    assert (run.code, run.out) == (2, "")
    assert words in run.err


def test_the_bootstrap_has_no_formula(work, command):
    (work / "boot.toml").write_text(
        (work / "demo.toml").read_text().replace("min_cases = 5", 'test = "bootstrap"')
    )
    run = command("plan", "good.parquet", "--policy", "boot.toml", "--effect", "1")
    assert run.code == 2
    assert "no formula" in run.err
