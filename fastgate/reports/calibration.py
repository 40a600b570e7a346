"""A calibration for people, programs and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.text import Text

from fastgate.reports import words
from fastgate.reports.console import bullets, indented, new_table, rendered

if TYPE_CHECKING:
    from fastgate.gates.benchmark.confidence.calibration import Calibration
    from fastgate.reports.outputs import Output

__all__ = ["FORMATS", "calibration_report", "write_calibration"]

FORMATS: Final = {
    ".json": "JSON: the whole calibration",
    ".csv": "a CSV file of its table",
    ".parquet": "a Parquet file of its table",
}
_SHOWN: Final = 10
_NOTHING_DIFFERS: Final = {
    "one_or_more_lost": "one suite or more lost to a baseline",
    "two_or_more_lost": "two suites or more lost to a baseline",
}
_REBUILD: Final = {
    "one_lost": "one suite no longer won: review",
    "two_or_more_lost": "more suites no longer won: block",
}


def write_calibration(calibration: Calibration, output: Output) -> None:
    """Write the calibration aside and rename the file.

    Raises
    ------
    DataError
        When it cannot be written.
    """
    from fastgate.reports.outputs import write_data

    write_data(output, calibration.to_dict, calibration.table)


def calibration_report(calibration: Calibration, stream: IO[str], *, saved: bool = False) -> str:
    """The calibration as text for `stream`.

    Parameters
    ----------
    calibration : Calibration
        From `fastgate.calibrate`.
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    saved : bool, optional
        Whether a file holds all of it.
    """
    return rendered(list(_parts(calibration, saved)), stream)


def _parts(calibration: Calibration, saved: bool) -> Iterator[RenderableType]:
    policy, evidence = calibration.policy, calibration.evidence
    counts = evidence["counts"]
    tenant = f", tenant {words.name(policy['tenant'])}" if policy["tenant"] else ""
    yield Text(
        f"calibration of the benchmark gate, policy {words.name(policy['name'])}{tenant} "
        f"({evidence['policy_hash'][:12]}), {words.plural(evidence['input']['rows'], 'row')} "
        f"({evidence['input']['fingerprint'][:12]})"
    )
    yield Text(
        f"{words.plural(counts['suites'], 'suite')}, {words.plural(counts['baselines'], 'baseline')}: at least "
        f"{words.plural(policy['min_suite_wins'], 'win')} against every baseline"
    )
    yield Text(words.method_in_words(policy))
    yield Text(
        f"{words.plural(counts['draws'], 'draw')} each (seed {evidence['seed']}); ± is the standard error of a share"
    )
    names = calibration.candidates
    faulty = evidence.get("faulty") or {}
    tables = calibration.table.partition_by("candidate", as_dict=True)
    for name in names[:_SHOWN]:
        yield ""
        yield Text(f"With the data of {words.name(name)}", style="bold")
        if name in faulty:
            yield indented(
                Text(
                    f"The data are at fault in {words.plural(faulty[name], 'comparison')}, and that alone blocks it in "
                    "every draw: fastgate benchmark says where.",
                    style="magenta",
                )
            )
        rows = tables[(name,)].to_dicts()
        yield ""
        yield indented(_verdicts(rows))
        yield ""
        yield indented(_alarms(rows))
    if len(names) > _SHOWN:
        where = "the file holds all" if saved else "an output (-o) or --json holds all"
        yield ""
        yield Text(f"and {words.plural(len(names) - _SHOWN, 'more candidate')}; {where}", style="dim")
    yield ""
    yield Text("How to read this", style="bold")
    yield indented(bullets(_notes(calibration)))


def _share(row: dict[str, Any]) -> str:
    """``18.2 % ± 0.4``: as many decimals as the error has; what happened in no draw, or in all, has none."""
    if row["standard_error"] == 0:
        return f"{100 * row['share']:.0f} %"
    error = 100 * row["standard_error"]
    decimals = 0 if error >= 2 else 1 if error >= 0.1 else 2
    return f"{100 * row['share']:.{decimals}f} % ± {error:.{max(decimals, 1)}f}"


def _verdicts(rows: list[dict[str, Any]]) -> RenderableType:
    """How a build of known worth is judged."""
    table = new_table()
    table.add_column("a build that is …", overflow="fold")
    for heading in ("passes", "needs review", "is blocked"):
        table.add_column(heading, justify="right", no_wrap=True)
    scenarios: dict[tuple[str, str | None], dict[str, dict[str, Any]]] = {}
    for row in rows:
        scenarios.setdefault((row["scenario"], row["improvement"]), {})[row["event"]] = row
    for (scenario, improvement), events in scenarios.items():
        label = {
            "identical": "identical to the baselines",
            "rebuild": "an identical rebuild of this one",
            "improved": f"better than the baselines by {_improvement(improvement or '')}",
        }[scenario]
        table.add_row(Text(label), *(_share(events[event]) for event in ("pass", "review", "block")))
    return table


def _improvement(text: str) -> str:
    parts = []
    for part in text.split(","):
        kpi, equals, number = part.strip().rpartition("=")
        of = f" in {words.name(kpi)}" if equals else ""
        parts.append(f"{number.removesuffix('sd').strip()}{' sd' if number.endswith('sd') else ''}{of}")
    return ", ".join(parts)


def _alarms(rows: list[dict[str, Any]]) -> RenderableType:
    """What happens although nothing differs."""
    table = new_table()
    table.add_column("false alarm", overflow="fold")
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("by arithmetic", justify="right", no_wrap=True)
    for scenario, labels, of in (
        ("identical", _NOTHING_DIFFERS, "identical"),
        ("rebuild", _REBUILD, "rebuild"),
    ):
        for row in rows:
            if row["scenario"] == scenario and row["event"] in labels:
                expected = "" if row["expected"] is None else f"{100 * row['expected']:.1f} %"
                table.add_row(Text(f"{of}, {labels[row['event']]}"), _share(row), expected)
    return table


def _notes(calibration: Calibration) -> list[str]:
    policy, draws = calibration.policy, calibration.evidence["counts"]["draws"]
    notes = [
        "identical: a baseline's values are moved to the mean of this build's (and what that takes off the differences "
        "is made up for), then in each case both swap places at random, so that nothing differs but by chance. Such a "
        "build should be blocked nearly always: it beats nothing.",
    ]
    if calibration.table["expected"].null_count() < calibration.table.height:
        notes.append(
            "by arithmetic: independent suites and KPIs, and tests of exact level. "
            + (
                "Welch's test loses fewer suites than that where the sides' values of a case go together; the paired "
                "test does not."
                if policy["test"] == "welch"
                else "KPIs that go together are lost together."
            )
        )
    else:
        notes.append(
            "There is no arithmetic for this policy: it corrects p-values, or any of several KPIs may win a suite "
            "against several baselines."
        )
    notes += [
        "rebuild: cases are drawn anew twice, and the second drawing is judged with the first as the previous release. "
        "If releases run the same cases, less varies between them, and such alarms are rarer.",
        "better by: identical, and then all values of the KPIs that decide are better by so much (sd: standard "
        "deviations between the cases), while guards stay equal.",
        f"0 % and 100 % are what happened in none or all of the draws: with {words.count(draws)} of them the chance is "
        f"within {words.number(300 / draws, 2)} percentage points of that (at 95 % confidence).",
    ]
    return notes
