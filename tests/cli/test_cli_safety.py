from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from example_gates import SAFETY_TOML, manifests, outcomes

import fastgate

COMMON = ("--manifest", "runs.json", "--baseline", "old", "--policy", "demo.toml")


def _refuse(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    outcomes("same", "worse", "better").write_parquet(tmp_path / "all.parquet")
    outcomes("same", "better").write_csv(tmp_path / "fine.csv")
    builds = ("same", "worse", "better")
    (tmp_path / "runs.json").write_text(json.dumps(manifests(*builds)))
    odd = manifests(*builds, same={"temperature": 0}, better={"temperature": 0})
    (tmp_path / "odd.json").write_text(json.dumps(odd))
    (tmp_path / "old.toml").write_text(
        'build = "old"\nsuite_hash = "ab12"\ntemperature = 0.2\nseeds = [1, 2]\n'
    )
    (tmp_path / "new.toml").write_text(
        'build = "new"\nsuite_hash = "ab12"\ntemperature = 0.0\nseeds = [2, 1]\n'
    )
    (tmp_path / "demo.toml").write_text(SAFETY_TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_pass_is_0_block_is_1_and_refused_is_4(work, command):
    assert command("safety", "fine.csv", *COMMON, "-q") == (0, "pass\tbetter\npass\tsame\n", "")
    run = command("safety", "all.parquet", *COMMON)
    assert (run.code, run.err) == (1, "")
    assert "BLOCK worse  2 suites: 1 regressed, 1 without a signal" in run.out
    run = command("safety", "fine.csv", "--manifest", "odd.json", *COMMON[2:], "-q", "--review-ok")
    assert run == (4, "refused\tbetter\nrefused\tsame\n", "")


def test_a_refusal_shows_the_fields_and_what_the_figures_say(work, command):
    run = command("safety", "fine.csv", "--manifest", "odd.json", *COMMON[2:])
    text = " ".join(run.out.split())
    assert "REFUSED better 2 suites: 2 refused" in text
    assert "- the runs differ in a condition that must agree on every suite" in text
    assert "temperature: baseline 0.2, candidate 0" in text
    assert "(figures alone: an improvement)" in text


def test_without_manifests_the_columns_are_read(work, command):
    frame = pl.read_csv("fine.csv")
    frame.with_columns(suite_hash=pl.lit("ab"), temperature=pl.lit(0.2)).write_csv("stated.csv")
    assert command("safety", "stated.csv", *COMMON[2:], "-q").code == 0
    run = command("safety", "fine.csv", *COMMON[2:])
    assert run.code == 4
    assert "a run has no manifest" in run.out


def test_json_is_the_whole_result_and_every_output_is_written(work, command):
    names = ["r.json", "r.md", "r.junit.xml", "r.parquet", "r.arrow"]
    run = command(
        "safety", "all.parquet", *COMMON, "--json", *(part for name in names for part in ("-o", name))
    )
    assert (run.code, run.err) == (1, "")
    plain = json.loads(run.out, parse_constant=_refuse)
    assert plain == json.loads((work / "r.json").read_text())
    assert plain["gate"] == "safety"
    assert (work / "r.md").read_text().startswith("<!-- fastgate -->\n### fastgate: block\n")
    root = ElementTree.parse(work / "r.junit.xml").getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["6", "1", "0"]
    results = [fastgate.load(name) for name in ("r.json", "r.parquet", "r.arrow")]
    assert all(result.suites.equals(results[0].suites) for result in results)


def test_explain_and_its_json(work, command):
    command("safety", "all.parquet", *COMMON, "-o", "r.json", "-q")
    run = command("explain", "r.json", "--candidate", "worse")
    assert (run.code, run.err) == (0, "")
    text = " ".join(run.out.split())
    assert "BLOCK worse against old" in text
    assert "baseline 92 % (92 of 100), candidate 75 % (75 of 100): change -17 points" in text
    assert "17 cases regressed (c008, c009, c010 and 14 more), 0 fixed" in text
    run = command("explain", "r.json", "--candidate", "worse", "--json")
    assert json.loads(run.out, parse_constant=_refuse) == fastgate.load("r.json").explain("worse")
    run = command("explain", "r.json", "--candidate", "wors")
    assert run.code == 2
    assert "did you mean 'worse'" in run.err


def test_the_recovery_that_explain_states_is_enough(work, command):
    """As many more passes as it names are within the floor, and one fewer is not."""
    command("safety", "all.parquet", *COMMON, "-o", "r.json", "-q")
    text = command("explain", "r.json", "--candidate", "worse").out
    needed = int(text.split("jail: ")[1].split(" more pass")[0])
    frame = pl.read_parquet("all.parquet")
    failed = (pl.col("build") == "worse") & (pl.col("suite") == "jail") & ~pl.col("passed")
    for more, verdict in ((needed, "pass"), (needed - 1, "block")):
        repaired = frame.filter(failed)["case"].to_list()[:more]
        passed = pl.col("passed") | (failed & pl.col("case").is_in(repaired))
        frame.with_columns(passed=passed).write_parquet("repaired.parquet")
        assert (
            command("safety", "repaired.parquet", *COMMON, "--candidate", "worse", "-q").out
            == f"{verdict}\tworse\n"
        )


def test_diff_is_0_where_runs_may_be_compared_and_4_where_not(work, command):
    run = command("safety", "diff", "old.toml", "new.toml", "--policy", "demo.toml")
    assert (run.code, run.err) == (4, "")
    assert run.out.startswith("NOT COMPARABLE  2 of 3 fields")
    lines = [" ".join(line.split()) for line in run.out.splitlines()]
    assert "temperature 0.2 0 differs" in lines
    assert "seeds [1,2] [2,1] the same seeds in another order" in lines
    assert 'suite_hash "ab12" "ab12" agrees' in lines
    run = command("safety", "diff", "old.toml", "old.toml", "--policy", "demo.toml")
    assert (run.code, run.out.splitlines()[0]) == (0, "COMPARABLE  3 fields compared, all agree")
    assert command("safety", "diff", "old.toml", "old.toml").code == 4  # the customary fields are not stated


def test_diff_picks_builds_of_one_file_and_prints_json(work, command):
    arguments = (
        "safety",
        "diff",
        "odd.json",
        "odd.json",
        "--baseline",
        "old",
        "--policy",
        "demo.toml",
        "--json",
    )
    run = command(*arguments, "--candidate", "better")
    assert run.code == 4
    plain = json.loads(run.out, parse_constant=_refuse)
    assert not plain["comparable"]
    (differing,) = [row for row in plain["fields"] if not row["agrees"]]
    assert (differing["field"], differing["baseline"], differing["candidate"]) == ("temperature", "0.2", "0")
    assert json.loads(command(*arguments, "--candidate", "worse").out)["comparable"]


def test_rates_that_were_given_are_judged_and_said_to_be(work, command):
    """A published example: 91.7 % and 87.6 % of 240 cases at two temperatures."""
    rows = {"build": ["old", "new"], "suite": ["litmus"] * 2, "total": [240] * 2, "rate": [0.917, 0.876]}
    pl.DataFrame(rows).write_csv("rates.csv")
    (work / "two.json").write_text(json.dumps(manifests("new", new={"temperature": 0.0})))
    run = command("safety", "rates.csv", "--manifest", "two.json", *COMMON[2:])
    assert run.code == 4
    text = " ".join(run.out.split())
    assert "temperature: baseline 0.2, candidate 0" in text
    assert "91.7 % of 240 87.6 % of 240 -4.1 3.52 refused" in text
    assert "figures alone: a regression" in text
    assert "Rates were given that are no multiples of 1/n" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["Usage: fastgate safety"]),
        (("all.parquet", *COMMON[:2], *COMMON[4:]), ["Missing option '--baseline'"]),
        (("all.parquet", *COMMON, "--json", "-q"), ["exclude one another"]),
        (("all.parquet", *COMMON[:2], "--baseline", "odl", *COMMON[4:]), ["'odl'", "did you mean 'old'"]),
        (("all.parquet", "--manifest", "absent.json", *COMMON[2:]), ["the manifest does not exist"]),
        (("all.parquet", *COMMON[:4], "--policy", "concordia"), ["policy of the benchmark gate"]),
        (("all.parquet", *COMMON, "--tenant", "strikt"), ["did you mean 'strict'"]),
        (("all.parquet", *COMMON, "--candidate", "wors"), ["did you mean 'worse'"]),
        (("all.parquet", *COMMON, "--shape", "rows"), ["'rows' is not one of"]),
        (("all.parquet", *COMMON, "-o", "runs.json"), ["overwrite an input"]),
        (("diff",), ["Usage: fastgate safety diff"]),
        (("diff", "old.toml"), ["Missing argument 'CANDIDATE'"]),
        (("diff", "old.toml", "absent.toml"), ["the manifest does not exist", "absent.toml"]),
        (("diff", "odd.json", "new.toml"), ["the baseline's manifests are of several builds", "--baseline"]),
        (("diff", "old.toml", "new.toml", "--baseline", "odl"), ["no manifest of 'odl'", "--baseline"]),
        (("diff", "old.toml", "new.toml", "--tenant", "strict"), ["without --policy"]),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, tuple) else "",
)
def test_bad_usage_and_input_is_2(arguments, words, work, command):
    run = command("safety", *arguments)
    assert run.code == 2
    assert run.out == ""
    for word in words:
        assert word in run.err


@pytest.mark.parametrize("words", [("safety",), ("safety", "diff")], ids=" ".join)
def test_the_commands_have_help(words, command):
    run = command(*words, "--help")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith(f"Usage: fastgate {' '.join(words)}")
    assert all(len(line) <= 80 for line in run.out.splitlines())
