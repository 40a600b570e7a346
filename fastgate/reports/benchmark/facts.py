"""What every report of the benchmark gate says, before it is laid out: candidates in order, reasons, notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fastgate.reports import words
from fastgate.reports.overview import provenance

if TYPE_CHECKING:
    from fastgate.gates.benchmark.result import BenchmarkResult
    from fastgate.gates.benchmark.sweep import BenchmarkSweep

    Anywhere = BenchmarkResult | BenchmarkSweep

__all__ = [
    "Candidate",
    "Entry",
    "candidates",
    "deciding_pvalue",
    "headline",
    "ranked",
    "significance",
]

_SHARES: Final = ("pass", "review", "block")
# Candidates whose tables are turned into Python rows at a time.
_CHUNK: Final = 500
_CELL_COLUMNS: Final = (
    "kpi",
    "direction",
    "role",
    "outcome",
    "guard",
    "measure",
    "delta",
    "ci_low",
    "ci_high",
    "half_width",
    "pvalue",
    "pvalue_adjusted",
    "welch_pvalue",
    "paired_pvalue",
    "margin",
    "margin_pvalue",
    "n_candidate",
    "n_baseline",
)


@dataclass(frozen=True)
class Entry:
    """One suite of a candidate against one baseline.

    Attributes
    ----------
    suite, baseline, outcome : str
    lost : bool
        Won by the previous release, and not now.
    failed_guards, reasons : list of str
    cells : list of dict
        The rows of the comparisons that decide or guard the suite.
    """

    suite: str
    baseline: str
    outcome: str
    lost: bool
    failed_guards: list[str]
    reasons: list[str]
    cells: list[dict[str, Any]]

    @property
    def deciding(self) -> list[dict[str, Any]]:
        """The comparisons that decide the suite."""
        return [cell for cell in self.cells if cell["role"] == "decides"]

    def held_back_by(self, decided_by: str) -> list[dict[str, Any]]:
        """The guards without which the outcome would be another; none where they change nothing."""
        outcomes = [cell["outcome"] for cell in self.deciding]
        enough = any if decided_by == "any" else all
        without = (
            "win"
            if enough(outcome == "win" for outcome in outcomes)
            else next((outcome for outcome in ("loss", "undefined") if outcome in outcomes), "tie")
        )
        failed = [cell for cell in self.cells if cell["role"] == "guard" and cell["guard"] != "holds"]
        return failed if without != self.outcome else []


@dataclass(frozen=True)
class Candidate:
    """One candidate with everything a report shows of it.

    Attributes
    ----------
    name, verdict : str
    beaten : int
        Baselines beaten.
    reasons, lost_suites : list of str
    baselines : list of dict
        The rows of the table of this name.
    grid : dict of str to dict of str to Entry
        Suite → baseline → outcome, in the policy's order.
    replicates : int or None
        How often the cases were drawn anew.
    shares : dict of str to float
        In which share of the replicates each verdict came out, of those that did.
    """

    name: str
    verdict: str
    beaten: int
    reasons: list[str]
    lost_suites: list[str]
    baselines: list[dict[str, Any]]
    grid: dict[str, dict[str, Entry]]
    replicates: int | None = None
    shares: dict[str, float] = field(default_factory=dict)

    def entries(self) -> Iterator[Entry]:
        """All of the grid, suite by suite."""
        for row in self.grid.values():
            yield from row.values()


def headline(result: Anywhere) -> list[str]:
    """What was judged by which rule, in three short lines."""
    policy = result.policy
    n_baselines, n_suites = len(policy["baselines"]), len(policy["suites"])
    return [
        provenance(result),
        f"{words.plural(len(result), 'candidate')}, {words.plural(n_baselines, 'baseline')}, "
        f"{words.plural(n_suites, 'suite')}: at least {words.plural(policy['min_suite_wins'], 'win')} "
        "against every baseline",
        words.method_in_words(policy),
    ]


def ranked(result: Anywhere) -> pl.DataFrame:
    """The verdicts, the best candidate first: by verdict, baselines beaten, fewest wins."""
    return result.verdicts.sort(
        pl.col("verdict").to_physical(),
        -pl.col("baselines_beaten").cast(pl.Int64),
        -pl.col("fewest_wins").cast(pl.Int64),
        maintain_order=True,
    )


def candidates(result: BenchmarkResult, names: Sequence[str]) -> Iterator[Candidate]:
    """The candidates `names`, in this order."""
    for start in range(0, len(names), _CHUNK):
        yield from _chunk(result, names[start : start + _CHUNK])


def _chunk(result: BenchmarkResult, names: Sequence[str]) -> Iterator[Candidate]:
    mine = pl.col("candidate").cast(pl.String).is_in(names)
    keys = pl.col("candidate", "baseline", "suite").cast(pl.String)
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    frame = result.cells.filter(mine & (pl.col("role") != "shown")).select(keys, *_CELL_COLUMNS)
    for row in frame.iter_rows(named=True):
        cells.setdefault((row["candidate"], row["baseline"], row["suite"]), []).append(row)
    grids: dict[str, dict[str, dict[str, Entry]]] = {name: {} for name in names}
    for row in result.suites.filter(mine).iter_rows(named=True):
        key = (row["candidate"], row["baseline"], row["suite"])
        grids[row["candidate"]].setdefault(row["suite"], {})[row["baseline"]] = Entry(
            row["suite"],
            row["baseline"],
            row["outcome"],
            row["lost"],
            row["failed_guards"],
            row["reasons"],
            cells.get(key, []),
        )
    baselines: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for row in result.baselines.filter(mine).iter_rows(named=True):
        baselines[row["candidate"]].append(row)
    verdicts = {row["candidate"]: row for row in result.verdicts.filter(mine).iter_rows(named=True)}
    for name in names:
        verdict = verdicts[name]
        yield Candidate(
            name,
            verdict["verdict"],
            verdict["baselines_beaten"],
            verdict["reasons"],
            verdict["lost_suites"],
            baselines[name],
            grids[name],
            verdict["replicates"],
            {kind: verdict[f"share_{kind}"] for kind in _SHARES if verdict[f"share_{kind}"]},
        )


def deciding_pvalue(cell: dict[str, Any], policy: dict[str, Any]) -> float | None:
    """The p-value that the rule compares with alpha: the adjusted one where the policy corrects."""
    value: float | None = cell["pvalue" if policy["correction"]["method"] == "none" else "pvalue_adjusted"]
    return value


def significance(cell: dict[str, Any], policy: dict[str, Any]) -> str:
    """What the rule goes by: ``p 0.03``, or with the bootstrap the interval, ``[0.1, 0.4]``."""
    if policy["test"] == "bootstrap":
        return words.interval(cell["ci_low"], cell["ci_high"])
    return f"p {words.pvalue(deciding_pvalue(cell, policy), policy['alpha'])}"
