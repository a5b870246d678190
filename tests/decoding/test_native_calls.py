"""Native calls as a user meets them: Ctrl-C ends them, threads and ``fork`` do not hurt them."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import numpy as np
import pytest

import lattices
from decoding import (
    EditDistance,
    ExactRisk,
    PrefixSearch,
    mbr,
    oracle,
    oracle_kbest,
    oracles,
    worst,
)
from decoding.training.envelope import EnvelopeCorpus
from decoding.training.risk.expected import risk
from fstmetrics import BLEU, GRR, WER, Evaluator
from lattices import Forest, Lattice, NBest
from lattices.spaces import Hypothesis

Call: TypeAlias = "Callable[[], object]"
WORDS = [f"w{number}" for number in range(40)]


def dense(places: int, arcs: int, seed: int = 0) -> Lattice:
    """Return a lattice of so many places with so many arcs each."""
    draw = random.Random(seed)
    found = [
        (place, place + 1, draw.choice(WORDS), -draw.random())
        for place in range(places)
        for _ in range(arcs)
    ]
    return Lattice.from_arcs(found, finals=[places])


def text(words: int, seed: int = 1) -> list[str]:
    return random.Random(seed).choices(WORDS, k=words)


def bracketed(places: int, words: int) -> Forest:
    """Return all binary trees over so many places with so many words each."""
    draw = random.Random(0)
    node = {
        span: number
        for number, span in enumerate(
            (begin, begin + width)
            for width in range(1, places + 1)
            for begin in range(places - width + 1)
        )
    }
    leaves = [
        (node[place, place + 1], [], [word])
        for place in range(places)
        for word in draw.sample(WORDS, words)
    ]
    return Forest.from_edges(
        [
            *leaves,
            *(
                (number, [node[begin, middle], node[middle, end]], [0, 1])
                for (begin, end), number in node.items()
                for middle in range(begin + 1, end)
            ),
        ]
    )


def judge(words: int = 30, references: int = 1) -> Evaluator:
    return GRR().against([text(words, seed=seed) for seed in range(references)])


def long_list(count: int, words: int) -> NBest:
    return NBest.from_hypotheses(
        Hypothesis(tuple(text(words, seed=seed)), -float(seed)) for seed in range(count)
    )


def endless(call: Callable[..., object], *arguments: object, **options: object) -> None:
    """Call again and again what takes less than minutes."""
    while True:
        call(*arguments, **options)


def line_search() -> Call:
    draw = np.random.default_rng(0)
    arcs = [
        (place, place + 1, "a", 0.0, {"one": one, "two": two})
        for place, row in enumerate(draw.normal(size=(1000, 50, 2)).tolist())
        for one, two in row
    ]
    space = Lattice.from_arcs(arcs, finals=[1000])
    corpus = EnvelopeCorpus([space], [BLEU().against([text(1000)])])
    return partial(endless, lambda: list(corpus.envelopes(np.ones(2), np.array([1.0, -1.0]))))


def waiting_for_threads() -> Call:
    # the calling thread begins last, is done at once, and waits for the others
    large, small = dense(100, 2000), dense(2, 2)
    judges = [*[judge(20_000)] * 7, judge(3)]
    return partial(oracles, [*[large] * 7, small], judges, workers=8)


#: what prepares a call that takes minutes
LONG: dict[str, Callable[[], Call]] = {
    "lattice search": lambda: partial(oracle, dense(100, 2000), judge(100_000)),
    "lattice search, waiting for threads": waiting_for_threads,
    "forest search": lambda: partial(oracle, bracketed(40, 20), judge(200)),
    "worst": lambda: partial(worst, dense(40, 60), judge(40, 40), budget=10**9),
    "worst, forests": lambda: partial(
        worst, Forest.from_lattice(dense(40, 60)), judge(40, 40), budget=10**9
    ),
    "k best oracles": lambda: partial(
        oracle_kbest, dense(30, 60), judge(), 100_000, budget=10**9, memory=10**9
    ),
    "risk": lambda: partial(risk, dense(30, 60), judge(30), budget=10**8),
    "MBR search": lambda: partial(
        mbr, dense(40, 60), WER(), method=PrefixSearch(evidence_size=500)
    ),
    "MBR exact": lambda: partial(
        mbr, dense(25, 30), GRR(), method=ExactRisk(candidates=100, budget=10**8)
    ),
    "MBR edit": lambda: partial(mbr, dense(30, 30), method=EditDistance(starts=100_000)),
    "MBR linear": lambda: partial(endless, mbr, dense(60, 6), method="linear"),
    "MBR pairwise, WER": lambda: partial(mbr, long_list(4000, 400), WER(), method="pairwise"),
    "MBR pairwise, 4-GRR": lambda: partial(mbr, long_list(3000, 100), GRR(), method="pairwise"),
    "MBR pairwise, BLEU": lambda: partial(
        mbr, long_list(40_000, 100), BLEU(smooth="exp"), method="pairwise"
    ),
    "line search": line_search,
    "k best": lambda: partial(lattices.k_best, dense(200, 40), 10**8),
    "k best, each sentence once": lambda: partial(
        lattices.k_best, dense(200, 40), 10**8, distinct=True
    ),
    "sampling": lambda: partial(
        lattices.sample, dense(100, 1000), 100_000, np.random.default_rng(0)
    ),
}

#: interrupts a call as Ctrl-C does, and says how many seconds later it ended
CHILD = """
import os, signal, sys, threading, time
from tests.decoding.test_native_calls import LONG
call = LONG[sys.argv[1]]()
sent = []

def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
timer = threading.Timer(1.0, interrupt)
timer.start()
try:
    call()
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
else:
    timer.cancel()
    print("it ended by itself")
"""


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_a_long_call(name: str) -> None:
    # within a second on a machine that does nothing else; what never asks takes minutes
    command = [sys.executable, "-c", CHILD, name]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 10.0, run.stderr


#: 1 GB for the longer of two sentences and a reference
CELLS = 6_000 * 4_000
#: scores sentences that take such tables, until it is interrupted, and says how much memory
#: that took
TABLES = """
import resource, signal, sys
from fstmetrics import GRR
from fstmetrics.contract import nbest_stats
from tests.decoding.test_native_calls import CELLS, NBest, Hypothesis, text

def interrupt(*_):
    raise KeyboardInterrupt

judge = GRR().against([text(4_000)])
words = tuple(text(CELLS // 4_000))
some = NBest.from_hypotheses([Hypothesis(words[:-1]), Hypothesis(words)])
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
try:
    nbest_stats(judge, some)
except KeyboardInterrupt:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is measured in other units")
@pytest.mark.parametrize(("seconds", "tables"), [(0.3, 0.9), (0.0, 1.4)])
def test_large_tables_are_neither_zeroed_nor_copied(seconds: float, tables: float) -> None:
    # either would take seconds in which no signal is asked for
    command = [sys.executable, "-c", TABLES, str(seconds)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    # each cell has four values, the best of them, and three bytes
    assert int(run.stdout) < tables * CELLS * (4 * 8 + 8 + 3)


def answers(workers: int = 1) -> list[tuple[str, float, float]]:
    """Return the oracles of a few lattices and forests, searched in several ways."""
    spaces = [dense(12, 8, seed) for seed in range(6)]
    judges = [judge(12) for _ in spaces]
    forests = [Forest.from_lattice(space) for space in spaces]
    found = [
        *oracles(spaces, judges, workers=workers),
        *oracles(forests, judges, workers=workers),
        *(worst(space, judge(12))[0] for space in spaces),
    ]
    return [(each.text, each.score, each.hypothesis.score) for each in found]


def test_threads_may_search_at_once() -> None:
    expected = answers()
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(answers, [1, 2] * 8):
            assert found == expected


def test_threads_may_share_lattices_and_evaluators() -> None:
    space, evaluator = dense(12, 8), judge(12)
    expected = oracle(dense(12, 8), judge(12))
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: oracle(space, evaluator), range(64)):
            assert (found.text, found.score) == (expected.text, expected.score)


def _child(queue: multiprocessing.SimpleQueue[object]) -> None:
    queue.put(answers(workers=2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_after_use_searches_as_before() -> None:
    expected = answers(workers=2)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert queue.get() == expected
