from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import polars as pl
import pytest

import fastgate

POLICY = ("--policy", "demo.toml")


def _refuse(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


def test_pass_is_0_and_block_is_1(work, command):
    assert command("benchmark", "good.parquet", *POLICY).code == 0
    run = command("benchmark", "both.csv", *POLICY)
    assert run.code == 1
    assert run.err == ""
    assert "BLOCK even" in run.out
    assert "PASS good" in run.out


def test_review_is_3_unless_it_is_ok(work, command):
    assert command("benchmark", "good.parquet", *POLICY, "-o", "before.json", "-q").code == 0
    again = ("benchmark", "lost.parquet", *POLICY, "--previous", "before.json", "-q")
    assert command(*again) == (3, "review\tgood\n", "")
    assert command(*again, "--review-ok") == (0, "review\tgood\n", "")


def test_review_ok_leaves_a_block_a_block(work, command):
    assert command("benchmark", "both.csv", *POLICY, "--review-ok", "-q").code == 1


def test_refused_is_4(work, command, monkeypatch):
    monkeypatch.setattr(fastgate.BenchmarkResult, "verdict", "refused")
    assert command("benchmark", "good.parquet", *POLICY).code == 4


def test_quiet_is_a_line_per_candidate(work, command):
    assert command("benchmark", "both.csv", *POLICY, "--quiet").out == "block\teven\npass\tgood\n"


def test_json_is_the_whole_result_and_nothing_else(work, command):
    run = command("benchmark", "both.csv", *POLICY, "--json", "-o", "r.json")
    assert run.code == 1
    assert run.err == ""
    plain = json.loads(run.out, parse_constant=_refuse)
    assert plain == json.loads((work / "r.json").read_text())
    assert [row["verdict"] for row in plain["verdicts"]] == ["block", "pass"]
    assert fastgate.load("r.json")["good"] == "pass"


def test_every_output_is_written_whatever_the_verdict(work, command):
    names = ["r.json", "r.md", "r.junit.xml", "r.parquet", "deep/er/r.arrow"]
    run = command("benchmark", "both.csv", *POLICY, *(part for name in names for part in ("-o", name)))
    assert run.code == 1
    assert run.out.endswith("Next: fastgate explain r.json --candidate even\n")
    assert (work / "r.md").read_text().startswith("<!-- fastgate -->\n")
    assert ElementTree.parse(work / "r.junit.xml").getroot().get("failures") == "2"
    results = [fastgate.load(name) for name in ("r.json", "r.parquet", "deep/er/r.arrow")]
    assert all(result.cells.equals(results[0].cells) for result in results)


def test_samples_may_be_several_files_and_globs(work, command):
    frame = pl.read_csv("both.csv")
    frame.filter(pl.col("build") == "good").write_csv("part-1.csv")
    frame.filter(pl.col("build") != "good").write_csv("part-2.csv")
    whole = command("benchmark", "both.csv", *POLICY, "-q")
    assert command("benchmark", "part-*.csv", *POLICY, "-q") == whole
    assert command("benchmark", "part-2.csv", "part-1.csv", *POLICY, "-q") == whole


def test_candidates_columns_and_tenants_are_passed_on(work, command):
    pl.read_csv("both.csv").rename({"value": "measured", "case": "id"}).write_csv("theirs.csv")
    columns = ("--column", "value=measured", "--column", "case=id")
    run = command("benchmark", "theirs.csv", *POLICY, *columns, "--candidate", "good", "-q")
    assert run == (0, "pass\tgood\n", "")
    run = command("benchmark", "lost.parquet", *POLICY, "--tenant", "strict")
    assert run.code == 1
    assert "policy demo, tenant strict" in run.out


def test_the_released_build_may_have_another_name(work, command):
    command("benchmark", "both.csv", *POLICY, "-o", "before.json")
    arguments = (
        "benchmark",
        "lost.parquet",
        *POLICY,
        "--previous",
        "before.json",
        "-q",
        "--previous-candidate",
    )
    assert command(*arguments, "good").code == 3
    assert command(*arguments, "even").code == 0


def test_a_preset_is_a_policy(work, command):
    run = command("benchmark", "good.parquet", "--policy", "concordia")
    assert run.code == 2
    assert "baseline 'llm_mediator_baseline'" in run.err


def test_the_example_of_the_repository(data, command, tmp_path):
    run = command("benchmark", data / "automl_1h.parquet", "--policy", data / "automl_policy.toml", "--json")
    assert run.code == 1
    verdicts = {row["candidate"]: row["verdict"] for row in json.loads(run.out)["verdicts"]}
    assert set(verdicts) == {"autosklearn", "autoweka", "h2oautoml", "tpot"}
    assert verdicts["autoweka"] == "block"


def test_explain_tells_of_a_saved_result(work, command):
    command("benchmark", "both.csv", *POLICY, "-o", "r.json", "-o", "r.parquet")
    for saved in ("r.json", "r.parquet"):
        run = command("explain", saved, "--candidate", "even")
        assert (run.code, run.err) == (0, "")
        assert "Against plain: 0 of 3 suites won, 2 required, 2 short" in run.out
        assert re.search(
            r"chess: score 0\.2 ± [\d.]+ better \(p 0\.605\); \d+ cases would have done", run.out
        )


def test_explain_needs_no_name_where_there_is_one_candidate(work, command):
    command("benchmark", "both.csv", *POLICY, "-o", "r.json", "--candidate", "good")
    assert "PASS good" in command("explain", "r.json").out


def test_explain_as_json(work, command):
    command("benchmark", "both.csv", *POLICY, "-o", "r.json")
    run = command("explain", "r.json", "--candidate", "even", "--json")
    plain = json.loads(run.out, parse_constant=_refuse)
    assert plain == fastgate.load("r.json").explain("even")
    assert plain["verdict"] == "block"


def test_policy_check_shows_the_policy_and_remarks(work, command):
    run = command("policy", "check", "demo.toml", "--tenant", "strict")
    assert (run.code, run.err) == (0, "")
    assert "as it applies to tenant strict: valid" in run.out
    assert "A reviewer would question" in run.out


def test_presets_are_listed_shown_and_valid(work, command):
    assert command("policy", "list").out.startswith("concordia  ")
    (work / "mine.toml").write_text(command("policy", "show", "concordia").out)
    assert fastgate.load_policy("mine.toml") == fastgate.load_policy("concordia")
    assert command("policy", "check", "mine.toml").code == 0


def test_the_schema_is_printed(command):
    assert json.loads(command("schema").out)["$id"] == "urn:fastgate:result:benchmark:1"


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize(
    "words",
    [(), ("benchmark",), ("explain",), ("policy",), ("policy", "check"), ("policy", "show"), ("schema",)],
    ids=" ".join,
)
def test_every_command_has_help(words, flag, command):
    run = command(*words, flag)
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith(f"Usage: {' '.join(['fastgate', *words])}")
    assert all(len(line) <= 80 for line in run.out.splitlines())


def test_the_exit_codes_are_in_the_help(command):
    text = command("--help").out
    for line in ("0  pass", "1  block", "2  wrong usage", "3  review", "4  refused", "70  internal error"):
        assert line in text


def test_the_version(command):
    assert command("--version") == (0, f"fastgate {fastgate.__version__}\n", "")
