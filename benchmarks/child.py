"""Commands as a user starts them: in a process of their own, whose time and memory are theirs alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FASTGATE = [sys.executable, "-m", "fastgate"]

# A process starts with the highest memory of the one that forked it on its account, so the command is started by a
# small one, which reports the most that its child held: kibibytes, but bytes on a Mac.
_WATCHER = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(done.returncode, peak * (1 if sys.platform == "darwin" else 1024))
"""


def run(command: Sequence[str | Path], expected: Sequence[int] = (0,), **settings: str) -> str:
    """Run a command with these environment variables besides the usual; its output, or an error with what it said."""
    # A user's Python keeps the bytecode of what it has imported once, whatever this process does.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, env={**usual, **settings}
    )
    assert done.returncode in expected, f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def peak_bytes(command: Sequence[str | Path], expected: Sequence[int] = (0,)) -> int:
    """Run a command without its output; the most memory it held at once (mapped pages of its files included)."""
    words = run([sys.executable, "-I", "-S", "-c", _WATCHER, *command]).split()
    assert int(words[0]) in expected, f"{command} ended with {words[0]}"
    return int(words[1])


def python(code: str, *arguments: str | Path) -> list[str | Path]:
    """The command that runs a few lines of Python."""
    return [sys.executable, "-c", code, *arguments]
