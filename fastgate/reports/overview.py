"""What the reports of every gate say alike: which policy and data, how many of each verdict, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fastgate.gates.verdict import VERDICTS
from fastgate.reports import words
from fastgate.reports.console import STYLES, new_table

__all__ = [
    "Judged",
    "conclusion",
    "counts",
    "provenance",
    "summary",
    "tally",
    "verdict_lines",
    "verdict_text",
]

# Of a sweep so many candidates of each verdict are shown.
_OF_EACH_VERDICT = 10


class Judged(Protocol):
    """The result of any gate, as far as every report reads it. The first column of `verdicts` is the name."""

    @property
    def gate(self) -> str:
        """The gate's name."""

    @property
    def verdict(self) -> str:
        """The worst of the verdicts."""

    @property
    def verdicts(self) -> pl.DataFrame:
        """A row per candidate."""

    @property
    def policy(self) -> dict[str, Any]:
        """The policy as applied."""

    @property
    def evidence(self) -> dict[str, Any]:
        """What the verdicts rest on."""

    def __len__(self) -> int: ...


def provenance(result: Judged) -> str:
    """Which gate, policy and data: one line."""
    policy, evidence = result.policy, result.evidence
    data = evidence["input"]
    further = "".join(
        f", {what} {words.name(policy[what])}" for what in ("tenant", "profile") if policy.get(what)
    )
    return (
        f"{result.gate} gate, policy {words.name(policy['name'])}{further} ({evidence['policy_hash'][:12]}), "
        f"{words.plural(data['rows'], 'row')} ({str(data['fingerprint'])[:12]})"
    )


def counts(result: Judged) -> dict[str, int]:
    """Candidates per verdict, from pass to block, those that occur."""
    found = dict(result.verdicts["verdict"].cast(pl.String).value_counts().iter_rows())
    return {verdict: found[verdict] for verdict in VERDICTS if verdict in found}


def tally(result: Judged) -> str:
    """``2 pass, 1 block``."""
    return ", ".join(f"{words.count(n)} {verdict}" for verdict, n in counts(result).items())


def verdict_lines(result: Judged) -> str:
    """One line per candidate, ``block<TAB>its name``, in the order of the result."""
    verdicts = result.verdicts
    pairs = verdicts.select(pl.col("verdict", verdicts.columns[0]).cast(pl.String)).iter_rows()
    return "".join(f"{verdict}\t{words.name(name)}\n" for verdict, name in pairs)


def verdict_text(verdict: str) -> Text:
    """A verdict as a report's line begins with it."""
    return Text(verdict.upper(), style=STYLES[verdict])


def conclusion(
    result: Judged, ranked: pl.DataFrame, saved: str | None, noun: str = "candidate"
) -> Iterator[RenderableType]:
    """The verdict of all together, and the command that explains the one a reader asks about next.

    Parameters
    ----------
    result : Judged
    ranked : DataFrame
        Its verdicts, the best first.
    saved : str or None
        Where the result was saved.
    noun : str, optional
        What is judged.
    """
    if len(result) > 1:
        yield Text.assemble(
            verdict_text(result.verdict),
            f": the worst of {words.plural(len(result), noun)} ({tally(result)})",
        )
    # The best of those that did not pass.
    asked = ranked.filter(pl.col("verdict") != "pass").head(1)
    if asked.is_empty():
        asked = ranked.tail(1)
    if asked.is_empty():
        return
    name = shlex.quote(str(asked[:, 0][0]))
    if not name.isprintable():
        name = "NAME"
    if saved is None:
        yield f"Next: save the result with -o result.json, then fastgate explain result.json --candidate {name}"
    else:
        yield f"Next: fastgate explain {shlex.quote(saved)} --candidate {name}"


def summary(
    result: Judged,
    ranked: pl.DataFrame,
    headings: Sequence[tuple[str, bool]],
    row_of: Callable[[dict[str, Any]], Sequence[str]],
) -> Table:
    """A table of many candidates: the first few of each verdict, and how many more there are.

    Parameters
    ----------
    result : Judged
    ranked : DataFrame
        Its verdicts, the best first.
    headings : sequence of (str, bool)
        Of the columns after the verdict, the first being the name; whether each holds numbers.
    row_of : callable
        From a row of `ranked` to the cells of these columns.
    """
    table = new_table()
    table.add_column("verdict", no_wrap=True)
    for heading, numbers in headings:
        if numbers:
            table.add_column(heading, justify="right", no_wrap=True)
        else:
            table.add_column(heading, overflow="fold")
    for verdict, total in counts(result).items():
        mine = ranked.filter(pl.col("verdict") == verdict)
        for row in mine.head(_OF_EACH_VERDICT).iter_rows(named=True):
            table.add_row(Text(verdict, style=STYLES[verdict]), *map(Text, row_of(row)))
        if total > _OF_EACH_VERDICT:
            table.add_row("", Text(f"and {words.count(total - _OF_EACH_VERDICT)} more", style="dim"))
        table.add_section()
    return table
