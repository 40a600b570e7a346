"""``fastgate calibrate``: samples and a policy in, how often the rule is wrong and right on such data out."""

from __future__ import annotations

import click

from fastgate.cli import options, streams
from fastgate.cli.judging import one_or_list
from fastgate.cli.progress import watched

__all__ = ["calibrate"]

_EPILOG = """\b
Examples:
  fastgate calibrate runs.parquet --policy policy.toml
  fastgate calibrate runs.parquet --policy policy.toml --improvement 0.5sd
  fastgate calibrate runs.parquet --policy policy.toml --improvement auc=0.01"""


@click.command(
    no_args_is_help=True, epilog=_EPILOG, short_help="Say how often a policy is wrong on data like these."
)
@click.argument("samples", nargs=-1, required=True)
@options.policy_option
@options.tenant_option
@click.option(
    "--candidate",
    "candidates",
    multiple=True,
    metavar="NAME",
    help="Use the data of this build; repeatable. Of all but the baselines without it.",
)
@click.option(
    "--improvement",
    "improvements",
    multiple=True,
    metavar="X",
    help="Make the candidate better by X in every KPI that decides: 0.02 in its unit, 0.5sd in standard deviations, or "
    "auc=0.01,cost=0.2sd. Repeatable; 0.2sd, 0.5sd and 0.8sd without it.",
)
@click.option("--draws", type=int, default=2000, show_default=True, metavar="N", help="Of each scenario.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of the draws.")
@options.columns_option("samples")
@click.option(
    "--shape",
    type=click.Choice(["runs", "pairs", "packed", "packed_runs", "packed_pairs"]),
    help="The shape of the samples, where their columns fit more than one.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Write the calibration to a .json file, or its table to .csv or .parquet. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the calibration as JSON and nothing else.")
@options.progress_option
def calibrate(
    samples: tuple[str, ...],
    policy: str,
    tenant: str | None,
    candidates: tuple[str, ...],
    improvements: tuple[str, ...],
    draws: int,
    seed: int,
    columns: dict[str, str],
    shape: str | None,
    outputs: tuple[str, ...],
    as_json: bool,
    progress: str,
) -> None:
    """Say how often the benchmark gate is wrong, and how often right, on data like SAMPLES.

    Builds that are identical are made by swapping the values of candidate and baseline at random within the cases;
    better ones by an improvement on top; and a rebuild of a released build by drawing the cases anew. The whole rule
    judges each, and the table says how often they pass, need review and are blocked, beside what arithmetic
    expects. The exit code is 0.
    """
    from fastgate.reports.calibration import FORMATS, calibration_report, write_calibration
    from fastgate.reports.outputs import check_outputs

    checked = check_outputs(outputs, [*samples, policy], FORMATS, folders=())
    with watched(progress, quiet=as_json) as listener:
        from fastgate.gates.benchmark.confidence.calibration import IMPROVEMENTS
        from fastgate.gates.benchmark.confidence.calibration import calibrate as calibrated

        found = calibrated(
            one_or_list(samples),
            policy,
            candidates=list(candidates) or None,
            improvements=improvements or IMPROVEMENTS,
            draws=draws,
            seed=seed,
            tenant=tenant,
            columns=columns or None,
            shape=shape,
            listener=listener,
        )
        for output in checked:
            write_calibration(found, output)
        if as_json:
            from fastgate.gates.storage import to_json

            text = to_json(found.to_dict()).decode()
        else:
            text = calibration_report(found, streams.output(), saved=bool(checked))
    streams.write(text)
