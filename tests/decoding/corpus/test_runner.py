from __future__ import annotations

import gzip
import math
import os
import pickle
import sys
import threading
import time
import tracemalloc
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from decoding.corpus import inputs as pace
from decoding.corpus import runner as module
from decoding.corpus.outcomes import NO_REFERENCES, Failures
from decoding.corpus.runner import Done, Failure, ResumePoint, Segment, _refuse_repeats, run
from decoding.extraction.search import Search
from decoding.tasks.info import InfoTask
from decoding.tasks.oracle import OracleTask
from fstmetrics import GRR, WER
from fstmetrics.references import split_tokens
from lattices import Hypothesis, Lattice, NBest, write
from lattices.algorithms import best_words
from lattices.errors import EngineError, OptionError, SpaceError
from lattices.formats.ids import SeenIds
from tests.decoding.cli.commandline import CAT, cats, lattice_line


def sizes(segments: Sequence[Segment]) -> list[tuple[str, int]]:
    return [(segment.id, segment.position) for segment in segments]


def fails_on_s2(segments: Sequence[Segment]) -> list[str]:
    if any(segment.id == "s2" for segment in segments):
        raise SpaceError("not this one")
    return [segment.id for segment in segments]


def divides_by_zero_on_s1(segments: Sequence[Segment]) -> list[float]:
    return [1 / (segment.id != "s1") for segment in segments]


def raises_as_plug_ins_do(segments: Sequence[Segment]) -> list[str]:
    if any(segment.id == "s1" for segment in segments):
        raise RuntimeError("no model")
    return [segment.id for segment in segments]


def dies(segments: Sequence[Segment]) -> list[None]:
    os._exit(3)


def too_few(segments: Sequence[Segment]) -> list[None]:
    return []


class Counting:
    """A job that notes the sizes of its batches."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, segments: Sequence[Segment]) -> list[str]:
        self.batches.append(len(segments))
        return [segment.id for segment in segments]


def test_outcomes_come_in_order_with_their_places(tmp_path: Path) -> None:
    one, two = cats(tmp_path / "one.jsonl", 3), tmp_path / "two.jsonl"
    two.write_text("".join(lattice_line(name, CAT) for name in ("t0", "t1")))
    outcomes = list(run(sizes, [one, two], batch_records=2))
    assert [outcome.result for outcome in outcomes if isinstance(outcome, Done)] == [
        ("s0", 0), ("s1", 1), ("s2", 2), ("t0", 3), ("t1", 4),
    ]  # fmt: skip
    assert [outcome.place for outcome in outcomes] == [
        f"{one}:1", f"{one}:2", f"{one}:3", f"{two}:1", f"{two}:2",
    ]  # fmt: skip
    assert [outcome.position for outcome in outcomes] == [0, 1, 2, 3, 4]


def test_a_directory_is_read_in_sorted_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.jsonl").write_text(lattice_line(name, CAT))
    assert [outcome.id for outcome in run(sizes, [tmp_path])] == ["a", "b"]


def test_batches_have_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cats(tmp_path / "five.jsonl", 5)
    job = Counting()
    list(run(job, [path], batch_records=2))
    assert job.batches == [2, 2, 1]
    monkeypatch.setattr(pace, "BATCH_BYTES", 1)
    job = Counting()
    list(run(job, [path]))
    assert job.batches == [1] * 5


def test_only_the_segment_at_fault_is_lost(tmp_path: Path) -> None:
    path = cats(tmp_path / "five.jsonl", 5)
    outcomes = list(run(fails_on_s2, [path]))
    assert [outcome.id for outcome in outcomes] == ["s0", "s1", "s2", "s3", "s4"]
    failure = outcomes.pop(2)
    assert failure == Failure(2, str(path), 3, "s2", "not this one")
    assert str(failure) == f"{path}:3: segment 's2': not this one"
    assert all(isinstance(outcome, Done) for outcome in outcomes)


def test_an_error_of_a_plugin_is_named(tmp_path: Path) -> None:
    outcomes = list(run(divides_by_zero_on_s1, [cats(tmp_path / "two.jsonl", 2)]))
    assert isinstance(outcomes[1], Failure)
    assert outcomes[1].reason == "ZeroDivisionError: division by zero"


def test_a_job_with_too_few_results_is_a_fault_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="zip"):
        list(run(too_few, [cats(tmp_path / "two.jsonl", 2)]))


def test_more_outcomes_than_the_input_has_cannot_be_left_out(tmp_path: Path) -> None:
    path = cats(tmp_path / "two.jsonl", 2)
    assert list(run(sizes, [path], earlier=ResumePoint(outcomes=2))) == []
    with pytest.raises(OptionError, match="3 segments that were done before are not in the input"):
        list(run(sizes, [path], earlier=ResumePoint(outcomes=5)))


def test_a_segment_that_is_done_leaves_little_in_memory() -> None:
    """An id takes 24 bytes and its share of a table, whatever its length."""
    count = 30_000

    def outcomes() -> Iterator[Done[None]]:
        for number in range(count):
            yield Done(number, "a.jsonl", number + 1, f"a-long-name-of-an-utterance-{number}", None)

    tracemalloc.start()
    try:
        deque(_refuse_repeats(outcomes(), SeenIds()), maxlen=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / count < 60


def test_many_failures_take_no_memory() -> None:
    tracemalloc.start()
    try:
        found = Failures(Failure(n, "a.jsonl", n, "", "no JSON") for n in range(100_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2e6
    assert (len(found), [count for _, count in found.causes()]) == (10**5, [10**5])
    different = Failures(Failure(n, "a", n, "", f"{'x' * n}") for n in range(3000))
    assert (len(different), len(different.causes())) == (3000, 1000)


def test_what_cannot_be_parsed_keeps_its_position(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(lattice_line("a", CAT) + "{broken\n" + lattice_line("b", CAT))
    outcomes = list(run(sizes, [path]))
    assert [outcome.position for outcome in outcomes] == [0, 1, 2]
    assert isinstance(outcomes[1], Failure)
    assert (outcomes[1].line, outcomes[1].id) == (2, "")
    assert "not JSON" in outcomes[1].reason


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_segment_of_one_id_is_a_failure(tmp_path: Path, workers: int) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(lattice_line("a", CAT) + lattice_line("a", CAT))
    two.write_text(lattice_line("b", CAT) + lattice_line("a", CAT))
    outcomes = list(run(sizes, [one, two], batch_records=1, workers=workers))
    assert [type(outcome) for outcome in outcomes] == [Done, Failure, Done, Failure]
    for failure in (outcomes[1], outcomes[3]):
        assert isinstance(failure, Failure)
        assert failure.reason == f"the id is that of {one}:1 already"
    # a run that goes on knows the ids of all files
    earlier = ResumePoint()
    for outcome in outcomes[:3]:
        earlier.add(outcome)
    assert list(run(sizes, [one, two], earlier=earlier)) == outcomes[3:]


def test_a_damaged_file_stands_in_its_place(tmp_path: Path) -> None:
    good = cats(tmp_path / "1.jsonl", 1)
    damaged = tmp_path / "2.jsonl.gz"
    damaged.write_bytes(gzip.compress(good.read_bytes() * 200)[:-9])
    (tmp_path / "3.txt").write_text("nothing like a lattice\n")
    cats(tmp_path / "4.jsonl", 1)
    outcomes = list(run(sizes, sorted(tmp_path.iterdir())))
    files = [(outcome.position, outcome.path) for outcome in outcomes if outcome.position < 0]
    assert files == [(-1, str(damaged)), (-1, str(tmp_path / "3.txt"))]
    assert outcomes[0].path == str(good)
    assert outcomes[-1].path == str(tmp_path / "4.jsonl")
    assert [each.position for each in outcomes if each.position >= 0] == list(
        range(len(outcomes) - 2)
    )


def test_a_missing_path_is_an_error_before_anything_is_done(tmp_path: Path) -> None:
    job = Counting()
    with pytest.raises(FileNotFoundError):
        run(job, [cats(tmp_path / "a.jsonl"), tmp_path / "none"])
    assert job.batches == []


def test_arguments_are_checked(tmp_path: Path) -> None:
    path = cats(tmp_path / "a.jsonl")
    for wrong in ({"workers": -1}, {"batch_records": 0}):
        with pytest.raises(OptionError, match="at least"):
            run(sizes, [path], **wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="no option 'colour'"):
        list(run(sizes, [path], options={"colour": "red"}))


def test_first_sees_segments_that_parse_before_the_job_does(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text("{broken\n" * 3 + lattice_line("a", CAT) + lattice_line("b", CAT))
    seen: list[str] = []
    job = Counting()

    def first(segments: object) -> None:
        assert job.batches == []
        seen.extend(segment.id for segment in segments)  # type: ignore[attr-defined]

    outcomes = list(run(job, [path], first=first, batch_records=2))
    assert seen == ["a"]
    assert [type(outcome) for outcome in outcomes] == [Failure] * 3 + [Done] * 2
    assert job.batches == [1, 1]


def test_first_is_not_called_where_nothing_parses(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text("{broken\n")
    outcomes = list(run(sizes, [path], first=lambda segments: pytest.fail("called")))
    assert len(outcomes) == 1


def test_workers_and_executors_give_the_same(tmp_path: Path) -> None:
    path = cats(tmp_path / "some.jsonl", 9)
    path.write_text(path.read_text() + "{broken\n" + lattice_line("s4", CAT))
    alone = list(run(fails_on_s2, [path]))
    assert list(run(fails_on_s2, [path], workers=2, batch_records=2)) == alone
    with ThreadPoolExecutor(2) as pool:
        assert list(run(fails_on_s2, [path], executor=pool, workers=2, batch_records=1)) == alone


def test_no_more_than_a_few_batches_are_in_flight(tmp_path: Path) -> None:
    submitted = 0

    class Pool(ThreadPoolExecutor):
        def submit(self, *arguments, **keywords):  # type: ignore[no-untyped-def]
            nonlocal submitted
            submitted += 1
            return super().submit(*arguments, **keywords)

    with Pool(1) as pool:
        outcomes = run(sizes, [cats(tmp_path / "a.jsonl", 50)], executor=pool, batch_records=1)
        for taken in range(1, 11):
            next(outcomes)
            assert submitted <= taken + 2


def test_a_worker_that_dies_is_an_error_and_not_a_wait(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="worker process died"):
        list(run(dies, [cats(tmp_path / "a.jsonl")], workers=2))


def lattice(refs: Sequence[str] = ("the cat",)) -> Lattice:
    return Lattice.from_arcs(CAT, finals=[2], id="x", references=refs)


def test_the_model_s_best_of_a_list_is_the_first_of_the_highest() -> None:
    entries = [Hypothesis(("a",), -2.0), Hypothesis(("b",), -1.0), Hypothesis(("c",), -1.0)]
    assert best_words(NBest.from_hypotheses(entries)) == ("b",)
    assert best_words(lattice()) == ("a", "hat")
    with pytest.raises(OptionError, match="empty"):
        best_words(NBest.from_hypotheses([], id="x"))


def test_an_error_of_a_plug_in_is_that_of_its_segment(tmp_path: Path) -> None:
    outcomes = list(run(raises_as_plug_ins_do, [cats(tmp_path / "some.jsonl")]))
    (failed,) = [each for each in outcomes if isinstance(each, Failure)]
    assert (failed.id, failed.reason) == ("s1", "RuntimeError: no model")
    assert len(outcomes) > 1


def test_the_task_scores_oracle_and_best_under_every_metric() -> None:
    task = OracleTask((WER(), GRR()))
    (result,) = task.process([Segment(0, "", 0, lattice(["the cat sat"]))])
    assert result["text"] == "the cat"
    assert list(result["scores"].values()) == [1 / 3, (2 + 1) / 6]
    assert result.sums is not None
    counts, kinds = task.layout.split(result.sums)
    by_wer, by_grr = (each.stats for each in kinds["oracle"])
    assert (WER().score(by_wer), GRR().score(by_grr)) == (1 / 3, (2 + 1) / 6)
    assert WER().score(kinds["one_best"][0].stats) == 1.0
    assert (result["engine"], counts["arcs"], result["one_best"]) == ("kernel", 4, ("a", "hat"))


def test_a_table_goes_to_another_process_as_it_is() -> None:
    task = OracleTask((WER(), GRR()), k=2)
    table = task.process([Segment(0, "", 0, lattice(["the cat sat"]))])
    again = pickle.loads(pickle.dumps(task.process([Segment(0, "", 0, lattice(["the cat sat"]))])))
    assert again[0].fields() == table[0].fields()
    assert again[0].sums.tolist() == table[0].sums.tolist()  # type: ignore[union-attr]
    assert [each["rank"] for each in table[0].fields()] == [1, 2]


def test_the_task_says_who_answered() -> None:
    segment = Segment(0, "", 0, lattice())
    listed = NBest.from_hypotheses([Hypothesis(("a",), -2.0)], references=["a"])
    assert OracleTask((WER(),), k=2).process([segment])[0]["engine"] == "product"
    assert OracleTask((WER(),), worst=True).process([segment])[0]["engine"] == "rows"
    both = OracleTask((WER(),)).process([segment, Segment(1, "", 0, listed)])
    assert [result["engine"] for result in both] == ["kernel", "scorer"]


@pytest.mark.parametrize("engine", ["auto", "kernel", "openfst"])
def test_a_segment_that_is_too_large_fails_alone(tmp_path: Path, engine: str) -> None:
    if engine == "openfst":
        pytest.importorskip("pynini")
    small = Lattice.from_arcs([(0, 1, "a")], finals=[1], references=["a"], id="small")
    arcs = [(state, state + 1, "a") for state in range(300)]
    large = Lattice.from_arcs(arcs, finals=[300], references=["a " * 300], id="large")
    write(tmp_path / "three.jsonl", [small.replaced(id="s0"), large, small])
    task = OracleTask((WER(),), search=Search(engine=engine, memory=50_000))
    first, failed, last = run(task, [tmp_path / "three.jsonl"])
    assert isinstance(first, Done)
    assert isinstance(last, Done)
    assert first.result["engine"] == ("kernel" if engine == "auto" else engine)
    assert isinstance(failed, Failure)
    assert "301 lattice states x 30" in failed.reason
    assert "50.0 kB are allowed" in failed.reason


def test_a_metric_without_a_machine_is_refused_for_lattices() -> None:
    class Plain:
        """A metric that can only score."""

        higher_is_better, stat_names, references = True, GRR().stat_names, ("a",)
        metric = property(lambda self: self)

        def against(self, references):  # type: ignore[no-untyped-def]
            return self

        def stats(self, hypothesis, references=()):  # type: ignore[no-untyped-def]
            return GRR().stats(split_tokens(hypothesis), ["a"])

        def score(self, stats):  # type: ignore[no-untyped-def]
            return 0.5

    with pytest.raises(OptionError, match="has no machine"):
        OracleTask((Plain(),)).process([Segment(0, "", 0, lattice())])  # type: ignore[arg-type]
    listed = NBest.from_hypotheses([Hypothesis(("a",), -2.0)], references=["a"])
    (result,) = OracleTask((Plain(),)).process([Segment(0, "", 0, listed)])  # type: ignore[arg-type]
    assert (result["score"], result["reference"]) == (0.5, -1)


def test_a_segment_without_references_is_refused() -> None:
    with pytest.raises(OptionError, match=NO_REFERENCES):
        OracleTask((WER(),)).process([Segment(0, "", 0, lattice([]))])


def test_sizes_of_lists_and_of_lattices_without_a_path() -> None:
    listed = NBest.from_hypotheses([Hypothesis(("a", "b"), -2.0), Hypothesis((), 0.0)])
    dead = Lattice.from_arcs([(0, 1, "a")], finals=[2], states=3)
    of_list, of_dead = InfoTask().process([Segment(0, "", 0, listed), Segment(1, "", 0, dead)])
    assert [of_list[name] for name in ("kind", "states", "paths")] == ["nbest", None, 2]
    assert (of_list["shortest"], of_list["longest"]) == (0, 2)
    assert sorted(of_list["words"]) == ["a", "b"]
    assert [of_dead[name] for name in ("kind", "states", "paths")] == ["lattice", 3, 0]
    assert (of_dead["density"], of_dead["longest"]) == (None, None)


def pids(segments: Sequence[Segment]) -> list[int]:
    time.sleep(0.01)
    return [os.getpid()] * len(segments)


@pytest.mark.parametrize("processors", [1, 3])
@pytest.mark.parametrize("trial", [0.0, 60.0])
def test_others_help_where_much_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: float, processors: int
) -> None:
    path = cats(tmp_path / "cats.jsonl", 200)
    monkeypatch.setattr(module, "TRIAL", trial)
    monkeypatch.setattr(module, "count_processors", lambda: processors)
    # tests before this one may have left threads
    monkeypatch.setattr(module, "_may_fork", lambda: True)
    monkeypatch.setattr(module._Share, "estimate_rest", lambda share, seconds: math.inf)
    outcomes = [*run(pids, [path], workers=0, batch_records=2)]
    assert [outcome.id for outcome in outcomes] == [f"s{number}" for number in range(200)]
    found = {outcome.result for outcome in outcomes if isinstance(outcome, Done)}
    assert os.getpid() in found
    assert len(found) == 1 if trial or processors == 1 else len(found) > 1


def test_how_long_the_rest_takes(tmp_path: Path) -> None:
    path = cats(tmp_path / "cats.jsonl", 4)
    share = module._Share(module.Inputs([path]), None)
    share.read(path.stat().st_size // 4)
    assert share.estimate_rest(1.0) == pytest.approx(3.0)
    assert module._Share(module.Inputs(["-"]), None).estimate_rest(1.0) == float("inf")


def test_processes_are_not_made_of_one_with_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = module._may_fork()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not module._may_fork()
    finally:
        stop.set()
        thread.join()
    monkeypatch.setitem(sys.modules, "torch", sys)
    assert not module._may_fork()
    monkeypatch.delitem(sys.modules, "torch")
    assert module._may_fork() == alone
