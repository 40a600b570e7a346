"""``fastgate benchmark``: samples and a policy in, the verdicts of the benchmark gate out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastgate.cli import options
from fastgate.cli.judging import judge, one_or_list

if TYPE_CHECKING:
    from fastgate.gates.benchmark.result import BenchmarkResult

__all__ = ["benchmark"]

_EPILOG = """\b
Example:
  fastgate benchmark runs.parquet --policy policy.toml -o result.json"""


@click.command(
    no_args_is_help=True, epilog=_EPILOG, short_help="Judge candidate builds by the benchmark gate."
)
@click.argument("samples", nargs=-1, required=True)
@options.policy_option
@options.previous_options("suites it won must still be won")
@options.tenant_option
@options.candidates_option("All but the baselines are judged")
@options.columns_option("samples")
@click.option(
    "--shape",
    type=click.Choice(["runs", "pairs", "packed", "packed_runs", "packed_pairs", "moments"]),
    help="The shape of the samples, where their columns fit more than one.",
)
@options.output_options
def benchmark(
    samples: tuple[str, ...],
    policy: str,
    previous: str | None,
    previous_candidate: str | None,
    tenant: str | None,
    candidates: tuple[str, ...],
    columns: dict[str, str],
    shape: str | None,
    **output: Any,
) -> int:
    """Judge candidate builds by the benchmark gate.

    SAMPLES are Parquet, Arrow, CSV or NDJSON files, folders or globs of measurements: a row per build, suite,
    kpi and case, or another shape that the documentation names. Each candidate must beat every baseline of
    the policy on enough of its suites.
    """

    def gate() -> BenchmarkResult:
        from fastgate.gates.benchmark.gate import benchmark_gate

        return benchmark_gate(
            one_or_list(samples),
            policy,
            previous=previous,
            previous_candidate=previous_candidate,
            tenant=tenant,
            candidates=list(candidates) or None,
            columns=columns or None,
            shape=shape,
        )

    return judge(gate, inputs=[*samples, policy], **output)
