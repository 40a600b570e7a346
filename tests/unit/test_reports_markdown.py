from __future__ import annotations

import re
import tomllib

import polars as pl
import pytest
from example_results import HOSTILE, POLICY_TOML, judged, runs, swept

import fastgate
from fastgate.reports.benchmark.markdown import markdown
from fastgate.reports.markdown import LIMIT, MARKER, code, html_code, table

GOOD, EVEN = (6.0, 6.0, 6.0), (0.5, 0.0, 0.0)


def test_a_small_result_is_shown_in_full():
    text = markdown(judged(good=GOOD, even=EVEN))
    assert text.startswith(f"{MARKER}\n### fastgate: block\n\n2 candidates: 1 pass, 1 block. ")
    assert (
        "| `good` | **pass** | 2 of 2 | 3 | 2 |  |\n| `even` | **block** | 0 of 2 | 0 | 2 | too few wins |"
        in text
    )
    assert "| `maths` | `score` ↑ | win +2.4 (p 5.8e-6) | win +2.4 (p 5.8e-6) |" in text
    assert "| `plain` | 0 of 3 | 2 | 3 | 0 | 0 | block |" in text
    assert "- too few suites won: 0 of 2 required against `old`, 0 of 2 required against `plain`\n" in text
    assert "Left out" not in text
    assert text.count("<details>") == text.count("</details>") == 3


@pytest.mark.parametrize("limit", [LIMIT, 20_000, 5_000])
def test_a_sweep_sheds_detail_and_says_so(limit):
    text = markdown(swept(1000), limit)
    assert limit / 2 < len(text) <= limit
    assert text.count("<details>") == text.count("</details>")
    (cut,) = re.findall(r"Left out to stay under .*\.", text)
    listed = len(re.findall(r"^\| .* \| \*\*(?:pass|block)\*\* \|", text, re.MULTILINE))
    if listed < 1000:
        assert f"{1000 - listed} candidates in the table" in cut.replace(",", "")
    detailed = text.count("<details>") - 1  # one holds the notes
    assert f"the baselines and suites of {1000 - detailed} candidates" in cut.replace(",", "")
    assert "`.json`" in cut


def test_ten_thousand_candidates_fit_a_comment():
    text = markdown(swept(10_000))
    assert LIMIT / 2 < len(text) <= LIMIT
    assert "10,000 candidates: 3,334 pass, 6,666 block" in text


def test_suites_go_before_baselines():
    suites = [f"suite-{number:03d}-{'x' * 50}" for number in range(300)]
    one = runs({"good": GOOD}).filter((pl.col("suite") == "maths") & (pl.col("kpi") == "score")).drop("suite")
    policy = tomllib.loads(POLICY_TOML)
    policy |= {
        "suites": suites,
        "suite_defaults": {"decided_by": "score", "kpis": ["score"]},
        "unlisted": "ignore",
    }
    del policy["tenants"], policy["kpis"]["cost"]
    text = markdown(
        fastgate.benchmark_gate(pl.DataFrame({"suite": suites}).join(one, how="cross"), policy), 10_000
    )
    assert len(text) <= 10_000
    assert "| `old` | 300 of 300 |" in text
    assert "suite-000" not in text
    assert "Left out to stay under 10,000 characters: the suites of 1 candidate." in text


def test_names_are_not_markup():
    text = markdown(judged(**{HOSTILE: GOOD, "plain-name": EVEN}))
    for line in text.splitlines():
        if re.match(r"\| .* \| \*\*(pass|block)\*\* \|", line):
            assert len(re.findall(r"(?<!\\)\|", line)) == 7, line
    assert "<b>[red]" not in text
    assert not re.search(r"(?<![`;])@team", re.sub(r"<code>.*?</code>", "", text))
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    "name", ["a|b", "`", "``x`", "<script>", "*b*", "[x](http://y)", "back\\slash|", " lead"]
)
def test_code_spans_hold_any_name(name):
    text = code(name)
    assert text.startswith("<code>")
    assert not set(text[6:-7]) & set("|`<>*[]()\\")
    assert "|" not in table(["h"], [[text]]).splitlines()[2][1:-1]


def test_ordinary_names_stay_readable():
    assert code("gpt-4.1_mini (2026-11)") == "`gpt-4.1_mini (2026-11)`"
    assert html_code("a<b>&'c") == "<code>a&lt;b&gt;&amp;&#x27;c</code>"
