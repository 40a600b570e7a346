from __future__ import annotations

import io
import os
import re
from unittest import mock

import polars as pl
import pytest
from example_results import HOSTILE, POLICY_TOML, judged, runs, swept

import fastgate
from fastgate.gates.policy import check_policy, effective, load_policy
from fastgate.reports.benchmark import facts, terminal
from fastgate.reports.benchmark.explanation import explanation_report
from fastgate.reports.benchmark.sentences import notes, why
from fastgate.reports.console import rendered
from fastgate.reports.policy import policy_report

GOOD, EVEN, WEAK = (6.0, 6.0, 6.0), (0.5, 0.0, 0.0), (-6.0, 6.0, 6.0)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def small():
    return judged(good=GOOD, even=EVEN)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


SMALL = """\
benchmark gate, policy demo (HASH), 160 rows (PRINT)
2 candidates, 2 baselines, 3 suites: at least 2 wins against every baseline
Welch's t test, two-sided, alpha 0.05

BLOCK even  enough wins against 0 of 2 baselines

  baseline     won  required  tied  lost  undefined  verdict  reasons
  ────────────────────────────────────────────────────────────────────────
  old       0 of 3         2     3     0          0  block    too few wins
  plain     0 of 3         2     3     0          0  block    too few wins

  - too few suites won: 0 of 2 required against old, 0 of 2 required against plain

  suite          old               plain
  ──────────────────────────────────────────────────
  chess score ↑  tie +0.2 p 0.605  tie +0.2 p 0.605
  maths score ↑  tie 0 p 1         tie -1.11e-16 p 1
  prose cost ↓   tie 0 p 1         tie -1.11e-16 p 1
  difference to the baseline and p; ↑ higher is better, ↓ lower is better

PASS good  enough wins against 2 of 2 baselines

  baseline     won  required  tied  lost  undefined  verdict
  ──────────────────────────────────────────────────────────
  old       3 of 3         2     0     0          0  pass
  plain     3 of 3         2     0     0          0  pass

  suite          old                plain
  ───────────────────────────────────────────────────
  chess score ↑  win +2.4 p 5.8e-6  win +2.4 p 5.8e-6
  maths score ↑  win +2.4 p 5.8e-6  win +2.4 p 5.8e-6
  prose cost ↓   win -2.4 p 5.8e-6  win -2.4 p 5.8e-6
  difference to the baseline and p; ↑ higher is better, ↓ lower is better

Notes
  - p-values are not corrected for the number of comparisons; by Holm's correction over each
    candidate's comparisons 6 of the 6 comparisons won would remain so.

BLOCK: the worst of 2 candidates (1 pass, 1 block)
Next: fastgate explain result.json --candidate even
"""


def test_few_candidates_are_shown_in_full():
    text = terminal.report(small(), io.StringIO(), saved="result.json")
    text = re.sub(r"\([0-9a-f]{12}\), 160 rows \([0-9a-f]{12}\)", "(HASH), 160 rows (PRINT)", text)
    assert text == SMALL


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_every_line_fits_the_width(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    result = judged(**{"a-build-of-a-rather-long-name-2026-11-29": EVEN, HOSTILE: GOOD})
    (first, second) = list(result)
    texts = [
        terminal.report(result, io.StringIO(), saved="r.json"),
        terminal.report(swept(30), io.StringIO()),
    ]
    texts += [explanation_report(result, result.explain(name), io.StringIO()) for name in (first, second)]
    texts += [policy_report(effective("concordia"), check_policy("concordia"), io.StringIO())]
    for line in "\n".join(texts).splitlines():
        if not line.startswith("Next:"):  # a command to copy is not broken
            assert len(line) <= width, line
            assert line == line.rstrip()
    for word in ("plain", "chess", "maths", "block", "pass"):
        assert word in texts[0]


def test_a_pipe_has_a_width_of_its_own():
    result = judged(**{f"build-{number}": EVEN for number in range(3)})
    wide = terminal.report(result, io.StringIO())
    with mock.patch("os.get_terminal_size", return_value=os.terminal_size((33, 10))):
        assert terminal.report(result, io.StringIO()) == wide


def test_colour_is_for_terminals_only(monkeypatch):
    assert "\x1b[" not in terminal.report(small(), io.StringIO())
    coloured = terminal.report(small(), Terminal())
    assert "\x1b[1;31mBLOCK" in coloured
    assert "\x1b[32mwin" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", terminal.report(small(), Terminal()))


def test_names_are_shown_and_not_obeyed():
    text = terminal.report(judged(**{HOSTILE: GOOD}), Terminal())
    assert "[red]x[/red]" in text
    assert r"\x1b[31m" in text
    assert "\u202e" not in text
    assert "\x1b[31m\\u202e" not in text
    assert "\n*_y_*" not in text
    assert text.rstrip().endswith("--candidate NAME")  # such a name cannot be pasted into a command


def test_a_name_in_a_command_is_quoted():
    text = terminal.report(judged(**{"two words; rm": GOOD}), io.StringIO(), saved="my result.json")
    assert text.endswith("Next: fastgate explain 'my result.json' --candidate 'two words; rm'\n")


def test_many_candidates_are_ranked_and_counted():
    text = terminal.report(swept(40), io.StringIO(), saved="r.parquet")
    lines = text.splitlines()
    verdicts = [line.split()[0] for line in lines if re.match(r"(pass|block)  ", line)]
    assert verdicts == ["pass"] * 10 + ["block"] * 10
    assert "and 4 more" in text
    assert "and 16 more" in text
    assert "BLOCK: the worst of 40 candidates (14 pass, 26 block)" in text
    assert "old: beaten by 14 of 40 candidates" in text
    assert "chess: 35 % of its comparisons won" in text


def test_verdict_lines_are_one_per_candidate():
    lines = terminal.verdict_lines(judged(**{"good": GOOD, HOSTILE: EVEN})).splitlines()
    assert len(lines) == 2
    assert "pass\tgood" in lines
    assert all(line.isprintable() for line in (line.replace("\t", "") for line in lines))


def faulty():
    frame = runs({"good": GOOD, "gone": GOOD})
    gone = (pl.col("build") == "gone") & (pl.col("suite") == "maths")
    lacking = gone & (pl.col("case") == "c3")
    empty = gone & (pl.col("case") == "c5")
    frame = frame.filter(~lacking).with_columns(value=pl.when(empty).then(None).otherwise("value"))
    return fastgate.benchmark_gate(frame, load_policy_text())


def load_policy_text(**more):
    import tomllib

    policy = {**tomllib.loads(POLICY_TOML), **more}
    if more:
        del policy["tenants"]
    return policy


def test_faults_are_named_case_by_case():
    result = faulty()
    text = terminal.report(result, io.StringIO())
    assert "BLOCK gone  enough wins against 2 of 2 baselines, faults in the data" in text
    assert "more values are missing than the policy allows: maths" in text
    assert "Cases at fault: 2 (gone 2), such as" in text
    assert "gone, suite maths, case c3: not there (score), but in old, plain" in " ".join(text.split())
    assert "gone, suite maths, case c5: no value (score)" in text
    assert "undefined" in text


def test_a_share_of_missing_values_that_is_allowed_is_mentioned():
    frame = runs({"good": GOOD})
    empty = (pl.col("build") == "good") & (pl.col("case") == "c5") & (pl.col("suite") == "maths")
    frame = frame.with_columns(value=pl.when(empty).then(None).otherwise("value"))
    found = notes(fastgate.benchmark_gate(frame, load_policy_text(max_missing_share=0.2)))
    assert any("good 1." in note and "share of 0.2" in note for note in found)


def test_a_guard_is_mentioned_where_it_makes_the_difference():
    frame = runs({"greedy": GOOD, "poor": (0.0, 6.0, 6.0)})
    dear = (
        pl.col("build").is_in(["greedy", "poor"]) & (pl.col("suite") == "chess") & (pl.col("kpi") == "cost")
    )
    frame = frame.with_columns(value=pl.when(dear).then(pl.col("value") + 5).otherwise("value"))
    result = fastgate.benchmark_gate(frame, load_policy_text(min_suite_wins=3))
    greedy, poor = facts.candidates(result, ["greedy", "poor"])
    for candidate in (greedy, poor):
        entry = candidate.grid["chess"]["old"]
        assert entry.outcome == "loss"
        assert [cell["kpi"] for cell in entry.held_back_by("score")] == ["cost"]
    text = terminal.report(result, io.StringIO())
    assert "guard cost worse" in text
    assert "a guard KPI is significantly worse: chess" in text
    explained = " ".join(explanation_report(result, result.explain("greedy"), io.StringIO()).split())
    assert "a win by itself, but the guard cost 5 ± " in explained
    assert "worse, significantly" in explained


def test_a_guard_that_changes_nothing_is_not_mentioned():
    frame = runs({"bad": (-6.0, 0.0, 0.0)})
    dear = (pl.col("build") == "bad") & (pl.col("suite") == "chess") & (pl.col("kpi") == "cost")
    frame = frame.with_columns(value=pl.when(dear).then(pl.col("value") + 5).otherwise("value"))
    result = fastgate.benchmark_gate(frame, load_policy_text())
    (bad,) = facts.candidates(result, ["bad"])
    assert "guard_worse" in bad.reasons
    assert not any("guard" in sentence for sentence in why(bad, result.policy))


def test_lost_suites_say_to_whom():
    previous = judged(good=GOOD)
    result = fastgate.benchmark_gate(runs({"good": (6.0, 6.0, 0.0)}), load_policy_text(), previous=previous)
    text = terminal.report(result, io.StringIO())
    assert (
        "REVIEW good  enough wins against 2 of 2 baselines, 1 suite lost since the previous release" in text
    )
    assert "won by the previous release, not won now: prose (a tie against old, plain)" in text
    assert text.count("was won") == 2
    explained = explanation_report(result, result.explain("good"), io.StringIO())
    assert "winning prose again" in explained


def test_a_candidate_unknown_to_the_previous_result_says_so():
    previous = judged(good=GOOD, even=EVEN)
    result = fastgate.benchmark_gate(runs({"new": GOOD}), load_policy_text(), previous=previous)
    (new,) = facts.candidates(result, ["new"])
    assert why(new, result.policy) == ["the previous result does not hold this candidate"]
    assert "--previous-candidate" in explanation_report(result, result.explain("new"), io.StringIO())


def test_several_deciding_kpis_have_a_row_each():
    policy = load_policy_text(
        suites={"chess": {"decided_by": "all", "kpis": ["score", "cost"]}}, min_suite_wins=1
    )
    frame = runs({"half": GOOD}).filter(pl.col("suite") == "chess")
    text = terminal.report(fastgate.benchmark_gate(frame, policy), io.StringIO())
    rows = [line.split() for line in text.splitlines()]
    assert ["chess", "(all", "of", "2)", "tie", "tie"] in rows
    assert ["score", "↑", "win", "+2.4", "p", "5.8e-6", "win", "+2.4", "p", "5.8e-6"] in rows


def test_a_correction_shows_the_pvalue_that_decides():
    result = fastgate.benchmark_gate(
        runs({"good": (2.2, 6.0, 6.0)}), load_policy_text(correction={"method": "bonferroni"})
    )
    cell = result.cells.filter(
        (pl.col("suite").cast(pl.String) == "chess") & (pl.col("role") == "decides")
    ).to_dicts()[0]
    assert cell["pvalue"] < 0.05 < cell["pvalue_adjusted"]
    assert facts.deciding_pvalue(cell, result.policy) == cell["pvalue_adjusted"]
    text = terminal.report(result, io.StringIO())
    assert "Bonferroni correction over each candidate" in text
    assert "difference to the baseline and adjusted p" in text
    assert "before the policy's correction" in " ".join(
        explanation_report(result, result.explain("good"), io.StringIO()).split()
    )


def test_disagreeing_tests_are_counted_with_an_example():
    result = fastgate.benchmark_gate(runs({"good": (2.0, 0.0, 0.0)}), load_policy_text())
    differ = result.cells.filter("tests_disagree").height
    assert differ > 0
    (note,) = [note for note in notes(result) if "disagree" in note]
    assert f"disagree about {differ} of 6 deciding comparisons" in note
    assert "chess of good against old (Welch " in note
    assert "Welch's test decides" in note


def test_many_suites_leave_room_for_those_that_matter():
    suites = [f"s{number:02d}" for number in range(60)]
    one = runs({"good": GOOD}).filter((pl.col("suite") == "maths") & (pl.col("kpi") == "score")).drop("suite")
    frame = pl.DataFrame({"suite": suites}).join(one, how="cross")
    tied = pl.col("suite").is_in(["s41", "s55"]) & (pl.col("build") == "good")
    frame = frame.with_columns(value=pl.when(tied).then(pl.col("value") - 2.4).otherwise("value"))
    policy = load_policy_text(suites=suites, suite_defaults={"decided_by": "score", "kpis": ["score"]})
    del policy["kpis"]["cost"]
    text = terminal.report(fastgate.benchmark_gate(frame, policy), io.StringIO())
    shown = re.findall(r"^  (s\d\d) ", text, re.MULTILINE)
    assert shown == ["s41", "s55"]
    assert "and 58 more suites, won against every baseline" in text


def test_the_policy_is_shown_as_it_takes_effect():
    rules = effective(load_policy_text(), "strict")
    text = policy_report(rules, ["alpha: why"], io.StringIO())
    assert "policy demo (benchmark gate) as it applies to tenant strict: valid" in text
    assert "at least 3 of 3 suites won against every baseline" in text
    assert "cost ↓ not worse" in text
    assert "A reviewer would question\n  - alpha: why\n" in text
    assert "Nothing to question." in policy_report(rules, [], io.StringIO())


def test_suites_of_one_rule_share_a_row(data):
    text = policy_report(effective(load_policy(data / "automl_policy.toml")), [], io.StringIO())
    assert len([line for line in text.splitlines() if "acc ↑ within 0.02" in line]) == 2


def test_explanations_say_what_would_have_done():
    result = judged(close=(1.8, 6.0, 0.0))
    text = " ".join(explanation_report(result, result.explain("close"), io.StringIO()).split())
    (item,) = [
        item for item in result.explain("close")["baselines"][0]["nearest"] if item["suite"] == "chess"
    ]
    assert "more wins: 1 against old, 1 against plain" in text
    assert f"chess: score 0.72 ± 0.797 better (p {item['pvalue']:.3g})" in text
    assert (
        f"; {item['cases_needed']} cases would have done, 10 detect {item['detectable_effect']:.3g}" in text
    )


def test_a_line_of_text_is_never_wrapped(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    line = "fastgate explain " + "x" * 200
    assert rendered([line], io.StringIO()) == line + "\n"
