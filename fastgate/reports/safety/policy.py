"""A safety policy in words."""

from __future__ import annotations

from typing import Any, Final

from rich.table import Table
from rich.text import Text

from fastgate.reports import words
from fastgate.reports.console import new_table
from fastgate.reports.safety.facts import floor_words

__all__ = ["details", "settings"]

_TRIALS: Final = {
    "all": "a case with several passes if all of them do",
    "majority": "a case with several passes if more than half of them do",
    "first": "of a case with several the first one counts",
    "share": "a case with several counts by its share of passes",
    "each": "each counts as a case",
}
_TRIAL_SETS: Final = {
    "same": "both runs must have the same ones",
    "first-failure": "both runs must have the same ones up to the first failure",
    "any": "the runs may have different ones",
}


def settings(policy: dict[str, Any]) -> dict[str, str]:
    """What a policy says of all its suites, in words."""
    corrected = {
        "none": "none: each suite has its own level",
        "sidak": "Sidak: the level is raised for the number of suites",
        "bonferroni": "Bonferroni: the level is raised for the number of suites",
    }
    named = len(policy["suites"])
    which = (
        f"{words.plural(named, 'suite')}, each of which must be there"
        if named
        else "every suite that the baseline has"
    )
    return {
        "rule": "no pass rate may fall by more than the noise floor e between runs whose manifests agree",
        "noise floor": floor_words(policy).removeprefix("e, the noise floor: "),
        "correction": corrected[policy["correction"]],
        "suites": which,
        "other suites": "an error" if policy["unlisted"] == "error" else "ignored",
        "trials": f"{_TRIALS[policy['trials']]}; {_TRIAL_SETS[policy['trial_sets']]}",
        "must be stated": words.listing([words.name(field) for field in policy["required"]], 20) or "nothing",
        "not compared": words.listing([words.name(field) for field in policy["ignored"]], 20)
        or "nothing: every field that a manifest states must agree",
        "shown only": f"detectable drops at a power of {words.number(policy['power'])}",
    }


def details(policy: dict[str, Any]) -> Table:
    """The limits of the suites, those of one rule in one row."""
    by_rule: dict[tuple[str, str], list[str]] = {}
    every = policy["suites"] or {"every suite": policy["limits"]}
    for name, limits in every.items():
        rule = words.count(limits["min_cases"]), words.percent(limits["max_error_share"])
        by_rule.setdefault(rule, []).append(words.name(name))
    table = new_table()
    table.add_column("suites", overflow="fold")
    for heading in ("min cases", "errors up to"):
        table.add_column(heading, justify="right")
    for rule, suites in by_rule.items():
        label = f"{len(suites)}: {', '.join(suites)}" if len(suites) > 1 else suites[0]
        table.add_row(*map(Text, (label, *rule)))
    return table
