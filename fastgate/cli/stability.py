"""``fastgate stability``: probes, a posterior and a policy in, the verdicts of the stability gate out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastgate.cli import options
from fastgate.cli.judging import judge, one_or_list
from fastgate.progress import Listener, Step

if TYPE_CHECKING:
    from fastgate.gates.stability.result import StabilityResult

__all__ = ["stability"]

_EPILOG = """\b
Examples:
  fastgate stability probes.parquet --posterior draws.parquet \\
    --policy stability -o result.json
  fastgate stability probes.csv --preferences choices.csv \\
    --policy policy.toml --profile legal_claim --letters raw"""


@click.command(
    no_args_is_help=True, epilog=_EPILOG, short_help="Judge preference rankers by the stability gate."
)
@click.argument("probes", nargs=-1, required=True)
@click.option(
    "--posterior",
    multiple=True,
    metavar="FILE",
    help="Posteriors of the alternatives' utilities: draws, or mean and sd, or alpha and beta. Repeatable.",
)
@click.option(
    "--preferences",
    multiple=True,
    metavar="FILE",
    help="Choices that the utilities are fitted to, instead of a posterior. Repeatable.",
)
@options.policy_option
@click.option(
    "--profile",
    metavar="NAME",
    help="Apply a use-case profile, such as legal_claim, which raises the policy.",
)
@options.tenant_option
@click.option(
    "--letters",
    type=click.Choice(["raw", "unswapped"]),
    help="What the choices of swapped runs are: the letters as shown, or un-swapped already. "
    "Needed where an order was swapped and the policy does not say it.",
)
@options.previous_options("a kind whose agreement fell since goes to review")
@options.candidates_option("All that were probed are judged")
@options.columns_option("probes and the other files")
@options.output_options
def stability(
    probes: tuple[str, ...],
    posterior: tuple[str, ...],
    preferences: tuple[str, ...],
    policy: str,
    profile: str | None,
    tenant: str | None,
    letters: str | None,
    previous: str | None,
    previous_candidate: str | None,
    candidates: tuple[str, ...],
    columns: dict[str, str],
    **output: Any,
) -> int:
    """Judge preference rankers by the stability gate.

    PROBES are Parquet, Arrow, CSV or NDJSON files, folders or globs: a row per build, pair, kind of
    perturbation and probe, with the choice of the primary run and of the probe. Every kind must hold by
    itself, and the posterior of the utilities must be narrow enough.
    """
    if posterior and preferences:
        raise click.UsageError("--posterior and --preferences exclude one another")

    def gate(listener: Listener) -> StabilityResult:
        from fastgate.gates.stability.gate import stability_gate

        listener(Step("judging", 0, None, "candidates"))
        result = stability_gate(
            one_or_list(probes),
            policy,
            posterior=one_or_list(posterior) if posterior else None,
            preferences=one_or_list(preferences) if preferences else None,
            profile=profile,
            previous=previous,
            previous_candidate=previous_candidate,
            tenant=tenant,
            candidates=list(candidates) or None,
            letters=letters,
            columns=columns or None,
        )
        listener(Step("judging", len(result), len(result), "candidates"))
        return result

    return judge(gate, inputs=[*probes, *posterior, *preferences, policy], **output)
