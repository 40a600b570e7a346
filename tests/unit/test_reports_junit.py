from __future__ import annotations

import tomllib
from xml.etree import ElementTree

import pytest
from example_results import HOSTILE, POLICY_TOML, judged, runs, swept
from hypothesis import given
from hypothesis import strategies as st

import fastgate
from fastgate.reports.benchmark.junit import junit
from fastgate.reports.junit import _FORBIDDEN, Case, Suite, junit_xml

GOOD, EVEN = (6.0, 6.0, 6.0), (0.5, 0.0, 0.0)


def parsed(result):
    return ElementTree.fromstring(junit(result))


def test_a_case_per_candidate_and_baseline_and_one_for_all():
    root = parsed(judged(good=GOOD, even=EVEN))
    assert root.attrib == {
        "name": "fastgate benchmark: demo",
        "tests": "6",
        "failures": "2",
        "errors": "0",
        "skipped": "0",
    }
    suites = {suite.get("name"): suite for suite in root}
    names = ["beats old", "beats plain", "all baselines together"]
    assert [case.get("name") for case in suites["good"].iter("testcase")] == names
    assert {case.get("classname") for case in suites["good"].iter("testcase")} == {"good"}
    assert list(suites["good"].iter("failure")) == []
    first, second, together = suites["even"].iter("testcase")
    assert together.find("failure") is None  # nothing beyond the baselines
    for case in (first, second):
        failure = case.find("failure")
        assert failure is not None
        assert failure.get("message") == "0 of 3 suites won, 2 required: too few wins"
        assert "chess: tie; score +0.2 (better, p 0.605)" in (failure.text or "")
    properties = {item.get("name"): item.get("value") for item in suites["even"].iter("property")}
    assert properties["policy"] == "demo"
    assert len(properties["policy_hash"] or "") == 64


def review():
    return fastgate.benchmark_gate(
        runs({"good": (6.0, 6.0, 0.0)}), tomllib.loads(POLICY_TOML), previous=judged(good=GOOD)
    )


def test_a_review_is_skipped_and_says_why():
    root = parsed(review())
    assert (root.get("failures"), root.get("skipped")) == ("0", "2")
    case = root.find("testsuite/testcase")
    assert case is not None
    assert [element.tag for element in case] == ["skipped", "system-out"]
    assert "prose: tie; cost 0 (equal, p 1); was won" in case.findtext("system-out", "")


def test_what_is_against_a_candidate_beyond_its_baselines_has_a_case():
    previous = judged(good=GOOD, even=EVEN)
    root = parsed(fastgate.benchmark_gate(runs({"new": GOOD}), tomllib.loads(POLICY_TOML), previous=previous))
    case = root.findall("testsuite/testcase")[-1]
    skipped = case.find("skipped")
    assert skipped is not None
    assert "the previous result does not hold this candidate" in skipped.get("message", "")
    assert root.get("skipped") == "1"


def test_names_of_any_kind_stay_valid_xml():
    root = parsed(judged(**{HOSTILE: GOOD, "\x00\ufffe\ud7ff &amp;": EVEN}))
    names = {suite.get("name") for suite in root}
    assert names == {HOSTILE.replace("\x1b", ""), "\ud7ff &amp;"}


@pytest.mark.parametrize(
    ("verdict", "element", "counter"),
    [("block", "failure", "failures"), ("refused", "error", "errors"), ("review", "skipped", "skipped")],
)
def test_each_verdict_has_its_element(verdict, element, counter):
    suites = [Suite("s", [Case("c", verdict, "]]> why", "a ]]> text"), Case("d", "pass", "", "")])]
    root = ElementTree.fromstring(junit_xml("t", suites))
    assert root.get(counter) == "1"
    assert root.get("tests") == "2"
    found = root.find(f"testsuite/testcase/{element}")
    assert found is not None
    assert found.get("message") == "]]> why"
    assert "a ]]> text" in "".join(root.itertext())


@given(st.text(), st.text())
def test_any_text_parses(name, text):
    root = ElementTree.fromstring(
        junit_xml(name, [Suite(name, [Case(name, "block", text, text)])], [(name, text)])
    )
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    # A parser makes every line end a line feed.
    assert (failure.text or "") == _FORBIDDEN.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    assert root.get("name") == _FORBIDDEN.sub("", name)


def test_a_sweep_is_written_whole():
    root = parsed(swept(1000))
    assert len(root) == 1000
    assert int(root.get("failures", "")) == 2 * 666
