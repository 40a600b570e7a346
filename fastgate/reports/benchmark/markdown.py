"""The benchmark gate's result as one Markdown comment; where it is too long, detail is shed first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fastgate.reports import words
from fastgate.reports.benchmark import facts
from fastgate.reports.benchmark.sentences import entry_notes, in_order, notes, verdict_line, why
from fastgate.reports.markdown import LIMIT, MARKER, code, html_code, table

if TYPE_CHECKING:
    from fastgate.gates.result import BenchmarkResult

__all__ = ["markdown"]

# Rows of the table of candidates, of each verdict: the most that leave room for details are taken.
_ROWS: Final = (10_000, 1_000, 200, 100, 50, 20, 10)
_ROWS_SHARE: Final = 0.5
# Room kept for the sentence about what was left out.
_RESERVE: Final = 500
# No more candidates can have details in `LIMIT` characters.
_MOST_DETAILS: Final = 300


def markdown(result: BenchmarkResult, limit: int = LIMIT) -> str:
    """The result as Markdown.

    Parameters
    ----------
    result : BenchmarkResult
    limit : int, optional
        The most characters.

    Returns
    -------
    str
        Begins with `MARKER`. Over the limit first the suites of single candidates are left out, then their
        baselines, then rows of the table of candidates; the text says what is missing.
    """
    head, tail = _head(result), _tail(result)
    room = limit - len(head) - len(tail) - _RESERVE
    overview, unlisted = _overview(result, int(room * _ROWS_SHARE))
    details, short, bare = _details(result, room - len(overview))
    left_out = [
        text
        for number, text in (
            (unlisted, f"{words.plural(unlisted, 'candidate')} in the table"),
            (bare, f"the baselines and suites of {words.plural(bare, 'candidate')}"),
            (short, f"the suites of {words.plural(short, 'candidate')}"),
        )
        if number
    ]
    cut = (
        f"\nLeft out to stay under {words.count(limit)} characters: {'; '.join(left_out)}. "
        "A `.json` or `.parquet` output holds everything.\n"
        if left_out
        else ""
    )
    return "".join([head, overview, details, cut, tail])


def _head(result: BenchmarkResult) -> str:
    lines = facts.headline(result)
    tally = ", ".join(f"{words.count(n)} {verdict}" for verdict, n in facts.counts(result).items())
    return (
        f"{MARKER}\n### fastgate: {result.verdict}\n\n"
        f"{words.plural(len(result), 'candidate')}: {tally}. "
        f"{lines[1].split(': ')[1].capitalize()}; {lines[2]}.\n\n"
    )


def _tail(result: BenchmarkResult) -> str:
    found = "".join(_bullet(note) for note in notes(result))
    evidence = result.evidence
    tenant = f", tenant {code(result.policy['tenant'])}" if result.policy["tenant"] else ""
    data = evidence["input"]
    return (
        (f"\n<details><summary>Notes</summary>\n\n{found}\n</details>\n" if found else "")
        + f"\n<sub>fastgate {evidence['fastgate']}, policy {code(result.policy['name'])}{tenant} "
        f"<code>{evidence['policy_hash'][:16]}</code>, {words.plural(data['rows'], 'row')} "
        f"<code>{str(data['fingerprint'])[:16]}</code></sub>\n"
    )


def _bullet(sentence: str) -> str:
    indent = "  " if sentence.startswith("  ") else ""
    return f"{indent}- {_escaped(sentence.strip())}\n"
