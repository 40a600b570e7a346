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
_CANDIDATE_HEADINGS: Final = ("candidate", "verdict", "enough wins", "fewest wins", "required", "reasons")
_BASELINE_HEADINGS: Final = ("baseline", "won", "required", "tied", "lost", "undefined", "verdict")
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
    found = _bullets(notes(result, code))
    evidence = result.evidence
    tenant = f", tenant {code(result.policy['tenant'])}" if result.policy["tenant"] else ""
    data = evidence["input"]
    return (
        (f"\n<details><summary>Notes</summary>\n\n{found}\n</details>\n" if found else "")
        + f"\n<sub>fastgate {evidence['fastgate']}, policy {code(result.policy['name'])}{tenant} "
        f"<code>{evidence['policy_hash'][:16]}</code>, {words.plural(data['rows'], 'row')} "
        f"<code>{str(data['fingerprint'])[:16]}</code></sub>\n"
    )


def _bullets(sentences: Iterable[str]) -> str:
    return "".join(
        f"{'  ' if sentence.startswith('  ') else ''}- {sentence.strip()}\n" for sentence in sentences
    )


def _overview(result: BenchmarkResult, room: int) -> tuple[str, int]:
    """The table of candidates, the best first, and how many it leaves out."""
    ranked = facts.ranked(result)
    for most in _ROWS:
        shown = ranked.group_by("verdict", maintain_order=True).head(most)
        rows = [
            (
                code(row["candidate"]),
                f"**{row['verdict']}**",
                f"{row['baselines_beaten']} of {row['baselines']}",
                words.count(row["fewest_wins"]),
                words.count(row["required"]),
                _reasons(row["reasons"]),
            )
            for row in shown.iter_rows(named=True)
        ]
        text = table(_CANDIDATE_HEADINGS, rows, right=[2, 3, 4])
        if len(text) <= room:
            break
    return text + "\n", len(result) - shown.height


def _reasons(codes: Sequence[str]) -> str:
    return words.listing(list(dict.fromkeys(words.short_reason([one]) for one in in_order(codes))), 3)


def _details(result: BenchmarkResult, room: int) -> tuple[str, int, int]:
    """What there is to say of single candidates; how many lack their suites, and how many everything."""
    ranked = facts.ranked(result)
    # What needs a person comes first, then what may ship, then the rest: these are the most in a sweep.
    order = (
        pl.col("verdict")
        .cast(pl.String)
        .replace_strict({"review": 0, "refused": 1, "pass": 2, "block": 3}, return_dtype=pl.Int8)
    )
    names = ranked.sort(order, maintain_order=True)["candidate"].cast(pl.String).to_list()
    parts: list[str] = []
    short = 0
    for candidate in facts.candidates(result, names[:_MOST_DETAILS]):
        brief = _brief(candidate, result.policy)
        full = _wrapped(candidate, f"{brief}\n{_grid(candidate, result.policy)}")
        if len(full) > room:
            full = _wrapped(candidate, brief)
            if len(full) > room:
                break
            short += 1
        parts.append(full)
        room -= len(full)
    return "".join(parts), short, len(names) - len(parts)


def _wrapped(candidate: facts.Candidate, text: str) -> str:
    title = f"{html_code(candidate.name)}: <b>{candidate.verdict}</b>, {verdict_line(candidate)}"
    return f"\n<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def _brief(candidate: facts.Candidate, policy: dict[str, Any]) -> str:
    rows = [
        (
            code(row["baseline"]),
            f"{row['wins']} of {len(candidate.grid)}",
            str(row["required"]),
            *(str(row[name]) for name in ("ties", "losses", "undefined")),
            row["verdict"],
        )
        for row in candidate.baselines
    ]
    text = table(_BASELINE_HEADINGS, rows, right=[1, 2, 3, 4, 5])
    reasons = _bullets(why(candidate, policy, code))
    return f"{text}\n\n{reasons}" if reasons else f"{text}\n"


def _grid(candidate: facts.Candidate, policy: dict[str, Any]) -> str:
    baselines = [row["baseline"] for row in candidate.baselines]
    rows = []
    for suite, row in candidate.grid.items():
        kpis = ", ".join(
            f"{code(cell['kpi'])} {'↑' if cell['direction'] == 'higher' else '↓'}"
            for cell in next(iter(row.values())).deciding
        )
        rows.append([code(suite), kpis, *(_entry(row[baseline], policy) for baseline in baselines)])
    return table(["suite", "decided by", *map(code, baselines)], rows) + "\n"


def _entry(entry: facts.Entry, policy: dict[str, Any]) -> str:
    found = entry_notes(entry, policy, code)
    if entry.outcome != "undefined":
        figures = [
            f"{words.signed(cell['delta'])} (p {words.pvalue(facts.deciding_pvalue(cell, policy), policy['alpha'])})"
            for cell in entry.deciding
        ]
        found = [*figures, *found]
    mark = f"**{entry.outcome}**" if entry.outcome != "win" else "win"
    return f"{mark} {'; '.join(found)}".strip()
