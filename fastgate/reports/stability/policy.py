"""A stability policy in words."""

from __future__ import annotations

from typing import Any, Final

from rich.table import Table
from rich.text import Text

from fastgate.reports import words
from fastgate.reports.console import new_table

__all__ = ["details", "settings"]

_LETTERS: Final = {
    "raw": "of swapped runs as shown: a stable ranker answers with the other letter",
    "unswapped": "of swapped runs un-swapped already",
    None: "of swapped runs: said by the probes' columns or by --letters",
}
_SCALES: Final = {"unit": "the chance to beat an average alternative", "logit": "log odds"}


def settings(policy: dict[str, Any]) -> dict[str, str]:
    """What a policy says of all kinds and of the posterior, in words."""
    separated = "may count" if policy["accept_separation"] else "do not count"
    missing = (
        f"of up to {words.percent(policy['max_missing_share'])} a run may be missing"
        if policy["max_missing_share"]
        else "no run may be missing"
    )
    return {
        "rule": "each kind must hold by itself, and the posterior be narrow",
        "posterior": f"mean width of the central {words.percent(policy['mass'])} intervals at most "
        f"{words.number(policy['max_ci_width'])}",
        "probes": f"{words.plural(policy['min_probes'], 'probe')} or more of each kind; {missing}",
        "drop": f"by more than {words.number(policy['max_drop'])} since the previous release goes to review",
        "letters": _LETTERS[policy["letters"]],
        "fitted utilities": f"{_SCALES[policy['scale']]}; prior sd {words.number(policy['prior_sd'])} logits; "
        f"fits in which some alternatives never lost {separated}",
        "other kinds": "an error" if policy["unlisted"] == "error" else "ignored",
    }


def details(policy: dict[str, Any]) -> Table:
    """The kinds and their least agreement."""
    table = new_table()
    table.add_column("kind", overflow="fold")
    table.add_column("agreement", justify="right")
    for kind, floor in policy["min_agreement"].items():
        table.add_row(Text(words.name(kind)), f"≥ {words.number(floor)}")
    return table
