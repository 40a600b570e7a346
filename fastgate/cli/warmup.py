"""``fastgate warmup``: every kernel compiled once, so that no later run has to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fastgate.cli import options, streams
from fastgate.cli.progress import watched

if TYPE_CHECKING:
    from fastgate.cli.warming import Warm

__all__ = ["warmup"]


@click.command(short_help="Compile all kernels, so that later runs need not.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON and nothing else.")
@options.progress_option
def warmup(as_json: bool, progress: str) -> int:
    """Compile every kernel once, which takes a minute or so, and keep them in numba's cache.

    The cache lies in the folder NUMBA_CACHE_DIR where that is set, else beside fastgate or with this user. It serves
    the same installation at the same path, with the same Python, numba and kind of processor, and only processes
    that may write to the folder. The exit code is 0 where all kernels are in it.
    """
    from fastgate.cli.warming import warm

    if progress == "auto" and not (sys.stderr is not None and sys.stderr.isatty()):
        click.echo(
            "compiling the kernels that are not in the cache: a minute or two where it is empty", err=True
        )
    with watched(progress) as listener:
        done = warm(listener=listener)
    streams.write(_json(done) if as_json else _report(done))
    return 0


def _json(done: Warm) -> str:
    from fastgate.gates.storage import to_json

    facts: dict[str, Any] = done._asdict()
    return to_json(facts).decode()


def _report(done: Warm) -> str:
    size = f"{done.bytes / 1e6:.1f} MB in {done.folder}"
    if not done.compiled:
        return f"nothing to do: all {done.kernels} kernels are in the cache\n{size}\n"
    there = done.kernels - done.compiled
    before = f", {there} were in the cache already" if there else ""
    return f"compiled {done.compiled} kernels in {done.seconds:.0f} s{before}\n{size}\n"
