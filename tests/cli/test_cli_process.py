from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from example_results import runs

PYTHON = [sys.executable, "-m", "fastgate"]
BENCHMARK = [*PYTHON, "benchmark", "both.csv", "--policy", "demo.toml"]


def environment(**more: str) -> dict[str, str]:
    dropped = {"COLUMNS", "NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING", "FASTGATE_DEBUG"}
    return {**{name: value for name, value in os.environ.items() if name not in dropped}, **more}


def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PYTHON, *arguments],
        capture_output=True,
        text=True,
        env=environment(**more),
        encoding="utf-8",
        timeout=300,
    )


def on_a_terminal(arguments: list[str], **more: str) -> tuple[int, str]:
    """The exit code of a command and all that a terminal of 80 columns shows of it."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        arguments,
        stdout=slave,
        stderr=slave,
        stdin=slave,
        env=environment(TERM="xterm", COLUMNS="80", **more),
    )
    os.close(slave)
    parts = []
    try:
        while part := os.read(master, 65536):
            parts.append(part)
    except OSError:
        pass  # the other end is closed
    finally:
        os.close(master)
    return process.wait(300), b"".join(parts).decode()


def test_the_version_loads_nothing_heavy():
    code = (
        "import sys; from fastgate.cli import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "click" in loaded
    assert not loaded & {"numpy", "numba", "polars", "pyarrow", "msgspec", "rich", "scipy"}


def test_a_process_ends_with_the_verdict(work):
    done = run("benchmark", "both.csv", "--policy", "demo.toml", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (1, "block\teven\npass\tgood\n", "")


def test_a_reader_that_stops_reading_changes_no_verdict(work):
    for arguments, code in (
        (BENCHMARK, 1),
        ([*BENCHMARK, "--candidate", "good", "--json"], 0),
        ([*PYTHON, "-h"], 0),
    ):
        process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(300) == code


def test_a_closed_output_changes_no_verdict(work):
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *BENCHMARK], env=environment(), timeout=300)
    assert done.returncode == 1


def test_a_full_device_is_an_error(work):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        done = subprocess.run(BENCHMARK, stdout=full, stderr=subprocess.PIPE, text=True, env=environment())
    assert done.returncode == 2
    assert "the standard output cannot be written" in done.stderr


def test_an_output_without_unicode_is_plain(work):
    runs({"naïve-日本": (6.0, 6.0, 6.0)}).write_csv("names.csv")
    done = run("benchmark", "names.csv", "--policy", "demo.toml", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert r"PASS na\xefve-\u65e5\u672c" in done.stdout
    assert "cost v" in done.stdout
    assert done.stdout.isascii()


def test_a_terminal_gets_colour_and_no_progress_of_short_work(work):
    code, text = on_a_terminal(BENCHMARK)
    assert code == 1
    assert "\x1b[1;31mBLOCK" in text
    code, text = on_a_terminal(BENCHMARK, NO_COLOR="1")
    assert "BLOCK" in text
    assert "\x1b[1;31m" not in text


def test_an_interrupted_process_ends_with_130(work):
    code = (
        "import sys, time, fastgate.gates.benchmark.gate as gate; from fastgate.cli import main\n"
        "def wait(*arguments, **options):\n    print('waiting', flush=True)\n    time.sleep(60)\n"
        "gate.benchmark_gate = wait\n"
        "main(sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *BENCHMARK[3:], "-o", "r.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "interrupted"
    assert not Path("r.json").exists()
