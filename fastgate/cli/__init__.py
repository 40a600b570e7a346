"""The command line: arguments and files in, text and exit codes out.

The modules here import click and the standard library alone; whatever takes time to load is imported by the
command that needs it, so that ``fastgate --version`` and ``--help`` answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

import click

from fastgate import __version__
from fastgate.cli.benchmark import benchmark
from fastgate.cli.calibrate import calibrate
from fastgate.cli.failures import guarded
from fastgate.cli.interval import interval
from fastgate.cli.plan import plan
from fastgate.cli.policy import policy
from fastgate.cli.results import explain, schema
from fastgate.cli.safety import safety
from fastgate.cli.stability import stability
from fastgate.cli.warmup import warmup

__all__ = ["app", "main"]

_EPILOG = """\b
Exit codes:
   0  pass (or review with --review-ok)
   1  block
   2  wrong usage or input
   3  review
   4  refused: nothing that may be compared
  70  internal error
 130  interrupted"""


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fastgate", message="%(prog)s %(version)s")
def app() -> None:
    """May this build ship? Verdicts of release gates from noisy measurements."""


for command in (benchmark, safety, stability, explain, calibrate, interval, plan, policy, schema, warmup):
    app.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; the entry point ``fastgate``.

    Parameters
    ----------
    arguments : sequence of str, optional
        The process's own unless given.
    """
    if arguments is None:
        # This process is a command and nothing else. Where scipy is installed numba would load its linear algebra, in
        # 0.2 s, for matrix products in kernels; fastgate has none, and needs no scipy.
        sys.modules.setdefault("scipy", cast(Any, None))
    sys.exit(guarded(app, arguments))
