from __future__ import annotations

import io
import json
import math
import re
from xml.etree import ElementTree

import jsonschema
import polars as pl
import pytest
from example_gates import posterior, probes, stability_policy, stable, stable_sweep
from example_results import HOSTILE

from fastgate.gates.stability.gate import stability_gate
from fastgate.gates.storage import to_json
from fastgate.reports.json_schema import result_schema
from fastgate.reports.markdown import LIMIT
from fastgate.reports.stability import facts
from fastgate.reports.stability.explanation import explain, explanation_report
from fastgate.reports.stability.junit import junit
from fastgate.reports.stability.markdown import markdown
from fastgate.reports.stability.sentences import digits_apart, kind_verdict, why
from fastgate.reports.stability.terminal import report


@pytest.fixture(autouse=True)
def lines_as_in_a_file(monkeypatch):
    """Whatever the width of the terminal that the tests are started from."""
    monkeypatch.delenv("COLUMNS", raising=False)


def shown(result, **options) -> str:
    return report(result, io.StringIO(), **options)


def flat(text: str) -> str:
    return " ".join(text.split())


def judged(frame: pl.DataFrame, **options):
    options.setdefault("posterior", posterior(**dict.fromkeys(frame["build"].unique(), 0.04)))
    return stability_gate(frame, stability_policy(), **options)


def test_each_kind_is_shown_with_n_interval_threshold_and_verdict():
    text = flat(shown(stable(bad=(38, 20))))
    assert "paraphrase 38 40 0.95 0.835 to 0.986 ≥ 0.8 holds" in text
    assert "order_swap 20 40 0.5 0.352 to 0.648 ≥ 0.85 fails: low agreement" in text
    assert "- too few probes make the primary run's choice: order_swap (0.5, 0.85 asked for)" in text


def test_width_cap_and_alternatives_are_shown():
    text = flat(shown(stable(good=(38, 36))))
    assert "mean width 0.157 of the central 95 % intervals of 2 alternatives, within the cap of 0.2" in text
    assert "x 0.6 0.522 to 0.678 0.157" in text
    wide = judged(probes(good=(38, 36)), posterior=posterior(good=0.06))
    text = flat(shown(wide))
    assert "above the cap of 0.2" in text
    assert "the mean width of the credible intervals is above the cap (0.235, 0.2 allowed)" in text
    assert explain(wide, "good") == wide.explain("good")
    text = flat(explanation_report(wide, explain(wide, "good"), io.StringIO()))
    assert "so about 1.4 times as many" in text


def test_flipped_pairs_are_named_those_of_most_kinds_first():
    text = flat(shown(stable(bad=(38, 20))))
    assert "20 of 40 pairs flipped under some probe" in text
    assert "pair p38: A became B under paraphrase, order_swap (2 probes); weight 0.333" in text
    assert text.index("pair p38") < text.index("pair p20")
    assert "and 15 more" in text


def test_a_width_above_the_cap_by_rounding_is_at_the_cap():
    result = judged(probes(good=(38, 36)))
    width = result.verdicts["ci_width"][0]
    policy = {**stability_policy(), "max_ci_width": math.nextafter(width, 0)}
    at = stability_gate(probes(good=(38, 36)), policy, posterior=posterior(good=0.04))
    assert at["good"] == "pass"
    assert "within the cap of" in flat(shown(at))
    assert "above the cap" not in flat(shown(at))


def test_the_previous_release_is_shown_beside():
    before = stable(good=(38, 36))
    result = judged(probes(good=(33, 37)), previous=before)
    assert result["good"] == "review"
    text = flat(shown(result))
    assert "paraphrase 33 40 0.825 0.681 to 0.913 ≥ 0.8 0.95 -0.125 holds, but agreement fell" in text
    assert "order_swap 37 40 0.925 0.801 to 0.974 ≥ 0.85 0.9 +0.025 holds" in text
    explained = flat(explanation_report(result, explain(result, "good"), io.StringIO()))
    assert "previously 0.95 (38 of 40), fell by 0.125" in explained
    assert "somebody to look at the drop" in explained
    (build,) = facts.builds(result, ["good"])
    assert [kind_verdict(kind) for kind in build.kinds] == ["review", "pass"]
    assert (
        "| `paraphrase` | 33 | 40 | 0.825 | 0.681 to 0.913 | 0.8 | 0.95 (38 of 40), fell by 0.125 |"
        in markdown(result)
    )


def test_figures_at_the_edge_look_different():
    assert digits_apart(0.2 + 1e-12, 0.2) == ("0.200000000001", "0.2")
    assert digits_apart(0.85, 0.85) == ("0.85", "0.85")


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    before = stable(good=(38, 36))
    for result in (judged(probes(**{HOSTILE: (33, 37)}), previous=before), stable_sweep(12)):
        for line in shown(result).splitlines():
            assert len(line) <= columns or line.startswith("Next: "), line


def test_hostile_names_are_shown_and_nothing_more():
    result = stable(**{HOSTILE: (38, 20), "good": (38, 36)})
    texts = [shown(result), explanation_report(result, explain(result, HOSTILE), io.StringIO())]
    for text in texts:
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "evil" in text
    assert "@team" not in re.sub(r"<code>.*?</code>", "", markdown(result))
    assert "<b>[red]" not in markdown(result)
    ElementTree.fromstring(junit(result))


def test_a_sweep_is_ranked_and_summed_up():
    text = flat(shown(stable_sweep(40), saved="r.parquet"))
    assert "BLOCK: the worst of 40 builds (20 pass, 20 block)" in text
    assert "order_swap: holds for 20 of 40 builds" in text
    assert "Next: fastgate explain r.parquet --candidate build-00001" in text


@pytest.mark.parametrize("limit", [LIMIT, 15_000])
def test_markdown_stays_under_its_limit_and_says_what_is_missing(limit):
    text = markdown(stable_sweep(600), limit)
    assert limit / 2 < len(text) <= limit
    assert text.count("<details>") == text.count("</details>")
    (cut,) = re.findall(r"Left out to stay under .*\.", text)
    assert re.search(r"the kinds of [\d,]+ builds", cut)


def test_junit_has_a_case_per_kind_one_for_the_posterior_and_one_for_all():
    (suite,) = ElementTree.fromstring(junit(stable(bad=(38, 20))))
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names == [
        "survives paraphrase",
        "survives order_swap",
        "posterior is narrow",
        "all kinds together",
    ]
    (failure,) = suite.iter("failure")
    assert (
        "20 of 40 probes agree (0.5, Wilson 95 % 0.352 to 0.648); 0.85 asked for, 34 probes" in failure.text
    )
    released = stable(one=(38, 36), two=(38, 36))
    (suite,) = ElementTree.fromstring(junit(judged(probes(good=(38, 36)), previous=released)))
    skipped = [case.get("name") for case in suite.iter("testcase") if case.find("skipped") is not None]
    assert skipped == ["survives paraphrase", "survives order_swap"]
    assert "the previous result does not hold this build" in suite[-1].find("system-out").text


def broken():
    frame = probes(good=(38, 36), twice=(38, 36), odd=(38, 36), few=(38, 36), none=(38, 36))
    build, pair = pl.col("build"), pl.col("pair")
    frame = frame.filter(~((build == "few") & (pair > "p09")))
    frame = frame.with_columns(
        probe_choice=pl.when((build == "odd") & (pair == "p03")).then(pl.lit("C")).otherwise("probe_choice")
    )
    frame = pl.concat([frame, frame.filter((build == "twice") & (pair == "p05"))])
    given = posterior(good=0.04, twice=-1.0, odd=0.04, few=0.04)
    return judged(frame, posterior=given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: stable(**{HOSTILE: (38, 36), "bad": (38, 20)}),
        broken,
        lambda: judged(probes(good=(38, 36)), posterior=None),
        lambda: stable(good=(40, 40)),
        lambda: judged(probes(good=(33, 37)), previous=stable(good=(38, 36))),
    ],
    ids=["ordinary", "broken", "no posterior", "nothing flipped", "previous"],
)
def test_results_are_what_the_schema_says_and_every_report_can_show_them(make):
    result = make()
    plain = json.loads(to_json(result.to_dict()))
    validator = jsonschema.Draft202012Validator(result_schema("stability"))
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(plain)] == []
    assert shown(result)
    assert markdown(result)
    ElementTree.fromstring(junit(result))
    for name in result:
        explanation = explain(result, name)
        to_json(explanation)
        text = explanation_report(result, explanation, io.StringIO())
        assert "What would change it" in text
        assert "None" not in text
    assert "None" not in shown(result) + markdown(result)


def test_reasons_name_what_is_at_fault():
    result = broken()
    builds = {build.name: build for build in facts.builds(result, list(result))}
    assert "a probe stands twice: paraphrase, order_swap" in why(builds["twice"])
    assert "a standard deviation or shape is not above 0" in why(builds["twice"])
    assert "a choice is none of A, B, tie and abstain: paraphrase, order_swap" in why(builds["odd"])
    assert "there is no posterior of this build" in why(builds["none"])
    text = flat(shown(result))
    assert "odd, kind order_swap, pair p03: a choice is none of A, B, tie and abstain" in text


def test_a_choice_that_passes_says_how_much_there_is_to_spare():
    result = stable(good=(38, 36))
    text = flat(explanation_report(result, explain(result, "good"), io.StringIO()))
    assert "3 more disagreements under order_swap, the kind with the least to spare" in text
    assert judged(probes(good=(38, 34)))["good"] == "pass"
    assert judged(probes(good=(38, 33)))["good"] == "block"
