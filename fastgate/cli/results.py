"""``fastgate explain`` and ``fastgate schema``: about results that were saved."""

from __future__ import annotations

import json

import click

from fastgate.cli import streams
from fastgate.cli.progress import working

__all__ = ["explain", "schema"]


@click.command(no_args_is_help=True, short_help="Say why a candidate got its verdict.")
@click.argument("result")
@click.option("--candidate", metavar="NAME", help="Which candidate; may be left out where RESULT holds one.")
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON and nothing else.")
def explain(result: str, candidate: str | None, as_json: bool) -> None:
    """Say why a candidate got its verdict, and what would have changed it.

    RESULT is what `-o` wrote, whichever gate: a .json file, or a folder of tables. The exit code is 0 whatever the
    verdict.
    """
    from fastgate.errors import ArgumentError
    from fastgate.gates.storage import load, to_json
    from fastgate.reports import gates
    from fastgate.reports.words import listing

    loaded = load(result)
    if candidate is None:
        names = list(loaded)
        if len(names) != 1:
            raise ArgumentError(
                "the result holds several candidates",
                expected="--candidate NAME",
                received=listing(names, 10),
                where=result,
            )
        (candidate,) = names
    with working("explaining"):
        explanation = gates.explain(loaded, candidate)
    if as_json:
        streams.write(to_json(explanation).decode())
        return
    streams.write(gates.explanation_report(loaded, explanation, streams.output()))


@click.command(short_help="Print the JSON Schema of a result.")
@click.argument("gate", default="benchmark", type=click.Choice(["benchmark", "safety", "stability"]))
def schema(gate: str) -> None:
    """Print the JSON Schema of a gate's result, as --json prints it and -o writes it."""
    from fastgate.reports.json_schema import result_schema

    streams.write(json.dumps(result_schema(gate), indent=2) + "\n")
