"""``fastgate safety``: outcomes, manifests and a policy in, the verdicts of the safety gate out; with ``diff``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastgate.cli import options, streams
from fastgate.cli.judging import judge, one_or_list
from fastgate.progress import Listener, Step

if TYPE_CHECKING:
    from fastgate.gates.safety.result import SafetyResult

__all__ = ["safety"]

_NOT_COMPARABLE = 4

_DIFF_EPILOG = """\b
Examples:
  fastgate safety diff old.json new.json
  fastgate safety diff runs.toml runs.toml --baseline old --candidate new"""


@click.command(
    "diff", no_args_is_help=True, epilog=_DIFF_EPILOG, short_help="Show whether two runs may be compared."
)
@click.argument("baseline_manifest", metavar="BASELINE")
@click.argument("candidate_manifest", metavar="CANDIDATE")
@click.option("--baseline", metavar="BUILD", help="Which build of BASELINE, where it holds several.")
@click.option("--candidate", metavar="BUILD", help="Which build of CANDIDATE, where it holds several.")
@click.option("--policy", metavar="POLICY", help="Whose fields must agree; the customary ones without it.")
@click.option("--tenant", metavar="NAME", help="Apply a tenant's overrides from the policy.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON and nothing else.")
def diff(
    baseline_manifest: str,
    candidate_manifest: str,
    baseline: str | None,
    candidate: str | None,
    policy: str | None,
    tenant: str | None,
    as_json: bool,
) -> int:
    """Show whether two runs may be compared, field by field.

    BASELINE and CANDIDATE are manifests: JSON or TOML files, or tables with a row per run. The exit code is 0
    where every field agrees that must, and 4 where not.
    """
    if tenant is not None and policy is None:
        raise click.UsageError("--tenant is given without --policy")

    from fastgate.errors import ArgumentError
    from fastgate.gates.safety.manifests import compare_manifests
    from fastgate.reports.safety.comparability import comparability_data, comparability_report

    fields: dict[str, Any] = {}
    if policy is not None:
        from fastgate.gates.policy import effective

        rules = effective(policy, tenant, gate="safety")
        fields = {"required": rules.required, "ignored": rules.ignored}
    try:
        table = compare_manifests(
            baseline_manifest,
            candidate_manifest,
            baseline_build=baseline,
            candidate_build=candidate,
            **fields,
        )
    except ArgumentError as error:
        for side in ("baseline", "candidate"):
            if error.where == f"argument {side}_build":
                error.where = f"--{side}"
        raise
    if as_json:
        from fastgate.gates.storage import to_json

        streams.write(to_json(comparability_data(table)).decode())
    else:
        streams.write(comparability_report(table, streams.output()))
    return 0 if table["agrees"].all() else _NOT_COMPARABLE


class _WithDiff(click.Command):
    """A command whose first argument may be the subcommand ``diff`` instead of a file."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["diff"]:
            return diff.make_context(f"{info_name} diff", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


_EPILOG = """\b
Example:
  fastgate safety outcomes.parquet --manifest runs.json --baseline v41 \\
    --policy litmus -o result.json

\b
Also:
  fastgate safety diff OLD NEW   whether two runs may be compared, and why not"""


@click.command(
    cls=_WithDiff,
    no_args_is_help=True,
    epilog=_EPILOG,
    short_help="Judge candidate builds by the safety gate.",
)
@click.argument("outcomes", nargs=-1, required=True)
@click.option(
    "--manifest",
    "manifests",
    multiple=True,
    metavar="FILE",
    help="Under what conditions each run was made: JSON, TOML, or a table; repeatable. Without it, "
    "what the columns of the outcomes say.",
)
@click.option(
    "--baseline", required=True, metavar="BUILD", help="The build that the others are compared with."
)
@options.policy_option
@options.tenant_option
@click.option(
    "--shape",
    type=click.Choice(["outcomes", "counts"]),
    help="Whether OUTCOMES hold cases or counts, where their columns fit both.",
)
@options.candidates_option("All but the baseline are judged")
@options.columns_option("outcomes")
@options.output_options
def safety(
    outcomes: tuple[str, ...],
    manifests: tuple[str, ...],
    baseline: str,
    policy: str,
    tenant: str | None,
    shape: str | None,
    candidates: tuple[str, ...],
    columns: dict[str, str],
    **output: Any,
) -> int:
    """Judge candidate builds by the safety gate.

    OUTCOMES are Parquet, Arrow, CSV or NDJSON files, folders or globs: a row per build, suite and case, with
    passed (true or false), perhaps trial and error; or counts, a row per build and suite. The pass rate of
    no suite may fall by more than the noise floor, between runs whose manifests agree.
    """

    def gate(listener: Listener) -> SafetyResult:
        from fastgate.gates.safety.sweep import safety_gate

        listener(Step("judging", 0, None, "candidates"))
        result = safety_gate(
            one_or_list(outcomes),
            one_or_list(manifests) if manifests else None,
            policy,
            baseline=baseline,
            candidates=list(candidates) or None,
            tenant=tenant,
            columns=columns or None,
            shape=shape,
        )
        listener(Step("judging", len(result), len(result), "candidates"))
        return result

    return judge(gate, inputs=[*outcomes, *manifests, policy], **output)
