"""A benchmark policy as it takes effect, and what a reviewer would question, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fastgate.gates.policy import policy_hash, to_dict
from fastgate.reports import words
from fastgate.reports.console import bullets, indented, new_table, rendered

if TYPE_CHECKING:
    from fastgate.gates.policy import Rules

__all__ = ["policy_report"]


def policy_report(rules: Rules, remarks: Sequence[str], stream: IO[str]) -> str:
    """The rules and the remarks about them, as text for `stream`."""
    policy = to_dict(rules)
    return rendered([*_head(policy, policy_hash(rules)), "", _suites(policy), "", *_remarks(remarks)], stream)


def _head(policy: dict[str, Any], digest: str) -> Iterator[RenderableType]:
    tenant = f" as it applies to tenant {words.name(policy['tenant'])}" if policy["tenant"] else ""
    yield Text.assemble(
        "policy ", (words.name(policy["name"]), "bold"), f" ({policy['gate']} gate){tenant}: valid"
    )
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _settings(policy).items():
        table.add_row(Text(label), Text(value))
    table.add_row(Text("sha256"), Text(digest))
    yield indented(table)


def _settings(policy: dict[str, Any]) -> dict[str, str]:
    same = "on the same cases" if policy["require_same_cases"] else "whether or not on the same cases"
    zero = {
        "undefined": "two constant samples are undefined",
        "decide": "two constant samples are compared by their values",
    }
    trials = {"mean": "averaged within the case", "refuse": "a fault"}
    return {
        "rule": f"at least {policy['min_suite_wins']} of {words.plural(len(policy['suites']), 'suite')} won "
        "against every baseline",
        "baselines": ", ".join(words.name(name) for name in policy["baselines"]),
        "test": f"{words.method_in_words(policy)}, {same}",
        "guards": f"worse at p < {words.number(policy['guard_alpha'])} (one-sided, not corrected)",
        "missing values": f"up to a share of {words.number(policy['max_missing_share'])}; beyond it undefined",
        "zero variance": zero[policy["zero_variance"]],
        "repeated trials": trials[policy["trials"]],
        "unlisted names": "suites and KPIs the policy does not name are "
        + ("an error" if policy["unlisted"] == "error" else "ignored"),
        "shown only": f"intervals at {words.number(policy['confidence_level'])}, "
        f"detectable effects at a power of {words.number(policy['power'])}",
    }


def _suites(policy: dict[str, Any]) -> Table:
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
    names = {kpi: words.directed(kpi, direction) for kpi, direction in suite["directions"].items()}
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


def _remarks(remarks: Sequence[str]) -> Iterator[RenderableType]:
    if not remarks:
        yield Text("Nothing to question.")
        return
    yield Text("A reviewer would question", style="bold")
    yield indented(bullets(list(remarks)))
