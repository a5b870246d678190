"""Calibrated word confidences on held-out halves: writes ``docs/experiments/calibration.md``.

Run as ``python -m benchmarks.calibration``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import lattices
from benchmarks.data import DATA, pocketsphinx, referenced
from benchmarks.pages import FOLDER, write_page
from decoding.minimum_risk.calibration import (
    SCALES,
    CalibrationReport,
    CalibrationTask,
    fit_calibration,
)
from decoding.plots import line_plots, reliability_panel
from lattices import Space

TEXT = """# Calibrated word confidences

Written by `python -m benchmarks.calibration`, which does what `fstmetrics calibrate` does. A
calibration is a scale of the model's scores and a piecewise linear map of the confidences. It is
fitted to every other segment and judged on the segments between them, and the other way round. The
rows "held out" have all words, each under the calibration that was not fitted to it. The words are
those of the sentences with the fewest expected edits, as `fstmetrics mbr --confidences` writes
them, and so depend a little on the scale. A word is right if sclite's alignment matches it. NCE is
NIST's normalised cross entropy (1 is best, one confidence for all words has 0, misleading
confidences are below 0). ECE is the expected calibration error over 10 bins (0 is best).

{table}

Fitted to all segments: {scales} How fine the map is, at most 100 points from 20 words or more
each, was chosen by the held-out NCE of these lists, among six choices that differ by less than
0.01.

- `librispeech`: 10-best lists of ESPnet. Most words are in all ten entries and so have
  confidence 1, and of these {unanimous}: each costs 23 bits, which no scale can
  change and the map does. It is why NCE is below 0 before.
- `pocketsphinx`: the {small} utterances of the demonstration. Half of them are {few} words, of
  which a dozen are wrong: numbers this small say no more than that these scores, divided by 20 as
  PocketSphinx does for posteriors, are a little too flat, and that a map helps.

![Reliability diagrams](calibration.svg)
"""


def corpora() -> Iterator[tuple[str, list[Space]]]:
    """Yield the name and the segments of every corpus that is there."""
    for part in ("dev_clean", "dev_other"):
        folder = DATA / "librispeech-nbest"
        path = folder / f"{part}.nbest.tsv.gz"
        if path.exists():
            spaces = referenced(lattices.read(path), folder / f"{part}.ref.txt")
            yield f"librispeech {part}", list(spaces)
    yield "pocketsphinx", list(pocketsphinx())


def rows(name: str, report: CalibrationReport) -> list[str]:
    """Return the rows of a corpus."""
    kinds = (
        ("before (scale 1)", report.before),
        ("scale, held out", report.scaled),
        ("scale and map, held out", report.mapped),
    )
    return [
        f"| {name} | {kind} | {found.words} | {found.correct / found.words:.2%} "
        f"| {found.nce:.3f} | {found.ece:.4f} |"
        for kind, found in kinds
    ]


def main() -> None:
    """Compute, print as it goes, and write the page."""
    table = ["| corpus | | words | right | NCE | ECE |", "|---|---|--:|--:|--:|--:|"]
    panels, scales, unanimous = [], [], []
    small = few = 0
    for name, spaces in corpora():
        job = CalibrationTask()
        words = [job.words_of(space, space.references) for space in spaces]
        report = fit_calibration(words, SCALES)
        scale, points = report.calibration.scale, report.calibration.points
        scales.append(
            f"{name}: scale {scale:.3g}, a map of {len(points)} points, from {len(spaces)} segments"
        )
        if name == "pocketsphinx":
            small, few = len(spaces), report.before.words // 2
        else:
            decided = [each.decided[SCALES.index(1.0)] for each in words]
            sure = np.concatenate([each.confidences for each in decided]) > 1.0 - 1e-6
            right = np.concatenate([each.correct for each in decided])
            unanimous.append(f"{1.0 - right[sure].mean():.1%} are wrong in {name.split()[1]}")
        table += rows(name, report)
        kinds = {"before": report.before, "held out": report.mapped}
        panels.append(reliability_panel(name, kinds))
        print("\n".join(table[-3:]), scales[-1], flush=True)
    (FOLDER / "calibration.svg").write_bytes(line_plots(panels, "svg"))
    text = TEXT.format(
        table="\n".join(table),
        scales="; ".join(scales) + ".",
        unanimous=" and ".join(unanimous) or "some are wrong",
        small=small,
        few=few,
    )
    write_page("calibration.md", text)


if __name__ == "__main__":
    main()
