from __future__ import annotations

import io
import json
import math
import re
from xml.etree import ElementTree

import jsonschema
import polars as pl
import pytest
from example_gates import FAILED, manifests, outcomes, safe, safe_sweep, safety_policy
from example_results import HOSTILE

from fastgate.gates.safety import safety_gate
from fastgate.gates.storage import to_json
from fastgate.reports.json_schema import result_schema
from fastgate.reports.markdown import LIMIT
from fastgate.reports.safety import facts
from fastgate.reports.safety.explanation import explanation_report
from fastgate.reports.safety.junit import junit
from fastgate.reports.safety.markdown import markdown
from fastgate.reports.safety.sentences import beside_the_rule, change_and_floor, outcome_words, why
from fastgate.reports.safety.terminal import report


@pytest.fixture(autouse=True)
def lines_as_in_a_file(monkeypatch):
    """Whatever the width of the terminal that the tests are started from."""
    monkeypatch.delenv("COLUMNS", raising=False)


def shown(result, **options) -> str:
    return report(result, io.StringIO(), **options)


def flat(text: str) -> str:
    return " ".join(text.split())


def suite(result, name: str, which: str) -> dict:
    (candidate,) = facts.candidates(result, [name])
    (row,) = [row for row in candidate.suites if row["suite"] == which]
    return row


def test_verdicts_are_said_in_words():
    result = safe("worse", "better")
    assert outcome_words(suite(result, "worse", "jail")) == "regression: a safety incident to open"
    assert outcome_words(suite(result, "worse", "tone")) == "no signal: within the noise floor"
    assert outcome_words(suite(result, "better", "tone")) == "improvement: re-baseline on this build"
    odd = suite(safe("worse", refused="worse"), "worse", "jail")
    assert outcome_words(odd).startswith("refused: ")
    assert outcome_words(odd).endswith("(figures alone: a regression)")


def test_the_table_of_the_rule_holds_rates_n_change_and_floor():
    text = flat(shown(safe("worse")))
    assert "e, the noise floor: half-width of the 95 % Wilson interval at the baseline's rate and n" in text
    row = suite(safe("worse"), "worse", "jail")
    floor = f"{100 * row['noise_floor']:.3g}"
    assert f"jail 92 % of 100 75 % of 100 -17 {floor} regression: a safety incident to open" in text
    assert f"jail {100 * row['difference_floor']:.3g} " in text
    assert "- jail: 17 cases regressed (c008, c009, c010 and 14 more), 0 fixed" in text
    assert "- tone: 2 cases regressed (c010, c011), 2 fixed (c000, c001)" in text


def test_everything_beside_the_rule_is_said():
    row = suite(safe("worse"), "worse", "jail")
    text = "\n".join(beside_the_rule(row, safe("worse").policy))
    for words in (
        "√2·e",
        "the change is outside it",
        "Newcombe's 95 % interval of the difference of independent runs: ",
        "Tango's 95 % interval on the same cases: ",
        f"exact McNemar test p {row['mcnemar_pvalue']:.2g}".replace("e-0", "e-"),
        "smallest drop that this suite detects with a power of 0.8: ",
        "between independent runs",
        "on the same cases",
        "of identical builds, replayed independently, this rule calls ",
    ):
        assert words in text


def test_the_rule_s_false_alarms_are_always_noted():
    for result in (safe("same"), safe("worse"), safe_sweep(30)):
        alarms = result.suites.unique("suite")["false_alarm"].to_list()
        low, high = (f"{100 * alarm:.2g}" for alarm in (min(alarms), max(alarms)))
        some = 1 - math.prod(1 - alarm for alarm in alarms)
        spread = f"{low} %" if low == high else f"{low} % to {high} %"
        for text in (flat(shown(result)), markdown(result)):
            assert f"called a regression with a chance of {spread}, where the level of its floor" in text
            assert "on one side, says 2.5 %" in text
            assert f"at least one of {len(alarms)} suites, with {100 * some:.2g} %" in text
            assert "an equal chance in every case" in text


def test_false_alarms_are_those_of_the_level_as_applied():
    for changes, nominal in (({"confidence_level": 0.9}, "5 %"), ({"correction": "bonferroni"}, "0.71 %")):
        result = safety_gate(
            outcomes("same"), manifests("same"), {**safety_policy(), **changes}, baseline="old"
        )
        assert f"on one side, says {nominal}" in flat(shown(result))


def test_noise_that_is_not_seen_is_said_to_be_unknown():
    frame = outcomes("same").with_columns(passed=(pl.col("suite") == "tone") | pl.col("passed"))
    result = safety_gate(frame, manifests("same"), safety_policy(), baseline="old")
    row = suite(result, "same", "tone")
    assert row["false_alarm"] is None
    (said,) = [one for one in beside_the_rule(row, result.policy) if one.startswith("how often this rule")]
    assert said.endswith("a regression: not known at a rate of 0 or 1: the noise is not seen")
    text = flat(shown(result))
    assert "Of 1 suite it is not known at a rate of 0 or 1: the noise is not seen." in text
    assert "at least one of" not in text


def test_shares_are_tested_by_signs():
    result = safety_gate(trials(), manifests("new"), {**safety_policy(), "trials": "share"}, baseline="old")
    row = suite(result, "new", "jail")
    assert "sign test of shares p" in "\n".join(beside_the_rule(row, result.policy))
    assert "McNemar" not in shown(result)


def test_differing_fields_stand_under_their_reason_with_both_values():
    (candidate,) = facts.candidates(safe("same", refused="same"), ["same"])
    found = why(candidate)
    assert "  temperature: baseline 0.2, candidate 0" in found
    assert '  grader: baseline not stated, candidate "v2"' in found
    missing = next(place for place, text in enumerate(found) if text.startswith("a manifest lacks"))
    assert found[missing + 1].startswith("  grader")


def test_fields_that_differ_on_one_suite_say_where():
    runs = [
        {"build": "old", "suite_hash": "ab"},
        *({"build": "same", "suite": name, "suite_hash": "ab"} for name in ("jail", "tone")),
    ]
    for run in runs:
        run["temperature"] = 0.2
    runs[-1]["temperature"] = 0.3
    result = safety_gate(outcomes("same"), {"runs": runs}, safety_policy(), baseline="old")
    (candidate,) = facts.candidates(result, ["same"])
    assert "  temperature: baseline 0.2, candidate 0.3 (tone)" in why(candidate)


def test_a_change_and_a_floor_that_differ_look_different():
    row = {"delta": -0.0400001, "noise_floor": 0.04}
    assert change_and_floor(row) == ("-4.00001", "4")
    assert change_and_floor({"delta": -0.04, "noise_floor": 0.04}) == ("-4", "4")
    assert change_and_floor({"delta": None, "noise_floor": None}) == ("n/a", "n/a")


def trials() -> pl.DataFrame:
    """Two trials a case: in the candidate four cases flake, and three fail throughout."""
    return pl.DataFrame(
        [
            {
                "build": build,
                "suite": "jail",
                "case": f"c{case:02d}",
                "trial": trial,
                "passed": not (build == "new" and (case < 3 or (case < 7 and trial == 1))),
            }
            for build in ("old", "new")
            for case in range(50)
            for trial in range(2)
        ]
    )


def test_flake_rates_and_changes_in_every_trial_are_shown():
    result = safety_gate(trials(), manifests("new"), safety_policy(), baseline="old")
    text = flat(shown(result))
    assert "jail: trials: of 50 cases with several, 3 regressed and 0 were fixed in every trial" in text
    assert "flake rate 8 % (candidate) and 0 % (baseline)" in text
    assert "7 cases regressed (c00, c01, c02 and 4 more)" in text


def test_errors_are_shown_as_neither():
    frame = outcomes("same").with_columns(
        error=(pl.col("build") == "same") & (pl.col("case") == "c050") & (pl.col("suite") == "jail")
    )
    frame = frame.with_columns(passed=pl.when(~pl.col("error")).then("passed"))
    policy = {**safety_policy(), "max_error_share": 0.05}
    text = flat(shown(safety_gate(frame, manifests("same"), policy, baseline="old")))
    assert "executions that failed, neither passes nor failures: 1 (candidate), 0 (baseline)" in text
    refused = flat(shown(safety_gate(frame, manifests("same"), safety_policy(), baseline="old")))
    assert "more executions failed than the policy allows: jail" in refused
    assert "same, suite jail, case c050: no outcome" in refused


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    for result in (safe("worse", HOSTILE), safe("same", refused="same"), safe_sweep(12)):
        for line in shown(result).splitlines():
            assert len(line) <= columns or line.startswith("Next: "), line


def test_hostile_names_are_shown_and_nothing_more():
    result = safe(HOSTILE, "same", refused=HOSTILE)
    texts = [shown(result), explanation_report(result, result.explain(HOSTILE), io.StringIO())]
    for text in texts:
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "evil" in text
    assert "@team" not in re.sub(r"<code>.*?</code>", "", markdown(result))
    assert "<b>[red]" not in markdown(result)
    assert "[31m" in ElementTree.fromstring(junit(result)).find("testsuite").get("name")


def test_a_sweep_is_ranked_and_summed_up():
    text = flat(shown(safe_sweep(60), saved="r.parquet"))
    assert "BLOCK: the worst of 60 candidates (20 pass, 20 refused, 20 block)" in text
    assert "jail: in 20 of 60 candidates, median change 0 points" in text
    assert "temperature: 20 candidates" in text
    assert text.count("and 10 more") == 3
    assert "Next: fastgate explain r.parquet --candidate build-00002" in text


@pytest.mark.parametrize("limit", [LIMIT, 15_000])
def test_markdown_stays_under_its_limit_and_says_what_is_missing(limit):
    text = markdown(safe_sweep(900), limit)
    assert limit / 2 < len(text) <= limit
    assert text.count("<details>") == text.count("</details>")
    (cut,) = re.findall(r"Left out to stay under .*\.", text)
    assert re.search(r"the suites of [\d,]+ candidates", cut)
    # Incidents come first.
    assert re.search(r"<summary>.*?<b>(\w+)</b>", text)[1] == "block"


def test_markdown_holds_the_figures():
    text = markdown(safe("worse", "better", refused="better"))
    assert "| `worse` | **block** | 1 | 0 | 1 | 0 | `jail`: regression |" in text
    assert re.search(
        r"\| `jail` \| 92 % \(92 of 100\) \| 75 % \(75 of 100\) \| -17 \| [\d.]+ \| \*\*regression", text
    )
    assert "  - 17 cases regressed (`c008`, `c009`, `c010` and 14 more), 0 fixed" in text
    assert "  - `temperature`: baseline `0.2`, candidate `0`" in text


def test_junit_has_a_case_per_suite():
    root = ElementTree.fromstring(junit(safe("worse", "same", refused="same")))
    worse, same = sorted(root, key=lambda one: one.get("name"), reverse=True)
    assert [worse.get(key) for key in ("name", "tests", "failures", "errors")] == ["worse", "2", "1", "0"]
    assert [same.get(key) for key in ("name", "tests", "failures", "errors")] == ["same", "2", "0", "2"]
    (failure,) = worse.iter("failure")
    assert failure.get("message").startswith(
        "regression: a safety incident to open; baseline 92 % (92 of 100)"
    )
    assert all("temperature: baseline 0.2, candidate 0" in error.text for error in same.iter("error"))


def broken():
    frame = outcomes("same", "worse", "better")
    build, case = pl.col("build"), pl.col("case")
    frame = frame.filter(~((build == "worse") & (case == "c001")))
    twice = frame.filter((build == "same") & (case == "c002"))
    return safety_gate(pl.concat([frame, twice]), manifests("same", "worse"), safety_policy(), baseline="old")


@pytest.mark.parametrize(
    "make",
    [
        lambda: safe(*(name for name in FAILED if name != "old"), refused="better"),
        broken,
        lambda: safety_gate(trials(), manifests("new"), safety_policy(), baseline="old"),
        lambda: safety_gate(
            outcomes("same"), manifests("same"), safety_policy(), baseline="old", tenant="strict"
        ),
        lambda: safety_gate(
            pl.DataFrame({"build": ["old", "new"], "suite": "s", "total": 240, "rate": [0.917, 0.876]}),
            manifests("new"),
            safety_policy(),
            baseline="old",
        ),
    ],
    ids=["ordinary", "broken", "trials", "tenant", "rates"],
)
def test_results_are_what_the_schema_says_and_every_report_can_show_them(make):
    result = make()
    plain = json.loads(to_json(result.to_dict()))
    validator = jsonschema.Draft202012Validator(result_schema("safety"))
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(plain)] == []
    assert shown(result)
    assert markdown(result)
    ElementTree.fromstring(junit(result))
    for name in result:
        text = explanation_report(result, result.explain(name), io.StringIO())
        assert "What would change it" in text
        assert "None" not in text
    assert "None" not in shown(result) + markdown(result)


def test_faulty_cases_are_named():
    text = flat(shown(broken()))
    assert "worse, suite jail, case c001: not there, but in old" in text
    assert "same, suite jail, case c002: there twice" in text
    assert "a run has no manifest on every suite" in text
