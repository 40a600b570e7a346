"""The benchmark gate as it is called: samples and a policy in, a result with its evidence out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.benchmark.case_faults import case_faults
from fastgate.gates.benchmark.judgement import judge
from fastgate.gates.benchmark.previous import Previous, previous_wins
from fastgate.gates.benchmark.result import BenchmarkResult
from fastgate.gates.evidence import evidence
from fastgate.gates.names import chosen_candidates, some
from fastgate.gates.policy import PolicySource, effective, to_dict
from fastgate.gates.schema import nearest

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["benchmark_gate"]


def benchmark_gate(
    samples: Any,
    policy: PolicySource,
    *,
    previous: BenchmarkResult | str | PathLike[str] | None = None,
    previous_candidate: str | None = None,
    tenant: str | None = None,
    candidates: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    shape: str | None = None,
) -> BenchmarkResult:
    """Judge candidate builds: each must beat every baseline on at least k of the suites.

    Parameters
    ----------
    samples : frame, path, glob, list of paths, or Samples
        The measurements in one of the shapes *runs*, *pairs*, *packed* or *moments*: anything with the Arrow
        PyCapsule stream (Polars, pandas, pyarrow, DuckDB, …), or Parquet, Arrow IPC, CSV or NDJSON files.
    policy : path, preset name, dict or BenchmarkPolicy
        The rule: suites, baselines, KPIs and their directions, thresholds.
    previous : BenchmarkResult or path, optional
        A result saved earlier under the same policy. A suite that it won and that is no longer won sends the
        candidate to review; more than one (of whichever baselines) block it.
    previous_candidate : str, optional
        The released build in `previous`. Without it: its only candidate, or the one of the same name.
    tenant : str, optional
        One of the policy's tenants, which may only raise its strictness.
    candidates : sequence of str, optional
        The builds to judge; all but the baselines unless given.
    columns : mapping of str to str, optional
        From fastgate's column names to those of `samples`.
    shape : str, optional
        The shape of `samples`, where its columns fit more than one.

    Returns
    -------
    BenchmarkResult
        Verdicts and every figure behind them. A fault in a candidate's data blocks that candidate, with its
        reason, and leaves the others alone.

    Raises
    ------
    DataError
        When the samples cannot be read as one of the shapes, or lack a baseline, suite or KPI of the policy
        altogether, hold one that the policy does not name while it says ``unlisted = "error"``, or do not say
        which cases they hold while the policy requires the same ones, or are moments while the policy asks for
        the bootstrap, which needs the values.
    PolicyError
        When the policy is not valid, the tenant unknown, or `previous` was judged by another policy.
    ArgumentError
        When a candidate is unknown.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "build": ["new"] * 4 + ["old"] * 4, "suite": "chess", "kpi": "score",
    ...     "case": [1, 2, 3, 4] * 2, "value": [0.9, 0.8, 0.9, 0.7, 0.4, 0.5, 0.3, 0.4]})
    >>> policy = {"gate": "benchmark", "name": "demo", "baselines": ["old"], "min_suite_wins": 1,
    ...           "kpis": {"score": {"direction": "higher"}}, "suites": ["chess"]}
    >>> result = benchmark_gate(runs, policy)
    >>> result["new"], result.cells["pvalue"].round(5).to_list()
    ('pass', [0.00057])
    """
    from fastgate.frames import Samples, read_samples
    from fastgate.frames.forks import require_working_process

    require_working_process()
    rules = effective(policy, tenant, gate="benchmark")
    if not isinstance(samples, Samples):
        samples = read_samples(samples, columns=columns, shape=shape, trials=rules.trials)
    ignored = _check_names(samples, rules)
    _check_cases(samples, rules)
    judged = _candidates(samples, rules, candidates)
    before: Previous | None = None
    if previous is not None:
        before = previous_wins(previous, rules, judged, previous_candidate)
    elif previous_candidate is not None:
        raise ArgumentError(
            "previous_candidate is given without a previous result",
            expected="previous=, a result saved earlier",
            received=f"previous_candidate={previous_candidate!r}",
        )
    tables = judge(
        samples,
        rules,
        judged,
        won_before=None if before is None else before.won,
        unmatched=() if before is None else before.unmatched,
    )
    counts = {
        "candidates": len(judged),
        "baselines": len(rules.baselines),
        "suites": len(rules.suites),
        "comparisons": tables["cells"].height,
    }
    record = {"shape": samples.shape, "rows": samples.n_rows, "fingerprint": samples.fingerprint}
    return BenchmarkResult(
        **tables,
        faults=case_faults(samples, tables["cells"]),
        policy=to_dict(rules),
        evidence=evidence(
            rules, record, counts, ignored=ignored or None, previous=None if before is None else before.record
        ),
    )


def _names(samples: Samples, column: str) -> list[str]:
    return samples.index[column].unique().cast(pl.String).sort().to_list()


def _check_names(samples: Samples, rules: BenchmarkRules) -> dict[str, list[str]]:
    """Names that only the policy or only the data have: errors, or what is ignored because the policy says so."""
    kpis = list(dict.fromkeys(kpi for suite in rules.suites.values() for kpi in suite.kpis))
    side = "build" if samples.shape == "runs" else "baseline"
    for kind, column, wanted in (
        ("baseline", side, rules.baselines),
        ("suite", "suite", tuple(rules.suites)),
        ("KPI", "kpi", tuple(kpis)),
    ):
        found = _names(samples, column)
        for name in wanted:
            if name not in set(found):
                similar = nearest(name, found)
                raise DataError(
                    f"the samples hold nothing of the policy's {kind} {name!r}",
                    expected=f"rows whose {column} is {name!r}",
                    received=some(found),
                    where=f"column {column!r}",
                    hint=f"did you mean {similar!r}? Correct the policy or the samples"
                    if similar
                    else "correct the policy or the samples",
                )
    ignored = {
        "suites": [name for name in _names(samples, "suite") if name not in rules.suites],
        "kpis": _unlisted_kpis(samples, rules, kpis),
    }
    ignored = {plural: names for plural, names in ignored.items() if names}
    if ignored and rules.unlisted == "error":
        plural, names = next(iter(ignored.items()))
        raise DataError(
            f"the samples hold {plural} that the policy does not name, so nobody would judge them",
            expected=some(list(rules.suites) if plural == "suites" else kpis),
            received=some(names),
            hint='name them in the policy, or state unlisted = "ignore" there',
        )
    return ignored


def _unlisted_kpis(samples: Samples, rules: BenchmarkRules, kpis: Sequence[str]) -> list[str]:
    """KPIs that the data have for a suite of the policy which does not name them there."""
    measured = samples.index.select(pl.col("suite", "kpi").cast(pl.String)).unique().sort("kpi", "suite")
    names: dict[str, None] = {}
    for suite, kpi in measured.iter_rows():
        if suite in rules.suites and kpi not in rules.suites[suite].kpis:
            names[f"{kpi} (suite {suite})" if kpi in kpis else kpi] = None
    return list(names)


def _check_cases(samples: Samples, rules: BenchmarkRules) -> None:
    """Refuse samples of which nobody can tell whether both sides ran the same cases, where that matters."""
    matters = rules.require_same_cases or rules.pairs_cases
    if not matters or samples.shape == "pairs" or samples.index["case_fingerprint"].null_count() == 0:
        return
    raise DataError(
        "the samples do not say which cases they hold, so nobody can tell whether both sides ran the same",
        expected="a case id for every value (a column 'case' or 'cases'), or with moments a 'case_fingerprint'",
        received=f"{samples.index['case_fingerprint'].null_count()} cells without",
        hint="give the case ids"
        + ("" if rules.pairs_cases else ", or state require_same_cases = false in the policy"),
    )


def _candidates(samples: Samples, rules: BenchmarkRules, wanted: Sequence[str] | None) -> list[str]:
    column = "build" if samples.shape == "runs" else "candidate"
    found = [
        name for name in _names(samples, column) if samples.shape == "pairs" or name not in rules.baselines
    ]
    return chosen_candidates(found, rules.baselines, wanted, column)
