"""``fastgate interval``: measurements in, bootstrap intervals of every cell out."""

from __future__ import annotations

import click

from fastgate.cli import options, streams
from fastgate.cli.judging import one_or_list
from fastgate.cli.progress import watched
from fastgate.progress import Step

__all__ = ["interval"]

_EPILOG = """\b
Examples:
  fastgate interval runs.parquet --statistic p95
  fastgate interval runs.parquet --statistic p95 --baseline old -o p95.parquet"""


@click.command(no_args_is_help=True, epilog=_EPILOG, short_help="Show bootstrap intervals of every cell.")
@click.argument("samples", nargs=-1, required=True)
@click.option(
    "--statistic",
    default="mean",
    show_default=True,
    metavar="NAME",
    help="mean, median, p95 (any percentile), std, trimmed_mean, proportion, or ratio_of_means.",
)
@click.option(
    "--method",
    default="bca",
    show_default=True,
    type=click.Choice(["bca", "percentile", "basic", "normal", "studentised"]),
    help="How the interval is made from the bootstrap law.",
)
@click.option(
    "--engine",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "exact", "saddlepoint", "resample"]),
    help="How that law is found; auto takes the best there is, cell by cell.",
)
@click.option("--confidence-level", type=float, default=0.95, show_default=True, metavar="LEVEL")
@click.option(
    "--n-resamples",
    type=int,
    default=9999,
    show_default=True,
    metavar="N",
    help="Where the engine is resample.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of the resamples.")
@click.option(
    "--baseline", metavar="BUILD", help="Compare all other builds with this one: intervals of differences."
)
@click.option("--paired", is_flag=True, help="Take the statistic of the cases' differences.")
@options.columns_option("samples")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Write all intervals to a .parquet, .csv or .json file. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all intervals as JSON and nothing else.")
@options.progress_option
def interval(
    samples: tuple[str, ...],
    statistic: str,
    method: str,
    engine: str,
    confidence_level: float,
    n_resamples: int,
    seed: int,
    baseline: str | None,
    paired: bool,
    columns: dict[str, str],
    outputs: tuple[str, ...],
    as_json: bool,
    progress: str,
) -> None:
    """Show the bootstrap interval of a statistic of every cell: a build, suite and KPI.

    SAMPLES are Parquet, Arrow, CSV or NDJSON files, folders or globs of measurements: a row per build, suite,
    kpi and case, or another shape that the documentation names. The exit code is 0; the status of each cell says
    whether its interval can be trusted.
    """
    from fastgate.reports.interval import FORMATS, interval_report, to_dict, write_intervals
    from fastgate.reports.outputs import check_outputs

    checked = check_outputs(outputs, samples, FORMATS, folders=())
    with watched(progress) as listener:
        listener(Step("computing", 0, None, "cells"))
        from fastgate.cell_intervals import intervals

        found = intervals(
            one_or_list(samples),
            statistic=statistic,
            baseline=baseline,
            paired=paired,
            confidence_level=confidence_level,
            method=method,
            engine=engine,
            n_resamples=n_resamples,
            seed=seed,
            columns=columns or None,
        )
        listener(Step("computing", found.height, found.height, "cells"))
        for done, output in enumerate(checked):
            listener(Step("writing", done, len(checked), "files"))
            write_intervals(found, output)
        if checked:
            listener(Step("writing", len(checked), len(checked), "files"))
        if as_json:
            from fastgate.gates.storage import to_json

            text = to_json(to_dict(found)).decode()
        else:
            text = interval_report(found, streams.output(), saved=bool(checked))
    streams.write(text)
