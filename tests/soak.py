"""Soak: mixed calls on several threads for a long time; memory must stay flat, answers the same.

``make soak`` takes half an hour, ``make soak SECONDS=60`` a minute. Each thread draws jobs at
random, among them long lattices, refusals for lack of memory, and bad files. Every answer is
compared with that of the first call. Memory that is resident is looked at ten times; after the
first fifth of the time, which is for caches to fill, it may grow by ``MOST`` in all.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lattices
from decoding import hope_fear, oracle, oracle_kbest, sample_data, worst
from decoding.minimum_risk.edit import edit
from fstmetrics import BLEU, CHRF, GRR, WER
from lattices import Forest, concatenate, cut

#: megabytes by which memory may grow: what allocators keep differs by some
MOST = 64.0
LOOKS = 10

Job = Callable[[], Any]


def resident() -> float:
    """Return the megabytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def refused(call: Job) -> str:
    """Return why a call is refused."""
    try:
        call()
    except lattices.Error as problem:
        return str(problem)
    return "not refused"


def make_jobs(folder: Path) -> dict[str, Job]:
    """Return calls by name, whose answers can be compared."""
    files = sorted(sample_data().glob("*.slf.gz"))
    lines = (sample_data() / "refs.txt").read_text().splitlines()
    texts = [line.split(maxsplit=1)[1] for line in lines]
    segments = [
        space.replaced(references=(text,))
        for file, text in zip(files, texts, strict=True)
        for space in lattices.read(file)
    ]
    small: Any = [lattices.prune(each, density=8) for each in segments]
    talk: Any = concatenate(small, id="talk")
    reference = list(talk.references)
    bad = folder / "bad.jsonl"
    bad.write_text('{"id": "a", "arcs": [[0, 1\n')

    def found(each: Any) -> Any:
        return each.text, each.score

    def written() -> int:
        stream = folder / f"{threading.get_ident()}.jsonl.gz"
        lattices.write(stream, small)
        return sum(1 for _ in lattices.read(stream))

    def over(metric: Any, pick: Callable[..., Any]) -> Job:
        place = random.Random(str(metric)).randrange(len(small))
        one = small[place]
        return lambda: pick(one, metric.against(list(one.references)))

    return {
        "oracle wer": over(WER(), lambda *each: found(oracle(*each))),
        "oracle bleu": over(BLEU(smooth="add-k"), lambda *each: found(oracle(*each))),
        "oracle chrf": over(CHRF(), lambda *each: found(oracle(*each))),
        "k best": over(GRR(), lambda *each: [found(one) for one in oracle_kbest(*each, 5)]),
        "worst": over(WER(), lambda *each: found(worst(*each)[0])),
        "hope and fear": over(GRR(), lambda *each: found(hope_fear(*each).fear)),
        "forest": lambda: found(
            oracle(Forest.from_lattice(small[0]), WER().against(list(small[0].references)))
        ),
        "long wer": lambda: found(oracle(talk, WER().against(reference))),
        "long grr": lambda: found(oracle(talk, GRR().against(reference))),
        "long bleu": lambda: found(oracle(talk, BLEU().against(reference), budget=1000)),
        # so little that they are searched in parts
        "long k best": lambda: [
            found(one) for one in oracle_kbest(talk, GRR().against(reference), 5, memory=2**25)
        ],
        "long worst": lambda: found(worst(talk, GRR().against(reference), memory=2**25)[0]),
        "long edit": lambda: edit(talk).tokens,
        "cut": lambda: [part.num_arcs for part in cut(talk, 5)],
        "posteriors": lambda: float(lattices.posteriors(talk).arcs.sum()),
        "written and read": written,
        "refused": lambda: refused(
            lambda: oracle_kbest(talk, GRR().against(reference), 5, memory=1000)
        ),
        "a bad file": lambda: refused(lambda: list(lattices.read(bad))),
    }


def soak(seconds: float, threads: int, say: Callable[[str], object] = print) -> list[str]:
    """Return what went wrong."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        jobs = make_jobs(Path(folder))
        # numbers differ by no more than threads make them: not at all
        expected = {name: repr(job()) for name, job in jobs.items()}
        calls = dict.fromkeys(jobs, 0)
        lock = threading.Lock()
        end = time.monotonic() + seconds

        def work(seed: int) -> None:
            draw = random.Random(seed)
            while time.monotonic() < end and not problems:
                name = draw.choice(list(jobs))
                try:
                    answer = repr(jobs[name]())
                except Exception as problem:
                    problems.append(f"{name}: {type(problem).__name__}: {problem}")
                    return
                if answer != expected[name]:
                    problems.append(f"{name}: {answer[:200]}, expected {expected[name][:200]}")
                with lock:
                    calls[name] += 1

        workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
        for worker in workers:
            worker.start()
        looks: list[float] = []
        for _ in range(LOOKS):
            time.sleep(seconds / LOOKS)
            looks.append(resident())
            say(f"{sum(calls.values()):,} calls, {looks[-1]:,.0f} MB")
        for worker in workers:
            worker.join()
    grown = max(looks[LOOKS // 5 :]) - looks[LOOKS // 5 - 1]
    if grown > MOST:
        problems.append(f"memory grew by {grown:,.0f} MB, expected at most {MOST:,.0f}")
    never = [name for name, count in calls.items() if count == 0]
    if never:
        say(f"never called: {', '.join(never)}")
    return problems


def main() -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--threads", type=int, default=4)
    arguments = parser.parse_args()
    problems = soak(arguments.seconds, arguments.threads)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
