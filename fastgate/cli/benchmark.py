"""``fastgate benchmark``: samples and a policy in, the verdicts of the benchmark gate out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fastgate.cli import streams
from fastgate.cli.progress import working

if TYPE_CHECKING:
    from fastgate.gates.result import BenchmarkResult

__all__ = ["benchmark"]


def _columns(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for pair in pairs:
        name, equals, theirs = pair.partition("=")
        if not (name and equals and theirs):
            raise click.BadParameter(f"{pair!r} is not NAME=THEIRS, as in value=score", context, parameter)
        if name in columns:
            raise click.BadParameter(f"the column {name!r} is given twice", context, parameter)
        columns[name] = theirs
    return columns


_EPILOG = """\b
Example:
  fastgate benchmark runs.parquet --policy policy.toml -o result.json"""


@click.command(
    no_args_is_help=True, epilog=_EPILOG, short_help="Judge candidate builds by the benchmark gate."
)
@click.argument("samples", nargs=-1, required=True)
@click.option(
    "--policy", required=True, metavar="POLICY", help="A TOML file, or a preset (`fastgate policy list`)."
)
@click.option(
    "--previous", metavar="RESULT", help="A result saved by an earlier run: suites it won must still be won."
)
@click.option(
    "--previous-candidate", metavar="NAME", help="The released build in RESULT, where it holds several."
)
@click.option("--tenant", metavar="NAME", help="Apply a tenant's overrides from the policy.")
@click.option(
    "--candidate",
    "candidates",
    multiple=True,
    metavar="NAME",
    help="Judge this build; repeatable. All but the baselines are judged without it.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=THEIRS",
    callback=_columns,
    help="Where fastgate's column NAME is called THEIRS in the samples; repeatable.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="PATH",
    help="Write the result; the ending says how: .json, .md, .junit.xml, .parquet or .arrow. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON and nothing else.")
@click.option(
    "--quiet", "-q", is_flag=True, help="Print one line per candidate: its verdict, a tab, its name."
)
@click.option("--review-ok", is_flag=True, help="Exit with 0 where the verdict is review.")
def benchmark(
    samples: tuple[str, ...],
    policy: str,
    previous: str | None,
    previous_candidate: str | None,
    tenant: str | None,
    candidates: tuple[str, ...],
    columns: dict[str, str],
    outputs: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    review_ok: bool,
) -> int:
    """Judge candidate builds by the benchmark gate.

    SAMPLES are Parquet, Arrow, CSV or NDJSON files, folders or globs of measurements: a row per build, suite,
    kpi and case, or another shape that the documentation names. Each candidate must beat every baseline of
    the policy on enough of its suites.
    """
    if as_json and quiet:
        raise click.UsageError("--json and --quiet exclude one another")

    from fastgate.reports.outputs import check_outputs, loadable, write_output

    checked = check_outputs(outputs, inputs=[*samples, policy])
    with working("judging"):
        from fastgate.gates.benchmark.gate import benchmark_gate

        result = benchmark_gate(
            samples[0] if len(samples) == 1 else list(samples),
            policy,
            previous=previous,
            previous_candidate=previous_candidate,
            tenant=tenant,
            candidates=list(candidates) or None,
            columns=columns or None,
        )
    with working("writing"):
        for output in checked:
            write_output(result, output)
        text = _printed(result, as_json=as_json, quiet=quiet, saved=loadable(checked))
    streams.write(text)
    return result.exit_code(review_ok=review_ok)


def _printed(result: BenchmarkResult, *, as_json: bool, quiet: bool, saved: str | None) -> str:
    if as_json:
        from fastgate.gates.storage import to_json

        return to_json(result.to_dict()).decode()
    from fastgate.reports.benchmark import terminal

    if quiet:
        return terminal.verdict_lines(result)
    return terminal.report(result, streams.output(), saved=saved)
