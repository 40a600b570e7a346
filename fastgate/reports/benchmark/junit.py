"""The benchmark gate's result as JUnit test cases: one per candidate and baseline, and one for all together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastgate.reports import words
from fastgate.reports.benchmark import facts
from fastgate.reports.benchmark.sentences import entry_notes, verdict_line, why
from fastgate.reports.junit import Case, Suite, junit_xml, stated_properties, together

if TYPE_CHECKING:
    from fastgate.gates.benchmark.result import BenchmarkResult

__all__ = ["junit"]


def junit(result: BenchmarkResult) -> bytes:
    """The result as JUnit XML.

    Returns
    -------
    bytes
        A test suite per candidate. Its cases are the baselines, each with its suites as text, and a last one,
        "all baselines together", which fails only where the candidate's verdict is worse than that of
        each baseline: two suites lost to different baselines, or a previous result without this candidate.
    """
    policy = result.policy
    suites = [_suite(candidate, policy) for candidate in facts.candidates(result, list(result))]
    return junit_xml(f"fastgate benchmark: {policy['name']}", suites, stated_properties(result))


def _suite(candidate: facts.Candidate, policy: dict[str, Any]) -> Suite:
    cases = [_case(row, candidate, policy) for row in candidate.baselines]
    reasons = [verdict_line(candidate), *why(candidate, policy, str)]
    return Suite(
        candidate.name, [*cases, together("all baselines together", candidate.verdict, cases, reasons)]
    )


def _case(row: dict[str, Any], candidate: facts.Candidate, policy: dict[str, Any]) -> Case:
    won = f"{row['wins']} of {row['wins'] + row['losses'] + row['ties'] + row['undefined']} suites won"
    message = f"{won}, {row['required']} required"
    if row["reasons"]:
        message += f": {', '.join(dict.fromkeys(words.short_reason([code]) for code in row['reasons']))}"
    lines = [message, *(_line(grid[row["baseline"]], policy) for grid in candidate.grid.values())]
    return Case(f"beats {row['baseline']}", row["verdict"], message, "\n".join(lines))


def _line(entry: facts.Entry, policy: dict[str, Any]) -> str:
    figures = [
        f"{cell['kpi']} {words.signed(cell['delta'])} "
        f"({words.better_or_worse(cell['delta'], cell['direction'])}, "
        f"{facts.significance(cell, policy)})"
        for cell in entry.deciding
        if entry.outcome != "undefined"
    ]
    return f"{entry.suite}: {'; '.join([entry.outcome, *figures, *entry_notes(entry, policy, str)])}"
