"""``fastgate benchmark``: samples and a policy in, the verdicts of the benchmark gate out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastgate.cli import options
from fastgate.cli.judging import judge, one_or_list
from fastgate.progress import Listener

if TYPE_CHECKING:
    from pathlib import Path

    from fastgate.gates.benchmark.result import BenchmarkResult
    from fastgate.gates.benchmark.sweep import BenchmarkSweep

__all__ = ["benchmark"]

_EPILOG = """\b
Examples:
  fastgate benchmark runs.parquet --policy policy.toml -o result.json
  fastgate benchmark runs/ --policy policy.toml -o tonight/ --resume"""


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
@click.option(
    "--replicates",
    type=int,
    metavar="R",
    help="Draw the cases of each suite anew R times and say in which share of them each verdict comes out.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of these drawings.")
@options.memory_option
@click.option(
    "--resume",
    is_flag=True,
    help="Go on where an interrupted run into the same folder stopped (-o FOLDER/); the result is the same.",
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
    replicates: int | None,
    seed: int,
    memory: int | None,
    resume: bool,
    **output: Any,
) -> int:
    """Judge candidate builds by the benchmark gate.

    SAMPLES are Parquet, Arrow, CSV or NDJSON files, folders or globs of measurements: a row per build, suite,
    kpi and case, or another shape that the documentation names. Each candidate must beat every baseline of
    the policy on enough of its suites.
    """
    if resume and not any(path.endswith((".parquet", "/")) for path in output["outputs"]):
        raise click.UsageError("--resume goes on with a result in a folder: say which, -o FOLDER/")
    call: dict[str, Any] = {
        "previous": previous,
        "previous_candidate": previous_candidate,
        "tenant": tenant,
        "candidates": list(candidates) or None,
        "columns": columns or None,
        "shape": shape,
        "replicates": replicates,
        "replicates_seed": seed,
        "memory": memory,
    }

    def gate(listener: Listener) -> BenchmarkResult:
        from fastgate.gates.benchmark.gate import benchmark_gate

        return benchmark_gate(one_or_list(samples), policy, listener=listener, **call)

    def sweep(listener: Listener, folder: Path) -> BenchmarkSweep:
        from fastgate.gates.benchmark.sweep import benchmark_sweep

        result = benchmark_sweep(
            one_or_list(samples), policy, folder, resume=resume, listener=listener, **call
        )
        if resume:
            click.echo(f"kept {result.kept} of {result.parts} parts; the others were judged now", err=True)
        return result

    return judge(gate, inputs=[*samples, policy], sweep=sweep, **output)
