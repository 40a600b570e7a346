"""``fastgate plan``: a policy and a pilot or stated figures in, the cases per suite that it takes out."""

from __future__ import annotations

import click

from fastgate.cli import options, streams
from fastgate.cli.judging import one_or_list
from fastgate.cli.progress import working

__all__ = ["plan"]

_EPILOG = """\b
Examples:
  fastgate plan pilot.parquet --policy policy.toml --effect 0.02
  fastgate plan pilot.parquet --policy policy.toml --effect auc=0.01 --effect logloss=0.05 -o plan.json
  fastgate plan --policy policy.toml --standardised-effect 0.3 --correlation 0.8 --cases 100"""


def _numbers(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> float | dict[str, float] | None:
    """One number for all KPIs, or KPI=NUMBER for some."""
    found: dict[str, float] = {}
    for text in given:
        # A KPI's name may hold an equals sign; a number does not.
        kpi, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise click.BadParameter(
                f"{text!r} is neither a number nor KPI=NUMBER", context, parameter
            ) from None
        if not equals:
            if len(given) > 1:
                raise click.BadParameter("a number for all KPIs stands alone", context, parameter)
            return value
        if kpi in found:
            raise click.BadParameter(f"the KPI {kpi!r} is given twice", context, parameter)
        found[kpi] = value
    return found or None


@click.command(no_args_is_help=True, epilog=_EPILOG, short_help="Say how many cases a suite needs.")
@click.argument("pilot", nargs=-1)
@options.policy_option
@options.tenant_option
@click.option(
    "--effect",
    multiple=True,
    metavar="[KPI=]X",
    callback=_numbers,
    help="The smallest gain worth detecting, in the KPI's unit, positive whatever the direction; repeatable.",
)
@click.option(
    "--standardised-effect",
    multiple=True,
    metavar="[KPI=]D",
    callback=_numbers,
    help="The same in standard deviations of the values over the cases.",
)
@click.option(
    "--pilot-effect",
    is_flag=True,
    help="Plan for the differences that the pilot shows, which tend to be overstated.",
)
@click.option(
    "--sd",
    multiple=True,
    metavar="[KPI=]S",
    callback=_numbers,
    help="Standard deviation over the cases, in place of the pilot's; repeatable.",
)
@click.option(
    "--correlation",
    type=float,
    metavar="R",
    help="Of candidate and baseline over the same cases, in place of the pilot's.",
)
@click.option("--power", type=float, metavar="SHARE", help="Wanted; the policy's own (0.8) without it.")
@click.option(
    "--cases", type=int, metavar="N", help="Show the power with N cases per suite, not the pilot's."
)
@click.option(
    "--n-candidates",
    type=int,
    metavar="N",
    help="How many are judged together, where p-values are corrected over the sweep.",
)
@click.option(
    "--candidate",
    "candidates",
    multiple=True,
    metavar="NAME",
    help="Take the noise from this build of the pilot; repeatable. All but the baselines without it.",
)
@options.columns_option("pilot")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Write the plan to a .json file, or its comparisons to .csv or .parquet. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON and nothing else.")
def plan(
    pilot: tuple[str, ...],
    policy: str,
    tenant: str | None,
    effect: float | dict[str, float] | None,
    standardised_effect: float | dict[str, float] | None,
    pilot_effect: bool,
    sd: float | dict[str, float] | None,
    correlation: float | None,
    power: float | None,
    cases: int | None,
    n_candidates: int | None,
    candidates: tuple[str, ...],
    columns: dict[str, str],
    outputs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say how many cases per suite let a better candidate pass the benchmark gate as often as wanted.

    PILOT are measurements of the baselines and of builds like the candidate, as `fastgate benchmark` takes them: they
    give the noise and the correlation. Without a pilot state them. The effect is yours to state: the smallest gain that
    is worth detecting. The exit code is 0.
    """
    from fastgate.reports.outputs import check_outputs
    from fastgate.reports.plan import FORMATS, plan_report, write_plan

    checked = check_outputs(outputs, [*pilot, policy], FORMATS, folders=())
    with working("planning"):
        from fastgate.gates.benchmark.plans.planning import benchmark_plan

        found = benchmark_plan(
            policy,
            one_or_list(pilot) if pilot else None,
            effect=effect,
            standardised_effect=standardised_effect,
            pilot_effect=pilot_effect,
            sd=sd,
            correlation=correlation,
            power=power,
            cases=cases,
            n_candidates=n_candidates,
            candidates=list(candidates) or None,
            tenant=tenant,
            columns=columns or None,
        )
    with working("writing"):
        for output in checked:
            write_plan(found, output)
        if as_json:
            from fastgate.gates.storage import to_json

            text = to_json(found.to_dict()).decode()
        else:
            text = plan_report(found, streams.output(), saved=bool(checked))
    streams.write(text)
