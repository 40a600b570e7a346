"""The safety gate as it is called: outcomes, manifests and a policy in, a result with its evidence out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.evidence import evidence
from fastgate.gates.names import chosen_candidates, some
from fastgate.gates.policy import PolicySource, effective, to_dict
from fastgate.gates.safety.cases import case_faults, flips, runs
from fastgate.gates.safety.judgement import judge
from fastgate.gates.safety.manifests import COLUMNS, manifests_of_rows, read_manifests
from fastgate.gates.safety.result import SafetyResult
from fastgate.gates.schema import nearest

if TYPE_CHECKING:
    from fastgate.frames.outcomes import Outcomes
    from fastgate.gates.safety.policy import SafetyRules

__all__ = ["safety_gate"]


def safety_gate(
    outcomes: Any,
    manifests: Any,
    policy: PolicySource,
    *,
    baseline: str | int,
    candidates: Sequence[str] | None = None,
    tenant: str | None = None,
    columns: Mapping[str, str] | None = None,
    shape: str | None = None,
) -> SafetyResult:
    """Judge candidate builds: the pass rate of no suite may fall by more than the noise floor of the baseline's.

    Parameters
    ----------
    outcomes : frame, path, glob, list of paths, or Outcomes
        Pass, fail and error outcomes of every build, the baseline's too, in the shape *outcomes* (build, suite, case,
        perhaps trial, passed, perhaps error) or *counts* (build, suite, total, and passed or rate, perhaps
        errors): anything with the Arrow PyCapsule stream, or Parquet, Arrow IPC, CSV or NDJSON files.
    manifests : path, list of paths, dict, RunManifest, list of RunManifest, frame, or None
        Under what conditions each run was made. None: what the columns of `outcomes` say that are named like
        fields of a manifest, or like those the policy requires.
    policy : path, preset name, dict or SafetyPolicy
        The rule: suites, noise floor, what must agree.
    baseline : str
        The build that the others are compared with; a number where builds are numbered.
    candidates : sequence of str, optional
        The builds to judge; all but the baseline unless given.
    tenant : str, optional
        One of the policy's tenants, which may only raise its strictness.
    columns : mapping of str to str, optional
        From fastgate's column names to those of `outcomes`.
    shape : {"outcomes", "counts"}, optional
        The shape of `outcomes`, where its columns fit both.

    Returns
    -------
    SafetyResult
        Verdicts and every figure behind them. A candidate whose runs may not be compared, or whose data are at
        fault, is refused, with its reason, and the others are judged.

    Raises
    ------
    DataError
        When the outcomes or manifests cannot be read, the baseline or a suite of the policy is not among the
        outcomes, or there are suites nobody would judge while the policy says ``unlisted = "error"``.
    PolicyError
        When the policy is not valid or the tenant unknown.
    ArgumentError
        When a candidate is unknown.

    Examples
    --------
    >>> import polars as pl
    >>> from fastgate.gates.safety import RunManifest
    >>> outcomes = pl.DataFrame({
    ...     "build": ["old"] * 40 + ["new"] * 40, "suite": "jailbreaks", "case": list(range(40)) * 2,
    ...     "passed": [True] * 38 + [False] * 2 + [True] * 30 + [False] * 10})
    >>> conditions = dict(suite_hash="ab12", seeds=[7], temperature=0.0, top_p=1.0, max_tokens=512,
    ...                   grader_version="3", harness_version="1.4")
    >>> manifests = [RunManifest(build=build, **conditions) for build in ("old", "new")]
    >>> result = safety_gate(outcomes, manifests, "litmus", baseline="old")
    >>> result["new"], result.suites.select(pl.col("delta", "noise_floor").round(4)).row(0)
    ('block', (-0.2, 0.0756))
    """
    from fastgate.frames.outcomes import Outcomes, read_outcomes

    rules = effective(policy, tenant, gate="safety")
    if not isinstance(outcomes, Outcomes):
        further = dict.fromkeys([*COLUMNS, *rules.required]) if manifests is None else ()
        outcomes = read_outcomes(outcomes, columns, shape=shape, further=list(further))
    if manifests is None and outcomes.attributes is not None:
        stated = manifests_of_rows(outcomes.attributes, "columns of the outcomes")
    else:
        stated = read_manifests(manifests)
    baseline = str(baseline) if isinstance(baseline, int) else baseline  # builds numbered by integers
    suites, ignored = _suites(outcomes, rules, baseline)
    if manifests is None and outcomes.unread:
        # Conditions may stand in columns that the policy does not name: nobody compared them.
        ignored["columns"] = list(outcomes.unread)
    builds = outcomes.builds
    judged = chosen_candidates(
        [build for build in builds if build != baseline], [baseline], candidates, "build"
    )
    judgement = judge(outcomes, stated, rules, baseline=baseline, candidates=judged, suites=suites)
    counted = judgement.compared.counted
    record = {"shape": outcomes.shape, "rows": outcomes.n_rows, "fingerprint": outcomes.fingerprint}
    counts = {"candidates": len(judged), "suites": len(suites), "comparisons": judgement.suites.height}
    return SafetyResult(
        verdicts=judgement.verdicts,
        suites=judgement.suites,
        differences=judgement.differences,
        faults=case_faults(outcomes, rules, counted, baseline, judged, suites),
        policy=to_dict(rules),
        evidence=evidence(rules, record, counts, baseline=baseline, ignored=ignored or None),
        list_runs=lambda: runs(outcomes, rules, counted, stated),
        list_flips=lambda: flips(outcomes, rules, counted, judged, suites),
    )


def _suites(outcomes: Outcomes, rules: SafetyRules, baseline: str) -> tuple[list[str], dict[str, list[str]]]:
    """The suites to judge, and those that are left out because the policy says so."""
    builds = outcomes.builds
    if not isinstance(baseline, str):
        raise ArgumentError("the baseline is no name", expected="one build", received=repr(baseline))
    if baseline not in builds:
        similar = nearest(baseline, builds)
        raise DataError(
            f"the outcomes hold nothing of the baseline {baseline!r}",
            expected=f"rows whose build is {baseline!r}",
            received=some(builds),
            where="column 'build'",
            hint=f"did you mean {similar!r}?" if similar else None,
        )
    found = outcomes.suites
    mine = outcomes.index.filter(pl.col("build") == baseline)["suite"].cast(pl.String).to_list()
    wanted = list(rules.suites) or mine
    for name in wanted:
        if name not in mine:
            similar = nearest(name, mine)
            raise DataError(
                f"the outcomes hold nothing of the baseline {baseline!r} on the policy's suite {name!r}",
                expected=f"rows whose suite is {name!r}",
                received=some(mine),
                where="column 'suite'",
                hint=f"did you mean {similar!r}? Correct the policy or the outcomes"
                if similar
                else "run the baseline on it, or correct the policy",
            )
    others = [name for name in found if name not in wanted]
    if others and rules.unlisted == "error":
        raise DataError(
            "the outcomes hold suites that the policy does not name, so nobody would judge them"
            if rules.suites
            else f"the outcomes hold suites that the baseline {baseline!r} did not run, so nobody would judge them",
            expected=some(wanted),
            received=some(others),
            where="column 'suite'",
            hint='name them in the policy, run the baseline on them, or state unlisted = "ignore" in the policy',
        )
    return wanted, {"suites": others} if others else {}
