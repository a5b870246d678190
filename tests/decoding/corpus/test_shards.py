"""Runs by shards: the same as in one process, whoever dies in between."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lattices
from decoding.cli.main import INTERRUPTED, main
from decoding.corpus import shards as module
from decoding.corpus.inputs import Inputs
from decoding.corpus.journal import shards_folder
from decoding.corpus.outcomes import Failures
from decoding.corpus.runner import Done, Segment, Work
from decoding.corpus.shards import Job, ShardedRun, open_sharded
from lattices.errors import EngineError, OptionError
from lattices.formats.ids import digest_ids
from tests.decoding.cli.commandline import CAT, cats, lattice_line


def corpus(folder: Path, seed: int) -> list[Path]:
    """Write files of several kinds: some ids come again, some lines and files are damaged."""
    draw = random.Random(seed)
    count = 0

    def line() -> str:
        nonlocal count
        count += 1
        if draw.random() < 0.05:
            return draw.choice(["{broken\n", "\n", "  \r\n", "[]\n"])
        name = f"s{draw.randrange(count) if draw.random() < 0.05 else count}"
        score = draw.random()
        arcs = [(0, 1, draw.choice(["a", "the"]), -score), (1, 2, draw.choice(["cat", "hat"]), -1)]
        return lattice_line(name, arcs, ["the cat"] if draw.random() < 0.9 else [])

    paths = []
    for number, kind in enumerate(draw.choices(["plain", "gz", "arrow", "empty"], k=4)):
        text = "".join(line() for _ in range(draw.randrange(1, 60)))
        path = folder / f"{number}.jsonl{'.gz' if kind == 'gz' else ''}"
        path.write_bytes(gzip.compress(text.encode()) if kind == "gz" else text.encode())
        if kind == "empty":
            path.write_bytes(draw.choice([b"", b"\n\n \n" * 9]))
        if kind == "arrow":
            path = path.with_suffix(".arrow")
            arcs = [(0, 1, "the", -0.5), (0, 1, "a", -0.25), (1, 2, "cat", -1.0)]
            some = [
                lattices.Lattice.from_arcs(arcs, finals=[2], id=f"r{number}.{each % 30}")
                for each in range(draw.randrange(1, 40))
            ]
            lattices.write(path, [each.replaced(references=["the cat"]) for each in some])
        paths.append(path)
    paths.append(cats(folder / "good.jsonl", 5))
    return paths


def run(folder: Path, paths: Sequence[Path], name: str, *more: str) -> tuple[Any, ...]:
    """Return exit code, output and summary of an oracle."""
    summary = folder / f"{name}.json"
    command = ["oracle", *map(str, paths), "--metric", "wer", "bleu:smooth=add-k"]
    code = main([*command, "-o", str(folder / name), "--summary", str(summary), *more])
    told = json.loads(summary.read_text()) if code < 2 else {}
    for changing in ("seconds", "arcs_per_second"):
        told.pop(changing, None)
    return code, (folder / name).read_bytes() if code < 2 else b"", told


@pytest.mark.parametrize("seed", range(6))
def test_the_same_as_in_one_process(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    paths = corpus(tmp_path, seed)
    form = ["tsv", "jsonl", "text"][seed % 3]
    whole = run(tmp_path, paths, "whole", "--format", form)
    said = capsys.readouterr().err
    for shards, workers in ((2, 1), (7, 2), (40, 3), (1000, 1)):
        more = ["--format", form, "--shards", str(shards), "--workers", str(workers)]
        assert run(tmp_path, paths, "parts", *more) == whole
        assert [line for line in capsys.readouterr().err.splitlines() if " s, " not in line] == [
            line for line in said.splitlines() if " s, " not in line
        ]
        assert not os.path.exists(shards_folder(tmp_path / "parts"))
    assert whole[0] == 1
    assert {".parts.partial", ".parts.journal"}.isdisjoint(os.listdir(tmp_path))


def test_references_by_line_know_where_they_are(tmp_path: Path) -> None:
    lines = [lattice_line("", CAT, []) for _ in range(50)]
    lines[7:7] = ["\n", "\n"]
    path, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    path.write_text("".join(lines))
    packed.write_bytes(
        gzip.compress("".join(lattice_line(f"b{n}", CAT) for n in range(9)).encode())
    )
    refs = tmp_path / "refs"
    refs.write_text("".join(f"the {'cat' if n % 3 else 'hat'} {n}\n" for n in range(59)))
    more = ["--refs", str(refs), "--refs-format", "plain", "--format", "jsonl"]
    whole = run(tmp_path, [path, packed], "whole", *more)
    assert whole[0] == 0
    assert run(tmp_path, [path, packed], "parts", *more, "--shards", "9") == whole
    # and there is one for each
    refs.write_text(refs.read_text() + "left over\n")
    assert run(tmp_path, [path, packed], "parts", *more, "--shards", "9")[0] == 2


class Tally:
    """A collector that writes ids."""

    def __init__(self) -> None:
        self.count, self.failures = 0, Failures()

    def write(self, outcomes: Any, stream: BinaryIO) -> None:
        for outcome in outcomes:
            self.count += 1
            stream.write(
                f"{outcome.id} {outcome.result}\n".encode() if isinstance(outcome, Done) else b""
            )

    def state(self) -> int:
        return self.count

    def merge(self, state: int) -> None:
        self.count += state


def named(segments: Sequence[Segment]) -> list[str]:
    return [segment.id for segment in segments]


class DieOnce:
    """Work whose process dies at the first of some segments, once each."""

    def __init__(self, folder: Path, ids: Sequence[str], always: bool = False) -> None:
        self.folder, self.ids, self.always = folder, ids, always

    def __call__(self, segments: Sequence[Segment]) -> list[str]:
        for segment in segments:
            mark = self.folder / f"mark-{segment.id}"
            if segment.id in self.ids and (self.always or not mark.exists()):
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return named(segments)


def shard(work: Any, path: Path, target: Path, shards: int, **more: Any) -> Tally:
    resume = more.pop("resume", False)
    job = Job(Work(work, {}), Tally())
    with open_sharded(ShardedRun(target, count=shards, stamp={"task": 1}, resume=resume)) as made:
        plans: list[Inputs] = []
        found, _, _ = made.run(job, Inputs([path]), on_plan=plans.extend, **more)
        made.finish(len(plans), "")
    assert isinstance(found, Tally)
    return found


def test_workers_that_die_are_replaced(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 200)
    target = tmp_path / "out"
    found = shard(DieOnce(tmp_path, ["s3", "s90", "s150"]), path, target, 20, workers=2)
    assert found.count == 200
    assert target.read_text() == "".join(f"s{n} s{n}\n" for n in range(200))
    assert sorted(each.name for each in tmp_path.glob("mark-*")) == [
        "mark-s150",
        "mark-s3",
        "mark-s90",
    ]


def test_a_shard_that_kills_every_worker_is_an_error_and_the_others_are_done(
    tmp_path: Path,
) -> None:
    path, target = cats(tmp_path / "cats.jsonl", 200), tmp_path / "out"
    with pytest.raises(EngineError, match="died, perhaps for lack of memory, and 1 of 20 shards"):
        shard(DieOnce(tmp_path, ["s90"], always=True), path, target, 20, workers=2)
    assert not target.exists()
    done: list[bool] = []
    shard(
        named, path, target, 20, workers=2, resume=True,
        on_end=lambda _, end: done.append(end.was_there),
    )  # fmt: skip
    assert sorted(done) == [False] + [True] * 19
    assert target.read_text() == "".join(f"s{n} s{n}\n" for n in range(200))


def test_any_executor_and_no_shard_waits_for_a_slow_one(tmp_path: Path) -> None:
    path, target = cats(tmp_path / "cats.jsonl", 100), tmp_path / "out"
    others = threading.Event()

    class SlowFirst(Executor):
        """Two threads, the first call of which ends after all others."""

        def __init__(self) -> None:
            self.pool, self.left = ThreadPoolExecutor(2), 10

        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            def call() -> Any:
                if function is module.do_shard and arguments[2] == 0:
                    assert others.wait(30)
                return function(*arguments)

            return self.pool.submit(call)

    ended: list[int] = []

    def on_end(_: Inputs, end: Any) -> None:
        ended.append(end.number)
        if len(ended) == 9:
            others.set()

    shard(named, path, target, 10, executor=SlowFirst(), on_end=on_end)
    assert ended[-1] == 0
    assert sorted(ended) == [*range(10)]
    assert target.read_text() == "".join(f"s{n} s{n}\n" for n in range(100))


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_client_that_is_killed_and_resumed(tmp_path: Path, workers: str) -> None:
    path = cats(tmp_path / "many.jsonl", 20_000)
    lines = path.read_text().splitlines(keepends=True)
    lines[5000] = lines[5000][:-9] + "\n"
    lines[15_000] = lines[17]
    path.write_text("".join(lines))
    command = [sys.executable, "-m", "fstmetrics", "oracle", str(path), "--metric", "wer"]
    target, folder = tmp_path / "parts", Path(shards_folder(tmp_path / "parts"))
    sharded = [*command, "-o", str(target), "--shards", "50", "--workers"]
    process = subprocess.Popen([*sharded, "2"], stderr=subprocess.DEVNULL)
    while len(list(folder.glob("*.record"))) < 5:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not target.exists()
    resumed = subprocess.run([*sharded, workers, "--resume"], capture_output=True, text=True)
    whole = subprocess.run(
        [*command, "-o", str(tmp_path / "whole")], capture_output=True, text=True
    )
    assert (resumed.returncode, whole.returncode) == (1, 1)
    assert "of 50 shards were done" in resumed.stderr
    assert "many.jsonl:5001: not JSON" in resumed.stderr
    assert f"the id is that of {path}:18 already" in resumed.stderr
    assert "19998 segments, 2 failed" in resumed.stderr
    assert target.read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["many.jsonl", "parts", "whole"]


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An output of ten shards, of which four are done, and the folder of these."""
    path, target = cats(tmp_path / "cats.jsonl", 100), tmp_path / "out"
    real, done = module.do_shard, []

    def stopping(*arguments: Any) -> Any:
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(real(*arguments))
        return done[-1]

    with monkeypatch.context() as patch:
        patch.setattr(module, "do_shard", stopping)
        command = ["oracle", str(path), "-o", str(target), "--shards", "10", "--workers", "1"]
        assert main(command) == INTERRUPTED
    return target, Path(shards_folder(target))


def resume(target: Path, *more: str) -> int:
    path = target.with_name("cats.jsonl")
    return main(["oracle", str(path), "-o", str(target), "--resume", *more])


EXPECTED = "".join(f"s{n}\t1.0\tthe cat\n" for n in range(100))


@pytest.mark.parametrize("what", ["part", "record", "lost"])
def test_what_was_damaged_is_done_again(
    stopped: tuple[Path, Path], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target, folder = stopped
    if what == "part":
        (folder / "00002").write_text("lies")
    elif what == "record":
        record = folder / "00002.record"
        record.write_bytes(record.read_bytes().replace(b"s2", b"s3"))
    else:
        (folder / "00002").unlink()
    capsys.readouterr()
    assert resume(target) == 0
    assert "3 of 10 shards were done" in capsys.readouterr().err
    assert target.read_text() == EXPECTED


def test_another_task_is_refused_and_nothing_is_lost(
    stopped: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    target, folder = stopped
    before = sorted(os.listdir(folder))
    assert resume(target, "--metric", "wer") == 2
    assert "cannot resume" in capsys.readouterr().err
    assert sorted(os.listdir(folder)) == before
    (folder / "plan").write_bytes(b"nonsense")
    assert resume(target) == 2
    assert "its plan is damaged" in capsys.readouterr().err
    # without --resume it begins anew, in whatever way
    path = target.with_name("cats.jsonl")
    assert main(["oracle", str(path), "-o", str(target)]) == 0
    assert target.read_text() == EXPECTED
    assert sorted(os.listdir(target.parent)) == ["cats.jsonl", "out"]


def test_nobody_else_writes_the_output(
    stopped: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    target, _ = stopped
    with open_sharded(ShardedRun(target, resume=True)):
        for more in (["--resume"], [], ["--shards", "3"]):
            path = target.with_name("cats.jsonl")
            assert main(["oracle", str(path), "-o", str(target), *more]) == 2
            assert "another process is writing" in capsys.readouterr().err
    assert resume(target) == 0
    assert target.read_text() == EXPECTED


def test_a_job_that_was_planted_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "job").write_bytes(b"cos\nsystem\n(S'touch planted'\ntR.")
    with pytest.raises(EngineError, match="is not what this run has written"):
        module._load_job(str(tmp_path), "plan-digest")
    with pytest.raises(OptionError, match="not standard input"):
        Inputs(["-"]).shards(2)


@given(
    st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=6),
    st.sampled_from([1, 2, 5, 1 << 22]),
)
def test_repeated_hashes_are_found(some: list[list[int]], slices: int) -> None:
    names = [sorted({str(each) for each in of_one}) for of_one in some]
    hashes = [digest_ids(each) for each in names]
    every = [name for each in names for name in each]
    expected = digest_ids({name for name in every if every.count(name) > 1})
    before, module.HASHES = module.HASHES, slices
    try:
        found = module._find_repeated(hashes)
    finally:
        module.HASHES = before
    assert np.sort(found).tolist() == expected.tolist()
