"""The same job on a Dask cluster, one of whose workers dies in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decoding.cli.main import main
from decoding.corpus.dask import DaskExecutor, dask_executor
from decoding.corpus.runner import Done, Segment, run
from lattices.errors import EngineError
from tests.decoding.cli.commandline import CAT, cats, lattice_line

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


class SlowWork:
    """A job that says which process did it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, segments: list[Segment]) -> list[tuple[str, int]]:
        time.sleep(self.seconds)
        return [(segment.id, os.getpid()) for segment in segments]


def test_a_killed_worker_loses_nothing(tmp_path: Path, cluster: Any) -> None:
    path = cats(tmp_path / "cats.jsonl", 120)
    with dask_executor(cluster.scheduler_address) as executor:
        outcomes = run(
            SlowWork(0.05), [path], executor=executor, workers=executor.workers, batch_records=2
        )
        results = []
        for number, outcome in enumerate(outcomes):
            assert isinstance(outcome, Done)
            results.append(outcome.result)
            if number == 40:
                victim = outcome.result[1]
                os.kill(victim, signal.SIGKILL)
    assert [name for name, _ in results] == [f"s{number}" for number in range(120)]
    workers = {process for _, process in results}
    assert os.getpid() not in workers
    # the dead one was replaced, or the other did it all
    assert len(workers) >= 2


def test_the_command_gives_the_same_bytes_when_a_worker_dies(tmp_path: Path, cluster: Any) -> None:
    path, refs = tmp_path / "many.jsonl", tmp_path / "refs.txt"
    lines = [lattice_line(f"s{number}", CAT, []) for number in range(6000)]
    lines[1234] = "{broken\n"
    path.write_text("".join(lines))
    refs.write_text("".join(f"s{number} the cat\n" for number in range(6000)))
    command = ["oracle", str(path), "--refs", str(refs), "--metric", "wer", "-q", "-o"]
    assert main([*command, str(tmp_path / "alone")]) == 1
    often = "import sys, decoding.cli.main, decoding.corpus.journal as j; j.INTERVAL = 0.05"
    python = [sys.executable, "-c", f"{often}; sys.exit(decoding.cli.main.main())"]
    process = subprocess.Popen(
        [*python, *command, str(tmp_path / "cluster"), "--dask", cluster.scheduler_address],
        stderr=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / ".cluster.journal"
    while not (log.exists() and log.read_bytes().count(b"\n") > 1):
        assert process.poll() is None, "it ended before a worker could be killed"
        time.sleep(0.01)
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "many.jsonl:1235: not JSON" in said
    assert (tmp_path / "cluster").read_bytes() == (tmp_path / "alone").read_bytes()


def test_shards_survive_workers_that_die_and_use_those_that_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = cats(tmp_path / "many.jsonl", 6000)
    lines = path.read_text().splitlines(keepends=True)
    lines[1234], lines[5000] = "{broken\n", lines[7]
    path.write_text("".join(lines))
    command = ["oracle", str(path), "--metric", "wer", "-o"]
    assert main([*command, str(tmp_path / "alone")]) == 1
    alone = capsys.readouterr().err.splitlines()
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None
    ) as small:
        address = small.scheduler_address
        python = [sys.executable, "-m", "fstmetrics", *command, str(tmp_path / "out"), "--shards"]
        process = subprocess.Popen(
            [*python, "60", "--dask", address], stderr=subprocess.PIPE, text=True
        )
        folder = tmp_path / ".out.shards"
        while len(list(folder.glob("*.record"))) < 3:
            assert process.poll() is None, "it ended before a worker could be killed"
            time.sleep(0.01)
        with distributed.Client(address, set_as_default=False) as client:
            (victim,) = client.run(os.getpid).values()
        small.scale(3)
        os.kill(victim, signal.SIGKILL)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    told = [line for line in said.splitlines() if line.startswith("fstmetrics:")]
    assert told == [line for line in alone if line.startswith("fstmetrics:")]
    assert (tmp_path / "out").read_bytes() == (tmp_path / "alone").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["alone", "many.jsonl", "out"]


def test_shards_need_files_that_all_see(
    tmp_path: Path,
    cluster: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = cats(tmp_path / "cats.jsonl", 30)
    command = ["oracle", str(path), "-o", str(tmp_path / "out"), "--dask"]
    command += [cluster.scheduler_address]
    monkeypatch.setattr("decoding.corpus.dask.DaskExecutor.can_open", lambda *given: False)
    assert main([*command, "--shards", "3"]) == 2
    assert "a file system that all of them share" in capsys.readouterr().err
    monkeypatch.setattr("decoding.cli.sharding.SHARDED", 1)
    # unasked they are no must
    assert main(command) == 0
    assert len((tmp_path / "out").read_text().splitlines()) == 30


def test_workers_read_files_that_they_can_see(tmp_path: Path, cluster: Any) -> None:
    path = cats(tmp_path / "cats.jsonl", 3)
    with dask_executor(cluster.scheduler_address) as executor:
        assert executor.can_open([str(path)])
        assert not executor.can_open([str(path), str(tmp_path / "none")])
        assert not executor.can_open(["-"])


def test_a_batch_that_kills_every_worker_is_an_error(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 3)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as small,
        distributed.Client(small, set_as_default=False) as client,
    ):
        outcomes = run(_die, [path], executor=DaskExecutor(client))
        with pytest.raises(EngineError, match="worker process died"):
            list(outcomes)


def _die(segments: list[Segment]) -> list[None]:
    os._exit(3)


def test_a_cluster_without_workers_is_waited_for_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("decoding.corpus.dask.PATIENCE", 2.0)
    path = cats(tmp_path / "cats.jsonl", 3)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty:
        address = empty.scheduler_address
        assert main(["oracle", str(path), "-o", str(tmp_path / "x"), "--dask", address]) == 2
    waiting, problem = capsys.readouterr().err.splitlines()
    assert f"{address!r} has no workers: waiting for one, up to 2 s" in waiting
    assert "no worker at the Dask scheduler" in problem
    assert sorted(tmp_path.iterdir()) == [path]


def test_no_scheduler_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("decoding.corpus.dask.PATIENCE", 0.5)
    path = cats(tmp_path / "cats.jsonl", 3)
    command = ["oracle", str(path), "-o", str(tmp_path / "x"), "--dask"]
    assert main([*command, "tcp://127.0.0.1:1"]) == 2
    assert sorted(tmp_path.iterdir()) == [path]
    said = capsys.readouterr().err
    assert "no Dask scheduler at 'tcp://127.0.0.1:1'" in said
    assert main([*command, "tcp://x:1", "--workers", "2"]) == 2
    assert "exclude one another" in capsys.readouterr().err
