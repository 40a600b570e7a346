from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import threading
import time

import pytest

from fastgate.cli import progress
from fastgate.cli.progress import Log, Pace, Stages, watched
from fastgate.jit import Compiling
from fastgate.progress import Step


class Clock:
    """Stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def step(done, total=100, stage="judging"):
    return Step(stage, done, total, "candidates")


def lines(text):
    def unknown(name):
        raise AssertionError(f"{name} is no JSON")

    return [json.loads(line, parse_constant=unknown) for line in text.splitlines()]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def log(clock):
    stream = io.StringIO()
    return stream, Log(stream, Stages(clock))


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


# The rate


def test_an_even_pace_is_found_whatever_the_size_of_the_steps():
    for width in (0.01, 1.0, 40.0):
        pace = Pace(step(0), 5.0)
        for number in range(1, 8):
            pace.hear(step(round(200 * width) * number, 10**6), 5.0 + width * number)
        assert pace.rate == pytest.approx(200.0)


def test_the_pace_follows_the_work_and_forgets_slowly():
    pace = Pace(step(0, 10**6), 0.0)
    for second in range(1, 101):
        pace.hear(step(10 * second, 10**6), float(second))
    before = pace.rate
    pace.hear(step(1100, 10**6), 101.0)
    assert before == pytest.approx(10.0)
    assert before < pace.rate < 20.0  # one second ten times as fast
    for second in range(1, 101):
        pace.hear(step(1100 + 100 * second, 10**6), 101.0 + second)
    assert pace.rate == pytest.approx(100.0, rel=0.01)


def test_steps_of_one_instant_count_with_the_next():
    pace = Pace(step(0), 0.0)
    pace.hear(step(10), 0.0)
    assert (pace.rate, pace.seconds_left) == (None, None)
    pace.hear(step(20), 2.0)
    assert (pace.rate, pace.seconds_left) == (pytest.approx(10.0), pytest.approx(8.0))


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([step(0), step(50)], 10.0),
        ([step(0), step(100)], 0.0),
        ([step(100)], 0.0),
        ([step(0)], None),
        ([step(0, None), step(50, None)], None),
        ([step(0, 0)], 0.0),
    ],
)
def test_the_time_left(steps, left):
    pace = Pace(steps[0], 0.0)
    for number, one in enumerate(steps[1:], 1):
        pace.hear(one, 10.0 * number)
    assert pace.seconds_left == (None if left is None else pytest.approx(left))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (59.0, "59 s"), (59.5, "1 min 0 s"), (200.0, "3 min 20 s"), (7500.0, "2 h 5 min")],
)
def test_a_time_left_reads_well(seconds, text):
    assert progress._figures(step(5), 2.0, seconds) == f"5 of 100 candidates, 120 a minute, {text} left"


def test_figures_say_only_what_is_known():
    assert progress._figures(Step("planning", 0, None, ""), None, None) == ""
    assert progress._figures(step(7_000, None), 1234.5, None) == "7,000 candidates, 1,234 a second"
    assert progress._figures(step(100), 50.0, 0.0) == "100 of 100 candidates"


# Lines of JSON


def test_the_log_has_a_line_a_second_and_the_first_and_last_of_each_stage(log, clock):
    stream, told = log
    for number in range(101):
        told.hear(step(number))
        clock.now += 0.1
    told.hear(step(0, 2, "writing"))
    told.hear(step(1, 2, "writing"))
    told.end("failed")
    events = lines(stream.getvalue())
    judging = [event for event in events if event["stage"] == "judging"]
    assert [event["done"] for event in judging[:3]] == [0, 10, 20]
    assert judging[-1]["done"] == 100
    assert len(judging) == 11
    assert judging[5]["rate"] == pytest.approx(10.0)
    assert judging[5]["seconds_left"] == pytest.approx(5.0)
    writing = [event["done"] for event in events if event["stage"] == "writing"]
    assert writing == [0, 1]  # the last that was heard, though the stage did not end
    assert events[-1]["event"] == "failed"
    assert events[-1]["stage"] is None
    assert {tuple(event) for event in events} == {
        ("time", "event", "elapsed", "stage", "done", "total", "unit", "rate", "seconds_left")
    }


def test_stages_may_take_turns(log, clock):
    stream, told = log
    for number in range(1, 5):
        clock.now += 2.0
        told.hear(step(number, 4, "reading"))
        clock.now += 2.0
        told.hear(step(25 * number))
    told.end("done")
    seen = [(event["stage"], event["done"]) for event in lines(stream.getvalue())]
    assert seen[:4] == [("reading", 1), ("judging", 25), ("reading", 2), ("judging", 50)]
    assert seen[-3:] == [("reading", 4), ("judging", 100), (None, None)]


def test_steps_that_do_not_advance_fill_no_log(log, clock):
    stream, told = log
    for _ in range(50):
        told.hear(step(100))
        clock.now += 3.0
    assert len(lines(stream.getvalue())) == 1


def test_times_are_those_of_the_wall_with_a_zone(log):
    from datetime import datetime

    stream, told = log
    told.end("done")
    (event,) = lines(stream.getvalue())
    when = datetime.fromisoformat(event["time"])
    assert when.utcoffset() is not None
    assert abs(when.timestamp() - time.time()) < 60.0


def test_a_log_that_nobody_reads_ends_no_work(clock):
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    told = Log(Broken(), Stages(clock))
    told.hear(step(0))
    told.end("done")


def test_steps_may_come_from_many_threads(log):
    stream, told = log
    threads = [
        threading.Thread(
            target=lambda stage=str(number): [told.hear(step(done, 50, stage)) for done in range(51)]
        )
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = {event["stage"]: event["done"] for event in lines(stream.getvalue())}
    assert last == {str(number): 50 for number in range(8)}


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_log_says_how_the_work_ended(error, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    try:
        with watched("json") as listener:
            listener(step(1))
            listener(step(2))
            if error is not None:
                raise error
    except (ValueError, KeyboardInterrupt):
        pass
    events = [(event["event"], event["done"]) for event in lines(stream.getvalue())]
    assert events == [("progress", 1), ("progress", 2), ("done" if error is None else "failed", None)]


# When something is said, and when not


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "COMPILING", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN_FRAMES", 0.01)


def compiling(monkeypatch, *, kept=True):
    monkeypatch.setattr("fastgate.jit.compiling", lambda: Compiling(time.monotonic(), kept))


def until(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_nothing_is_said_to_who_wants_nothing(quiet, stream, impatient, monkeypatch):
    compiling(monkeypatch)
    monkeypatch.setattr(sys, "stderr", stream())
    with watched("none", quiet=quiet) as listener:
        listener(step(1))
        time.sleep(0.05)
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_the_quiet_hear_of_nothing_but_compiling(stream, impatient, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    with watched(quiet=True) as listener:
        listener(step(1))
        time.sleep(0.05)
        assert sys.stderr.getvalue() == ""
        compiling(monkeypatch)
        until(sys.stderr.getvalue)
    assert sys.stderr.getvalue().startswith("compiling kernels for this machine")


def test_without_a_standard_error_work_goes_on(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    for mode in progress.MODES:
        with watched(mode) as listener:
            listener(step(1))


def test_a_file_or_pipe_hears_of_nothing_but_long_compiling(impatient, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("fastgate.jit.compiling", lambda: None)
    with watched() as listener:
        listener(step(1))
        time.sleep(0.05)
    assert stream.getvalue() == ""
    compiling(monkeypatch)
    with watched():
        until(stream.getvalue)
        time.sleep(0.05)
    assert stream.getvalue().count("\n") == 1, "once"
    assert "compiling kernels" in stream.getvalue()
    assert "first run only" in stream.getvalue()


def test_compiling_that_cannot_be_kept_says_what_to_set(impatient, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    compiling(monkeypatch, kept=False)
    with watched():
        until(stream.getvalue)
    assert "in every later one" in stream.getvalue()
    assert "NUMBA_CACHE_DIR" in stream.getvalue()


def test_short_compiling_is_no_news(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN_FRAMES", 0.01)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    compiling(monkeypatch)  # since this moment
    with watched():
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_the_log_tells_of_compiling(impatient, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    compiling(monkeypatch)
    with watched("json"):
        until(stream.getvalue)
        time.sleep(0.05)
    assert [event["event"] for event in lines(stream.getvalue())] == ["compiling", "done"]


def test_no_thread_outlives_the_work(impatient):
    with watched():
        pass
    assert "fastgate-progress" not in {thread.name for thread in threading.enumerate()}


# A real terminal


def shown(code, columns=80):
    """All that a terminal gets from a script."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    parts = []
    try:
        while part := os.read(master, 65536):
            parts.append(part)
    except OSError:
        pass  # the other end is closed
    finally:
        os.close(master)
    assert process.wait(60) == 0
    return b"".join(parts).decode()


HEAD = "import time\nfrom fastgate.progress import Step\nfrom fastgate.cli import progress\n"


def test_a_terminal_shows_long_work_and_is_clean_afterwards():
    text = shown(
        HEAD + "with progress.watched() as listener:\n"
        "    listener(Step('reading', 5, 5, 'rows'))\n"
        "    for done in range(30):\n"
        "        listener(Step('judging', 10 * done, 1000, 'candidates'))\n"
        "        time.sleep(0.05)\n"
        "    listener(Step('writing', 3, None, 'files'))\n"
        "    time.sleep(0.5)\n"
    )
    assert "reading" in text
    assert "5 of 5 rows" in text
    assert "of 1,000 candidates" in text
    assert "a second, " in text
    assert "s left" in text
    assert "3 files" in text
    assert "━" in text
    assert text.rstrip().endswith(("\x1b[2K", "\x1b[?25h")), "the lines are gone and the cursor is back"


def test_a_narrow_terminal_shows_the_figures_and_no_bar():
    text = shown(
        HEAD + "with progress.watched() as listener:\n"
        "    listener(Step('judging', 0, 1000, 'candidates'))\n"
        "    time.sleep(0.5)\n"
        "    listener(Step('judging', 500, 1000, 'candidates'))\n"
        "    time.sleep(1.0)\n",
        columns=70,
    )
    assert "judging 500 of 1,000 candidates, " in text
    assert "━" not in text


def test_a_terminal_shows_nothing_of_short_work():
    code = HEAD + "with progress.watched() as listener: listener(Step('judging', 1, 2, 'candidates'))\n"
    assert shown(code) == ""
    assert shown(code.replace("watched()", "watched('json')")).count('"event"') == 2


def test_a_terminal_hears_of_compiling():
    text = shown(
        HEAD + "import fastgate.jit as jit\n"
        "began = time.monotonic()\n"
        "jit.compiling = lambda: jit.Compiling(began, True)\n"
        "with progress.working('planning'): time.sleep(2.6)\n"
    )
    assert "planning" in text
    assert text.replace("\r\n", " ").count("compiling kernels for this machine") == 1


# The commands


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_a_gate_logs_its_stages(quiet, work, command):
    run = command(
        "benchmark", "both.csv", "--policy", "demo.toml", "--progress", "json", "-o", "r.json", *quiet
    )
    assert run.code == 1
    events = lines(run.err)
    last = {event["stage"]: (event["done"], event["total"]) for event in events}
    assert last["judging"] == (2, 2)
    assert last["writing"] == (1, 1)
    assert events[-1]["event"] == "done"
    plain = command("benchmark", "both.csv", "--policy", "demo.toml", *quiet)
    assert plain.err == ""
    assert plain.out.splitlines()[:3] == run.out.splitlines()[:3]


def test_the_other_gates_log_that_they_judge(data, command, monkeypatch):
    safety = ("safety_example.csv", "--manifest", "safety_example_manifests.toml", "--policy", "litmus")
    stability = (
        "pref_llmbar.parquet",
        "--preferences",
        "pairwise_llmbar.parquet",
        "--policy",
        "llmbar_policy.toml",
    )
    monkeypatch.chdir(data)
    for arguments in (("safety", *safety, "--baseline", "baseline"), ("stability", *stability)):
        run = command(*arguments, "--progress", "json", "-q")
        first, *_, last, ended = lines(run.err)
        assert (first["stage"], first["done"], first["total"]) == ("judging", 0, None)
        assert last["done"] == last["total"] == len(run.out.splitlines())
        assert ended["event"] == "done"


def test_a_log_of_a_failure_ends_with_it(work, command):
    run = command("benchmark", "absent.parquet", "--policy", "demo.toml", "--progress", "json")
    assert run.code == 2
    first, rest = run.err.split("\n", 1)
    assert json.loads(first)["event"] == "failed"
    assert rest.startswith("error: ")


def test_an_unknown_mode_names_the_known(work, command):
    run = command("benchmark", "both.csv", "--policy", "demo.toml", "--progress", "xml")
    assert run.code == 2
    assert all(mode in run.err for mode in progress.MODES)


def test_interval_logs_its_stages(work, command):
    run = command("interval", "good.parquet", "--progress", "json", "-o", "r.parquet")
    assert run.code == 0
    events = lines(run.err)
    assert [event["stage"] for event in events if event["done"] == 0] == ["computing", "writing"]
    assert events[-1]["event"] == "done"
