from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from example_gates import STABILITY_TOML, posterior, probes

import fastgate

COMMON = ("--posterior", "post.csv", "--policy", "demo.toml")


def _refuse(word: str) -> float:
    raise AssertionError(f"{word} is no JSON")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    probes(good=(38, 36)).write_parquet(tmp_path / "good.parquet")
    probes(good=(38, 34)).write_parquet(tmp_path / "edge.parquet")
    probes(good=(33, 36)).write_parquet(tmp_path / "fell.parquet")
    probes(good=(38, 36), bad=(38, 20)).write_csv(tmp_path / "both.csv")
    posterior(good=0.04, bad=0.04).write_csv(tmp_path / "post.csv")
    (tmp_path / "demo.toml").write_text(STABILITY_TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_pass_is_0_and_block_is_1(work, command):
    assert command("stability", "good.parquet", *COMMON, "-q") == (0, "pass\tgood\n", "")
    run = command("stability", "both.csv", *COMMON)
    assert (run.code, run.err) == (1, "")
    assert "BLOCK bad  1 of 2 kinds holds" in run.out
    assert "- too few probes make the primary run's choice: order_swap (0.5, 0.85 asked for)" in run.out


def test_a_share_at_its_threshold_holds(work, command):
    assert command("stability", "edge.parquet", *COMMON, "-q").code == 0


def test_a_drop_is_3_unless_it_is_ok(work, command):
    assert command("stability", "good.parquet", *COMMON, "-o", "before.json", "-q").code == 0
    again = ("stability", "fell.parquet", *COMMON, "--previous", "before.json")
    run = command(*again)
    assert run.code == 3
    assert (
        "agreement fell by more than the policy allows since the previous release: paraphrase (0.125)"
        in run.out
    )
    assert "holds, but agreement fell" in " ".join(run.out.split())
    assert command(*again, "--review-ok", "-q") == (0, "review\tgood\n", "")
    assert command(*again, "-q", "--previous-candidate", "odd").code == 2


def test_without_a_posterior_nothing_passes(work, command):
    run = command("stability", "good.parquet", "--policy", "demo.toml")
    assert run.code == 1
    assert "there is no posterior of this build" in run.out


def test_profiles_and_tenants_are_passed_on(work, command):
    assert command("stability", "edge.parquet", *COMMON, "--tenant", "strict").code == 0
    pl.read_csv("post.csv").with_columns(sd=0.045).write_csv("wider.csv")
    arguments = ("stability", "good.parquet", "--posterior", "wider.csv", "--policy", "demo.toml")
    assert command(*arguments, "-q").code == 0
    run = command(*arguments, "--profile", "legal_claim")
    assert run.code == 1
    assert "policy demo, profile legal_claim" in run.out
    assert "the mean width of the credible intervals is above the cap (0.176, 0.15 allowed)" in run.out


def test_utilities_are_fitted_to_preferences(work, command):
    rows = [
        {"build": "good", "left": "x", "right": "y", "outcome": "left" if number % 3 else "right"}
        for number in range(600)
    ]
    pl.DataFrame(rows).write_csv("choices.csv")
    arguments = ("stability", "good.parquet", "--preferences", "choices.csv", "--policy", "demo.toml")
    run = command(*arguments)
    assert run.code == 0
    assert "posterior fitted to preferences" in run.out
    assert "none is of a pair that was probed" in " ".join(run.out.split())
    assert command(*arguments, "--posterior", "post.csv").code == 2


def test_json_is_the_whole_result_and_every_output_is_written(work, command):
    names = ["r.json", "r.md", "r.junit.xml", "r.parquet", "r.arrow"]
    run = command(
        "stability", "both.csv", *COMMON, "--json", *(part for name in names for part in ("-o", name))
    )
    assert (run.code, run.err) == (1, "")
    plain = json.loads(run.out, parse_constant=_refuse)
    assert plain == json.loads((work / "r.json").read_text())
    assert (work / "r.md").read_text().startswith("<!-- fastgate -->\n### fastgate: block\n")
    root = ElementTree.parse(work / "r.junit.xml").getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["8", "1", "0"]
    results = [fastgate.load(name) for name in ("r.json", "r.parquet", "r.arrow")]
    assert all(result.kinds.equals(results[0].kinds) for result in results)


def test_explain_and_its_json(work, command):
    command("stability", "both.csv", *COMMON, "-o", "r.json", "-q")
    run = command("explain", "r.json", "--candidate", "bad")
    assert (run.code, run.err) == (0, "")
    text = " ".join(run.out.split())
    assert "order_swap: 14 more probes of 40 agreeing" in text
    assert "20 of 40 pairs flipped under some probe" in text
    plain = json.loads(
        command("explain", "r.json", "--candidate", "bad", "--json").out, parse_constant=_refuse
    )
    assert [kind["to_change"] for kind in plain["kinds"]] == [-6, 14]
    assert len(plain["flips"]) == 22
    assert "did you mean 'good'" in command("explain", "r.json", "--candidate", "goud").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["Usage: fastgate stability"]),
        (("good.parquet",), ["Missing option '--policy'"]),
        (("good.parquet", *COMMON, "--json", "-q"), ["exclude one another"]),
        (("good.parquet", *COMMON, "--preferences", "x.csv"), ["--posterior and --preferences exclude"]),
        (("good.parquet", *COMMON, "--profile", "legal"), ["no profile 'legal'", "legal_claim"]),
        (
            ("good.parquet", *COMMON, "--letters", "raw"),
            ["it is not clear what the choices of swapped runs are"],
        ),
        (("good.parquet", *COMMON, "--letters", "row"), ["'row' is not one of"]),
        (("good.parquet", "--posterior", "absent.csv", *COMMON[2:]), ["absent.csv"]),
        (("good.parquet", *COMMON[:2], "--policy", "litmus"), ["policy of the safety gate"]),
        (("good.parquet", *COMMON, "--candidate", "god"), ["did you mean 'good'"]),
        (("good.parquet", *COMMON, "--previous", "demo.toml"), ["this is no result"]),
        (("good.parquet", *COMMON, "-o", "post.csv.json/r.md", "-o", "r.txt"), ["does not say its format"]),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, tuple) else "",
)
def test_bad_usage_and_input_is_2(arguments, words, work, command):
    run = command("stability", *arguments)
    assert run.code == 2
    assert run.out == ""
    for word in words:
        assert word in run.err


def test_policies_of_these_gates_are_shown(work, command):
    text = command("policy", "check", "demo.toml", "--profile", "legal_claim").out
    assert text.startswith("policy demo (stability gate) as it applies to profile legal_claim: valid")
    assert "intervals at most 0.15" in text
    text = command("policy", "check", "litmus").out
    assert "half-width of the 95 % Wilson interval at the baseline's rate and n" in text
    assert "suite_hash, seeds, temperature" in text
    assert "no profiles" in command("policy", "check", "litmus", "--profile", "legal_claim").err
    listed = command("policy", "list").out.splitlines()
    assert [line.split()[:2] for line in listed] == [
        ["concordia", "benchmark"],
        ["litmus", "safety"],
        ["stability", "stability"],
    ]


@pytest.mark.parametrize("gate", ["safety", "stability"])
def test_the_schema_of_each_gate_is_printed(gate, command):
    assert json.loads(command("schema", gate).out)["$id"] == f"urn:fastgate:result:{gate}:1"


def test_the_command_has_help(command):
    run = command("stability", "--help")
    assert (run.code, run.err) == (0, "")
    assert all(len(line) <= 80 for line in run.out.splitlines())


def test_the_example_of_the_repository(data, command):
    run = command(
        "stability",
        data / "pref_llmbar.parquet",
        *("--preferences", data / "pairwise_llmbar.parquet", "--policy", data / "llmbar_policy.toml", "-q"),
    )
    assert run == (1, "block\tChatGPT\npass\tGPT-4\nblock\tLLaMA2\n", "")
