from __future__ import annotations

import sys

import pytest

import fastgate.gates.benchmark.gate

POLICY = ("--policy", "demo.toml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["Usage: fastgate"]),
        (("bench",), ["No such command 'bench'"]),
        (("benchmark",), ["Usage: fastgate benchmark"]),
        (("benchmark", *POLICY), ["Missing argument 'SAMPLES...'"]),
        (("benchmark", "good.parquet"), ["Missing option '--policy'"]),
        (("benchmark", "good.parquet", *POLICY, "--qiet"), ["No such option", "--quiet"]),
        (("benchmark", "good.parquet", *POLICY, "--json", "--quiet"), ["exclude one another"]),
        (("benchmark", "good.parquet", *POLICY, "--column", "value"), ["'value' is not NAME=THEIRS"]),
        (
            ("benchmark", "good.parquet", *POLICY, "--column", "a=b", "--column", "a=c"),
            ["'a' is given twice"],
        ),
        (("benchmark", "missing.parquet", *POLICY), ["error: ", "missing.parquet"]),
        (("benchmark", "no-*.parquet", *POLICY), ["error: ", "no-*.parquet"]),
        (("benchmark", "empty.parquet", *POLICY), ["error: ", "empty.parquet"]),
        (("benchmark", "empty.csv", *POLICY), ["error: ", "empty.csv"]),
        (("benchmark", "noise.parquet", *POLICY), ["error: ", "noise.parquet"]),
        (("benchmark", "demo.toml", *POLICY), ["error: ", "demo.toml"]),
        (
            ("benchmark", "good.parquet", "--policy", "absent.toml"),
            ["error: there is no such policy", "presets"],
        ),
        (
            ("benchmark", "good.parquet", "--policy", "typo.toml"),
            ["'min_suite_win' is unknown", "did you mean"],
        ),
        (("benchmark", "good.parquet", "--policy", "noise.parquet"), ["error: "]),
        (
            ("benchmark", "good.parquet", *POLICY, "--tenant", "strikt"),
            ["no tenant 'strikt'", "did you mean 'strict'"],
        ),
        (
            ("benchmark", "good.parquet", *POLICY, "--candidate", "god"),
            ["no candidate 'god'", "did you mean 'good'"],
        ),
        (("benchmark", "good.parquet", *POLICY, "--candidate", "old"), ["'old' is a baseline"]),
        (("benchmark", "good.parquet", *POLICY, "--column", "valu=value"), ["error: ", "valu"]),
        (("benchmark", "good.parquet", *POLICY, "--previous", "absent.json"), ["there is no saved result"]),
        (("benchmark", "good.parquet", *POLICY, "--previous", "demo.toml"), ["this is no result"]),
        (("benchmark", "good.parquet", *POLICY, "--previous-candidate", "x"), ["without a previous result"]),
        (("benchmark", "good.parquet", *POLICY, "-o", "r.txt"), ["does not say its format", ".junit.xml"]),
        (("benchmark", "good.parquet", *POLICY, "-o", "good.parquet"), ["overwrite an input"]),
        (("benchmark", "good.parquet", *POLICY, "-o", "demo.toml/r.json"), ["cannot be written"]),
        (("explain", "absent.json", "--candidate", "x"), ["there is no saved result"]),
        (("explain", "."), ["interrupted run"]),
        (("policy", "check", "typo.toml"), ["'min_suite_win' is unknown"]),
        (("policy", "check", "concordia", "--tenant", "x"), ["no tenant 'x'"]),
        (("policy", "show", "concordja"), ["did you mean 'concordia'"]),
        (("policy", "frobnicate"), ["No such command"]),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, tuple) else "",
)
def test_bad_usage_and_input_is_2(arguments, words, work, command):
    (work / "empty.parquet").touch()
    (work / "empty.csv").touch()
    (work / "noise.parquet").write_bytes(bytes(range(256)))
    policy = (work / "demo.toml").read_text()
    (work / "typo.toml").write_text(policy.replace("min_suite_wins", "min_suite_win", 1))
    before = sorted(work.iterdir())
    run = command(*arguments)
    assert run.code == 2
    assert run.out == ""
    for word in words:
        assert word in run.err
    assert sorted(work.iterdir()) == before


def test_an_error_says_what_was_expected_and_what_came(work, command):
    run = command("benchmark", "good.parquet", *POLICY, "-o", "result.txt")
    assert run.err == (
        "error: the output's name does not say its format\n"
        "  expected: a name ending in .json, .md, .junit.xml, .parquet, .arrow, /\n"
        "  received: result.txt\n"
        "  where:    -o\n"
    )


def test_a_result_with_several_candidates_asks_which(work, command):
    command("benchmark", "both.csv", *POLICY, "-o", "r.json")
    run = command("explain", "r.json")
    assert run.code == 2
    assert "received: even, good" in run.err
    run = command("explain", "r.json", "--candidate", "evne")
    assert "did you mean 'even'?" in run.err


def test_a_previous_result_of_another_policy_is_refused(work, command):
    command("benchmark", "good.parquet", *POLICY, "-o", "before.json")
    policy = (work / "demo.toml").read_text()
    (work / "other.toml").write_text(policy.replace("min_suite_wins = 2", "min_suite_wins = 1"))
    run = command("benchmark", "good.parquet", "--policy", "other.toml", "--previous", "before.json")
    assert run.code == 2
    assert "another policy" in run.err


def test_outputs_are_checked_before_the_work(work, command, monkeypatch):
    monkeypatch.setattr(fastgate.gates.benchmark.gate, "benchmark_gate", None)
    assert command("benchmark", "good.parquet", *POLICY, "-o", "r.txt").code == 2


def test_names_in_messages_do_not_command_the_terminal(work, command):
    run = command("benchmark", "good.parquet", *POLICY, "--candidate", "x\x1b[2J\u202e")
    assert run.code == 2
    assert "\x1b" not in run.err
    assert "\u202e" not in run.err


class PanicException(BaseException):
    """As Polars' panics are: no Exception."""


@pytest.mark.parametrize(
    "kind", [RuntimeError, MemoryError, PanicException, AssertionError, KeyError, OSError]
)
def test_anything_unforeseen_is_70_without_a_traceback(kind, work, command, monkeypatch):
    def fail(*arguments, **options):
        raise kind("the cause\nin two lines")

    monkeypatch.setattr(fastgate.gates.benchmark.gate, "benchmark_gate", fail)
    run = command("benchmark", "good.parquet", *POLICY, "-o", "r.json")
    assert run.code == 70
    assert run.out == ""
    assert run.err.startswith(f"internal error: {kind.__name__}: ")
    assert "FASTGATE_DEBUG=1" in run.err
    assert not (work / "r.json").exists()


def test_debugging_shows_the_traceback(work, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("the cause")

    monkeypatch.setattr(fastgate.gates.benchmark.gate, "benchmark_gate", fail)
    monkeypatch.setenv("FASTGATE_DEBUG", "1")
    with pytest.raises(SystemExit) as ended:
        fastgate.cli.main(["benchmark", "good.parquet", *POLICY])
    assert ended.value.code == 70
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert "in fail" in err


def test_an_interruption_is_130(work, command, monkeypatch):
    def fail(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(fastgate.gates.benchmark.gate, "benchmark_gate", fail)
    run = command("benchmark", "good.parquet", *POLICY, "-o", "r.json")
    assert run.code == 130
    assert run.err.strip() == "interrupted"
    assert not (work / "r.json").exists()


def test_an_interruption_while_writing_leaves_nothing_half_written(work, command, monkeypatch):
    from fastgate.gates import storage

    command("benchmark", "good.parquet", *POLICY, "-o", "r.json")
    before = (work / "r.json").read_bytes()
    whole = storage.to_json

    def half(data):
        text = whole(data)
        raise KeyboardInterrupt(len(text))

    monkeypatch.setattr(storage, "to_json", half)
    assert command("benchmark", "both.csv", *POLICY, "-o", "r.json").code == 130
    assert (work / "r.json").read_bytes() == before
    assert [path.name for path in work.iterdir() if path.name.startswith(".")] == []


def test_a_full_disk_is_no_verdict(work, command, monkeypatch):
    def fail(text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys.stdout, "write", fail)
    run = command("benchmark", "both.csv", *POLICY)
    assert run.code == 2
    assert "No space left on device" in run.err
