"""A policy as it takes effect, and what a reviewer would question, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fastgate.gates.policy import policy_hash, to_dict
from fastgate.reports import words
from fastgate.reports.console import bullets, indented, rendered

if TYPE_CHECKING:
    from fastgate.gates.policy import Rules

__all__ = ["policy_report"]


def policy_report(rules: Rules, remarks: Sequence[str], stream: IO[str]) -> str:
    """The rules and the remarks about them, as text for `stream`."""
    policy = to_dict(rules)
    own = import_module(f"fastgate.reports.{policy['gate']}.policy")
    head = _head(policy, own.settings(policy), policy_hash(rules))
    return rendered([*head, "", own.details(policy), "", *_remarks(remarks)], stream)


def _head(policy: dict[str, Any], settings: dict[str, str], digest: str) -> Iterator[RenderableType]:
    applied = [f"{what} {words.name(policy[what])}" for what in ("tenant", "profile") if policy.get(what)]
    tenant = f" as it applies to {' and '.join(applied)}" if applied else ""
    yield Text.assemble(
        "policy ", (words.name(policy["name"]), "bold"), f" ({policy['gate']} gate){tenant}: valid"
    )
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in settings.items():
        table.add_row(Text(label), Text(value))
    table.add_row(Text("sha256"), Text(digest))
    yield indented(table)


def _remarks(remarks: Sequence[str]) -> Iterator[RenderableType]:
    if not remarks:
        yield Text("Nothing to question.")
        return
    yield Text("A reviewer would question", style="bold")
    yield indented(bullets(list(remarks)))
