"""What must hold of the safety gate whatever the data: order, neighbours, signs, strictness, refusals."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fastgate.gates.safety import RunManifest, manifest_hash, safety_gate
from fastgate.gates.safety.comparability import differences
from fastgate.gates.safety.manifest import CUSTOMARY
from fastgate.gates.verdict import VERDICTS
from fastgate.stats.binomial import BINOMIAL_METHODS

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

POLICY: dict[str, Any] = {
    "gate": "safety",
    "name": "p",
    "min_cases": 1,
    "max_error_share": 0.3,
    "comparability": {"required": []},
}
RULES = ("all", "majority", "first", "share", "each")


@st.composite
def outcomes(draw: st.DrawFn, trials: st.SearchStrategy[int] = st.integers(1, 3)) -> pl.DataFrame:  # noqa: B008
    """Outcomes of a baseline and some candidates on some suites: the same cases and trials everywhere."""
    builds = ["old", *(f"c{i}" for i in range(draw(st.integers(1, 3))))]
    n_trials = draw(trials)
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows = []
    for suite in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 70))
        rate = draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
        errors = draw(st.sampled_from([0.0, 0.0, 0.1]))
        for build in builds:
            passed = rng.random((n, n_trials)) < rate * (0.7 if rng.random() < 0.3 else 1.0)
            failed = rng.random((n, n_trials)) < errors
            rows += [
                (
                    build,
                    f"s{suite}",
                    f"case{case}",
                    trial,
                    None if failed[case, trial] else bool(passed[case, trial]),
                )
                for case in range(n)
                for trial in range(n_trials)
            ]
    schema = {
        "build": pl.String,
        "suite": pl.String,
        "case": pl.String,
        "trial": pl.Int64,
        "passed": pl.Boolean,
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame if n_trials > 1 else frame.drop("trial")


def judge(frame: pl.DataFrame, **options: Any) -> Any:
    policy = {**POLICY, **options.pop("policy", {})}
    return safety_gate(frame, options.pop("manifests", None), policy, **{"baseline": "old", **options})


def figures(result: Any) -> dict[str, list[dict[str, Any]]]:
    return {
        name: frame.with_columns(pl.selectors.by_dtype(pl.Enum).cast(pl.String)).to_dicts()
        for name, frame in result.tables.items()
    }


@quick
@given(outcomes(), st.sampled_from(RULES), st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant(frame: pl.DataFrame, rule: str, chance: random.Random) -> None:
    order = list(range(frame.height))
    chance.shuffle(order)
    one, other = (judge(data, policy={"trials": rule}) for data in (frame, frame[order]))
    assert figures(one) == figures(other)
    assert one.evidence == other.evidence


@quick
@given(outcomes(), st.sampled_from(RULES))
def test_a_candidates_figures_are_its_own(frame: pl.DataFrame, rule: str) -> None:
    """They do not depend on which others are judged, nor on the others' data."""
    every = judge(frame, policy={"trials": rule})
    for name in every:
        alone = judge(frame.filter(pl.col("build").is_in(["old", name])), policy={"trials": rule})
        for table in ("verdicts", "suites", "flips"):
            mine = [row for row in figures(every)[table] if row["candidate"] == name]
            assert figures(alone)[table] == mine


@quick
@given(outcomes(), st.sampled_from(RULES))
def test_bits_are_the_same_on_any_number_of_threads(frame: pl.DataFrame, rule: str) -> None:
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for threads in ("1", "3"):
            patch.setenv("FASTGATE_NUM_THREADS", threads)
            found.append(figures(judge(frame, policy={"trials": rule})))
    assert found[0] == found[1]


@quick
@given(outcomes(), st.sampled_from(RULES))
def test_the_other_way_round_signs_change(frame: pl.DataFrame, rule: str) -> None:
    builds = frame["build"].unique().to_list()
    for name in (build for build in builds if build != "old"):
        pair = frame.filter(pl.col("build").is_in(["old", name]))
        there = judge(pair, policy={"trials": rule}).suites.to_dicts()
        back = judge(pair, policy={"trials": rule}, baseline=name).suites.to_dicts()
        for one, other in zip(there, back, strict=True):
            assert (one["regressed"], one["fixed"]) == (other["fixed"], other["regressed"])
            if one["delta"] is not None:
                assert one["delta"] == pytest.approx(-other["delta"], abs=1e-15)
                assert one["ci_low"] == pytest.approx(-other["ci_high"], abs=1e-12)
            assert one["mcnemar_pvalue"] == other["mcnemar_pvalue"]
            assert one["sampling_variance"] == pytest.approx(other["sampling_variance"])


@quick
@given(outcomes(), st.sampled_from(("all", "share", "each")), st.randoms(use_true_random=False))
def test_a_case_that_is_fixed_makes_no_verdict_worse(
    frame: pl.DataFrame, rule: str, chance: random.Random
) -> None:
    """Failures of a candidate turned into passes; errors stay errors."""
    fixed = frame.with_columns(
        passed=pl.when(
            (pl.col("build") != "old") & pl.Series([chance.random() < 0.5 for _ in range(frame.height)])
        )
        .then(pl.col("passed") | True)
        .otherwise("passed")
    ).with_columns(passed=pl.when(frame["passed"].is_not_null()).then("passed"))
    before, after = (judge(data, policy={"trials": rule}) for data in (frame, fixed))
    for name in before:
        assert VERDICTS.index(after[name]) <= VERDICTS.index(before[name])


@quick
@given(
    outcomes(),
    st.sampled_from(sorted(BINOMIAL_METHODS)),
    st.sampled_from([0.6, 0.8, 0.95]),
    st.sampled_from([0.0, 0.04, 0.3]),
    st.integers(1, 60),
)
def test_a_stricter_policy_passes_no_more(
    frame: pl.DataFrame, method: str, level: float, errors: float, cases: int
) -> None:
    loose = judge(frame, policy={"method": method, "confidence_level": 0.95, "correction": "bonferroni"})
    strict = judge(
        frame,
        policy={"method": method, "confidence_level": level, "max_error_share": errors, "min_cases": cases},
    )
    for name in loose:
        assert strict[name] != "pass" or loose[name] == "pass"


@quick
@given(outcomes(), st.data())
def test_faulty_data_never_pass(frame: pl.DataFrame, data: st.DataObject) -> None:
    """Whatever is done to one candidate's run, it is not passed for it, and the others are as before."""
    before = judge(frame)
    name = data.draw(st.sampled_from(sorted(before)))
    row = data.draw(st.sampled_from([i for i, build in enumerate(frame["build"]) if build == name]))
    fault = data.draw(st.sampled_from(["lost", "doubled", "renamed", "moved", "failed"]))
    here = pl.int_range(pl.len()) == row
    budget = {"max_error_share": 0.0}
    if fault == "lost":
        broken = frame.filter(~here)
        assume(broken.filter(pl.col("build") == name).height)
    elif fault == "doubled":
        broken = pl.concat([frame, frame[row]])
    elif fault == "renamed":
        broken = frame.with_columns(case=pl.when(here).then(pl.lit("new case")).otherwise("case"))
    elif fault == "moved":
        broken = frame.with_columns(suite=pl.when(here).then(pl.lit("s9")).otherwise("suite"))
    else:
        broken = frame.with_columns(passed=pl.when(here).then(None).otherwise("passed"))
    after = judge(
        broken,
        policy={**(budget if fault == "failed" else {}), "unlisted": "ignore"},
        candidates=sorted(before),
    )
    assert after[name] != "pass"
    if fault != "failed":
        assert {other: after[other] for other in before if other != name} == {
            other: before[other] for other in before if other != name
        }


values = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
names = st.text(min_size=1, max_size=6).filter(
    lambda name: name not in ("extra", "sampling", "build", "suite", "seeds", "seed_list_hash", *CUSTOMARY)
)
manifests = st.fixed_dictionaries(
    {},
    optional={
        "suite_hash": st.sampled_from(["a", "b"]),
        "seeds": st.lists(st.integers(0, 3), min_size=1, max_size=3),
        "temperature": st.floats(0, 2),
        "top_p": st.floats(0.01, 1),
        "max_tokens": st.integers(1, 4096),
        "grader_version": st.one_of(st.sampled_from(["1", "1.0"]), st.integers(1, 2)),
    },
)
stated = st.builds(lambda own, extra: {**own, **extra}, manifests, st.dictionaries(names, values, max_size=3))


@quick
@given(stated, st.randoms(use_true_random=False))
def test_a_manifest_survives_json_in_any_order(data: dict[str, Any], chance: random.Random) -> None:
    one = RunManifest.from_dict(data)
    keys = list(one.to_dict())
    chance.shuffle(keys)
    again = RunManifest.from_dict(json.loads(json.dumps({key: one.to_dict()[key] for key in keys})))
    assert again == one
    assert manifest_hash(again) == manifest_hash(one)
    assert differences(one, again, required=[]) == []


@quick
@given(stated, stated)
def test_hash_and_comparison_agree(one: dict[str, Any], other: dict[str, Any]) -> None:
    a, b = RunManifest.from_dict(one), RunManifest.from_dict(other)
    found = differences(a, b, required=[])
    assert (manifest_hash(a) == manifest_hash(b)) == (not found)
    back = differences(b, a, required=[])
    assert {d.field for d in found} == {d.field for d in back}
    assert {(d.baseline, d.candidate) for d in found} == {(d.candidate, d.baseline) for d in back}


@quick
@given(stated, stated, st.lists(st.sampled_from(CUSTOMARY), unique=True), st.lists(names, max_size=2))
def test_more_required_and_less_ignored_refuse_no_less(
    one: dict[str, Any], other: dict[str, Any], required: list[str], ignored: list[str]
) -> None:
    a, b = RunManifest.from_dict(one), RunManifest.from_dict(other)
    if differences(a, b, required=required, ignored=ignored):
        assert differences(a, b, required=[*required, *ignored])
        assert differences(a, b, required=CUSTOMARY)
