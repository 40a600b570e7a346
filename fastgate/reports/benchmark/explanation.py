"""Why one candidate got its verdict and what would change it, in sentences to act on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.text import Text

from fastgate.gates.reasons import FAULTS, MEANINGS
from fastgate.reports import words
from fastgate.reports.benchmark import facts
from fastgate.reports.benchmark.sentences import verdict_line, why
from fastgate.reports.console import STYLES, bullets, indented, rendered

if TYPE_CHECKING:
    from fastgate.gates.benchmark.result import BenchmarkResult

__all__ = ["explain", "explanation_report"]

_NEAREST: Final = 5


def explain(result: BenchmarkResult, candidate: str) -> dict[str, Any]:
    """Why one candidate got its verdict, as plain data."""
    return result.explain(candidate)


def explanation_report(result: BenchmarkResult, explanation: Mapping[str, Any], stream: IO[str]) -> str:
    """An explanation as text for `stream`.

    Parameters
    ----------
    result : BenchmarkResult
        The result it is taken from.
    explanation : mapping
        As `BenchmarkResult.explain` returns it.
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    """
    (candidate,) = facts.candidates(result, [explanation["candidate"]])
    policy, verdict = result.policy, candidate.verdict
    parts: list[RenderableType] = [
        Text.assemble(
            (verdict.upper(), STYLES[verdict]),
            " ",
            (words.name(candidate.name), "bold"),
            f"  {verdict_line(candidate)}",
        ),
        Text(f"policy {words.name(policy['name'])}: {words.method_in_words(policy)}"),
    ]
    reasons = why(candidate, policy)
    if reasons:
        parts += ["", Text("Why", style="bold"), indented(bullets(reasons))]
    parts += [
        "",
        Text("What would change it", style="bold"),
        indented(bullets(_changes(explanation, candidate))),
    ]
    for baseline in explanation["baselines"]:
        parts += ["", *_against(baseline, candidate, policy)]
    parts += ["", Text(_legend(policy), style="dim")]
    return rendered(parts, stream)


def _changes(explanation: Mapping[str, Any], candidate: facts.Candidate) -> list[str]:
    """What it takes for another verdict, first what the candidate cannot do without."""
    short = [row for row in explanation["baselines"] if row["wins"] < row["required"]]
    faulty = list(
        dict.fromkeys(
            words.name(entry.suite) for entry in candidate.entries() if set(entry.reasons) & set(FAULTS)
        )
    )
    found = []
    if faulty:
        then = "" if short or candidate.lost_suites else ", and the wins are enough as they are"
        found.append(f"the data of {words.listing(faulty)} made whole: a fault blocks whatever is won{then}")
    if short:
        wins = [f"{words.count(row['to_change'])} against {words.name(row['baseline'])}" for row in short]
        found.append(f"more wins: {words.listing(wins)}")
    if candidate.lost_suites:
        lost = words.listing([words.name(suite) for suite in candidate.lost_suites])
        found.append(
            f"winning {lost} again: one suite lost since the previous release asks for a review, more of them block"
        )
    if "no_previous_result" in candidate.reasons:
        found.append(
            "a previous result that holds this candidate, or naming the released one (--previous-candidate)"
        )
    if not found:
        least = min(explanation["baselines"], key=lambda row: row["to_change"])
        found.append(
            f"{words.plural(least['to_change'], 'win')} fewer against {words.name(least['baseline'])}, "
            "the baseline with the least to spare"
        )
    return found


def _against(
    row: dict[str, Any], candidate: facts.Candidate, policy: dict[str, Any]
) -> Iterator[RenderableType]:
    beaten = row["wins"] >= row["required"]
    spare = "to spare" if beaten else "short"
    change = row["to_change"] - beaten
    yield Text.assemble(
        (f"Against {words.name(row['baseline'])}", "bold"),
        f": {row['wins']} of {words.plural(row['suites'], 'suite')} won, {row['required']} required, "
        + (f"{words.count(change)} {spare}" if change else "none to spare"),
    )
    entries = {suite: grid[row["baseline"]] for suite, grid in candidate.grid.items()}
    decided = [item for item in row["nearest"] if item["suite_outcome"] != "undefined"]
    if decided:
        yield indented(Text("The wins nearest to the line:" if beaten else "Nearest to a win:"))
        sentences = [_nearest(item, entries[item["suite"]], policy) for item in decided[:_NEAREST]]
        yield indented(bullets(sentences), 4)
    undefined = [entry for entry in entries.values() if entry.outcome == "undefined"]
    if undefined:
        yield indented(Text("Without a result:"))
        yield indented(bullets(_without_result(undefined)), 4)


def _nearest(item: dict[str, Any], entry: facts.Entry, policy: dict[str, Any]) -> str:
    suite = policy["suites"][item["suite"]]
    text = f"{words.name(item['suite'])}: {_difference(item, suite['directions'][item['kpi']])}"
    if item["pvalue"] is not None:
        text += f" (p {words.pvalue(item['pvalue'], policy['alpha'])})"
    guards = entry.held_back_by(suite["decided_by"])
    if guards:
        return f"{text}, a {item['outcome']} by itself, but {' and '.join(map(_guard, guards))}"
    cases = _cases(item)
    return f"{text}; {cases}" if cases else text


def _difference(item: Mapping[str, Any], direction: str) -> str:
    """``auc 0.012 ± 0.03 better``."""
    kpi, delta = words.name(item["kpi"]), item["delta"]
    which = words.better_or_worse(delta, direction)
    if which == "unknown":
        return f"{kpi} cannot be compared"
    spread = "" if item["half_width"] is None else f" ± {words.number(item['half_width'], 3)}"
    return f"{kpi} {words.number(abs(delta), 3)}{spread} {which}"


def _guard(cell: Mapping[str, Any]) -> str:
    text = f"the guard {_difference(cell, cell['direction'])}"
    if cell["guard"] == "not_shown":
        return f"{text}, which does not show it within {words.number(cell['margin'])}"
    return f"{text}, significantly" if cell["guard"] == "worse" else f"{text}: {cell['guard']}"


def _cases(item: Mapping[str, Any]) -> str:
    n, needed, detectable = item["n"], item["cases_needed"], item["detectable_effect"]
    if item["outcome"] == "win":
        if needed is None or needed >= n:
            return "" if needed is None else f"all {words.plural(n, 'case')} were needed"
        return f"{words.count(needed)} of {words.plural(n, 'case')} would have done"
    found = [] if needed is None else [f"{words.plural(needed, 'case')} would have done"]
    if detectable is not None:
        found.append(f"{words.count(n)} detect {words.number(detectable, 3)}")
    return ", ".join(found)


def _without_result(entries: list[facts.Entry]) -> list[str]:
    """The suites without a result, those of the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for entry in entries:
        codes = [code for code in entry.reasons if not code.startswith("guard_")] or entry.reasons
        reason = MEANINGS[codes[0]] if codes else "no result"
        by_reason.setdefault(reason, []).append(words.name(entry.suite))
    return [f"{words.listing(suites)}: {reason}" for reason, suites in by_reason.items()]


def _legend(policy: dict[str, Any]) -> str:
    if policy["test"] == "bootstrap":
        return (
            f"± half the width of the {words.number(100 * policy['confidence_level'])} % bootstrap interval."
        )
    corrected = (
        " p as tested, before the policy's correction." if policy["correction"]["method"] != "none" else ""
    )
    return (
        f"± half the width of the {words.number(100 * policy['confidence_level'])} % interval.{corrected} "
        "N cases would have done: were the difference and its spread as seen, so many a side would be significant. "
        f"N detect X: a true difference of X is found with a chance of {words.number(policy['power'])}."
    )
