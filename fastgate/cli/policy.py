"""``fastgate policy``: check a policy, list the presets, print one to start from."""

from __future__ import annotations

import click

from fastgate.cli import streams

__all__ = ["policy"]


@click.group(no_args_is_help=True)
def policy() -> None:
    """Check a policy, or start from one that ships with fastgate."""


@policy.command(no_args_is_help=True)
@click.argument("file")
@click.option("--tenant", metavar="NAME", help="Show the policy as it applies to this tenant.")
@click.option("--profile", metavar="NAME", help="Show it as it applies to this use-case profile.")
def check(file: str, tenant: str | None, profile: str | None) -> None:
    """Show a policy as it takes effect, and what a reviewer would question.

    FILE is a TOML file or the name of a preset. The exit code is 2 when the policy is not valid, and 0 when it is,
    whatever there is to question.
    """
    from fastgate.gates.policy import check_policy, effective
    from fastgate.reports.policy import policy_report

    rules = effective(file, tenant, profile=profile)
    streams.write(policy_report(rules, check_policy(file), streams.output()))


@policy.command("list")
def list_presets() -> None:
    """List the presets."""
    from fastgate.gates import presets
    from fastgate.gates.policy import load_policy

    policies = {name: load_policy(name) for name in presets.names()}
    widest = max(map(len, policies))
    lines = [
        f"{name:{widest}}  {policy.gate + ' gate:':16} {policy.description}"
        for name, policy in policies.items()
    ]
    streams.write("\n".join(lines) + "\n")


@policy.command(no_args_is_help=True)
@click.argument("name")
def show(name: str) -> None:
    """Print a preset's TOML, to start one's own from: fastgate policy show NAME > policy.toml."""
    from fastgate.errors import ArgumentError
    from fastgate.gates import presets
    from fastgate.gates.schema import nearest

    if name not in presets.names():
        similar = nearest(name, presets.names())
        raise ArgumentError(
            f"there is no preset {name!r}",
            expected=f"one of {', '.join(presets.names())}",
            hint=f"did you mean {similar!r}?" if similar else None,
        )
    streams.write(presets.text(name))
