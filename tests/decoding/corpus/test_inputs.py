"""The input, cut into chunks."""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import lattices
from decoding import sample_data
from decoding.corpus import inputs
from decoding.corpus import inputs as module
from decoding.corpus.inputs import (
    FIRST_RECORDS,
    LONG,
    MOST_RECORDS,
    SHORT,
    Batch,
    BatchSizer,
    Cut,
    Inputs,
    Range,
    WholeFile,
    batches,
    chunk_count,
    locate,
    parse,
    skip_outcomes,
)
from decoding.corpus.runner import Done, Failure, ResumePoint, Segment, run
from tests.decoding.cli.commandline import CAT, cats, lattice_line


def ids(segments: Sequence[Segment]) -> list[str]:
    return [segment.id for segment in segments]


def names(outcomes: object) -> list[str]:
    return [outcome.id for outcome in outcomes]  # type: ignore[attr-defined]


@pytest.fixture
def arrow(tmp_path: Path) -> Path:
    """Fifty segments in a file that is read by position."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "cats.arrow"
    lattices.write(path, lattices.read(cats(tmp_path / "cats.jsonl", 50)))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of one segment each."""
    source = sample_data()
    (tmp_path / "slf").mkdir()
    for file in sorted(source.glob("*.slf.gz"))[:3]:
        shutil.copy(file, tmp_path / "slf")
    return tmp_path / "slf"


def test_records_of_compressed_files_are_cut_here(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(cats(tmp_path / "a.jsonl", 3).read_bytes()))
    chunks = list(Inputs([path]).chunks())
    assert [type(chunk) for chunk in chunks] == [Cut] * 3


ODD_LINES = [
    b"one\ntwo\n", b"one\ntwo", b"one\r\n\r\n \t\ntwo\r\n\n", b"\xef\xbb\xbfone\ntwo\n",
    b"\xef\xbb\xbf\n\n\xef\xbb\xbftwo\x0bthree\n", b"one\rtwo\n",
]  # fmt: skip


@pytest.mark.parametrize("content", ODD_LINES)
@pytest.mark.parametrize("buffer", [1, 2, 3, 4, 7, module.LINE_BUFFER])
def test_lines_left_to_a_worker_are_what_would_have_been_cut(
    tmp_path: Path, content: bytes, buffer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_BUFFER", buffer)
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    here = [record for _, record in lattices.formats.read_records(path, "jsonl")]
    told: list[int] = []
    there = list(Inputs([path], "jsonl").chunks(told.append))
    assert [record for chunk in there for record in chunk.read()] == here  # type: ignore[union-attr]
    assert sum(map(chunk_count, there)) == len(here)
    assert sum(told) == len(content)


@pytest.mark.parametrize("content", ODD_LINES)
@pytest.mark.parametrize("count", [2, 3, 8])
def test_parts_of_a_file_of_lines_are_the_file(tmp_path: Path, content: bytes, count: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    here = [record for _, record in lattices.formats.read_records(path, "jsonl")]
    shards = locate(Inputs([path], "jsonl").shards(count), positions=True)
    assert 1 < len(shards) <= count or len(here) == 1
    there = [chunk for shard in shards for chunk in shard.chunks()]
    assert [record for chunk in there for record in chunk.read()] == here  # type: ignore[union-attr]
    assert [chunk.position for chunk in there] == [
        *itertools.accumulate([0, *map(chunk_count, there[:-1])])
    ]


@pytest.mark.parametrize("content", [b"\n \n", b"\xef\xbb\xbf\n", b"\xef\xbb\xbf"])
def test_a_file_without_lines_is_one_failure(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    (chunk,) = Inputs([path], "jsonl").chunks()
    assert isinstance(chunk, Failure)
    assert "empty" in chunk.reason


@pytest.mark.parametrize("lost", [10, 150])
def test_a_file_that_shrinks_loses_its_lines_with_a_reason(tmp_path: Path, lost: int) -> None:
    path = cats(tmp_path / "a.jsonl", 3)
    chunks = list(Inputs([path]).chunks())
    path.write_bytes(path.read_bytes()[:-lost])
    found = [outcome for chunk in chunks for outcome in parse(chunk, lattices.Vocabulary(), {})]
    count = path.read_bytes().count(b"\n")
    assert [type(each) for each in found] == [Segment] * count + [Failure] * (3 - count)
    for bad in found[count:]:
        assert isinstance(bad, Failure)
        assert bad.reason == "the file was changed while it was read"
    assert [each.line for each in found[count:]] == [count + 1, 0][: 3 - count]


def test_files_by_position_are_named_and_not_read(arrow: Path) -> None:
    chunks = list(Inputs([arrow]).chunks(pace=BatchSizer(20)))
    assert [(chunk.start, chunk.stop, chunk.position) for chunk in chunks] == [  # type: ignore[union-attr]
        (0, 20, 0), (20, 40, 20), (40, 50, 40),
    ]  # fmt: skip
    assert names(run(ids, [arrow], batch_records=7)) == [f"s{number}" for number in range(50)]


def test_files_of_one_segment_are_left_to_the_worker(folder: Path) -> None:
    chunks = list(Inputs([folder]).chunks())
    assert [type(chunk) for chunk in chunks] == [WholeFile] * 3
    assert names(run(ids, [folder])) == ["s032", "s033", "s034"]


def test_where_workers_see_no_files_the_content_is_sent(arrow: Path, folder: Path) -> None:
    inputs = Inputs([arrow, folder], shared_files=False)
    assert {type(chunk) for chunk in inputs.chunks()} == {Cut}
    assert names(run(ids, inputs)) == names(run(ids, [arrow, folder]))


def test_a_compressed_file_is_not_read_by_position(arrow: Path, tmp_path: Path) -> None:
    packed = tmp_path / "x.arrow.gz"
    packed.write_bytes(gzip.compress(arrow.read_bytes()))
    assert {type(chunk) for chunk in Inputs([packed]).chunks()} == {Cut}
    assert names(run(ids, [packed])) == names(run(ids, [arrow]))


def test_a_damaged_file_of_one_segment_keeps_its_position(folder: Path) -> None:
    second = folder / "s033.slf.gz"
    second.write_bytes(second.read_bytes()[:500])
    outcomes = list(run(ids, [folder]))
    assert [outcome.position for outcome in outcomes] == [0, 1, 2]
    assert isinstance(outcomes[1], Failure)
    assert (outcomes[1].path, outcomes[1].reason) == (str(second), "the gzip file is cut short")


def test_lattices_that_were_put_into_one_file_are_all_read(folder: Path, tmp_path: Path) -> None:
    text = "VERSION=1.0\nUTTERANCE={}\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a a=-1.0\n"
    together = tmp_path / "all.slf.gz"
    together.write_bytes(gzip.compress("".join(map(text.format, ("u1", "u2"))).encode()))
    outcomes = list(run(ids, [folder, together, folder]))
    assert [outcome.position for outcome in outcomes] == [*range(8)]
    assert names(outcomes) == [*names(run(ids, [folder])), "u1", "u2", *names(run(ids, [folder]))]


def test_a_file_that_vanishes_is_one_failure(folder: Path) -> None:
    chunks = list(Inputs([folder]).chunks())
    (folder / "s033.slf.gz").unlink()
    found = [type(part) for chunk in chunks for part in parse(chunk, lattices.Vocabulary(), {})]
    assert found == [Segment, Failure, Segment]


def test_a_damaged_file_by_position_is_one_failure(arrow: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.arrow"
    broken.write_bytes(arrow.read_bytes()[:1000])
    outcomes = list(run(ids, [broken, arrow]))
    assert [type(outcome) for outcome in outcomes] == [Failure] + [Done] * 50
    assert outcomes[1].position == 0


def test_all_bytes_are_told(arrow: Path, folder: Path, tmp_path: Path) -> None:
    plain = cats(tmp_path / "p.jsonl", 200)
    inputs = Inputs([plain, arrow, folder])
    told: list[int] = []
    list(run(ids, inputs, on_read=told.append))
    assert inputs.bytes == sum(map(os.path.getsize, inputs.files))
    # shares of a file by position are rounded
    assert inputs.bytes - 50 <= sum(told) <= inputs.bytes


def test_a_pipe_has_no_size(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert Inputs([tmp_path / "pipe"]).bytes is None
    assert Inputs(["-"]).bytes is None


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    if not os.fork():
        pipe.write_text(lattice_line("a", CAT) + lattice_line("b", CAT))
        os._exit(0)
    assert names(run(ids, [pipe])) == ["a", "b"]
    os.wait()


def unit_sizes(found: list[Batch]) -> list[list[int]]:
    return [[chunk_count(chunk) for chunk in batch] for batch in found]


def test_batches_count_segments_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = Failure(-1, "x", 0, "", "no")
    some = [Range(0, "f", "x", 0, 3, 10), failure, Range(3, "f", "x", 3, 4, 10)]
    assert unit_sizes(list(batches(some, BatchSizer(4)))) == [[3, 1], [1]]
    assert unit_sizes(list(batches(some, BatchSizer(3)))) == [[3], [1, 1]]
    monkeypatch.setattr(inputs, "BATCH_BYTES", 10)
    assert unit_sizes(list(batches(some, BatchSizer(9)))) == [[3], [1, 1]]


def test_fast_work_comes_in_large_batches_and_slow_work_in_small_ones() -> None:
    pace = BatchSizer()
    for _ in range(20):
        pace.learn(pace.records, SHORT / 2)
    assert pace.records == MOST_RECORDS
    pace.learn(MOST_RECORDS, (SHORT + LONG) / 2)
    assert pace.records == MOST_RECORDS
    for _ in range(20):
        pace.learn(pace.records, 2 * LONG)
    assert pace.records == 1


def test_only_a_batch_of_the_present_size_makes_them_larger() -> None:
    pace = BatchSizer()
    pace.learn(FIRST_RECORDS - 1, 0.0)
    assert pace.records == FIRST_RECORDS
    pace.learn(FIRST_RECORDS, 0.0)
    pace.learn(FIRST_RECORDS, 0.0)
    assert pace.records == 2 * FIRST_RECORDS


def test_a_pace_that_is_given_stays() -> None:
    pace = BatchSizer(7)
    pace.learn(7, 0.0)
    pace.learn(7, 60.0)
    assert pace.records == 7


def test_a_file_by_position_is_cut_at_the_present_pace(arrow: Path) -> None:
    pace = BatchSizer()
    chunks = Inputs([arrow]).chunks(pace=pace)
    found = [chunk_count(next(chunks))]
    pace.learn(found[0], 0.0)
    found += map(chunk_count, chunks)
    assert found == [FIRST_RECORDS, 2 * FIRST_RECORDS, 50 - 3 * FIRST_RECORDS]


@pytest.mark.parametrize("skipped", range(8))
def test_what_is_done_is_left_out_within_a_range_too(skipped: int) -> None:
    failure = Failure(-1, "x", 0, "", "no")
    some = [[Range(0, "f", "x", 0, 3, 10), failure], [Range(3, "f", "x", 3, 6, 10)]]
    left = [chunk for batch in skip_outcomes(some, skipped) for chunk in batch]  # type: ignore[arg-type]
    assert sum(map(chunk_count, left)) == 7 - min(7, skipped)
    positions = [
        position
        for chunk in left
        if isinstance(chunk, Range)
        for position in range(chunk.position, chunk.position + chunk.segments)
    ]
    assert positions == [each for each in (0, 1, 2, None, 3, 4, 5)[skipped:] if each is not None]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("skipped", [0, 1, 31, 32, 49, 50])
def test_a_run_goes_on_where_another_ended(arrow: Path, workers: int, skipped: int) -> None:
    outcomes = list(run(ids, [arrow], workers=workers))
    earlier = ResumePoint()
    for outcome in outcomes[:skipped]:
        earlier.add(outcome)
    assert list(run(ids, [arrow], workers=workers, earlier=earlier)) == outcomes[skipped:]


def test_going_on_repeated_ids_are_still_known(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text("".join(lattice_line(name, CAT) for name in "abca"))
    outcomes = list(run(ids, [path]))
    earlier = ResumePoint()
    for outcome in outcomes[:2]:
        earlier.add(outcome)
    seen: list[str] = []
    again = run(ids, [path], earlier=earlier, first=lambda some: seen.extend(map(str, ids(some))))  # type: ignore[arg-type]
    assert list(again) == outcomes[2:]
    assert isinstance(outcomes[3], Failure)
    # what depends on the input is settled by its beginning, whoever read that
    assert seen[0] == "a"
