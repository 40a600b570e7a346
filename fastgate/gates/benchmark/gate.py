"""The benchmark gate as it is called: samples and a policy in, a result with its evidence out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from fastgate.gates.benchmark.parts import joined
from fastgate.gates.benchmark.request import (
    Seen,
    evidence_of,
    families,
    judge_portion,
    portions_of,
    prepare,
    seen,
)
from fastgate.gates.benchmark.result import TABLES, BenchmarkResult
from fastgate.gates.policy import PolicySource, to_dict
from fastgate.progress import Listener, unheard

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
    replicates: int | None = None,
    replicates_seed: int = 0,
    memory: int | None = None,
    listener: Listener = unheard,
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
    replicates : int, optional
        Draw the cases of each suite anew so many times, with replacement, and judge every candidate by each
        drawing: the verdicts then say in which share of them a candidate passes, is reviewed and is blocked. See
        `fastgate.gates.benchmark.confidence.replicates.replicate` for what these shares mean.
    replicates_seed : int, optional
        Of the drawings, 0 or more.
    memory : int, optional
        Bytes that reading `samples` takes at most, 2 GiB unless given: larger files are read in portions of whole
        builds. The result itself is not bounded; `fastgate.benchmark_sweep` writes it as it comes.
    listener : callable, optional
        Told how many candidates are judged: see `fastgate.progress`.

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
        the bootstrap, or the call for replicates, which need the values.
    PolicyError
        When the policy is not valid, the tenant unknown, or `previous` was judged by another policy.
    ArgumentError
        When a candidate is unknown, or replicates are asked for that cannot be had.

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
    request = prepare(
        samples,
        policy,
        previous=previous,
        previous_candidate=previous_candidate,
        tenant=tenant,
        candidates=candidates,
        columns=columns,
        shape=shape,
        replicates=replicates,
        replicates_seed=replicates_seed,
        memory=memory,
        listener=listener,
    )
    parts = []
    so_far: Seen | None = None
    for portion, family in zip(portions_of(request, listener), families(request, listener), strict=False):
        so_far = seen(request, portion, so_far)
        judged = judge_portion(request, portion, family)
        if judged is not None:
            parts.append(judged)
    if so_far is None:
        raise AssertionError("no portion was read")
    tables = joined({name: [part[name] for part in parts] for name in TABLES}, request.candidates)
    record = evidence_of(request, so_far, tables["cells"].height)
    return BenchmarkResult(**tables, policy=to_dict(request.rules), evidence=record)
