"""Options that the commands of several gates have, so that they mean the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from fastgate.cli.progress import MODES

__all__ = [
    "candidates_option",
    "columns_option",
    "memory_option",
    "output_options",
    "policy_option",
    "previous_options",
    "progress_option",
    "tenant_option",
]

F = TypeVar("F", bound=Callable[..., Any])


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


policy_option: Final = click.option(
    "--policy", required=True, metavar="POLICY", help="A TOML file, or a preset (`fastgate policy list`)."
)
tenant_option: Final = click.option(
    "--tenant", metavar="NAME", help="Apply a tenant's overrides from the policy."
)

progress_option: Final = click.option(
    "--progress",
    default="auto",
    show_default=True,
    type=click.Choice(MODES),
    help="What the standard error says meanwhile: auto, a bar on a terminal; json, an object a line, about one a "
    "second; none, nothing.",
)


_UNITS: Final = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _size(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if found is None:
        raise click.BadParameter(f"{text!r} is no size, as 500M or 2GB are", context, parameter)
    return int(float(found[1]) * _UNITS[found[2].upper()])


memory_option: Final = click.option(
    "--memory",
    metavar="SIZE",
    callback=_size,
    help="What the measurements held at once may take, such as 500M; 2G without it. Larger files are read in "
    "portions. The process takes up to 1 GB besides.",
)


def candidates_option(without: str) -> Callable[[F], F]:
    """``--candidate``; `without` says what is judged where it is not given."""
    return click.option(
        "--candidate",
        "candidates",
        multiple=True,
        metavar="NAME",
        help=f"Judge this build; repeatable. {without} without it.",
    )


def columns_option(data: str) -> Callable[[F], F]:
    """``--column``, for the columns of `data`."""
    return click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME=THEIRS",
        callback=_columns,
        help=f"Where fastgate's column NAME is called THEIRS in the {data}; repeatable.",
    )


def previous_options(what: str) -> Callable[[F], F]:
    """``--previous`` and ``--previous-candidate``; `what` says what the previous result is for."""

    def both(command: F) -> F:
        command = click.option(
            "--previous-candidate",
            metavar="NAME",
            help="The released build in RESULT, where it holds several.",
        )(command)
        return click.option(
            "--previous", metavar="RESULT", help=f"A result saved by an earlier run: {what}."
        )(command)

    return both


def output_options(command: F) -> F:
    """Where the result goes and what the exit code is: the options that `fastgate.cli.judging.judge` takes."""
    for option in (
        progress_option,
        click.option("--review-ok", is_flag=True, help="Exit with 0 where the verdict is review."),
        click.option(
            "--quiet", "-q", is_flag=True, help="Print one line per candidate: its verdict, a tab, its name."
        ),
        click.option(
            "--json", "as_json", is_flag=True, help="Print the whole result as JSON and nothing else."
        ),
        click.option(
            "-o",
            "--output",
            "outputs",
            multiple=True,
            metavar="PATH",
            help="Write the result; the ending says how: .json, .md, .junit.xml, .parquet, .arrow, or / for a folder "
            "of Parquet files. Repeatable.",
        ),
    ):
        command = option(command)
    return command
