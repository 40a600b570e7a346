"""The README says what the product does: its commands run, and print what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import fastgate

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()


def block(marker: str) -> str:
    """The fenced block that follows a marker."""
    found = re.search(rf"<!-- {marker} -->\n```\w*\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found[1]


def run(command: str) -> subprocess.CompletedProcess[str]:
    """A command of the README, by the fastgate that is installed here."""
    arguments = shlex.split(command.split("&&")[-1])
    arguments = [sys.executable, "-m", "fastgate", *arguments[1:]]
    # Without the width that a test runner may have set, and as a dict, since GNU readline, which pytest loads, puts
    # COLUMNS into the environment behind os.environ's back.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


def test_the_first_command_prints_what_is_shown() -> None:
    command = re.search(r"^python3 -m venv .*fastgate benchmark.*$", README, re.MULTILINE)
    assert command is not None
    done = run(command[0])
    assert done.returncode == 1, done.stderr
    printed = iter(done.stdout.splitlines())
    for line in block("output of the first command").splitlines():
        if line not in ("…", ""):
            assert line in printed, f"not printed, or not in this place: {line}"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("fastgate safety data/safety_example.csv", 4),
        ("fastgate safety data/safety_jailbreakbench.parquet", 1),
        ("fastgate stability data/pref_llmbar.parquet", 1),
        ("fastgate interval data/automl_1h.parquet", 0),
    ],
)
def test_the_other_commands_run(command: str, code: int) -> None:
    whole = re.search(rf"^{re.escape(command)}.*$", README, re.MULTILINE)
    assert whole is not None
    done = run(whole[0])
    assert done.returncode == code, done.stderr


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(code[1].replace('"tonight.json"', repr(str(tmp_path / "tonight.json"))), names)
    result = names["result"]
    assert isinstance(result, fastgate.BenchmarkResult)
    assert result["autosklearn"] == "pass"
    assert fastgate.load(tmp_path / "tonight.json")["autosklearn"] == "pass"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = block("test command").strip()
    assert "pip install" in command
    assert command.endswith("python -m pytest -q")
    assert "<!-- test command -->" in (ROOT / ".ci" / "run").read_text()


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
