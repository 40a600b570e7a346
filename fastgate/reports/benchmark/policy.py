"""A benchmark policy in words."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from fastgate.reports import words
from fastgate.reports.console import new_table

__all__ = ["details", "settings"]


def settings(policy: dict[str, Any]) -> dict[str, str]:
    """What a policy says of all its suites, in words."""
    same = "on the same cases" if policy["require_same_cases"] else "whether or not on the same cases"
    zero = {
        "undefined": "two constant samples are undefined",
        "decide": "two constant samples are compared by their values",
    }
    by_interval = policy["test"] == "bootstrap"
    trials = {"mean": "averaged within the case", "refuse": "a fault"}
    return {
        "rule": f"at least {policy['min_suite_wins']} of {words.plural(len(policy['suites']), 'suite')} won "
        "against every baseline",
        "baselines": ", ".join(words.name(name) for name in policy["baselines"]),
        "test": f"{words.method_in_words(policy)}, {same}",
        **(_bootstrap(policy["bootstrap"], policy["confidence_level"]) if by_interval else {}),
        "guards": f"worse at {'' if by_interval else 'p < '}{words.number(policy['guard_alpha'])} "
        f"(one-sided{'' if by_interval else ', not corrected'})",
        "missing values": f"up to a share of {words.number(policy['max_missing_share'])}; beyond it undefined",
        "zero variance": zero[policy["zero_variance"]],
        "repeated trials": trials[policy["trials"]],
        "unlisted names": "suites and KPIs the policy does not name are "
        + ("an error" if policy["unlisted"] == "error" else "ignored"),
        "shown only": "the t tests of means"
        if by_interval
        else f"intervals at {words.number(policy['confidence_level'])}, "
        f"detectable effects at a power of {words.number(policy['power'])}",
    }


def _bootstrap(how: dict[str, Any], level: float) -> dict[str, str]:
    what = (
        "of the cases' differences" if how["paired"] else "of the differences between the builds' statistics"
    )
    drawn = (
        ""
        if how["engine"] == "exact"
        else f"; {how['n_resamples']:,} resamples where drawn, seed {how['seed']}"
    )
    return {"intervals": f"{what}, at {words.number(level)}; a win or loss excludes 0{drawn}"}


def details(policy: dict[str, Any]) -> Table:
    """The suites, those of one rule in one row."""
    by_rule: dict[tuple[str, str, str, str], list[str]] = {}
    for suite in policy["suites"].values():
        by_rule.setdefault(_rule(suite), []).append(words.name(suite["name"]))
    table = new_table()
    for heading in ("suites", "decided by", "guards", "shown"):
        table.add_column(heading, overflow="fold")
    table.add_column("min cases", justify="right")
    for rule, suites in by_rule.items():
        label = f"{len(suites)}: {', '.join(suites)}" if len(suites) > 1 else suites[0]
        table.add_row(*map(Text, (label, *rule)))
    return table


def _rule(suite: dict[str, Any]) -> tuple[str, str, str, str]:
    names = {
        kpi: words.directed(kpi, direction, suite["statistics"].get(kpi, "mean"))
        for kpi, direction in suite["directions"].items()
    }
    deciding = ", ".join(names[kpi] for kpi in suite["deciding_kpis"])
    if len(suite["deciding_kpis"]) > 1:
        deciding = f"{suite['decided_by']} of {deciding}"
    guards = [
        _guard(names[kpi], margin, kpi in suite["not_worse"]) for kpi, margin in suite["guards"].items()
    ]
    others = {*suite["guards"], *suite["deciding_kpis"]}
    shown = [names[kpi] for kpi in suite["kpis"] if kpi not in others]
    return deciding, ", ".join(guards), ", ".join(shown), words.count(suite["min_cases"])


def _guard(name: str, margin: float | None, not_worse: bool) -> str:
    asked = ["not worse"] if not_worse else []
    if margin is not None:
        asked.append(f"within {words.number(margin)}")
    return f"{name} {' and '.join(asked)}"
