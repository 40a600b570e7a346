"""A call of the gate, made ready: the rule, the candidates, what came before; then judged portion by portion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from fastgate.errors import ArgumentError
from fastgate.gates.benchmark.case_faults import case_faults
from fastgate.gates.benchmark.comparisons import compare
from fastgate.gates.benchmark.inventory import (
    Inventory,
    inventory,
    require_cases,
    require_listed,
    require_measured,
)
from fastgate.gates.benchmark.judgement import judge
from fastgate.gates.benchmark.parts import Tables
from fastgate.gates.benchmark.previous import Previous, previous_wins
from fastgate.gates.benchmark.result import LATER, TABLES
from fastgate.gates.benchmark.significance import SweepPvalues, adjusted_parts, sweep_pvalues
from fastgate.gates.evidence import evidence
from fastgate.gates.names import chosen_candidates
from fastgate.gates.policy import PolicySource, effective
from fastgate.gates.tables import completed
from fastgate.progress import Listener, Step

if TYPE_CHECKING:
    from fastgate.frames.portions import Portion, Portions
    from fastgate.frames.samples import Content
    from fastgate.gates.benchmark.confidence.replicates import Replicates
    from fastgate.gates.benchmark.policy import BenchmarkRules
    from fastgate.gates.benchmark.result import BenchmarkResult

__all__ = ["Request", "Seen", "evidence_of", "families", "judge_portion", "portions_of", "prepare", "seen"]


_NO_PVALUES: Final = SweepPvalues(np.empty(0), np.empty(0), 0)


@dataclass(frozen=True, eq=False)
class Request:
    """What is to be judged, by which rule.

    Parameters
    ----------
    portions : Portions
        The measurements.
    rules : BenchmarkRules
        The policy as applied.
    candidates : list of str
        The builds to judge, in the order shown.
    before : Previous or None
        What the previous result says of them.
    replicates : Replicates or None
        The drawings that are asked for.
    """

    portions: Portions
    rules: BenchmarkRules
    candidates: list[str]
    before: Previous | None
    replicates: Replicates | None

    @property
    def record(self) -> dict[str, Any]:
        """What of the call, beside the policy and the data, can change a verdict."""
        return {
            "previous": None if self.before is None else self.before.record,
            "replicates": None if self.replicates is None else self.replicates._asdict(),
        }


def prepare(
    samples: Any,
    policy: PolicySource,
    *,
    previous: BenchmarkResult | str | PathLike[str] | None,
    previous_candidate: str | None,
    tenant: str | None,
    candidates: Sequence[str] | None,
    columns: Mapping[str, str] | None,
    shape: str | None,
    replicates: int | None,
    replicates_seed: int,
    memory: int | None,
    listener: Listener,
) -> Request:
    """Everything that can be found wrong with a call before anything is judged.

    Parameters and errors are those of `fastgate.benchmark_gate`.
    """
    from fastgate.frames.forks import require_working_process
    from fastgate.frames.portions import open_portions

    require_working_process()
    rules = effective(policy, tenant, gate="benchmark")
    portions = open_portions(
        samples,
        columns,
        shape=shape,
        trials=rules.trials,
        memory=memory,
        beside=rules.baselines,
        # Welch's test needs no more than moments; whatever goes by cases needs the values.
        merge=rules.test == "welch" and replicates is None,
        listener=listener,
    )
    _check(portions, rules)
    again: Replicates | None = None
    if replicates is not None or replicates_seed:
        from fastgate.gates.benchmark.confidence.replicates import requested

        again = requested(replicates, replicates_seed, portions.whole, rules)
    over_sweep = rules.correction.method != "none" and rules.correction.family == "sweep"
    if again is not None and over_sweep and portions.whole is None:
        raise ArgumentError(
            "replicates with a correction over the sweep take all candidates at once",
            expected="measurements that fit into the memory allowed",
            received=f"{portions.n_rows:,} rows, to be read in portions",
            hint="allow more memory, or leave the replicates out",
        )
    found = [name for name in portions.builds if portions.shape == "pairs" or name not in rules.baselines]
    judged = chosen_candidates(
        found, rules.baselines, candidates, "build" if portions.shape == "runs" else "candidate"
    )
    before: Previous | None = None
    if previous is not None:
        before = previous_wins(previous, rules, judged, previous_candidate)
    elif previous_candidate is not None:
        raise ArgumentError(
            "previous_candidate is given without a previous result",
            expected="previous=, a result saved earlier",
            received=f"previous_candidate={previous_candidate!r}",
        )
    return Request(portions, rules, judged, before, again)


def _check(portions: Portions, rules: BenchmarkRules) -> None:
    """Refuse measurements that do not fit the policy, as far as those of the baselines, or all, tell."""
    known = portions.baselines(rules.baselines)
    found = None if known is None else inventory(known)
    if portions.whole is not None and found is not None:
        require_measured(found, rules, _side(portions))
    elif portions.shape == "runs":
        # Whether a suite or KPI is nowhere is known once all portions are read; of baselines, now.
        every = frozenset((name, kpi) for name, suite in rules.suites.items() for kpi in suite.kpis)
        require_measured(Inventory(frozenset(portions.builds), every), rules, "build")
    if known is not None and found is not None:
        require_listed(found, rules)
        require_cases(known, rules)


def _side(portions: Portions) -> str:
    return "build" if portions.shape == "runs" else "baseline"


def _candidates_in(request: Request, portion: Portion) -> list[str]:
    mine = set(portion.builds)
    return [name for name in request.candidates if name in mine]


def families(request: Request, listener: Listener) -> Iterator[SweepPvalues | None]:
    """For each portion the adjusted p-values of its comparisons; None where they are not adjusted over a sweep.

    That takes a pass over the measurements before the one in which they are judged.
    """
    rules, whole = request.rules, request.portions.whole
    if rules.correction.family == "candidate" or rules.bootstrap is not None or whole is not None:
        return repeat(None)
    parts = []
    done = 0
    for portion in request.portions.read(rules.baselines):
        candidates = _candidates_in(request, portion)
        cells = compare(portion.samples, rules, candidates) if candidates else None
        parts.append(_NO_PVALUES if cells is None else sweep_pvalues(cells, rules))
        done += len(candidates)
        listener(Step("comparing", done, len(request.candidates), "candidates"))
    return iter(adjusted_parts(parts, rules))


def judge_portion(request: Request, portion: Portion, sweep: SweepPvalues | None) -> Tables | None:
    """The tables, by the names of `TABLES`, of the candidates in one portion; None where there are none."""
    rules, samples, before = request.rules, portion.samples, request.before
    candidates = _candidates_in(request, portion)
    if not candidates:
        return None
    won_before = None if before is None else before.won
    unmatched = () if before is None else before.unmatched
    if won_before is not None and len(candidates) < len(request.candidates):
        won_before = won_before.filter(pl.col("candidate").cast(pl.String).is_in(candidates))
    tables = judge(samples, rules, candidates, won_before=won_before, unmatched=unmatched, sweep=sweep)
    if request.replicates is not None:
        from fastgate.gates.benchmark.confidence.replicates import with_shares

        tables["verdicts"] = with_shares(
            tables["verdicts"],
            samples,
            rules,
            request.replicates,
            won_before=won_before,
            unmatched=unmatched,
        )
    tables["verdicts"] = completed(TABLES["verdicts"], tables["verdicts"], LATER["verdicts"])
    return {**tables, "faults": case_faults(samples, tables["cells"])}


class Seen(NamedTuple):
    """What of the portions read so far goes into the evidence."""

    content: Content
    found: Inventory


def seen(request: Request, portion: Portion, before: Seen | None) -> Seen:
    """What has been seen with this portion too.

    Raises
    ------
    DataError
        When the policy has no place for something in it.
    """
    found = inventory(portion.samples)
    if before is not None:
        found = found.plus(before.found)
    require_listed(found, request.rules)
    require_cases(portion.samples, request.rules)
    return Seen(portion.content if before is None else before.content.plus(portion.content), found)


def evidence_of(request: Request, all_seen: Seen, comparisons: int) -> dict[str, Any]:
    """The record that goes with a result.

    Raises
    ------
    DataError
        When the measurements lack a suite or KPI of the policy altogether.
    """
    portions, rules = request.portions, request.rules
    require_measured(all_seen.found, rules, _side(portions))
    return evidence(
        rules,
        {"shape": portions.shape, "rows": portions.n_rows, "fingerprint": all_seen.content.fingerprint},
        {
            "candidates": len(request.candidates),
            "baselines": len(rules.baselines),
            "suites": len(rules.suites),
            "comparisons": comparisons,
        },
        ignored=require_listed(all_seen.found, rules) or None,
        **request.record,
    )


def portions_of(request: Request, listener: Listener) -> Iterator[Portion]:
    """The portions in which there is something to judge, or to see."""
    done = 0
    wanted = set(request.candidates)
    listener(Step("judging", done, len(request.candidates), "candidates"))
    for portion in request.portions.read(request.rules.baselines, listener):
        yield portion
        done += sum(name in wanted for name in portion.builds)
        listener(Step("judging", done, len(request.candidates), "candidates"))
