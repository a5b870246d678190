"""Actors: what was read stays with the workers that read it, and can be asked for again."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from decoding.corpus.actors import dask_actors, process_actors
from decoding.corpus.runner import Done, Failure, run
from lattices.errors import EngineError, OptionError
from tests.decoding.cli.commandline import cats


class Shelf:
    """Keeps the ids of segments, and says where."""

    def __init__(self, number: int) -> None:
        self.number, self.ids = number, []

    def keep(self, name: str) -> tuple[str, int]:
        self.ids.append(name)
        return name, self.number


def ids_of(segments):
    return [segment.id for segment in segments]


def list_ids(shelf: Shelf, suffix: str) -> list[str]:
    return [name + suffix for name in shelf.ids]


def die(shelf: Shelf) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(shelf: Shelf) -> None:
    raise OptionError(f"shelf {shelf.number} refuses")


def check(actors: Any, path: Path) -> None:
    path.write_text(path.read_text() + "damaged\n")
    outcomes = list(run(ids_of, [path], executor=actors, workers=actors.workers, batch_records=3))
    done = [each.result for each in outcomes if isinstance(each, Done)]
    assert [name for name, _ in done] == [f"s{number}" for number in range(20)]
    assert [each.line for each in outcomes if isinstance(each, Failure)] == [21]
    wanted: dict[int, list[str]] = {number: [] for number in range(2)}
    for name, number in done:
        wanted[number].append(name + "!")
    assert min(map(len, wanted.values())) >= 6
    assert actors.call(dict.fromkeys(range(2), (list_ids, "!"))) == wanted
    with pytest.raises(OptionError, match="shelf 1 refuses"):
        actors.call({1: (refuse,)})


def test_processes_keep_what_they_read(tmp_path: Path) -> None:
    with process_actors(2, Shelf) as actors:
        check(actors, cats(tmp_path / "cats.jsonl", 20))


def test_a_worker_that_dies_is_told() -> None:
    with process_actors(2, Shelf) as actors, pytest.raises(EngineError, match="segments died"):
        actors.call({1: (die,)})


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_keeps_what_it_reads(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        dask_actors(cluster.scheduler_address, Shelf) as actors,
    ):
        check(actors, cats(tmp_path / "cats.jsonl", 20))
        with pytest.raises(EngineError, match="segments died"):
            actors.call({1: (die,)})
