"""A plan of cases for people, programs and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fastgate.gates.benchmark.plans.design import MEANINGS
from fastgate.reports import words
from fastgate.reports.console import bullets, indented, new_table, rendered, width_of

if TYPE_CHECKING:
    from fastgate.gates.benchmark.plans.planning import BenchmarkPlan
    from fastgate.reports.outputs import Output

__all__ = ["FORMATS", "plan_report", "write_plan"]

FORMATS: Final = {
    ".json": "JSON: the whole plan",
    ".csv": "a CSV file of all comparisons",
    ".parquet": "a Parquet file of all comparisons",
}
_ROWS: Final = 60
# Below this width the figures of the noise make way for the names.
_NARROW: Final = 92


def write_plan(plan: BenchmarkPlan, output: Output) -> None:
    """Write the plan aside and rename the file.

    Raises
    ------
    DataError
        When it cannot be written.
    """
    from fastgate.reports.outputs import write_data

    write_data(output, plan.to_dict, plan.comparisons)


def plan_report(plan: BenchmarkPlan, stream: IO[str], *, saved: bool = False) -> str:
    """The plan as text for `stream`.

    Parameters
    ----------
    plan : BenchmarkPlan
        From `fastgate.benchmark_plan`.
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    saved : bool, optional
        Whether a file holds all of it.
    """
    return rendered(list(_parts(plan, width_of(stream), saved)), stream)


def _parts(plan: BenchmarkPlan, width: int, saved: bool) -> Iterator[RenderableType]:
    rule, policy = plan.rule, plan.policy
    tenant = f", tenant {words.name(policy['tenant'])}" if policy["tenant"] else ""
    yield Text(
        f"plan for policy {words.name(policy['name'])}{tenant}: win {rule['required']} of "
        f"{words.plural(rule['suites'], 'suite')} against {_each(rule['baselines'])}"
    )
    yield Text(words.method_in_words(policy))
    yield Text(_effect(plan.settings))
    yield ""
    yield Text(_answer(plan), style="bold")
    for sentence in _range(plan):
        yield Text(sentence)
    yield ""
    yield indented(_baselines(plan))
    yield ""
    yield indented(_suites(plan, width))
    more = len(plan.policy["suites"]) - _ROWS
    if more > 0:
        where = "; the file holds all" if saved else "; an output (-o) or --json holds all"
        yield indented(Text(f"and {words.plural(more, 'more suite')}{where}", style="dim"))
    unplanned = _unplanned(plan)
    if unplanned:
        yield ""
        yield Text("Without a number of cases", style="bold")
        yield indented(bullets(unplanned))
    yield ""
    yield Text("What the numbers take for granted", style="bold")
    yield indented(bullets(plan.assumptions))


def _each(baselines: int) -> str:
    return "the baseline" if baselines == 1 else f"each of {words.plural(baselines, 'baseline')}"


def _effect(settings: dict[str, Any]) -> str:
    for key in ("effect", "standardised_effect"):
        value = settings[key]
        if value is None:
            continue
        gains = [value] if not isinstance(value, dict) else list(value.values())
        shown = [words.number(gain) for gain in gains]
        if key == "standardised_effect":
            shown = [f"{gain} standard deviation{'' if gain == '1' else 's'}" for gain in shown]
        if isinstance(value, dict):
            shown = [f"{words.name(kpi)} {gain}" for kpi, gain in zip(value, shown, strict=True)]
        return f"a candidate better by {words.listing(shown)}"
    return "a candidate better by what the pilot shows"


def _answer(plan: BenchmarkPlan) -> str:
    rule = plan.rule
    wanted = words.percent(rule["power"])
    if rule["cases"] is None:
        if rule["suites_planned"] < rule["required"]:
            return (
                f"No plan: only {rule['suites_planned']} of {words.plural(rule['suites'], 'suite')} have the figures, "
                f"and {rule['required']} must be won"
            )
        limit = words.percent(rule["power_limit"], 3)
        return f"No number of cases lets such a candidate pass in {wanted} of runs: at most {limit} do"
    total = words.plural(rule["total_cases"], "case")
    cases = words.plural(rule["cases"], "case")
    return f"{cases} per suite ({total} in all) let such a candidate pass in {wanted} of runs"


def _range(plan: BenchmarkPlan) -> Iterator[str]:
    rule = plan.rule
    low, high = rule["cases_at_least"], rule["cases_at_most"]
    if rule["cases"] is not None and low != high:
        most = "no number" if high is None else words.count(high)
        yield f"{words.count(low)} if the comparisons with the baselines shared all noise, {most} if none"
    if rule["power_now"] is not None:
        share = rule["power_now"]
        few = "under 0.1 %" if share < 0.0005 else words.percent(share, 3)
        yield f"with the present cases it passes in {few}"


def _baselines(plan: BenchmarkPlan) -> Table:
    table = new_table()
    table.add_column("baseline, alone", overflow="fold")
    now = plan.rule["power_now"] is not None
    if now:
        table.add_column("power now", justify="right", no_wrap=True)
    table.add_column("cases needed", justify="right", no_wrap=True)
    for row in plan.baselines.iter_rows(named=True):
        power = [_power(row["power_now"])] if now else []
        table.add_row(Text(words.name(row["baseline"])), *power, _cases(row["cases_needed"]))
    return table


def _power(value: float | None) -> str:
    """A probability with three digits; never rounded to certainty."""
    if value is None:
        return words.MISSING
    return ">0.999" if value >= 0.9995 else "<0.001" if value < 0.0005 else f"{value:.3f}"


def _cases(value: int | None) -> str:
    return words.MISSING if value is None else words.count(value)


def _suites(plan: BenchmarkPlan, width: int) -> Table:
    """Each suite against the baseline that takes the most cases of it."""
    several, now, wide = plan.rule["baselines"] > 1, plan.rule["power_now"] is not None, width >= _NARROW
    table = new_table()
    table.add_column("suite", overflow="fold")
    if several:
        table.add_column("hardest baseline", overflow="fold")
    for heading in (["sd", "r"] if wide else []) + ["effect"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ["cases", "power"] if now else []:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("needed", justify="right", no_wrap=True)
    table.add_column("limit", overflow="fold")
    for name in list(plan.policy["suites"])[:_ROWS]:
        rows = [row for row in plan.suites.iter_rows(named=True) if row["suite"] == name]
        hardest = max(rows, key=lambda row: (row["cases_needed"] is None, row["cases_needed"] or 0))
        parts = [
            row
            for row in plan.comparisons.iter_rows(named=True)
            if row["suite"] == name and row["baseline"] == hardest["baseline"]
        ]
        deciding = [row for row in parts if row["role"] == "decides"]
        shown = max(deciding, key=lambda row: (row["cases_needed"] is None, row["cases_needed"] or 0))
        known = shown["correlation"] if shown["sd"] is not None else None
        figures = [words.number(shown["sd"], 3), "n/a" if known is None else f"{known:.2f}"] if wide else []
        present = [_cases(hardest["cases_now"]), _power(hardest["power_now"])] if now else []
        table.add_row(
            Text(f"{words.name(name)} {words.directed(shown['kpi'], shown['direction'])}"),
            *([Text(words.name(hardest["baseline"]))] if several else []),
            *figures,
            words.signed(shown["effect"]),
            *present,
            _cases(hardest["cases_needed"]),
            Text(_limit(hardest, parts), style="magenta" if hardest["reason"] else ""),
        )
    return table


def _limit(suite: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """Why a suite has no number, or which guard alone takes more cases than the deciding KPIs."""
    if suite["reason"]:
        return str(suite["reason"]).replace("_", " ")
    most = max(row["cases_needed"] or 0 for row in parts if row["role"] == "decides")
    guards = [row for row in parts if row["role"] == "guard" and (row["cases_needed"] or 0) > most]
    if not guards:
        return ""
    guard = max(guards, key=lambda row: row["cases_needed"])
    return f"guard {words.name(guard['kpi'])}"


def _unplanned(plan: BenchmarkPlan) -> list[str]:
    """Each reason with the suites that it keeps without a number."""
    found: dict[str, dict[str, None]] = {}
    for row in plan.suites.iter_rows(named=True):
        if row["reason"] is not None:
            found.setdefault(row["reason"], {})[words.name(row["suite"])] = None
    return [f"{MEANINGS[reason]}: {words.listing(list(suites))}" for reason, suites in found.items()]
