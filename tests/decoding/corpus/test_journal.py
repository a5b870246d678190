"""Outputs that can be resumed."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decoding.cli import running
from decoding.cli.main import INTERRUPTED, main
from decoding.corpus import journal as module
from decoding.corpus.journal import open_journalled
from decoding.corpus.outcomes import Done, Failure, Failures
from lattices.errors import EngineError, OptionError
from tests.decoding.cli.commandline import CAT, cats, lattice_line

TASK = {"metric": "wer", "input": [["a", 1]]}


def done(id: str, path: str = "a", line: int = 1) -> Done[None]:
    return Done(0, path, line, id, None)


Step = tuple[Done[None] | Failure, bytes, object]


def stopped(
    target: Path, steps: list[Step], rest: bytes = b"", by: type = KeyboardInterrupt
) -> None:
    """Write outcomes, each with an entry, and something after the last; then fail."""
    with open_journalled(target, TASK) as journal:
        for outcome, data, state in steps:
            journal.write(outcome, data)
            journal.enter(state)
        journal.write(done("rest"), rest)
        raise by("stopped")


THREE: list[Step] = [(done(str(number)), b"line\n", number) for number in range(3)]


def left(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_finished_file_is_all_that_is_left(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with open_journalled(target, TASK) as journal:
        journal.write(done("x"), b"one\n")
        journal.enter({"sum": 1})
        assert left(tmp_path) == [".out.journal", ".out.partial"]
    assert (left(tmp_path), target.read_bytes()) == (["out"], b"one\n")


def test_what_the_last_entry_does_not_vouch_for_is_cut_off(tmp_path: Path) -> None:
    target = tmp_path / "out.gz"
    steps: list[Step] = [
        (done("x", line=7), b"one\n", {"sum": 1}),
        (Failure(1, "b", 0, "", "broken"), b"", {"sum": 1}),
        (done("y", "b", 9), b"two\n", {"sum": 2}),
    ]
    with pytest.raises(KeyboardInterrupt):
        stopped(target, steps, rest=b"thr")
    assert not target.exists()
    with open_journalled(target, TASK, resume=True) as journal:
        assert journal.state == {"sum": 2}
        assert journal.earlier.outcomes == 3
        for name, place in (("x", "a:7"), ("y", "b:9")):
            problem = journal.earlier.seen.find_objection(name, "c", 1)
            assert problem == f"the id is that of {place} already"
        journal.write(done("z"), b"three\n")
    assert gzip.decompress(target.read_bytes()) == b"one\ntwo\nthree\n"
    assert left(tmp_path) == ["out.gz"]


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_an_entry_that_was_cut_short_does_not_count(tmp_path: Path, cut: int) -> None:
    target, log = tmp_path / "out", tmp_path / ".out.journal"
    with pytest.raises(EngineError):
        stopped(target, THREE, by=EngineError)
    log.write_bytes(log.read_bytes()[:-cut])
    with open_journalled(target, TASK, resume=True) as journal:
        known = journal.earlier.outcomes
        assert known == (1 if cut == 200 else 2)
        assert journal.state == known - 1
    assert target.read_bytes() == b"line\n" * known


def test_entries_about_bytes_that_are_lost_do_not_count(tmp_path: Path) -> None:
    target, partial = tmp_path / "out", tmp_path / ".out.partial"
    with pytest.raises(KeyboardInterrupt):
        stopped(target, THREE, by=KeyboardInterrupt)
    partial.write_bytes(b"line\nlin")
    with open_journalled(target, TASK, resume=True) as journal:
        assert (journal.state, journal.earlier.outcomes) == (0, 1)
    assert target.read_bytes() == b"line\n"


def test_another_task_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        stopped(target, [(done("x"), b"one\n", None)], b"and more", KeyboardInterrupt)
    other = open_journalled(target, {**TASK, "metric": "grr"}, resume=True)
    with pytest.raises(OptionError, match="begun with metric 'wer', not 'grr'"):
        other.__enter__()
    with open_journalled(target, TASK, resume=True) as journal:
        assert journal.earlier.outcomes == 1
    assert target.read_bytes() == b"one\n"


def test_without_resume_it_begins_anew(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        stopped(target, [(done("x"), b"one\n", None)], b"and more", KeyboardInterrupt)
    with open_journalled(target, {"other": 1}) as journal:
        assert journal.earlier.outcomes == 0
        journal.write(done("x"), b"one\n")
    assert target.read_bytes() == b"one\n"


def test_an_error_of_the_task_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        stopped(tmp_path / "out", [(done("x"), b"one\n", None)], b"and more", OptionError)
    assert left(tmp_path) == []


def test_two_runs_cannot_write_one_file(tmp_path: Path) -> None:
    with open_journalled(tmp_path / "out", TASK) as journal:
        journal.write(done("x"), b"one\n")
        with pytest.raises(OptionError, match="another process"):
            stopped(tmp_path / "out", THREE)
        journal.write(done("y"), b"two\n")
    assert (tmp_path / "out").read_bytes() == b"one\ntwo\n"


LINES: list[Step] = [
    (done("s0", line=1), b"line 0\n", {"segments": 1}),
    (Failure(1, "a", 2, "", "no JSON"), b"", {"segments": 1}),
    (done("s2", line=3), b"line 2\n", {"segments": 2}),
    (done("s3", "b", line=1), b"line 3\n", {"segments": 3}),
]
WHOLE = b"".join(data for _, data, _ in LINES)


def finished_after(target: Path) -> int:
    """Resume, do what is left, and return how much was; the state must be what was done."""
    failures: list[Failure] = []
    with open_journalled(target, TASK, resume=True, on_failure=failures.append) as journal:
        known = journal.earlier.outcomes
        assert journal.state == (LINES[known - 1][2] if known else None)
        assert failures == [each for each, _, _ in LINES[:known] if isinstance(each, Failure)]
        for outcome, data, state in LINES[known:]:
            journal.write(outcome, data)
            journal.enter(state)
    return known


@pytest.fixture
def fallen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, bytes, bytes]:
    """Target and journal of a run that was stopped; what is in the hidden output and in the log."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        stopped(target, LINES[:3], rest=b"more")
    partial, log = tmp_path / ".out.partial", tmp_path / ".out.journal"
    return target, log, partial.read_bytes(), log.read_bytes()


def damages(whole: bytes) -> Iterator[bytes]:
    """Iterate over what may become of a journal."""
    for place in range(len(whole)):
        yield whole[:place]
        for bit in (0, 3, 7):
            yield whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
        yield whole[:place] + whole[place + 1 :]
        yield whole[:place] + b"0" * 512 + whole[place + 512 :]
    lines = whole.splitlines(keepends=True)
    for one, two in itertools.permutations(range(len(lines)), 2):
        swapped = list(lines)
        swapped[one], swapped[two] = lines[two], lines[one]
        yield b"".join(swapped)
    for one in range(len(lines)):
        yield b"".join(lines[:one] + lines[one + 1 :])
        yield b"".join(lines[: one + 1] + lines[one:])
    values: list[Any] = [-1, 0, 4, 10**30, 1e308, None, True, "x", [], {}, [[]], [None], {"": 1}]
    for number, line in enumerate(lines):
        seal, _, text = line.partition(b" ")
        content = json.loads(text)
        changed = [{**content, key: value} for key in content for value in values]
        changed += [{k: v for k, v in content.items() if k != key} for key in content]
        texts = [json.dumps(each).encode() for each in (*changed, *values)]
        texts += [b"[" * 200_000, b'{"a":' * 200_000, b"\xff\xfe", b"", b"1" * 10_000]
        for other in texts:
            # with the checksum, without it, and a line for a line of the first version
            for made in (seal + b" " + other + b"\n", other + b"\n", seal + other):
                yield b"".join([*lines[:number], made, *lines[number + 1 :]])


def test_a_damaged_journal_is_an_error_or_a_new_start(
    fallen: tuple[Path, Path, bytes, bytes], tmp_path: Path
) -> None:
    """Never a traceback, and never a short file."""
    target, log, output, whole = fallen
    known: Counter[int | str] = Counter()
    for damaged in damages(whole):
        (tmp_path / ".out.partial").write_bytes(output)
        log.write_bytes(damaged)
        try:
            known[finished_after(target)] += 1
        except OptionError as problem:
            known["refused" if "cannot resume" in str(problem) else str(problem)] += 1
            log.unlink()
        else:
            assert target.read_bytes() == WHOLE
            assert left(tmp_path) == ["out"]
            target.unlink()
    assert set(known) == {0, 1, 2, 3, "refused"}
    assert known.total() > 3000


def test_a_damaged_output_counts_up_to_the_damage(
    fallen: tuple[Path, Path, bytes, bytes], tmp_path: Path
) -> None:
    target, log, output, whole = fallen
    settled = len(output) - len(b"more")
    for place in range(len(output)):
        for other in (output[:place], output[:place] + b"#" + output[place + 1 :]):
            (tmp_path / ".out.partial").write_bytes(other)
            log.write_bytes(whole)
            assert finished_after(target) == (0 if place < 7 else 2 if place < settled else 3)
            assert target.read_bytes() == WHOLE
            target.unlink()


@pytest.mark.parametrize("count", [0, 3, 10**6])
def test_a_journal_of_the_first_version_is_refused(tmp_path: Path, count: int) -> None:
    entry = {"bytes": 5, "outcomes": count, "files": [["a", {"x": 1}]], "state": None}
    text = json.dumps(TASK) + "\n" + json.dumps(entry) + "\n"
    (tmp_path / ".out.journal").write_text(text)
    (tmp_path / ".out.partial").write_bytes(b"line\n")
    resumed = open_journalled(tmp_path / "out", TASK, resume=True)
    with pytest.raises(OptionError, match="another version of fstmetrics; without --resume"):
        resumed.__enter__()
    assert (tmp_path / ".out.partial").read_bytes() == b"line\n"


def test_a_run_that_ends_between_opening_and_locking_keeps_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, partial = tmp_path / "out", tmp_path / ".out.partial"
    partial.write_bytes(b"of another run\n")
    lock = module._lock

    def ends_before(stream: Any) -> bool:
        if not target.exists():
            os.replace(partial, target)
        return lock(stream)

    monkeypatch.setattr(module, "_lock", ends_before)
    with open_journalled(target, TASK) as journal:
        assert target.read_bytes() == b"of another run\n"
        journal.write(done("x"), b"one\n")
    assert target.read_bytes() == b"one\n"


@pytest.mark.parametrize("name", [".out.partial", ".out.journal"])
@pytest.mark.parametrize("system", ["with O_NOFOLLOW", "without", "just now"])
@pytest.mark.parametrize("resume", [False, True])
def test_a_planted_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, system: str, resume: bool
) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious\n")
    (tmp_path / name).symlink_to(victim)
    if system == "without":
        monkeypatch.delattr(os, "O_NOFOLLOW", raising=False)
    elif system == "just now":
        monkeypatch.setattr(Path, "is_symlink", lambda path: False)
    opened = open_journalled(tmp_path / "out", TASK, resume=resume)
    with pytest.raises(OptionError, match=f"{name}' is a link or no file at all"):
        opened.__enter__()
    assert victim.read_bytes() == b"precious\n"


def test_a_planted_hard_link_or_pipe_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious\n")
    os.link(victim, tmp_path / ".out.partial")
    with pytest.raises(OptionError, match="is a link or no file at all"):
        open_journalled(tmp_path / "out", TASK).__enter__()
    assert victim.read_bytes() == b"precious\n"
    (tmp_path / ".out.partial").unlink()
    os.mkfifo(tmp_path / ".out.partial")
    with pytest.raises(OptionError, match="is a link or no file at all"):
        open_journalled(tmp_path / "out", TASK).__enter__()


def test_a_device_is_written_to_and_cannot_be_resumed() -> None:
    with open_journalled(os.devnull, TASK) as journal:
        journal.write(done("x"), b"one\n")
        assert not journal.is_due
        journal.enter(None)
    resumed = open_journalled(os.devnull, TASK, resume=True)
    with pytest.raises(OptionError, match="cannot be resumed"):
        resumed.__enter__()


class Interrupting:
    """Stands in for the outcomes, and stops after so many."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._real = running.corpus_outcomes
        self.after = 10**9
        monkeypatch.setattr("decoding.cli.running.corpus_outcomes", self)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        from contextlib import contextmanager

        @contextmanager
        def watched() -> Any:
            with self._real(*arguments, **keywords) as outcomes:
                yield self._stopping(outcomes)

        return watched()

    def _stopping(self, outcomes: Any) -> Any:
        for number, outcome in enumerate(outcomes):
            if number >= self.after:
                raise KeyboardInterrupt
            yield outcome


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_interrupted_again_and_again_the_output_is_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    workers: str,
    form: str,
) -> None:
    path, refs = tmp_path / "some.jsonl", tmp_path / "refs.txt"
    lines = [lattice_line(f"s{number}", CAT, []) for number in range(40)]
    lines[3] = "{broken\n"
    lines[30] = lattice_line("s7", CAT, [])  # an id that an earlier run has seen
    path.write_text("".join(lines))
    refs.write_text("".join(f"s{number} the cat\n" for number in range(40) if number != 21))
    command = ["oracle", str(path), "--refs", str(refs), "--metric", "wer", "--format", form]
    command += ["--workers", workers]
    summary = ["--summary", str(tmp_path / "summary.json")]
    assert main([*command, "-o", str(tmp_path / "whole"), *summary]) == 1
    whole = json.loads((tmp_path / "summary.json").read_text())
    said = capsys.readouterr().err
    monkeypatch.setattr(module, "INTERVAL", 0.0)
    stopping = Interrupting(monkeypatch)
    stopping.after = 9
    for _ in range(4):
        assert main([*command, "-o", str(tmp_path / "parts"), "--resume"]) == INTERRUPTED
        assert "--resume goes on" in capsys.readouterr().err
    stopping.after = 10**9
    assert main([*command, "-o", str(tmp_path / "parts"), "--resume", *summary]) == 1
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    again = json.loads((tmp_path / "summary.json").read_text())
    for changing in ("seconds", "arcs_per_second"):
        whole.pop(changing), again.pop(changing)
    assert again == whole
    assert [each["id"] for each in again["failures"]] == ["", "s21", "s7"]
    lines_said = [line for line in capsys.readouterr().err.splitlines() if "some.jsonl" in line]
    assert lines_said == [line for line in said.splitlines() if "some.jsonl" in line]


def test_a_count_of_outcomes_that_is_too_high_leaves_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cats(tmp_path / "cats.jsonl", 9)
    command = ["oracle", str(path), "--metric", "wer", "-o"]
    assert main([*command, str(tmp_path / "whole")]) == 0
    monkeypatch.setattr(module, "INTERVAL", 0.0)
    stopping = Interrupting(monkeypatch)
    stopping.after = 3
    assert main([*command, str(tmp_path / "out")]) == INTERRUPTED
    log = tmp_path / ".out.journal"
    text = log.read_bytes()
    assert text.count(b'"outcomes": 3') == 1
    log.write_bytes(text.replace(b'"outcomes": 3', b'"outcomes": 7'))
    stopping.after = 10**9
    assert main([*command, str(tmp_path / "out"), "--resume"]) == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_failures_beyond_a_thousand_are_in_the_summary_and_not_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "bad.jsonl", 1)
    path.write_text(path.read_text() + "{broken\n" * 2500)
    command = ["oracle", str(path), "--metric", "wer", "-o", str(tmp_path / "out")]
    summary = tmp_path / "summary.json"
    monkeypatch.setattr(module, "MOST_FAILURES", 100)
    kept: list[int] = []
    counted = Failures.append

    def watched(failures: Failures, failure: Failure) -> None:
        counted(failures, failure)
        kept.append(len(failures.first))

    monkeypatch.setattr(Failures, "append", watched)
    stopping = Interrupting(monkeypatch)
    stopping.after = 1850
    assert main([*command, "--summary", str(summary)]) == INTERRUPTED
    stopping.after = 10**9
    assert main([*command, "--summary", str(summary), "--resume"]) == 1
    assert "(and 2499 more like it)" in capsys.readouterr().err
    written = json.loads(summary.read_text())
    assert (written["segments"], written["failed"]) == (1, 2500)
    places = [each["place"] for each in written["failures"]]
    assert places == [f"{path}:{line}" for line in range(2, 2502)]
    assert max(kept) == 1000


def test_a_changed_input_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "cats.jsonl", 9)
    command = ["oracle", str(path), "-o", str(tmp_path / "out")]
    monkeypatch.setattr(module, "INTERVAL", 0.0)
    stopping = Interrupting(monkeypatch)
    stopping.after = 3
    assert main(command) == INTERRUPTED
    cats(path, 10)
    assert main([*command, "--resume"]) == 2
    assert "cannot resume" in capsys.readouterr().err


def test_a_changed_file_of_a_metric_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rules = cats(tmp_path / "cats.jsonl", 9), tmp_path / "rules.tsv"
    rules.write_text("cat\tdog\n")
    command = ["oracle", str(path), "-o", str(tmp_path / "out"), "--metric", "wer"]
    command += ["--normalize", f"lower+regex:{rules}"]
    monkeypatch.setattr(module, "INTERVAL", 0.0)
    stopping = Interrupting(monkeypatch)
    stopping.after = 3
    assert main(command) == INTERRUPTED
    rules.write_text("cat\tdogs\n")
    assert main([*command, "--resume"]) == 2
    assert "cannot resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [["x.jsonl", "--resume"], ["-", "--resume", "-o", "out"]], ids=["to a pipe", "from"]
)
def test_pipes_cannot_be_resumed(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["oracle", *wrong]) == 2
    assert "--resume needs" in capsys.readouterr().err


def test_a_system_without_locks_writes_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Windows has no fcntl: the same bytes, nothing else left, and one sentence for --resume."""
    path = cats(tmp_path / "cats.jsonl")
    command = ["oracle", str(path), "-q", "-o"]
    assert main([*command, str(tmp_path / "with")]) == 0
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert main([*command, str(tmp_path / "without")]) == 0
    assert (tmp_path / "without").read_bytes() == (tmp_path / "with").read_bytes()
    capsys.readouterr()
    assert main([*command, str(tmp_path / "without"), "--resume"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no file locks on this system (no module fcntl); without --resume" in said
    with pytest.raises(KeyboardInterrupt):
        stopped(tmp_path / "stopped", THREE)
    assert left(tmp_path) == ["cats.jsonl", "with", "without"]


def test_nothing_to_resume_is_a_whole_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "cats.jsonl", 2)
    assert main(["oracle", str(path), "-o", str(tmp_path / "out"), "--resume"]) == 0
    assert "there is nothing to resume" in capsys.readouterr().err
    assert len((tmp_path / "out").read_text().splitlines()) == 2


def test_ten_thousand_lattices_killed_and_resumed(tmp_path: Path) -> None:
    """SIGKILL in the middle, one lattice malformed: the same bytes as in one go, exit code 1."""
    path = cats(tmp_path / "many.jsonl", 10_000)
    lines = path.read_text().splitlines(keepends=True)
    lines[5000] = lines[5000][:-9] + "\n"
    path.write_text("".join(lines))
    often = "import sys, decoding.cli.main, decoding.corpus.journal as j; j.INTERVAL = 0.05"
    command = [sys.executable, "-c", f"{often}; sys.exit(decoding.cli.main.main())"]
    command += ["oracle", str(path), "--workers", "2", "--metric", "wer", "-o"]
    parts, log = str(tmp_path / "parts"), tmp_path / ".parts.journal"
    process = subprocess.Popen([*command, parts], stderr=subprocess.DEVNULL)
    while not (log.exists() and log.read_bytes().count(b"\n") > 1):
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not Path(parts).exists()
    resumed = subprocess.run([*command, parts, "--resume"], capture_output=True, text=True)
    whole = subprocess.run([*command, str(tmp_path / "whole")], capture_output=True, text=True)
    assert (resumed.returncode, whole.returncode) == (1, 1)
    assert "many.jsonl:5001: not JSON" in resumed.stderr
    assert "9999 segments, 1 failed" in resumed.stderr
    assert Path(parts).read_bytes() == (tmp_path / "whole").read_bytes()
    assert len(Path(parts).read_bytes().splitlines()) == 9999
    assert left(tmp_path) == ["many.jsonl", "parts", "whole"]
